"""tcgen05.mma.sp: metadata of a sparse A in tensor memory (PTX ISA 9.0, section 9.7.16.10.8).

A of half its columns lies as a dense one; the codes of its chunks are those of ``mma_sparsity_metadata.py``. M rows have them in lanes of the
same CTA:

    f16, tf32  one column of a pair, which the selector names; the lanes of 16 rows come together: lane 16 (row / 16) +
               8 (chunk / 4) + row % 8 has codes of four chunks of rows row % 8 (low half) and row % 8 + 8 of the 16
    others     lane = row; eight codes in each of two columns

With .ws and M < 128 the other lanes hold copies. Figures 263, 265 and 267 show it; in words, as layouts of CUTLASS, tmem_e_frg
and tmem_e_frg_ws of cute/atom/mma_traits_sm100_frag.hpp. Layouts C and F have the metadata of 64 rows in figures 262, 264 and
266 alone: they are refused, as are the selectors 2 and 3 and metadata from an odd column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..memory.tensor_memory import LANES
from .mma_sparsity_metadata import CHUNKS, VALID_CODES, expand_sparse, invalid_code


@dataclass(frozen=True)
class MetadataStorage:
    """Where a kind has its metadata: ``columns`` of tensor memory, of which the ``selectors`` choose; bits of a number of A."""

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
    """What is not supported of a shape that the dense form has (Table 39)."""
    if stationary:
        return f"there is no product of M = {m} and N = {n} in this form" if n > 128 else None
    if scaled and pair and m == 128:
        return f"there is no product of M = {m} and N = {n} in this form"
    if m == (128 if pair else 64):
        return f"a sparse A of M = {m} is not supported: only a figure of the ISA shows where its metadata lie"
    return None


def invalid_metadata_address(kind: str, selector: int, place: int) -> str | None:
    """What is wrong with a selector and the address of metadata."""
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
    """A with its zeros (CTAs, rows, k) of one without and metadata (CTAs, columns, lanes), or what is wrong with them."""
    storage, rows = METADATA_STORAGE[kind], values.shape[1]
    copies = words.reshape(*words.shape[:2], LANES // rows, rows)
    if (copies != copies[:, :, :1]).any():
        return f"the metadata differ between the {LANES // rows} parts of tensor memory"
    codes = codes_of(words, rows, storage.columns)
    chunk = CHUNKS[storage.width]
    wrong = invalid_code(codes, chunk, VALID_CODES["tcgen05"])
    return wrong or expand_sparse(values, codes, chunk)
