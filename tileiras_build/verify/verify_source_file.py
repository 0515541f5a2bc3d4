"""Verify the kernels of a file against their references, in this process: for tests that kernel authors write."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..driver import compile
from ..frontend.export_cutile import export_with_variants
from ..frontend.tilecpp.compile_and_check import compile_checked
from ..frontend.tilecpp.run_nvcc import BYTECODE, Request
from ..target.targets import Target, find_target
from .run_and_compare import Outcome, check_kernels

TILECPP = ".cu"


def verify_file(path: str | os.PathLike, target: str, names: Sequence[str] | None = None) -> list[Outcome]:
    """Export, compile and check the kernels of a cuTile Python file (those in ``names``, or all) or of a CUDA Tile C++ file.

    One Outcome per kernel with a reference, on ``target`` ("sm_90"). Raises what ``check_kernels`` raises, and what
    exporting and compiling do.
    """
    found: list[Outcome] = []
    for name, bytecode in _bytecode(os.fspath(path), find_target(target), names).items():
        compiled = compile(bytecode, target, stop_at="ptx", name=name)
        found += check_kernels(bytecode, compiled, find_target(target).name, os.fspath(path))
    return found


def _bytecode(path: str, target: Target, names: Sequence[str] | None) -> dict[str, bytes]:
    if not path.endswith(TILECPP):
        return export_with_variants(path, names, target.generation)
    made = compile_checked(Request(os.path.basename(path), target.number), os.path.dirname(os.path.abspath(path)))
    return {os.path.basename(path): made.files[BYTECODE]}
