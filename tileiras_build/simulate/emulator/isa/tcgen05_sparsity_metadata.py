"""tcgen05.mma.sp: metadata of a sparse A in tensor memory (PTX ISA 9.0, section 9.7.16.10.8).

The compressed A has the layout of a dense A of half as many columns, with the codes of ``mma_sparsity_metadata.py``. The
metadata of M rows is in lanes of the same CTA:

    f16, tf32  one column of a pair, chosen by the selector; the lanes of 16 rows are adjacent: lane 16 (row / 16) +
               8 (chunk / 4) + row % 8 has codes of four chunks of rows row % 8 (low half) and row % 8 + 8 of the 16
    others     lane = row; eight codes in each of two columns

With .ws and M < 128, the other lanes contain copies. The ISA shows it in figures 263, 265 and 267; as text, it is in the
CUTLASS layouts tmem_e_frg and tmem_e_frg_ws of cute/atom/mma_traits_sm100_frag.hpp. Unsupported are layouts C and F, whose
metadata of 64 rows only figures 262, 264 and 266 show, selectors 2 and 3, and metadata at an odd column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..memory.tensor_memory import LANES
from .mma_sparsity_metadata import CHUNKS, VALID_CODES, expand_sparse, invalid_code


@dataclass(frozen=True)
class MetadataStorage:
    """The metadata of a kind: ``columns`` of tensor memory, number of ``selectors``, bits of an element of A."""

    width: int
    columns: int
    selectors: int


METADATA_STORAGE = {
    "f16": MetadataStorage(16, 1, 2),
    "tf32": MetadataStorage(32, 1, 2),
    **{kind: MetadataStorage(8, 2, 1) for kind in ("f8f6f4", "i8", "mxf8f6f4")},
    **{kind: MetadataStorage(4, 2, 1) for kind in ("mxf4", "mxf4nvf4")},
}


def unsupported_shape(m: int, n: int, pair: bool, stationary: bool, scaled: bool) -> str | None:
    """An error message for a shape of the dense form (Table 39) without a supported sparse form, or None."""
    if stationary:
        return f"unsupported shape M = {m}, N = {n} for this form" if n > 128 else None
    if scaled and pair and m == 128:
        return f"unsupported shape M = {m}, N = {n} for this form"
    if m == (128 if pair else 64):
        return f"a sparse A of M = {m} is not supported: the ISA shows the layout of its metadata in a figure only"
    return None


def invalid_metadata_address(kind: str, selector: int, place: int) -> str | None:
    """An error message for a selector and an address of metadata, or None."""
    storage = METADATA_STORAGE[kind]
    if selector >= storage.selectors:
        return f"sparsity selector {selector}: only 0 to {storage.selectors - 1} are supported"
    if place >> 16:
        return f"lane {place >> 16}: metadata of this layout cannot start there"
    if place & 1:
        return f"column {place & 0xFFFF}: metadata must start in an even column"
    return None


def codes_of(metadata: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The codes (CTAs, rows, chunks) of metadata (CTAs, columns, lanes)."""
    count = len(metadata)
    codes = metadata[..., :rows, None] >> np.arange(0, 32, 4, dtype=np.uint32) & np.uint32(15)
    if columns == 2:
        return codes.transpose(0, 2, 1, 3).reshape(count, rows, 16)
    codes = codes.reshape(count, rows // 16, 2, 8, 2, 4)  # (CTA, 16 rows, block, row, half, chunk)
    return codes.transpose(0, 1, 4, 3, 2, 5).reshape(count, rows, 8)


def expand_sparse_tmem(kind: str, words: np.ndarray, values: np.ndarray) -> np.ndarray | str:
    """The expanded A (CTAs, rows, k) from the compressed one and metadata (CTAs, columns, lanes), or an error message."""
    storage, rows = METADATA_STORAGE[kind], values.shape[1]
    copies = words.reshape(*words.shape[:2], LANES // rows, rows)
    if (copies != copies[:, :, :1]).any():
        return f"the metadata differs between the {LANES // rows} parts of tensor memory"
    codes = codes_of(words, rows, storage.columns)
    chunk = CHUNKS[storage.width]
    wrong = invalid_code(codes, chunk, VALID_CODES["tcgen05"])
    return wrong or expand_sparse(values, codes, chunk)
