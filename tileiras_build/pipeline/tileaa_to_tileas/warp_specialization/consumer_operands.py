"""How a dot of the consumer partition reads the operands that TMA loaded to shared memory."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import as_op, tile_type, unwrap
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS, BarrierOp, LocalLoadOp, LocalStoreOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.dot_operand_chains import rounds_to_tf32
from ...analysis.enclosing_control_flow import is_defined_in_loop
from ..layout_assignment.view_chain_layouts import fragment_at_load, layout_through_view, with_layout
from ..op_insertion import insert_before, insertion_before
from .mma_pipelines import MmaPipeline, TmaOperandLoad, async_mma_attributes

CreateTokenOp = COUNTERPARTS["nv_tileaa.create_mem_token"]


def mma_operands_of(
    mma_pipeline: MmaPipeline, stage: SSAValue
) -> tuple[list[SSAValue], list[SSAValue | None], dict[str, Attribute]]:
    """The operands of an MMA, the stages of those in shared memory, and their placement attributes."""
    dot = mma_pipeline.dot
    operands, kept = [dot.lhs, dot.rhs], async_mma_attributes(mma_pipeline)
    stages: list[SSAValue | None] = [None, None]
    if mma_pipeline.stationary is not None:
        operands[0] = unwrap(mma_pipeline.stationary.operand_load.buffer)
        stages[0] = insertion_before(dot).constant(0)
    for stored in mma_pipeline.stored:
        operands[stored.index] = stored.buffer
        stages[stored.index] = insertion_before(dot).constant(0) if stored.is_invariant else stage
    for loaded in mma_pipeline.operand_loads:
        if loaded.index == 0 and dot.a_via_registers:
            operands[0] = read_fragment(loaded, stage, dot)
            del kept["lhs_placement"]
            continue
        operands[loaded.index], stages[loaded.index] = loaded.buffer, stage
    return operands, stages, kept


def read_fragment(operand_load: TmaOperandLoad, stage: SSAValue, dot: TableOp) -> SSAValue:
    """An operand in registers, read from its stage in the fragment layout of the dot."""
    layout = fragment_at_load(operand_load.load, operand_load.chain)
    type = TensorType(operand_load.element, operand_load.load.value.type.get_shape())
    current = insert_before(LocalLoadOp.make([operand_load.buffer, stage], [with_layout(type, layout)]), dot)
    for link in operand_load.chain:
        if link.name == "nv_tileas.convert_layout" or rounds_to_tf32(link):
            continue
        layout = layout_through_view(as_op(link), layout)
        type = TensorType(tile_type(current).element_type, tile_type(link.results[0]).get_shape())
        if link.name == "nv_tileas.fp_to_fp":
            type = tile_type(link.results[0])
        current = insert_before(as_op(link).make([current], [with_layout(type, layout)], dict(link.attributes)), dot)
    dot.operands[operand_load.index] = current
    return current


def read_source(operand_load: TmaOperandLoad, stage: SSAValue) -> None:
    """Threads read a tile from its stage, in place of its load."""
    load = operand_load.load
    value = insert_before(LocalLoadOp.make([operand_load.buffer, stage], [load.value.type]), load)
    load.value.replace_all_uses_with(value)
    erase_load(load, [])


def store_operands(mma_pipeline: MmaPipeline, stage: SSAValue) -> None:
    """Threads write operands of a dot to shared memory: into the stage, or before the loops that do not compute them."""
    dot = mma_pipeline.dot
    for stored in mma_pipeline.stored:
        value, place, pipeline = dot.operands[stored.index], dot, mma_pipeline.pipeline
        if stored.is_invariant:
            place = next(loop for loop in mma_pipeline.loops if not is_defined_in_loop(value, loop))
            if place is not mma_pipeline.loops[0]:
                insert_before(BarrierOp.make([], []), place)  # no thread multiplies the last one any more
        at = insertion_before(place).constant(0) if stored.is_invariant else stage
        operands = [value, stored.buffer, at, None if stored.is_invariant else pipeline]
        insert_before(LocalStoreOp.make(operands, []), place)
        if stored.is_invariant:
            insert_before(BarrierOp.make([], []), place)
    if not all(stored.is_invariant for stored in mma_pipeline.stored):
        insert_before(BarrierOp.make([], []), dot)


def erase_tma_operand_load(operand_load: TmaOperandLoad) -> None:
    erase_load(operand_load.load, operand_load.chain)


def erase_load(load: TableOp, chain: list[Operation]) -> None:
    """Erase a load and the operations that only it fed. Users of its token depend on the load's own token."""
    for link in reversed(chain):
        link.detach()
        link.erase()
    if load.result_token is not None and list(load.result_token.uses):
        token = load.token
        if token is None:
            token = insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
        load.result_token.replace_all_uses_with(token)
    load.detach()
    load.erase()
