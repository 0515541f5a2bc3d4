"""Layouts and decoding of the operands of tcgen05.mma."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import fault_at
from ..matmul.operand_value_ranges import CODE_DTYPES, decode
from ..numerics import float_formats
from . import smem_matrix_descriptors
from .ldmatrix_stmatrix import decompress_fp6
from .mma_sync import _DECODE
from .tcgen05_async_queue import SharedSource
from .tcgen05_cp import inside_shared, read_fields
from .tcgen05_instruction_descriptors import PADDED_TO_8_BITS, InstructionDescriptor, MmaForm


# -- blocks ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class AccumulatorBlock:
    """``rows`` and ``columns`` (slices) of D, in ``lanes`` of the CTA ``side`` of a pair."""

    side: int
    lanes: slice
    rows: slice
    columns: slice


def halves_of(side: int, rows: slice, n: int) -> list[AccumulatorBlock]:
    return [
        AccumulatorBlock(side, slice(0, 64), rows, slice(0, n // 2)),
        AccumulatorBlock(side, slice(64, 128), rows, slice(n // 2, n)),
    ]


@lru_cache(maxsize=512)
def blocks_of(m: int, n: int, pair: bool, stationary: bool) -> list[AccumulatorBlock]:
    whole, columns = slice(0, 128), slice(0, n)
    if pair and m == 256:
        return [AccumulatorBlock(i, whole, slice(128 * i, 128 * i + 128), columns) for i in (0, 1)]
    if pair:
        return halves_of(0, slice(0, 64), n) + halves_of(1, slice(64, 128), n)
    if m == 128:
        return [AccumulatorBlock(0, whole, whole, columns)]
    if m == 32:
        return [
            AccumulatorBlock(0, slice(32 * i, 32 * i + 32), slice(0, 32), slice(n // 4 * i, n // 4 * (i + 1)))
            for i in range(4)
        ]
    return halves_of(0, slice(0, 64), n) if stationary else [AccumulatorBlock(0, whole, slice(0, 64), columns)]


def is_layout_f(shape: InstructionDescriptor, form: MmaForm) -> bool:
    """Layout F: 64 rows in 16 of every 32 lanes."""
    return shape.m == 64 and not form.weight_stationary


# -- elements ----------------------------------------------------------------------------------------
def nibbles(data: np.ndarray) -> np.ndarray:
    """4-bit codes, low nibble first."""
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)


def decode_chunks(data: np.ndarray, type_: str, packed: bool) -> np.ndarray:
    """Values (…, elements), or their bits, of bytes (…, chunks, 16)."""
    if packed:
        return float_formats.table("e2m1")[nibbles(data.reshape(*data.shape[:-2], -1))]
    if type_ in PADDED_TO_8_BITS:
        codes = nibbles(data[..., :8]) if type_ == "e2m1" else decompress_fp6(data)
        return float_formats.table(type_)[codes].reshape(*data.shape[:-2], -1)
    words = np.ascontiguousarray(data).reshape(*data.shape[:-2], -1).view(CODE_DTYPES.get(type_, np.uint32))
    if type_ in CODE_DTYPES:
        return words
    return _DECODE[type_](words).reshape(*words.shape[:-1], -1)


def decode_cells(words: np.ndarray, type_: str, packed: bool) -> np.ndarray:
    """Values (…, elements) of tensor memory cells (…, 8); small types have containers of 8 bits."""
    words = np.ascontiguousarray(words)
    return _DECODE["e2m1_packed" if packed else type_](words).reshape(*words.shape[:-1], -1)


class SharedMatrix:
    """A (rows of M) or B (rows of N) of one CTA in shared memory."""

    def __init__(
        self,
        group,
        form: MmaForm,
        shape: InstructionDescriptor,
        side: int,
        descriptor_word: int,
        rows: int,
        ctas,
        tid: int,
        skip: int = 0,
    ):
        self.type, self.packed = (shape.a, shape.b)[side], shape.k == 64
        self.transposed, self.negative, self.skip = shape.transposed[side], shape.negative[side], skip
        fields = read_fields(group, form.ins, descriptor_word, ctas, tid)
        depth = shape.depth if side else 1
        self.check_swizzle(group, form, fields, depth, ctas, tid)
        if self.transposed:
            per = smem_matrix_descriptors.CHUNK * shape.k // 32  # elements along M or N in a chunk
            chunks = smem_matrix_descriptors.mn_major_chunks(fields, shape.k * depth, -(-rows // per))
        else:
            chunks = smem_matrix_descriptors.k_major_chunks(fields, rows, smem_matrix_descriptors.ROW_CHUNKS * depth)
        self.rows = rows
        self.chunks = np.ascontiguousarray(inside_shared(group, form.ins, chunks, ctas, tid), np.int64)

    @classmethod
    def of(
        cls,
        group,
        form: MmaForm,
        shape: InstructionDescriptor,
        side: int,
        descriptor_word: int,
        rows: int,
        ctas,
        tid: int,
        skip: int = 0,
    ):
        """The matrix of an operand, cached by instruction and operand; caches only valid ones."""
        key = (shape, side, descriptor_word, rows, skip, group.memories.shared_limit)
        found = form.matrices.get(key)
        if found is None:
            found = form.matrices[key] = cls(group, form, shape, side, descriptor_word, rows, ctas, tid, skip)
        return found

    def check_swizzle(self, group, form, fields, depth, ctas, tid):
        """Check the swizzling mode: Table 52 for MN-major types; K-major rows of 64 bytes do not fit a 32-byte pattern."""
        if not self.transposed:
            if depth > 1 and fields.swizzle is smem_matrix_descriptors.BYTES_32:
                why = "B of a sparse MMA cannot be K-major in the 32-byte swizzling mode"
                fault_at(group.geometry, form.ins, (ctas[0], tid), why)
            return
        wide = fields.swizzle is smem_matrix_descriptors.BYTES_128_ATOM_32B
        if self.type in PADDED_TO_8_BITS or wide != (self.type == "tf32"):
            why = f"a transposed matrix of {self.type} cannot have this swizzling mode"
            fault_at(group.geometry, form.ins, (ctas[0], tid), why)

    def source(self, group, ins, name: str, ctas, issuers) -> SharedSource:
        return SharedSource(group, ins, f"matrix {name}", ctas, self.chunks, issuers)

    def values(self, source: SharedSource) -> np.ndarray:
        """Values (CTAs, rows, k), or their bits."""
        values = decode_chunks(source.read(), self.type, self.packed)
        if self.transposed:
            values = values.swapaxes(1, 2)
        values = values[:, self.skip : self.rows]
        return -decode(values, self.type) if self.negative else values
