"""Plan the sharding of a kernel's tiles, from each stored tile to all tiles that it depends on."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import as_op, defining_op, tile_shape, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_atomic_rmw, is_region_end, is_store, is_structured_control_flow
from ...ir.layouts.tmem_layout import PAIR
from ..analysis.memory_semantics import is_unordered, semantic_of
from ..analysis.op_queries import DOT, is_tile
from ..analysis.sharding_propagation import (
    VIEW_ACCESSES,
    Sharding,
    ShardingError,
    is_rematerializable_tile,
    shard_type,
)
from ..analysis.token_ordered_accesses import token_ordered_pairs
from ..job import Job
from ..mma.family import fastest_family
from .op_insertion import insert_before

TILE_BLOCK = "tl_blk"  # the scope
SIDE_EFFECTS_ONCE = ("nv_tileas.print", "nv_tileas.alloca", "nv_tileas.fence_alias")


def duplicate_cheap_tiles(func: Operation) -> None:
    """Clone cheap tiles for each use by control flow, so that each use may be sharded its own way."""
    for op in walk(func):
        if is_structured_control_flow(op) or is_region_end(op):
            for index, operand in enumerate(op.operands):
                if is_tile(operand) and is_rematerializable_tile(operand):
                    op.operands[index] = insert_before(defining_op(operand).clone(), op)


def best_sharding(func: Operation, job: Job, max_ctas: int, *, may_wait: bool) -> Sharding:
    """A sharding over as many CTAs as possible, at most ``max_ctas``; raises ShardingError with the most frequent
    reason. ``may_wait``: barriers of the cluster may order accesses (``order_across_ctas``).
    """
    reason: ShardingError | None = None
    while max_ctas > 1:
        try:
            return sharding_of(func, job, max_ctas, may_wait=may_wait)
        except ShardingError as failed:
            reason, max_ctas = reason or failed, max_ctas // 2
    raise unwrap(reason)


def check_executed_once(func: Operation) -> None:
    """Raise ShardingError for operations with side effects that every CTA would execute."""
    for op in walk(func):
        if op.name in SIDE_EFFECTS_ONCE:
            raise ShardingError(f"{op.name} would execute in each CTA")


def order_across_ctas(func: Operation, sharding: Sharding) -> str | None:
    """Which accesses must be ordered between the CTAs of a cluster: those that synchronize with other tile blocks, and those that
    tokens order, where a CTA may access what another one writes.
    """
    for op in walk(func):
        if not is_unordered(op):
            return f"{op.name} is {semantic_of(op)}, not weak"
    for first, second in token_ordered_pairs(func):
        if not _same_shard(first, second, sharding):
            return f"{second.name} depends on {first.name}, whose bytes another CTA may access"
    return None


def _check_order(func: Operation, sharding: Sharding, *, may_wait: bool) -> None:
    """Raise ShardingError for an order between CTAs, unless they ``may_wait`` for each other. No barrier lets all CTAs observe
    the same value of a load that synchronizes.
    """
    if not may_wait and (reason := order_across_ctas(func, sharding)) is not None:
        raise ShardingError(reason)
    for op in walk(func):
        is_written_once = (is_store(op) or is_atomic_rmw(op)) and op in sharding.operations
        if not is_unordered(op) and not is_written_once:
            raise ShardingError(f"{op.name} is {semantic_of(op)}, not weak")
        if semantic_of(op) != "weak" and as_op(op).mem_scope == TILE_BLOCK:
            raise ShardingError(f"{op.name} has the scope of a tile block, which would be that of a CTA")


def sharding_of(func: Operation, job: Job, ctas: int, dim: int | None = None, *, may_wait: bool = False) -> Sharding:
    """Shard each stored tile, along ``dim`` or else its best dimension, and all that it depends on; raises ShardingError where
    costly operations stay replicated. ``may_wait``: as of ``best_sharding``.
    """
    check_executed_once(func)
    division = Sharding(ctas)
    for op in walk(func):
        if (is_store(op) or is_atomic_rmw(op)) and is_tile(as_op(op).value) and op not in division.operations:
            division = _extended(division, op, job, dim) or division
    for op in walk(func):
        if op.name == DOT:
            _check_dot(as_op(op), division, job)
    if not division.operations:
        raise ShardingError("no tile that the kernel writes can be sharded")
    check_accesses(func, division, may_wait=may_wait)
    return division


def _check_dot(op: TableOp, sharding: Sharding, job: Job) -> None:
    if op not in sharding.operations:
        raise ShardingError("each CTA would compute a whole dot")
    if _mma_efficiency(_instruction_shape(op, sharding, job), job) < _mma_efficiency(tile_shape(op.result), job):
        raise ShardingError(f"shards of a dot are too small for {fastest_family(job.target).name}")


def _extended(sharding: Sharding, op: TableOp, job: Job, only: int | None) -> Sharding | None:
    """Extend the sharding by the tile that ``op`` stores, along its best dimension, or the ``only`` one; None where none works."""
    found = []
    for dim in range(len(tile_shape(op.value))) if only is None else (only,):
        attempt = sharding.copy()
        try:
            attempt.shard(op, op.value, dim)
        except ShardingError:
            continue
        found.append((_score(attempt, job), tile_shape(op.value)[dim], -dim, attempt))
    return max(found, key=lambda row: row[:3])[3] if found else None


def _score(sharding: Sharding, job: Job) -> tuple[int, int]:
    """How many dots are sharded, and how well the target's best instruction still fits them."""
    dots = [as_op(op) for op in sharding.operations if op.name == DOT]
    return len(dots), sum(_mma_efficiency(_instruction_shape(op, sharding, job), job) for op in dots)


