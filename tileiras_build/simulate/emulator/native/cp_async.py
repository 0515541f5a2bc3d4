"""cp.async in native code: elements of global memory are read at the issue, and written to shared memory at the wait.

Like ``ldmatrix_rows.py``, the native code makes all checks. If one fails, NumPy reports the fault.
"""

from __future__ import annotations

from ctypes import c_int64

import numpy as np

from ..memory.address_space import Region
from ..simt.broadcasting import contiguous_rows
from .native_code import address, kernel, record


def issue(
    shape: tuple[int, int], to: np.ndarray, source: np.ndarray, sizes: np.ndarray | None, offsets: tuple[int, int],
    cta: np.ndarray, shared_size: int, limit: int, region: Region, dtype: type[np.generic], marks: np.ndarray, mark: int,
) -> tuple[np.ndarray, np.ndarray] | None:  # fmt: skip
    """(indices in the batch's shared memory, values) of the elements that threads (CTAs, threads) of CTAs ``cta`` copy; marks them.

    ``to`` (uint32) and ``source`` (uint64) are addresses, to which ``offsets`` are added. ``sizes`` (uint32) are source sizes:
    the element size, or 0 for no read. Each array has values per thread, per CTA, or one. ``marks`` are per element. Returns
    None if an address is misaligned or out of bounds, or for other sizes.
    """
    size = np.dtype(dtype).itemsize
    if limit < size or region.size < size:
        return None
    operands = [contiguous_rows(to, shape), contiguous_rows(source, shape)]
    if sizes is not None:
        operands.append(contiguous_rows(sizes, shape))
    index, data = np.empty(shape, np.int64), np.empty(shape, dtype)
    first = np.ascontiguousarray(cta.reshape(-1), np.int64)
    places, aparts = ([*some, 0][:3] for some in zip(*((address(values), apart) for values, apart in operands)))
    fields = record(
        address(index), address(data), *places, address(first), address(marks), *shape, *aparts, offsets[0] & 0xFFFFFFFF,
        c_int64(offsets[1] - region.origin).value, region.at, region.pad, region.end - size - region.pad, shared_size, limit - size, mark, size,
    )  # fmt: skip
    return None if kernel("issue_copies", 1)(address(fields)) else (index.reshape(-1), data.reshape(-1))


def write_elements(index: np.ndarray, data: np.ndarray, shared: np.ndarray, marks: np.ndarray) -> None:
    """Write elements to shared memory, and clear their marks."""
    tables = map(address, (index, data, shared, marks))
    kernel("land_copies", 6)(*tables, len(index), data.itemsize)
