"""Which loads of a loop asynchronous copies can make, and where these put the tiles in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import row
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import BarrierOp
from ....ir.dialects.op_definition import TableOperation
from ....ir.dialects.op_traits import passes_through
from ....ir.layouts import LinearLayout, SharedLayout, coalesced, largest_vector, spread_vector
from ....ir.layouts.swizzle_selection import choose_swizzle
from ...analysis.access_vectorization import ViewFacts
from ...analysis.axis_info import AxisAnalysis
from ...analysis.scale_factor_groups import groups_copied
from ...analysis.view_chains import runs_free
from ...common.llvm_element_types import element_of
from ..layout_assignment.view_chain_layouts import fragment_of
from ..rewriter import IfOp

# cp.async copies 4, 8 or 16 bytes (PTX ISA 9.0, section 9.7.9.25).
LEAST_COPY_BYTES = 4
SUM = 2  # operand of a product: after it come scales


@dataclass
class CopiedLoad:
    """A load, the operations from it to the product's operand or scales, and the fragment its tile is read in."""

    load: TableOperation
    chain: list[Operation]
    fragment: LinearLayout
    placement: SharedLayout
    copied: LinearLayout
    vector: int
    product: Operation
    ragged: bool
    is_scale: bool

    @property
    def steps(self) -> int:
        """Iterations that load the same tile."""
        return self.load.steps

    def tiles(self, stages: int) -> int:
        """How many tiles a ring of so many stages holds."""
        return groups_copied(self.steps, stages)

    @property
    def bytes(self) -> int:
        return -(-self.placement.size_bytes // 128) * 128


def copied_load(found: Operation, block: Block, num_warps: int) -> CopiedLoad | None:
    """The copy that a load can become; None where its tile goes elsewhere than to one product, or cannot be copied."""
    if found.name != "nv_tileas.tiled_load" or (op := row(found)).view.type.kind.data == "gather":
        return None
    chain = _chain_to_product(op.value, block)
    if chain is None or op.view.type.padding.data not in ("none", "zero"):
        return None
    if not movable(op, block) or (_meets(block) and not runs_free(op.token)):
        return None
    fragment = fragment_of(op, chain)
    return _placed(op, chain, fragment, num_warps)


def _chain_to_product(value: SSAValue, block: Block) -> list[Operation] | None:
    """The single-use operations from a load's tile to a product of the same block, or to what takes its scales to tensor
    memory.
    """
    chain: list[Operation] = []
    while len(list(value.uses)) == 1:
        use = next(iter(value.uses))
        user = use.operation
        if user.name == "nv_tileas.tmem_store" and _stands_in(user, block):
            return chain if user.stage is not None else None
        if user.parent is not block:
            return None
        if user.name == "nv_tileas.dot":
            return chain if use.index != SUM and user.atom is not None else None
        if not passes_through(user) or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def _stands_in(op: Operation, block: Block) -> bool:
    """Whether an operation is one of a block's, or of a choice there."""
    around = op.parent_op()
    return op.parent is block or around is not None and around.name == IfOp.name and around.parent is block


def _meets(block: Block) -> bool:
    """Whether the threads meet in a loop: a load for which memory tokens have them do so stays after that."""
    return any(op.name == BarrierOp.name for op in walk(block))


def movable(op: TableOperation, block: Block) -> bool:
    """Whether the tile's place can be computed for another iteration: from the loop's index and values from outside."""
    index = block.args[0]
    return all(_depends_on_index_only(coord, block, index) for coord in op.coords) and is_outside(op.view, block)


def is_outside(value: SSAValue, block: Block) -> bool:
    """Whether a value is made outside a block."""
    owner = value.owner
    return owner is not block and (isinstance(owner, Block) or owner.parent is not block)


def _depends_on_index_only(value: SSAValue, block: Block, index: SSAValue) -> bool:
    if value is index or is_outside(value, block):
        return True
    owner = value.owner
    if isinstance(owner, Block) or not owner.name.startswith(("arith.", "nv_tileas.assume")):
        return False
    return all(_depends_on_index_only(operand, block, index) for operand in owner.operands)


def _placed(op: TableOperation, chain: list[Operation], fragment: LinearLayout, num_warps: int) -> CopiedLoad | None:
    element = element_of(op.value.type)
    facts = ViewFacts(op.view, AxisAnalysis())
    order = tuple(facts.order)
    vector = facts.vector(op.coords, facts.in_bounds(), ragged=True)
    shape = tuple(op.value.type.get_shape())
    spread = spread_vector(op.value.type.encoding.data.size, num_warps, vector)
    copied = coalesced(shape, order, max(spread, min(vector, LEAST_COPY_BYTES // element.bytes)), num_warps)
    if element.per_byte > 1 or not fragment.is_surjective:
        return None
    placement = choose_swizzle(copied, fragment, copied.shape, element.bits, order=order, named=True)
    vector = min(copied.contiguous(order), largest_vector(copied, placement))
    if vector * element.bytes < LEAST_COPY_BYTES:
        return None
    [use] = (chain[-1].results[0] if chain else op.value).uses
    ragged = facts.vector(op.coords, facts.in_bounds()) < vector
    is_scale = use.operation.name != "nv_tileas.dot" or use.index > SUM
    return CopiedLoad(op, chain, fragment, placement, copied, vector, use.operation, ragged, is_scale)
