"""Dots of consecutive loops with equal shapes, which can share buffers in shared memory and tensor memory.

Stages hold the tiles of any arrays: an mbarrier counts bytes, and each load has the descriptor of its array. The same pipeline passes from
one loop to the next, so that the tiles of the second one are loaded while the first one ends.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable, Mapping
from itertools import takewhile

from xdsl.ir import Operation

from ...ir.casting import parent_op, tile_type, unwrap
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.op_definition import TableOp
from ..mma.family import family_of
from .dot_operand_chains import dot_operand_load
from .enclosing_control_flow import (
    continued_dot,
    enclosing_loops,
    is_defined_in_loop,
    only_accumulates,
    summed_dots,
)
from .tma_tensor_maps import TensorBox

# Attributes that determine the form of a dot.
MMA_SELECTION_ATTRIBUTES = ("mma", "a_via_registers", "signedness_lhs", "signedness_rhs")


def stage_sharing_class(dots: Iterable[tuple[TableOp, Mapping[int, TensorBox]]]) -> list[Hashable]:
    """A key for each (dot, boxes of its loaded operands) of a kernel, in program order.

    Dots with equal keys have tiles of equal forms, each in a loop of its own in one block: the n-th such dot of one loop has the key of the
    n-th of another.
    """
    return _by_turn((dot, _stage_key(dot, boxes)) for dot, boxes in dots)


def _stage_key(dot: TableOp, boxes: Mapping[int, TensorBox]) -> Hashable:
    if dot.stored is not None:
        return dot  # the threads of its loop alone write its stages
    tiles = tuple((index, _element(dot, index), box.rounds, box.placement) for index, box in sorted(boxes.items()))
    return family_of(dot), tiles, None if dot.lhs_scale is None else _sharing_key(dot, boxes)


def _element(dot: TableOp, index: int) -> str:
    """The element type of the tile that is loaded for an operand."""
    load, _ = unwrap(dot_operand_load(dot, index))
    return string_of(tile_type(load.value).element_type)


def accumulator_sharing_class(dots: Iterable[tuple[TableOp, Iterable[int]]]) -> list[Hashable]:
    """A key for each (dot, loaded operands) of a kernel, in program order.

    Dots with equal keys have equal loads and instructions, each in a loop of its own in one block: the n-th such dot of
    one loop has the key of the n-th of another, and so have those to whose results they add. Another dot adds to the results of all of them, or
    of none.
    """
    every = {dot: tuple(loaded) for dot, loaded in dots}
    continuing = _first_of_continuing(every)
    return _by_turn((dot, (continuing.get(dot), _accumulator_key(dot, every))) for dot in every)


def _accumulator_key(dot: TableOp, every: Mapping[TableOp, Iterable[int]]) -> Hashable:
    summed = summed_within(dot, every)
    is_added_to, is_whole = summed[-1] is not dot, len(summed) == len(summed_dots(dot))
    before = summed[: summed.index(dot)]
    return is_added_to, is_whole, *(_sharing_key(one, every[one]) for one in (dot, *before))


def summed_within(dot: TableOp, found: Container[TableOp]) -> list[TableOp]:
    """The dots that accumulate one after the other in the same columns, of which a dot is one: those of a chain up to the next one that is not
    among ``found``.
    """
    dots = summed_dots(dot)
    place = dots.index(dot)
    before = takewhile(found.__contains__, reversed(dots[:place]))
    return [*reversed([*before]), *takewhile(found.__contains__, dots[place:])]


def continued_within(dot: TableOp, found: Container[TableOp]) -> TableOp | None:
    """The dot of the loop before whose columns a dot takes over, if all dots of both chains are among ``found``: otherwise the accumulators pass
    from one loop to the next in registers.
    """
    before = continued_dot(dot)
    if before is None or not all(one in found for one in (*summed_dots(before), *summed_dots(dot))):
        return None
    return before


def _first_of_continuing(dots: Collection[TableOp]) -> dict[TableOp, TableOp]:
    """Of dots whose accumulators live from one loop to the next, the first one: no others may have these columns."""
    found: dict[TableOp, TableOp] = {}
    for dot in dots:
        if (before := continued_within(dot, dots)) is not None:
            first = found.get(before, before)
            found |= {one: first for one in (*summed_dots(before), *summed_dots(dot))}
    return found


def _by_turn(dots: Iterable[tuple[TableOp, Hashable]]) -> list[Hashable]:
    """The keys of dots with that of their place: of the n-th alike in a loop of a block."""
    keys: list[tuple[Hashable, Operation, int]] = []
    for dot, alike in dots:
        loop = enclosing_loops(dot)[-1]
        before = sum(key[:2] == (alike, loop) for key in keys)
        keys.append((alike, loop, before))
    return [(alike, loop.parent, before) for alike, loop, before in keys]


def _sharing_key(dot: TableOp, loaded: Iterable[int]) -> Hashable:
    values = (dot.lhs, dot.rhs, dot.result)
    types = tuple((string_of(value.type.element_type), tuple(value.type.get_shape())) for value in values)
    tiles = tuple((index, *_tile(dot, index)) for index in sorted(loaded))
    marks = tuple(string_of(dot.attributes.get(mark)) for mark in MMA_SELECTION_ATTRIBUTES)
    own = None if dot.stored is None else tuple(dot.stored)
    return types, tiles, marks, only_accumulates(dot), is_lhs_computed_in_loop(dot), _scales(dot), own


def _scales(dot: TableOp) -> Hashable:
    """The tensor memory of a dot's scales."""
    if dot.lhs_scale is None:
        return None
    types = (tile_type(value) for value in (dot.lhs_scale, dot.rhs_scale))
    return dot.scale_steps, *((string_of(type.element_type), tuple(type.get_shape())) for type in types)


def _tile(dot: TableOp, index: int) -> tuple[Hashable, ...]:
    """The load of an operand, and the operations on its tile."""
    load, chain = unwrap(dot_operand_load(dot, index))
    links = tuple((link.name, *_shape(link)) for link in chain if link.name != "nv_tileas.convert_layout")
    return load.view.owner.operands[0], string_of(load.view.type), links


def _shape(link: Operation) -> tuple[Hashable, ...]:
    permutation = string_of(link.attributes.get("permutation"))
    type = tile_type(link.results[0])
    return string_of(type.element_type), tuple(type.get_shape()), permutation


def is_lhs_computed_in_loop(dot: TableOp) -> bool:
    """Whether the innermost loop computes the left operand."""
    return is_defined_in_loop(dot.lhs, parent_op(dot))
