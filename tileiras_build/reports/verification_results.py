"""Results of ``scons verify`` for the kernels of a cubin, if they still apply to its code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import MALFORMED, InvalidInput
from ..core.file_io import read_stored
from ..manifest.ptx_code_digest import code_digest
from ..simulate.estimate.estimate_kernel import Problem

# Suffixes of the files that the steps of scons verify write.
SUFFIX, VERIFIED = ".reference", ".verified"


@dataclass(frozen=True)
class VerificationResult:
    """One kernel: the result of the reference comparison as text, and its launch, None if an argument is a list."""

    text: str
    problem: Problem | None


def verification_results(cubin: Path) -> dict[str, VerificationResult]:
    """The results for the kernels of a cubin, by demangled name.

    Kernels without a reference are left out, and kernels whose code has changed since.
    """
    try:
        found = json.loads(read_stored(cubin.with_suffix(SUFFIX)))
        kernels = found["kernels"] if found["ptx"] == _code(cubin) else []
        return {kernel["entry"]: _compared(kernel) for kernel in kernels}
    except (OSError, InvalidInput, *MALFORMED):
        # Not verified, or written by another version.
        return {}


def _compared(kernel: dict) -> VerificationResult:
    settings = kernel.get("settings")
    problem = None if settings is None else Problem(dict(settings), tuple(kernel["grid"]))
    return VerificationResult(f"match ({kernel['share']:.2g}x tolerance)", problem)


def interpreted(cubin: Path, symbol: str) -> str | None:
    """The result of the comparison with the interpreter as text; None if there is none for the current code."""
    try:
        checks, code = json.loads(read_stored(cubin.with_suffix(VERIFIED))), _code(cubin)
        return next((_check(check) for check in checks if (check["entry"], check["ptx"]) == (symbol, code)), None)
    except (OSError, InvalidInput, *MALFORMED):
        return None


def _code(cubin: Path) -> str:
    return code_digest(read_stored(cubin.with_suffix(".ptx")))


def _check(check: dict) -> str:
    if check["reason"]:
        return f"not run: {check['reason']}"
    grid = "x".join(map(str, check["grid"]))
    accuracy = f"{check['share']:.2g}x tolerance" if check["share"] else "bit for bit"
    return f"match ({accuracy}; grid {grid}, {check['elements']:,} elements)"