def _instruction_shape(op: TableOp, sharding: Sharding, job: Job) -> tuple[int, ...]:
    """The result tile of which instructions compute a part: a shard, or the rows of two CTAs."""
    dim, type, ctas = sharding.dims[op.result], op.result.type, sharding.ctas
    is_rows = dim == len(type.get_shape()) - 2
    if is_rows and fastest_family(job.target).gains_by_pairs_of_rows(op, ctas, job):
        ctas //= PAIR
    return tuple(shard_type(type, dim, ctas).get_shape())


def _mma_efficiency(shape: tuple[int, ...], job: Job) -> int:
    """How many of the thresholds of the target's MMA family the result tile reaches."""
    steps = fastest_family(job.target).tile_steps
    return sum(shape[-2] % rows == 0 and shape[-1] % columns == 0 for rows, columns in steps)


def check_accesses(func: Operation, sharding: Sharding, *, may_wait: bool = False) -> None:
    """Raise ShardingError where an atomic would be executed by each CTA, or a CTA accesses what another one writes."""
    for op in walk(func):
        if is_atomic_rmw(op) and op not in sharding.operations:
            raise ShardingError(f"{op.name} would execute in each CTA")
    _check_order(func, sharding, may_wait=may_wait)


def _same_shard(first: TableOp, second: TableOp, sharding: Sharding) -> bool:
    """Whether one CTA accesses all bytes that two accesses share."""
    if any(op.name not in VIEW_ACCESSES or op not in sharding.operations for op in (first, second)):
        return False
    types, dims = [op.view.type for op in (first, second)], [sharded_dim(op, sharding) for op in (first, second)]
    key = [(type.kind.data, type.tile, type.dim_map, type.steps, dim) for type, dim in zip(types, dims)]
    apart = types[0].kind.data != "gather" and types[0].steps[dims[0]] >= types[0].tile[dims[0]]
    return apart and key[0] == key[1] and first.view.owner.operands[0] is second.view.owner.operands[0]


def sharded_dim(op: TableOp, sharding: Sharding) -> int:
    """The dimension along which the tile of a view access is sharded."""
    if op.value in sharding.dims:
        return sharding.dims[op.value]
    return next(dim for (user, index), dim in sharding.remade.items() if user is op and op.operands[index] is op.value)
