"""Propagate a sharding: which tiles follow, element for element, when one is sharded over the CTAs of a cluster.

A sharded tile is split into ``ctas`` equal shards along one dimension; the CTA of rank r holds shard r. All other tiles
are replicated. Given an operation with one sharded tile, RULES derives the sharding of its other tiles, such that each
CTA computes its shards of the results from its shards of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.casting import as_op, cast, defining_op, parent_op, tile_shape
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    LayoutTrait,
    is_break,
    is_continue,
    is_counted_loop,
    is_if,
    is_loop,
    is_region_end,
    is_yield,
    traits_of,
)
from ..common.cse import is_pure
from .op_queries import is_tile, tiles

# Operations whose tiles have one sharding, element by element.
ONE_LAYOUT = (LayoutTrait.ELEMENTWISE, LayoutTrait.POINTER, LayoutTrait.FREE)
VIEW_ACCESSES = ("nv_tileas.tiled_load", "nv_tileas.tiled_store", "nv_tileas.tiled_atomic_rmw")

# The tiles of one operation, each with its sharded dimension, or None for a replicated tile.
ShardedValues = list[tuple[SSAValue, int | None]]
Rule = Callable[[TableOp, SSAValue, int, int], ShardedValues | None]


class ShardingError(Exception):
    """A tile cannot be sharded as requested."""


class Sharding:
    """The sharded tiles. ``shard`` adds a tile and all that must be sharded with it, or raises ShardingError. ``last``: an operation that
    reads shards as they are.
    """

    def __init__(self, ctas: int, last: Operation | None = None):
        self.ctas, self.last = ctas, last
        self.dims: dict[SSAValue, int] = {}
        self.replicated: set[SSAValue] = set()
        # The operations that compute shards of their results.
        self.operations: set[Operation] = set()
        # Operands that are rematerialized as shards: (user, operand index) -> dimension.
        self.remade: dict[tuple[Operation, int], int] = {}

    def copy(self) -> Sharding:
        """A copy that can be extended independently."""
        copy = Sharding(self.ctas, self.last)
        copy.dims, copy.replicated = dict(self.dims), set(self.replicated)
        copy.operations, copy.remade = set(self.operations), dict(self.remade)
        return copy

    def shard(self, op: Operation, value: SSAValue, dim: int) -> None:
        """Shard ``value``, a tile of ``op``, along ``dim``."""
        pending = [(op, value, dim)]
        while pending:
            op, value, dim = pending.pop()
            parts = propagate(op, value, dim, self.ctas)
            if parts is None:
                raise ShardingError(f"{op.name} needs replicated tiles")
            self.operations.add(op)
            for part, where in parts:
                pending += self._record(op, part, where)

    def _record(self, op: Operation, value: SSAValue, dim: int | None) -> list[tuple[Operation, SSAValue, int]]:
        """Record the sharding of a tile of ``op``, and propagate it if it is new."""
        if is_rematerializable_tile(value):
            self._rematerialize(op, value, dim)
            return []
        if dim is None:
            self.replicated.add(value)
        known = dim is None or value in self.dims
        if dim is not None and self.dims.setdefault(value, dim) != dim:
            raise ShardingError("a tile would be sharded along two dimensions")
        if value in self.replicated and value in self.dims:
            raise ShardingError("a tile would be both sharded and replicated")
        if known or dim is None:
            return []
        return [(user, value, dim) for user in _defining_and_using_ops(value) if user is not self.last]

    def _rematerialize(self, op: Operation, value: SSAValue, dim: int | None) -> None:
        if dim is None:
            return
        check_rematerializable(value, dim, self.ctas)
        for use in value.uses:
            if _region_owner(use.operation) is op:
                self.remade[use.operation, use.index] = dim


def _defining_and_using_ops(value: SSAValue) -> Iterator[Operation]:
    """The operations that define or use a tile; for a block argument of a region, the operation with the region."""
    yield cast(Operation, value.owner.parent_op()) if isinstance(value.owner, Block) else value.owner
    for use in value.uses:
        yield _region_owner(use.operation)


def _region_owner(op: Operation) -> Operation:
    return terminator_target(op) if is_region_end(op) else op


# ---- rematerialized tiles ------------------------------------------------------------------------
def is_rematerializable_tile(value: SSAValue) -> bool:
    """Whether a tile depends on scalars alone, so that any shard of it can be computed."""
    op = value.owner
    if isinstance(op, Block) or not is_pure(op):
        return False
    return all(is_rematerializable_tile(operand) for operand in tiles(op.operands))


def check_rematerializable(value: SSAValue, dim: int, ctas: int) -> None:
    """Raise ShardingError if a shard of such a tile cannot be computed."""
    op = defining_op(value)
    parts = propagate(op, value, dim, ctas)
    if parts is None or (op.name == "arith.constant" and not _is_splat(op.properties["value"], tile_shape(value))):
        raise ShardingError(f"{op.name} needs replicated tiles")
    for operand, where in parts:
        if where is not None and operand in op.operands:
            check_rematerializable(operand, where, ctas)


def _is_splat(value: Attribute, shape: tuple[int, ...]) -> bool:
    """Whether the elements of a constant tile are equal, byte for byte."""
    data, count = cast(DenseIntOrFPElementsAttr, value).data.data, prod(shape)
    return data == data[: len(data) // count] * count


# ---- the rules -----------------------------------------------------------------------------------
def propagate(op: Operation, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """The sharding of the tiles of ``op`` when its tile ``value`` is sharded along ``dim``; None where there is none."""
    if tile_shape(value)[dim] % ctas:
        return None
    if (rule := RULES.get(op.name)) is not None:
        return rule(as_op(op), value, dim, ctas)
    return _same(op, value, dim, ctas) if traits_of(op).layouts in ONE_LAYOUT else None


def _refuse(op: TableOp, value: SSAValue, dim: int, ctas: int) -> None:
    return None


def _same(op: Operation, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """Elementwise tiles of one shape are sharded alike."""
    every = tiles((*op.operands, *op.results))
    return None if any(tile_shape(other) != tile_shape(value) for other in every) else [(other, dim) for other in every]


def _broadcast(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues:
    is_replicated = tile_shape(op.source)[dim] != tile_shape(op.result)[dim]
    return [(op.source, None if is_replicated else dim), (op.result, dim)]


def _view(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """Equal shards of a dimension are equal shards of any dimension with the same number of elements before it."""
    other = op.result if value is op.source else op.source
    before = prod(tile_shape(value)[:dim])
    shape = tile_shape(other)
    found = [d for d, size in enumerate(shape) if prod(shape[:d]) == before and size % ctas == 0]
    return [(value, dim), (other, found[-1])] if found else None


def _permute(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues:
    order = list(op.permutation)
    source = dim if value is op.source else order[dim]
    return [(op.source, source), (op.result, order.index(source))]


def _reduce(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    axis = op.axis
    source = dim + (dim >= axis) if value in op.results else dim
    if source == axis:
        return None
    return [(tile, source) for tile in op.sources] + [(tile, source - (source > axis)) for tile in tiles(op.results)]


def _cluster_reduce(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """Each CTA has a whole tile, and a shard of the result."""
    return None if value is op.value else [(op.value, None), (op.result, dim)]


def _scan(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    return None if dim == op.axis else _same(op, value, dim, ctas)


def _dot(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """Rows of the result follow rows of the left operand, columns follow columns of the right one."""
    row = len(tile_shape(value)) - 2
    if dim == (row + 1 if value in (op.lhs, op.lhs_scale) else row if value in (op.rhs, op.rhs_scale) else None):
        return None
    left = None if dim == row + 1 else dim
    right = None if dim == row else dim
    scales = [] if op.lhs_scale is None else [(op.lhs_scale, left), (op.rhs_scale, right)]
    return [(op.lhs, left), (op.rhs, right), *scales, (op.acc, dim), (op.result, dim)]


def _view_access(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    """Only views whose tiles start at multiples of a shard, or at any offset."""
    view, tile = op.view.type, op.value
    sparse = [coord for coord in op.coords if is_tile(coord)]
    if view.kind.data == "gather":
        where = dim if value is tile else view.sparse.data
        return [(tile, where)] + [(coord, 0 if where == view.sparse.data else None) for coord in sparse]
    part = view.tile[dim] // ctas
    return None if sparse or view.steps[dim] % part else [(tile, dim)]


def _reinterpret(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues | None:
    fits = all(tile_shape(tile)[0] % ctas == 0 for tile in (op.source, op.result))
    return [(op.source, 0), (op.result, 0)] if fits else None


def _assert(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues:
    return [(op.condition, dim)]


# ---- control flow --------------------------------------------------------------------------------
def terminator_target(op: Operation) -> Operation:
    """The operation whose region a terminator ends, leaves or repeats."""
    around = parent_op(op)
    while not is_yield(op) and not is_loop(around):
        around = parent_op(around)
    return around


def loop_carried_group(op: TableOp) -> list[list[SSAValue]]:
    """The values that are one variable of the program: loop-carried values, or the results of branches."""
    ends = [end for end in walk(op) if is_region_end(end) and terminator_target(end) is op]
    if is_if(op):
        return _columns(op.results, [end.operands for end in ends])
    again, left = ([end.operands for end in ends if is_exit(end)] for is_exit in (is_continue, is_break))
    args = op.regions[0].blocks[0].args
    if is_counted_loop(op):
        return _columns(op.results, [op.initial, args[1:], *again, *left])
    return [*_columns(args, [op.initial, *again]), *_columns(op.results, left)]


def _columns(first: Iterable[SSAValue], rows: Sequence[Sequence[SSAValue]]) -> list[list[SSAValue]]:
    return [[value, *(row[index] for row in rows)] for index, value in enumerate(first)]


def _propagate_through_region(op: TableOp, value: SSAValue, dim: int, ctas: int) -> ShardedValues:
    return [(other, dim) for group in loop_carried_group(op) if value in group for other in group]


RULES: dict[str, Rule] = {
    "nv_tileaa.func": _refuse,
    "nv_tileas.broadcast": _broadcast,
    "nv_tileas.view": _view,
    "nv_tileas.permute": _permute,
    "nv_tileas.reduce": _reduce,
    "nv_tileas.cluster_reduce": _cluster_reduce,
    "nv_tileas.scan": _scan,
    "nv_tileas.dot": _dot,
    "nv_tileas.reinterpret": _reinterpret,
    "nv_tileas.assert": _assert,
    **dict.fromkeys(VIEW_ACCESSES, _view_access),
    **dict.fromkeys((f"nv_tileas.{name}" for name in ("for", "loop", "if")), _propagate_through_region),
}


def shard_type(type: TensorType, dim: int, ctas: int) -> TensorType:
    """The type of one CTA's shard of a tile."""
    shape = list(type.get_shape())
    shape[dim] //= ctas
    return TensorType(type.element_type, shape)
