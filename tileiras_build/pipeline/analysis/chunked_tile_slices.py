"""Slices of tiles that are too large for scratch memory: which bits of an element's index are cut off.

A tile's packed index has bits that say which slice, and bits that say where in it. What is cut off numbers the parts: one
part is in shared memory at a time, and the kept bits say where. Of the bits that say which slice those are cut first:
only one of their parts is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType

from ...ir.dialects.op_definition import TableOperation
from ...ir.layouts import unpack
from ...ir.layouts.f2_linear_algebra import bits
from ...ir.layouts.linear_layout import dim_bases
from ..common.llvm_element_types import element_of
from ..job import Job
from ..shared_memory_fallbacks import saving_of


def inner_bits(shape: tuple[int, ...], part: tuple[int, ...]) -> int:
    """The packed index bits, in a tile of ``shape``, of an element in its slice of shape ``part``."""
    return sum(
        unit for units, size in zip(dim_bases(shape), part, strict=True) for unit in units[: size.bit_length() - 1]
    )


def unit_of(shape: Sequence[int], dim: int) -> int:
    """The row-major stride of a dimension, in elements."""
    return prod(shape[dim + 1 :])


def widened(index: int, part: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """A packed index of a part as a packed index of the whole."""
    return sum(coordinate * unit_of(shape, dim) for dim, coordinate in enumerate(unpack(index, part)))


def cut_of_extract(op: TableOperation, most_bytes: int) -> int:
    """The bits to cut off for an extract_slice, 0 where its whole source is at most ``most_bytes``."""
    shape = tuple(op.source.type.get_shape())
    part = tuple(op.result.type.get_shape()) if isinstance(op.result.type, TensorType) else (1,) * len(shape)
    inner = inner_bits(shape, part)
    return _cut((prod(shape) - 1) & ~inner, inner, element_of(op.source.type).bytes, most_bytes)


def cut_of_insert(op: TableOperation, most_bytes: int) -> int:
    """The bits to cut off for an insert_slice, 0 where its whole result is at most ``most_bytes``; else all that say which
    slice are among them.
    """
    shape, part = tuple(op.result.type.get_shape()), tuple(op.source.type.get_shape())
    inner, bytes = inner_bits(shape, part), element_of(op.result.type).bytes
    if prod(shape) * bytes <= most_bytes:
        return 0
    return (prod(shape) - 1) & ~inner | _cut(0, inner, bytes, most_bytes)


def _cut(outer: int, inner: int, bytes: int, most_bytes: int) -> int:
    cut, kept = 0, outer | inner
    for place in (*reversed(bits(outer)), *reversed(bits(inner))):
        if bytes << kept.bit_count() <= most_bytes:
            break
        cut, kept = cut | 1 << place, kept & ~(1 << place)
    return cut


def slice_cut(op: TableOperation, job: Job) -> int:
    """The bits that a job cuts off for an extract_slice or an insert_slice."""
    return _CUTS[op.name](op, saving_of(job).part_bytes) if job.saving else 0


_CUTS = {"nv_tileas.extract_slice": cut_of_extract, "nv_tileas.insert_slice": cut_of_insert}
SLICES = frozenset(_CUTS)
