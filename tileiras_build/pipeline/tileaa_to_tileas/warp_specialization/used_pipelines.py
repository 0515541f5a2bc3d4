"""The pipelines that a role has a token of: all, or those used inside ``place``, a loop or a branch."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ....ir.dialects.op_definition import TableOp
from .pipelines import Mainloop, Pipeline, StationaryOperand, stationary_operands_of


def stages_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The stages of operands."""
    users: list[Mainloop | StationaryOperand] = [*stationary_operands_of(mainloops), *mainloops]
    return _used_inside(place, ((user.stages, user.enclosing_ops) for user in users))


def written_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The operands that the threads of a pair of CTAs write."""
    return _used_inside(place, ((one.written, one.enclosing_ops) for one in mainloops))


def scales_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The block scales that scale loaders load."""
    return _used_inside(place, ((one.scales, one.enclosing_ops) for one in mainloops if one.scale_loads))


def accumulators_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The accumulators in tensor memory, where they are waited for."""
    found = (one for one in mainloops if one.tmem_accumulator is not None)
    return _used_inside(place, ((one.accumulator, one.ops_around_accumulator) for one in found))


def lhs_chunks_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The left operands that warps write chunk by chunk."""
    found = (one for one in mainloops if one.tmem_accumulator is not None)
    return _used_inside(place, ((one.accumulator.lhs_written, one.enclosing_ops) for one in found))


def _used_inside(place: Operation | None, users: Iterable[tuple[Pipeline | None, list[TableOp]]]) -> list[Pipeline]:
    return list(dict.fromkeys(one for one, around in users if one and (place is None or place in around)))
