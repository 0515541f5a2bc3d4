"""Layouts of TMA boxes: swizzled chunks in shared memory, and elements in global memory.

A box is stored in shared memory in row order, with swizzled 16-byte chunks: the index of a chunk within a row of the pattern
(32, 64 or 128 bytes) is XORed with the index of the 128-byte row of its address; one mode XORs the index of the 32-byte chunk
instead (PTX ISA 9.0, section 5.5.6, swizzling modes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import tensor_map
from ..memory.tensor_memory import rows_of
from ..simt.broadcasting import are_all

CHUNK = 16
BOX_ALIGN = 128  # of a box in shared memory (table "alignment" of section 5.5.7)


@lru_cache(maxsize=1024)
def chunks_of_box(rows: int, row_bytes: int, pitch: int) -> np.ndarray:
    """Chunk indices (rows, chunks) of a box in shared memory from its start, before the swizzle."""
    row, chunk = np.ogrid[:rows, : row_bytes // CHUNK]
    return row * (pitch // CHUNK) + chunk


def chunks_of_boxes(tensor, start) -> np.ndarray:
    """Chunk indices (n, rows, chunks) of boxes that start at chunk ``start`` (n) of a CTA's shared memory."""
    chunks = start[:, None, None] + chunks_of_box(tensor.rows, tensor.row_bytes, tensor.pitch)
    mask, shift = tensor_map.CHUNK_XOR[tensor.swizzle]
    return chunks ^ (chunks >> 3 & mask) << shift


def order_of_box(tensor, start: int) -> np.ndarray:
    """The permutation from the chunks of shared memory from ``start`` on to the chunks of a dense box in row order."""
    return _order_of_box(tensor.rows, tensor.row_bytes, tensor.swizzle, start)


@lru_cache(maxsize=1024)
def _order_of_box(rows: int, row_bytes: int, swizzle: str, start: int) -> np.ndarray:
    chunks = start + np.arange(rows * row_bytes // CHUNK)
    mask, shift = tensor_map.CHUNK_XOR[swizzle]
    return (chunks ^ (chunks >> 3 & mask) << shift) - start  # an involution


@dataclass
class DenseRuns:
    """Runs of ``count`` chunks from chunk ``start`` of CTAs' shared memory; ``bias``: first chunks of the CTAs in the batch."""

    bias: np.ndarray
    start: int
    count: int
    rows: tuple[int, np.ndarray | slice] | None = None  # (chunks of a CTA, CTAs), computed on demand

    def per_cta(self, batch) -> int:
        """Chunks of a CTA's shared memory."""
        return batch.memories.shared_size // CHUNK

    def where(self, batch) -> tuple[np.ndarray | slice, slice]:
        """An index of the batch's shared memory as (CTAs, chunks)."""
        per_cta = self.per_cta(batch)
        if self.rows is None or self.rows[0] != per_cta:
            self.rows = per_cta, rows_of(self.bias // per_cta)
        return self.rows[1], slice(self.start, self.start + self.count)

    @staticmethod
    def of(bias: np.ndarray, start: int, count: int) -> DenseRuns | None:
        """The runs, if each CTA has one; else None."""
        steps = bias[1:] - bias[:-1]
        return DenseRuns(bias, start, count) if are_all(steps > 0) or len(bias) == len(set(bias.tolist())) else None


@lru_cache(maxsize=1024)
def row_steps(counts: tuple, steps: tuple) -> np.ndarray:
    """Position of each row of a box along dimensions 1, 2, …, from the box's corner: (rank - 1, rows)."""
    rows = int(np.prod(counts[1:], dtype=np.int64))
    grids = np.indices(counts[:0:-1]).reshape(len(counts) - 1, rows)[::-1]
    return grids * np.array(steps[1:], np.int64)[:, None]


@lru_cache(maxsize=1024)
def row_offsets(counts: tuple, steps: tuple, strides: tuple) -> np.ndarray:
    """Bytes (rows) from the corner of a box to each of its rows."""
    return (row_steps(counts, steps) * np.array(strides, np.int64)[:, None]).sum(axis=0)


class Elements:
    """The elements of boxes in global memory, in units of up to 16 bytes: offsets from the base, and a mask of in-bounds units."""

    def __init__(self, tensor, coordinates):
        size = tensor.kind.bytes
        first = coordinates[:, 0] * size * tensor.kind.bits // 8
        width = tensor.shape[0] * size
        self.unit = unit_bytes(int(np.bitwise_or.reduce(first, initial=width)))
        column = first[:, None] + np.arange(0, tensor.data_bytes, self.unit)
        inside = (column >= 0) & (column < width)
        row = np.zeros((len(first), tensor.rows), np.int64)
        alive = np.ones((len(first), tensor.rows), bool)
        for d, at in enumerate(self.places(tensor, coordinates), start=1):
            alive &= (at >= 0) & (at < tensor.shape[d])
            row += at * tensor.strides[d - 1]
        self.offset = row[:, :, None] + column[:, None, :]  # bytes from the base, (n, rows, units)
        self.valid = alive[:, :, None] & inside[:, None, :]
        self.all = are_all(alive) and are_all(inside)

    @staticmethod
    def places(tensor, coordinates):
        """The coordinates (n, rows) of the rows of each box in dimensions 1, 2, …."""
        if tensor.gathers:
            return [coordinates[:, 1:]]
        if tensor.columns is not None:
            return im2col_pixels(tensor, coordinates)
        steps = row_steps(tensor.counts, tensor.element_strides)
        return [coordinates[:, d, None] + step for d, step in enumerate(steps, start=1)]

    def only(self):
        return self.offset if self.all else self.offset[self.valid]


def im2col_pixels(tensor, coordinates) -> list[np.ndarray]:
    """The coordinates of the pixels of im2col copies along W, H, D, N (section 5.5.5): (copies, pixels) each.

    ``coordinates`` (n, 2 * rank - 2) are those of the first pixel, and the offsets of W, H, D. Pixels advance along W, then
    H, then D in the bounding box, then N, with steps ``element_strides``. The wide modes (im2col::w, im2col::w::128) advance
    along W only.
    """
    columns, inner = tensor.columns, tensor.rank - 2
    at = [coordinates[:, 1 + d].copy() for d in range(inner + 1)]
    out = np.empty((inner + 1, len(coordinates), tensor.rows), np.int64)
    for pixel in range(tensor.rows):
        for d in range(inner + 1):
            out[d, :, pixel] = at[d] + (coordinates[:, tensor.rank + d] if d < inner else 0)
        ends = np.ones(len(coordinates), bool)
        for d in range(len(columns.lower)):
            at[d] += np.where(ends, tensor.element_strides[1 + d], 0)
            ends &= at[d] > tensor.shape[1 + d] - 1 + columns.upper[d]
            at[d][ends] = columns.lower[d]
        at[inner] += ends
    return list(out)


def unit_bytes(number: int) -> int:
    """The widest unit of up to 16 bytes that divides ``number``."""
    return min(number & -number, CHUNK) if number else CHUNK


class SingleElementUnits(Elements):
    """Like ``Elements``, in units of one element."""

    def __init__(self, tensor, coordinates):
        super().__init__(tensor, coordinates)
        size = tensor.kind.bytes
        if self.unit == size:
            return
        steps = np.arange(0, self.unit, size)
        self.offset = (self.offset[..., None] + steps).reshape(*self.offset.shape[:2], -1)
        self.valid = np.repeat(self.valid, self.unit // size, axis=2)
        self.unit = size
