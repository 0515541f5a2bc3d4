"""ldmatrix in native code: loads 16-byte rows of shared memory to registers, with all checks.

If a check fails, NumPy executes the instruction and reports the fault.
"""

from __future__ import annotations

import numpy as np

from .native_code import address, kernel

ROW = 16  # bytes of a row


def load(
    addresses: np.ndarray, offset: int, cta: np.ndarray, shared: np.ndarray, marks: np.ndarray | None,
    size: int, limit: int, count: int, transposed: bool,
) -> np.ndarray | None:  # fmt: skip
    """``count`` registers (count, warps, 32) of the rows at ``addresses`` (CTAs or 1, threads) plus ``offset``.

    ``cta``: the CTAs' indices (CTAs, 1); each has ``size`` bytes of ``shared``, of which it may access ``limit``; ``marks`` has
    a byte per word, 0 if no copy to it is in flight. None if an address is misaligned, out of bounds or marked.
    """
    if limit < ROW:
        return None
    rows, threads = addresses.shape
    warps = len(cta) * threads // 32
    out = np.empty((count, warps, 32), np.uint32)
    first = np.ascontiguousarray(cta.reshape(-1), np.int64)
    bad = kernel("load_matrices", 15)(
        address(out), address(addresses), address(first), address(shared), address(shared if marks is None else marks),
        len(first), threads // 32, 0 if rows == 1 else threads, warps * 128, offset & 0xFFFFFFFF, size, limit - ROW, count,
        transposed, marks is not None,
    )  # fmt: skip
    return None if bad else out
