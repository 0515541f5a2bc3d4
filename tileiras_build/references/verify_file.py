"""Checks the kernels of a Python file against their references, in this process: for a kernel author's own tests."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..bytecode.export import export_kernels
from ..driver import compile
from .check_kernels import Outcome, check_kernels


def verify_file(path: str | os.PathLike, target: str, names: Sequence[str] | None = None) -> list[Outcome]:
    """Export, compile and check the kernels of a Python file (those in ``names``, or all) for one target.

    One Outcome per kernel with a reference. Raises what ``check_kernels`` raises, and what exporting and compiling do.
    """
    found: list[Outcome] = []
    for name, bytecode in export_kernels(path, names).items():
        compiled = compile(bytecode, target, stop_at="ptx", name=name)
        found += check_kernels(bytecode, compiled, compiled.job.target.name, os.fspath(path))
    return found
