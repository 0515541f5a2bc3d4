"""reduce and scan: a region of scalar operations executed on whole tiles, in a tree.

The operations of the region are elementwise, so it is executed once per level of the tree, on arrays instead of
scalars. A region with any other operation is executed once per element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Block, Operation

from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.elementwise_base import RoundedFloatBinary
from ...ir.dialects.cuda_tile.enums import RoundingMode
from ...ir.dialects.cuda_tile.op_base import TileOperation
from ...ir.dialects.cuda_tile.ops_control import YieldOp
from ...ir.dialects.cuda_tile.ops_conversion import (
    BitcastOp,
    ExtIOp,
    FToFOp,
    FToIOp,
    IntToPtrOp,
    IToFOp,
    PtrToIntOp,
    PtrToPtrOp,
    TruncIOp,
)
from ...ir.dialects.cuda_tile.ops_float import FLOAT_OPS, AddFOp, MulFOp
from ...ir.dialects.cuda_tile.ops_integer import INTEGER_OPS
from ...ir.dialects.cuda_tile.ops_reduce import ReduceOp, ScanOp
from ...ir.dialects.cuda_tile.ops_shape import AssumeOp, ConstantOp, OffsetOp, SelectOp
from .element_types import FORMATS, element_of, storage_dtype, to_float64
from .summation_error_bounds import (
    Extremes,
    extremes_any_order,
    extremes_of_prefixes,
    unspecified_products,
    unspecified_sums,
)
from .tile_block_interpreter import Frame, handles

Tiles = tuple[np.ndarray, ...]
ELEMENTWISE: frozenset[type[TileOperation]] = frozenset((*FLOAT_OPS, *INTEGER_OPS)) | {
    AssumeOp, BitcastOp, ConstantOp, ExtIOp, FToFOp, FToIOp, IntToPtrOp, IToFOp, OffsetOp, PtrToIntOp, PtrToPtrOp,
    SelectOp, TruncIOp, YieldOp,
}  # fmt: skip


def _combine(frame: Frame, block: Block, earlier: Sequence[np.ndarray], later: Sequence[np.ndarray]) -> Tiles:
    """Execute a region; the first argument of each pair is the earlier element."""
    shape = earlier[0].shape
    arguments = [value for pair in zip(earlier, later) for value in pair]
    if all(type(op) in ELEMENTWISE for op in block.ops):
        frame.bind(block.args, arguments)
        return tuple(np.broadcast_to(value, shape) for value in frame.run(block).values)
    results = [np.empty(shape, storage_dtype(element_of(value))) for value in cast(YieldOp, block.last_op).operands]
    for place in np.ndindex(shape):
        frame.bind(block.args, [np.asarray(value[place]) for value in arguments])
        for result, value in zip(results, frame.run(block).values):
            result[place] = value
    return tuple(results)


def _along_first_axis(frame: Frame, op) -> Tiles:
    return tuple(np.moveaxis(np.asarray(tile), op.dim.value.data, 0) for tile in frame.operands(op))


def _tree_reduce(frame: Frame, combine: Callable[[], Tiles], merged: int) -> Tiles:
    outer, frame.merged = frame.merged, merged
    try:
        return combine()
    finally:
        frame.merged = outer


# How elements are paired on one level of the tree: neighbors, or halves.
TREE_SPLITS = (
    lambda tiles: ([tile[0::2] for tile in tiles], [tile[1::2] for tile in tiles]),
    lambda tiles: ([tile[: len(tile) // 2] for tile in tiles], [tile[len(tile) // 2 :] for tile in tiles]),
)


def _pick_split(frame: Frame) -> Callable[[Tiles], tuple[list, list]]:
    """The pairing of the tree: neighbors, or random, as the order of a reduction is unspecified."""
    return TREE_SPLITS[0] if frame.choice.random is None else TREE_SPLITS[frame.choice.random.integers(2)]


# Combining operation -> where its results depend on the order by more than rounding (``summation_error_bounds.py``).
OVERFLOW_RULES: dict[type[Operation], Callable[..., np.ndarray]] = {
    AddFOp: unspecified_sums,
    MulFOp: unspecified_products,
}


def _mark_overflow(frame: Frame, op, tiles: Tiles, results: Tiles, extremes: Extremes) -> Tiles:
    """``results``, with an unspecified outcome where some orders of the elements overflow."""
    outcomes = []
    for joined, tile, result, operand in zip(
        _combiner_operation(op.body.block), tiles, results, op.operands, strict=True
    ):
        where = np.zeros((), bool)
        if joined is not None:
            is_nearest = joined.rounding_mode.data is RoundingMode.NEAREST_EVEN
            element_type = element_of(operand)
            values = to_float64(tile, element_type)
            where = OVERFLOW_RULES[type(joined)](values, FORMATS[element_type], extremes, is_nearest)
        fill = frame.choice.overflow if isinstance(joined, AddFOp) else frame.choice.fill_unspecified
        outcomes.append(fill(result, where))
    return tuple(outcomes)


def _combiner_operation(block: Block) -> list[RoundedFloatBinary | None]:
    """For each result of a region, the add or multiply of its two arguments that computes it; None for other operations."""
    pairs = zip(block.args[0::2], block.args[1::2], strict=True)
    owners = [value.owner for value in cast(YieldOp, block.last_op).operands]
    return [
        owner
        if isinstance(owner, RoundedFloatBinary) and type(owner) in OVERFLOW_RULES and set(owner.operands) == set(pair)
        else None
        for owner, pair in zip(owners, pairs, strict=True)
    ]


@handles(ReduceOp)
def reduce(frame: Frame, op: ReduceOp):
    whole, merged = _along_first_axis(frame, op), 1
    tiles = whole
    split = _pick_split(frame)
    while len(tiles[0]) > 1:
        merged *= 2
        earlier, later = split(tiles)
        tiles = _tree_reduce(frame, partial(_combine, frame, op.body.block, earlier, later), merged)
    return _mark_overflow(frame, op, whole, tuple(tile[0] for tile in tiles), extremes_any_order)


def _scan_sequentially(frame: Frame, block: Block, tiles: Tiles) -> Tiles:
    """A sequential scan."""
    rows: list[Tiles] = [tuple(tile[0] for tile in tiles)]
    for index in range(1, len(tiles[0])):
        following = [tile[index] for tile in tiles]
        rows.append(_tree_reduce(frame, partial(_combine, frame, block, rows[-1], following), 2))
    return tuple(np.stack(column) for column in zip(*rows))


@handles(ScanOp)
def scan(frame: Frame, op: ScanOp):
    """A scan by doubling: after step s, element i combines the s elements up to it."""
    tiles, step = _along_first_axis(frame, op), 1
    backward = bool(op.reverse.value.data)
    if backward:
        tiles = tuple(tile[::-1] for tile in tiles)
    whole = tiles
    if frame.choice.random is not None and frame.choice.random.integers(2):
        tiles, step = _scan_sequentially(frame, op.body.block, tiles), len(tiles[0])
    while step < len(tiles[0]):
        earlier, later = [tile[:-step] for tile in tiles], [tile[step:] for tile in tiles]
        joined = _tree_reduce(frame, partial(_combine, frame, op.body.block, earlier, later), 2 * step)
        tiles = tuple(np.concatenate([tile[:step], part]) for tile, part in zip(tiles, joined))
        step *= 2
    tiles = _mark_overflow(frame, op, whole, tiles, extremes_of_prefixes)
    if backward:
        tiles = tuple(tile[::-1] for tile in tiles)
    return tuple(np.moveaxis(tile, 0, op.dim.value.data) for tile in tiles)
