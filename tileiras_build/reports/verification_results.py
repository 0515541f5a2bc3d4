"""What ``scons verify`` has found of the kernels beside a cubin, where it is still of their code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import MALFORMED, InvalidInput
from ..core.file_io import read_stored
from ..simulate.estimate.estimate_build import Problem

# Of the files that the steps of scons verify write.
SUFFIX, VERIFIED = ".reference", ".verified"


@dataclass(frozen=True)
class VerificationResult:
    """One kernel: how it agrees with its reference, in words, and the launch that was compared, None where it has a list."""

    text: str
    problem: Problem | None


def verification_results(cubin: Path) -> dict[str, VerificationResult]:
    """What is known of the kernels of a cubin, by the names that people call them.

    A kernel without a reference is not in it, nor is one whose PTX is another one than what was compared.
    """
    try:
        found = json.loads(read_stored(cubin.with_suffix(SUFFIX)))
        ptx = hashlib.sha256(read_stored(cubin.with_suffix(".ptx"))).hexdigest()
        kernels = found["kernels"] if found["ptx"] == ptx else []
        return {kernel["entry"]: _compared(kernel) for kernel in kernels}
    except (OSError, InvalidInput, *MALFORMED):
        # Not verified, or by another version.
        return {}


def _compared(kernel: dict) -> VerificationResult:
    settings = kernel.get("settings")
    problem = None if settings is None else Problem(dict(settings), tuple(kernel["grid"]))
    return VerificationResult(f"agrees, {kernel['share']:.0%} of tolerance", problem)


def interpreted(cubin: Path, symbol: str) -> str | None:
    """How a kernel, by its symbol, agrees with the interpreter, in words; None where its code was not compared, or another one since."""
    verified = cubin.with_suffix(VERIFIED)
    try:
        # A file that is older than the PTX is of what was there before.
        checks = json.loads(read_stored(verified)) if _time(verified) >= _time(cubin.with_suffix(".ptx")) else []
        return next((_check(check) for check in checks if check["entry"] == symbol), None)
    except (OSError, InvalidInput, *MALFORMED):
        return None


def _time(path: Path) -> int:
    return path.stat().st_mtime_ns


def _check(check: dict) -> str:
    if check["reason"]:
        return f"not compared: {check['reason']}"
    grid = "x".join(map(str, check["grid"]))
    how = f"{check['share']:.0%} of tolerance" if check["share"] else "bit for bit"
    return f"agrees, {how} (grid {grid}, {check['elements']:,} elements)"
