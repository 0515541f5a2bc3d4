"""``tileiras-build export FILE -o DIR``: write the bytecode of the kernels of a cuTile Python or CUDA Tile C++ file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.file_io import read_file, write_files
from .command_options import DEFAULT_TARGET, add_nvcc

if TYPE_CHECKING:
    from ..core.tracing.dependency_record import TracedResult
    from ..target.targets import Target

BYTECODE = ".tilebc"
PYTHON, TILECPP = ".py", ".cu"
# What ``bytecode_of_file`` reads.
KERNEL_FILE = "a Python file (cuTile), CUDA Tile C++ (.cu), or Tile IR bytecode (.tilebc)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``export``."""
    parser.add_argument("file", metavar="FILE", help="a Python file, or CUDA Tile C++ (.cu)")
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="output folder (default: current folder)")
    what = "only this kernel; repeatable (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)
    what = "base folder for paths in debug info (default: FILE's folder; for .cu the current folder)"
    parser.add_argument("--root", metavar="DIR", help=what)
    what = (
        f"target that nvcc compiles .cu files for, and whose tuned constants a .py file has (default: {DEFAULT_TARGET})"
    )
    parser.add_argument("--sm", metavar="SM", default=DEFAULT_TARGET, help=what)
    add_nvcc(parser)


def run(options: argparse.Namespace) -> None:
    """Write one .tilebc per case of a Python file, or one for a CUDA Tile C++ file."""
    from ..target.targets import find_target

    read_file(options.file)
    kernels = export_kernels(options, find_target(options.sm), options.root)
    write_files({Path(options.output) / f"{name}{BYTECODE}": data for name, data in kernels.items()})


def export_and_list_reads(options: argparse.Namespace, target: Target) -> tuple[dict[str, bytes], list[str]]:
    """As ``export_kernels``, and the files that the export read, without those of the Python installation."""
    from ..core.tracing.portable_paths import PortablePaths

    if Path(options.file).suffix == TILECPP:
        root = os.path.realpath(os.curdir)
        made = _compile_tilecpp(options, target, root)
        kernels = _named_kernels(options, made, target)
    else:
        root = os.path.realpath(os.path.dirname(options.file))
        made = _export_traced(options, target, root)
        kernels = made.files
    places = PortablePaths(root)
    reads = {places.path(read.name) for read in made.record.reads if read.kind == "contents"}
    return kernels, sorted(path for path in reads if not path.startswith(places.prefix + os.sep))


def _export_traced(options: argparse.Namespace, target: Target, root: str) -> TracedResult:
    from ..workers.executor.run_traced import run_traced
    from ..workers.executor.traced_fork_call import call

    arguments = (options.file, options.kernel, target.generation)
    run = lambda: call("tileiras_build.frontend.export_cutile:export_with_variants", root, *arguments)
    return run_traced(run, options.file, root)


def export_kernels(options: argparse.Namespace, target: Target, root: str | None = None) -> dict[str, bytes]:
    """The bytecode of a kernel file for ``target``: by kernel for a Python file, by the file's stem for CUDA Tile C++."""
    if Path(options.file).suffix == TILECPP:
        return _named_kernels(options, _compile_tilecpp(options, target, root or os.curdir), target)
    from ..core.user_tmp import tempdir_in_scratch
    from ..frontend.export_cutile import export_with_variants

    with tempdir_in_scratch():
        return export_with_variants(options.file, options.kernel, target.generation, source_root=root)


def bytecode_of_file(options: argparse.Namespace, target: Target) -> dict[str, bytes]:
    """As ``export_kernels``; of another file its content, as Tile IR bytecode, by the file's stem."""
    if Path(options.file).suffix in (PYTHON, TILECPP):
        return export_kernels(options, target)
    return {Path(options.file).stem: read_file(options.file)}


def _named_kernels(options: argparse.Namespace, made: TracedResult, target: Target) -> dict[str, bytes]:
    from ..frontend.tilecpp.extract_kernels import select_named
    from ..frontend.tilecpp.run_nvcc import BYTECODE as OUTPUT

    bytecode, stem = made.files[OUTPUT], Path(options.file).stem
    return (
        select_named(bytecode, options.kernel, stem, options.file, target.name) if options.kernel else {stem: bytecode}
    )


def _compile_tilecpp(options: argparse.Namespace, target: Target, root: str) -> TracedResult:
    from ..frontend.tilecpp.compile_and_check import compile_checked
    from ..frontend.tilecpp.nvcc_flags import split_flags
    from ..frontend.tilecpp.run_nvcc import Request
    from ..workers.executor.run_traced import run_traced

    root = os.path.realpath(root)
    path = os.path.relpath(options.file, root)
    flags, kernels = split_flags(options.nvcc_flags), tuple(options.instantiate)
    nvcc = os.path.abspath(options.nvcc) if options.nvcc else None
    request = Request(path, target.number, nvcc, flags, kernels)
    result = run_traced(lambda: compile_checked(request, root), options.file, root)
    for remark in result.remarks:
        print(remark, file=sys.stderr)
    return result
