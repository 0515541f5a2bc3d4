"""Operands of dots that threads write to shared memory, and the loads from whose tiles an iteration computes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_block, parent_op, tile_type, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import LinearLayout, SharedLayout, matrix_operand
from ...ir.layouts.matrix_descriptor import WIDE_CHUNK
from ...ir.layouts.shared_layout import VECTOR_BYTES
from ...ir.layouts.tmem_layout import PAIR
from ..common.llvm_element_types import element_of
from ..mma.family import family_of
from .dot_operand_chains import dot_operand_load
from .enclosing_control_flow import enclosing_kernel, is_defined_in_loop
from .op_queries import (
    DOT,
    LOADS,
    POINTER_LOAD,
    REDUCE,
    TILED_LOAD,
    is_pure,
    is_tile,
    operands_of,
    operations_behind,
    tiles,
)
from .sharding_propagation import Sharding, ShardingError
from .tma_operands import is_tma_operand, tile_key
from .tma_tensor_maps import LONGEST_LINE, PATTERN_LINES, SHORTEST_LINE

MATRIX_BITS = 16  # of the elements of matrices that ldmatrix reads and transposes


def is_stored(dot: TableOp, index: int) -> bool:
    """Whether threads write an operand to shared memory."""
    return dot.stored is not None and index in dot.stored and not (index == 0 and dot.staged)


def is_invariant(dot: TableOp, index: int) -> bool:
    """Whether the loop around a dot does not compute an operand."""
    return not is_defined_in_loop(dot.operands[index], parent_op(dot))


def source_loads(dot: TableOp, index: int) -> list[TableOp]:
    """The tiled_loads of the dot's block from whose tiles an operand is computed."""
    return [as_op(op) for op in computation(dot, index) if op.name == TILED_LOAD]


def is_computed_from_loads(dot: TableOp, index: int) -> bool:
    """Whether an operand is computed from tiles that the same iteration loads, and from no result of a dot."""
    names = {op.name for op in computation(dot, index)}
    return TILED_LOAD in names and DOT not in names


def loads_by_threads(dot: TableOp, index: int) -> bool:
    """Whether an operand is computed from tiles that threads load in the same iteration; those of stages are read already."""
    return any(op.name in LOADS for op in computation(dot, index))


def is_computed_from_gather(dot: TableOp, index: int) -> bool:
    """Whether an operand is computed from a tile that the same iteration loads by a tile of addresses or coordinates."""
    return any(is_gather(op) for op in computation(dot, index))


def is_computed_from_reduction(dot: TableOp, index: int) -> bool:
    """Whether an operand is computed from the result of a reduction of the same iteration."""
    return any(op.name == REDUCE for op in computation(dot, index))


def is_gather(op: Operation) -> bool:
    """Whether an operation loads by a tile of addresses or coordinates: threads alone can, and no instruction has it copied ahead."""
    if op.name == POINTER_LOAD:
        return is_tile(op.results[0])
    return op.name == TILED_LOAD and as_op(op).view.type.kind.data == "gather"


