"""``tileiras-build asm FILE.mlir -o OUT``: assemble the textual form of Tile IR to bytecode."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..core.file_io import read_file, write_files
from ..core.terminal import coloured

BYTECODE = ".tilebc"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``asm``."""
    parser.add_argument("file", metavar="FILE.mlir", help="Tile IR assembly, as printed by dis and NVIDIA's tools")
    parser.add_argument("-o", "--output", metavar="OUT", help="output file (default: FILE with the suffix .tilebc)")
    what = "bytecode version to write, e.g. 13.5 (default: one readable by the previous release)"
    parser.add_argument("--bytecode", type=_version, metavar="VERSION", help=what)


def _version(text: str) -> tuple[int, int]:
    """A bytecode version such as 13.4."""
    from ..ir.bytecode.opcodes import VERSIONS

    known = {".".join(map(str, version)): version for version in VERSIONS}
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is not one of {', '.join(known)}")
    return known[text]


def run(options: argparse.Namespace) -> None:
    """Write the bytecode."""
    from ..ir.bytecode.text_parser import assemble
    from ..pipeline.text_encoding import decode

    def remark(text: str) -> None:
        print(coloured(text, sys.stderr), file=sys.stderr)

    text = decode(read_file(options.file), options.file)
    data = assemble(text, options.file, options.bytecode, remark)
    write_files({Path(options.output or Path(options.file).with_suffix(BYTECODE)): data})
