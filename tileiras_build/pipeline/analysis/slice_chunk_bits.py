"""Slices of tiles that exceed scratch memory: the bits of an element's index that select the chunk.

The packed index of a tile has bits of the slice index, and bits of the position in the slice. The chunk bits, a subset
of both, are the chunk index: one chunk is in shared memory at a time, addressed by the other bits. Bits of the slice
index become chunk bits first, as only one slice is accessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType

from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import unpack
from ...ir.layouts.f2_linear_algebra import bits
from ...ir.layouts.linear_layout import dim_bases
from ..common.llvm_element_types import element_of


def inner_bits(shape: tuple[int, ...], part: tuple[int, ...]) -> int:
    """The bits of the packed index, in a tile of ``shape``, that are the index inside a slice of shape ``part``."""
    return sum(
        unit for units, size in zip(dim_bases(shape), part, strict=True) for unit in units[: size.bit_length() - 1]
    )


def dim_stride(shape: Sequence[int], dim: int) -> int:
    """The row-major stride of a dimension, in elements."""
    return prod(shape[dim + 1 :])


def slice_to_whole_index(index: int, part: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The packed index in the whole tile of a packed index in a slice."""
    return sum(coordinate * dim_stride(shape, dim) for dim, coordinate in enumerate(unpack(index, part)))


def extract_chunk_bits(op: TableOp, most_bytes: int) -> int:
    """The chunk bits of an extract_slice; 0 where its whole source has at most ``most_bytes``."""
    shape = tuple(op.source.type.get_shape())
    part = tuple(op.result.type.get_shape()) if isinstance(op.result.type, TensorType) else (1,) * len(shape)
    inner = inner_bits(shape, part)
    return _chunk_bits((prod(shape) - 1) & ~inner, inner, element_of(op.source.type).bytes, most_bytes)


def insert_chunk_bits(op: TableOp, most_bytes: int) -> int:
    """The chunk bits of an insert_slice; 0 if its whole result has at most ``most_bytes``, else at least all bits that
    select the slice.
    """
    shape, part = tuple(op.result.type.get_shape()), tuple(op.source.type.get_shape())
    inner, bytes = inner_bits(shape, part), element_of(op.result.type).bytes
    if prod(shape) * bytes <= most_bytes:
        return 0
    return (prod(shape) - 1) & ~inner | _chunk_bits(0, inner, bytes, most_bytes)


def _chunk_bits(outer: int, inner: int, bytes: int, most_bytes: int) -> int:
    cut, remaining = 0, outer | inner
    for place in (*reversed(bits(outer)), *reversed(bits(inner))):
        if bytes << remaining.bit_count() <= most_bytes:
            break
        cut, remaining = cut | 1 << place, remaining & ~(1 << place)
    return cut


def slice_chunk_bits(op: TableOp, most_bytes: int | None) -> int:
    """The chunk bits of an extract_slice or an insert_slice: its own, or those of chunks of ``most_bytes``."""
    return op.chunk_bits if most_bytes is None else _CHUNK_RULES[op.name](op, most_bytes)


_CHUNK_RULES = {"nv_tileas.extract_slice": extract_chunk_bits, "nv_tileas.insert_slice": insert_chunk_bits}
SLICES = frozenset(_CHUNK_RULES)