def half_of_computed_rhs(dot: TableOp, mn_major: tuple[str, ...]) -> Sharding | None:
    """The tiles from which an iteration computes a right operand, divided by its columns; None where anything else reads them, too, or no
    instruction reads half of the columns where threads would write them.
    """
    rows, columns = tile_type(dot.rhs).get_shape()
    bits = element_of(dot.rhs.type).bits
    halves = Sharding(PAIR, last=dot)
    if not loads_by_threads(dot, 1) or not placements_of((rows, columns // PAIR), bits, 0, mn_major):
        return None
    try:
        halves.shard(defining_op(dot.rhs), dot.rhs, 1)
    except ShardingError:
        return None
    is_own = all(op.parent is dot.parent and (is_pure(op) or op.name in LOADS) for op in halves.operations)
    return halves if is_own and not halves.dims.keys() & {dot.lhs, dot.acc} else None


def computation(dot: TableOp, index: int) -> list[Operation]:
    """The operations of the dot's block that compute an operand, from the results of loads and of other dots on."""
    found = operations_behind([dot.operands[index]], dot.parent, _computed_from)
    return [op for op in unwrap(dot.parent).ops if op in found]


def _computed_from(op: Operation) -> list[SSAValue]:
    return [] if op.name in (TILED_LOAD, DOT) else tiles(operands_of(op))


def own_sources(dot: TableOp) -> list[TableOp]:
    """The loads by TMA whose tiles threads read, and of whose stages this dot is the first to read others."""
    if not (sources := _sources(dot)):
        return []
    before = [as_op(op) for op in unwrap(dot.parent).ops if op.name == DOT and op.is_before_in_block(dot)]
    taken = {load for other in before for load in _sources(other)}
    return [load for load in sources if load not in taken]


def _sources(dot: TableOp) -> list[TableOp]:
    computed = [load for index in _computed_operands(dot) for load in source_loads(dot, index)]
    direct = [unwrap(dot_operand_load(dot, index))[0] for index in (0, 1) if is_tma_operand(dot, index)]
    loads = [*computed, *(other for load in direct for other in loads_of_same_tile(load, dot))]
    return [load for load in dict.fromkeys(loads) if load.read_by_threads]


def _computed_operands(dot: TableOp) -> Sequence[int]:
    """The operands that threads write to shared memory; of an instruction that reads fragments, those that they compute."""
    if family_of(dot).async_ops is None:
        return [index for index in (0, 1) if not is_tma_operand(dot, index)]
    return dot.stored or ()


def shares_stages(dot: TableOp) -> bool:
    """Whether a dot may read tiles from stages that other dots, or threads, read, too."""
    return as_op(enclosing_kernel(dot)).num_ctas is None and not dot.copied and dot.lhs_scale is None


def loads_of_same_tile(load: TableOp, dot: TableOp) -> list[TableOp]:
    """The other loads of a tile that TMA loads, before the dot that reads it."""
    loads = (as_op(op) for op in parent_block(dot).ops if op.name == TILED_LOAD and op is not load)
    return [other for other in loads if tile_key(other) == tile_key(load) and other.is_before_in_block(dot)]


def stores_fit(dot: TableOp, stored: Collection[int], mn_major: tuple[str, ...]) -> bool:
    """Whether the operands ``stored`` have placements that an instruction reads."""
    return all(placements(dot, index, mn_major) for index in stored)


def stored_bytes(dot: TableOp, index: int) -> int:
    """The shared memory of an operand."""
    return tile_bytes(dot.operands[index])


def tile_bytes(tile: SSAValue) -> int:
    """The bytes of a tile's elements."""
    type = tile_type(tile)
    return prod(type.get_shape()) * element_of(type).bits // 8


def stored_placement(dot: TableOp, index: int, mn_major: tuple[str, ...], layout: LinearLayout) -> SharedLayout:
    """Where threads put an operand: along k, or along m or n if the instruction reads that and the registers of ``layout`` have
    longer vectors so.
    """
    return max(placements(dot, index, mn_major), key=lambda one: layout.contiguous(fastest_first(one)))


def placements(dot: TableOp, index: int, mn_major: tuple[str, ...]) -> list[SharedLayout]:
    """The places of an operand that an instruction can read: along k, then along m or n."""
    type = tile_type(dot.operands[index])
    return placements_of(type.get_shape(), element_of(type).bits, 1 - index, mn_major)


def placements_of(shape: Sequence[int], bits: int, k_dim: int, mn_major: tuple[str, ...]) -> list[SharedLayout]:
    """``placements`` of a tile with ``bits`` of each element, whose dimension ``k_dim`` is along k."""
    found = []
    for fastest, chunk in ((k_dim, VECTOR_BYTES), (1 - k_dim, VECTOR_BYTES), (1 - k_dim, WIDE_CHUNK)):
        line = min(LONGEST_LINE, shape[fastest] * bits // 8)
        lines = shape[0] * shape[1] * bits // 8 // line
        if line < (SHORTEST_LINE if chunk == VECTOR_BYTES else LONGEST_LINE) or lines % PATTERN_LINES:
            continue
        placement = SharedLayout.boxed(shape, (fastest, 1 - fastest), bits, line, chunk)
        operand = matrix_operand(placement, k_dim)
        if operand is not None and (operand.k_major or operand.swizzle in mn_major):
            found.append(placement)
    return found


def fastest_first(placement: SharedLayout) -> tuple[int, int]:
    """The dimensions of a placement in the order of its memory."""
    return (1, 0) if placement.bases[0] & (placement.shape[1] - 1) else (0, 1)
