"""The loads of a loop that cp.async can replace, and the shared layouts of their tiles."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import as_op, defining_op, tile_size
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import BarrierOp, ConsumerWaitOp, TmemLoadOp, TmemStoreOp
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_value_forwarding
from ....ir.layouts import LinearLayout, SharedLayout, coalesced, largest_vector, spread_vector
from ....ir.layouts.swizzle_selection import choose_swizzle
from ....target.sm_limits import WARP
from ...analysis.access_vectorization import ViewAccessInfo
from ...analysis.axis_info import AxisAnalysis
from ...analysis.copied_operands import MIN_CP_ASYNC_BYTES
from ...analysis.enclosing_control_flow import only_accumulates
from ...analysis.op_queries import DOT, TILED_LOAD, is_outside
from ...analysis.scalar_slice import is_unordered_token
from ...analysis.scale_stage_counts import smem_scale_groups
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of
from ..layout_assignment.view_chain_layouts import fragment_at_load
from ..op_insertion import IfOp

JOIN_TOKENS = 2  # operand of a dot; block scales follow it


@dataclass
class CpAsyncLoad:
    """A load, the operations from it to the dot's operand or scales, and the fragment layout of its tile. ``is_beside``: it is no operand,
    and threads read it where it was loaded (``dot``).
    """

    load: TableOp
    chain: list[Operation]
    fragment: LinearLayout
    placement: SharedLayout
    cp_async_layout: LinearLayout
    vector: int
    dot: Operation
    has_boundary_tile: bool
    is_scale: bool
    is_beside: bool = False

    @property
    def steps(self) -> int:
        """The number of iterations that load the same tile."""
        return self.load.steps

    def tiles(self, stages: int) -> int:
        """How many tiles a ring of ``stages`` stages holds."""
        return smem_scale_groups(self.steps, stages)

    @property
    def bytes(self) -> int:
        return -(-self.placement.size_bytes // 128) * 128


def cp_async_load(found: Operation, block: Block, num_warps: int) -> CpAsyncLoad | None:
    """The copy that can replace a load; None where its tile has other uses than one dot, or cp.async cannot copy it."""
    if found.name != TILED_LOAD or (op := as_op(found)).view.type.kind.data == "gather":
        return None
    chain = _view_chain_to_dot(op.value, block)
    is_beside = chain is None and _waits_for_accumulators(block, is_small=tile_size(op.value) <= WARP * num_warps)
    chain = [] if is_beside else chain
    if chain is None or op.view.type.padding.data not in ("none", "zero"):
        return None
    if not is_computable_for_iteration(op, block) or (_has_token_barrier(block) and not is_unordered_token(op.token)):
        return None
    fragment = op.value.type.encoding.data if is_beside else fragment_at_load(op, chain)
    return _with_smem_layout(op, chain, fragment, num_warps, is_beside)


def _waits_for_accumulators(block: Block, *, is_small: bool) -> bool:
    """Whether threads wait in each iteration of a loop for results of its dots, which they read from tensor memory: nothing would hide the
    latency of a load between them. Of several dots only ``is_small`` tiles count, with at most an element for each thread: larger ones would
    take more of shared memory than the latency is worth; and none where threads wait for tiles that TMA starts to load in the same iteration.
    """
    accesses = [op for op in block.ops if op.name in (TmemLoadOp.name, TmemStoreOp.name)]
    if any(op.name == TmemLoadOp.name for op in accesses):
        in_chunks = any(op.name == TmemStoreOp.name and as_op(op).chunk is not None for op in accesses)
        return len(accesses) == 1 or is_small and not in_chunks and not any(map(_waits_for_single_stage, block.ops))
    dots = [as_op(op) for op in block.ops if op.name == DOT]
    in_tmem = [dot for dot in dots if dot.mma is not None and family_of(dot).accumulator is Storage.TENSOR]
    if accesses or len(dots) > len(in_tmem) or any(dot.rescaled for dot in dots) or all(map(only_accumulates, dots)):
        return False
    return len(dots) == 1 or is_small


def _waits_for_single_stage(op: Operation) -> bool:
    """Whether threads wait for the only stage of tiles that TMA loads: a load that they issue before has arrived then."""
    if not isinstance(op, ConsumerWaitOp):
        return False
    pipeline = as_op(defining_op(as_op(op).pipeline))
    return pipeline.result.type.stages.data == 1 and bool(pipeline.bytes)


def _view_chain_to_dot(value: SSAValue, block: Block) -> list[Operation] | None:
    """The single-use operations from a load's tile to a dot of the same block, or to the store of its scales to tensor
    memory.
    """
    chain: list[Operation] = []
    while len(list(value.uses)) == 1:
        use = next(iter(value.uses))
        user = use.operation
        if user.name == "nv_tileas.tmem_store" and _is_in_block_or_if(user, block):
            return chain if user.stage is not None else None
        if user.parent is not block:
            return None
        if user.name == DOT:
            return chain if use.index != JOIN_TOKENS and _reads_fragments(as_op(user)) else None
        if not is_value_forwarding(user) or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def _reads_fragments(dot: TableOp) -> bool:
    """Whether the instruction of a dot reads operands in registers."""
    return Storage.REGISTERS in family_of(dot).b_storage


def _is_in_block_or_if(op: Operation, block: Block) -> bool:
    """Whether an operation is in a block, or in a branch there."""
    around = op.parent_op()
    return op.parent is block or around is not None and around.name == IfOp.name and around.parent is block


def _has_token_barrier(block: Block) -> bool:
    """Whether a loop has barriers. A load that memory tokens order after one stays after it."""
    return any(op.name == BarrierOp.name for op in walk(block))


def is_computable_for_iteration(op: TableOp, block: Block) -> bool:
    """Whether the tile's coordinates can be computed for another iteration, from the induction variable and values from
    outside.
    """
    index = block.args[0]
    return all(_depends_on_index_only(coord, block, index) for coord in op.coords) and is_outside(op.view, block)


def _depends_on_index_only(value: SSAValue, block: Block, index: SSAValue) -> bool:
    if value is index or is_outside(value, block):
        return True
    owner = value.owner
    if isinstance(owner, Block) or not owner.name.startswith(("arith.", "nv_tileas.assume")):
        return False
    return all(_depends_on_index_only(operand, block, index) for operand in owner.operands)


def _with_smem_layout(
    op: TableOp, chain: list[Operation], fragment: LinearLayout, num_warps: int, is_beside: bool
) -> CpAsyncLoad | None:
    element = element_of(op.value.type)
    facts = ViewAccessInfo(op.view, AxisAnalysis())
    order = tuple(facts.order)
    vector = facts.vector(op.coords, facts.in_bounds(), has_boundary_tile=True)
    shape = tuple(op.value.type.get_shape())
    spread = spread_vector(op.value.type.encoding.data.size, num_warps, vector)
    copied = coalesced(shape, order, max(spread, min(vector, MIN_CP_ASYNC_BYTES // element.bytes)), num_warps)
    if element.per_byte > 1 or not fragment.is_surjective:
        return None
    placement = choose_swizzle(copied, fragment, copied.shape, element.bits, order=order, standard_modes_only=True)
    vector = min(copied.contiguous(order), largest_vector(copied, placement))
    if vector * element.bytes < MIN_CP_ASYNC_BYTES:
        return None
    has_boundary_tile = facts.vector(op.coords, facts.in_bounds()) < vector
    if is_beside:
        return CpAsyncLoad(
            op, chain, fragment, placement, copied, vector, op, has_boundary_tile, is_scale=False, is_beside=True
        )
    [use] = (chain[-1].results[0] if chain else op.value).uses
    is_scale = use.operation.name != DOT or use.index > JOIN_TOKENS
    return CpAsyncLoad(op, chain, fragment, placement, copied, vector, use.operation, has_boundary_tile, is_scale)
