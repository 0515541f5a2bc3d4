"""Commands that write files from files, or print them: ``init``, ``export``, ``dis``, ``asm``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..core.file_io import read_file, write_files
from ..core.terminal import coloured

BYTECODE = ".tilebc"


def init_project(options: argparse.Namespace) -> None:
    """``init [NAME]``: a project of one kernel with its reference, a helper and tests."""
    from ..build.project_template.write_project import CUTILE, write_project

    for path in write_project(Path(options.folder), options.kind or CUTILE):
        print(path)
    place = "" if options.folder == "." else f"cd {options.folder} && "
    print(f"now: {place}scons sm=80,90 verify package; README.md says more")


def export_file(options: argparse.Namespace) -> None:
    """``export FILE -o DIR``: one .tilebc per case of a Python file, or one of a CUDA Tile C++ file."""
    from ..target.targets import find_target
    from .cmd_lower import export_kernels

    read_file(options.file)
    kernels = export_kernels(options, find_target(options.sm), options.root)
    write_files({Path(options.output) / f"{name}{BYTECODE}": data for name, data in kernels.items()})


def disassemble_file(options: argparse.Namespace) -> None:
    """``dis FILE [-g]``: print the public dialect's textual form."""
    from ..ir.bytecode import disassemble

    text = disassemble(read_file(options.file), locations=options.locations, name=options.file)
    print(text.rstrip("\n"))


def assemble_file(options: argparse.Namespace) -> None:
    """``asm FILE.mlir -o OUT``: the bytecode of the public dialect's textual form."""
    from ..ir.bytecode.text_parser import assemble
    from ..pipeline.text_encoding import decode

    def remark(text: str) -> None:
        print(coloured(text, sys.stderr), file=sys.stderr)

    text = decode(read_file(options.file), options.file)
    data = assemble(text, options.file, options.bytecode, remark)
    write_files({Path(options.output or Path(options.file).with_suffix(BYTECODE)): data})
