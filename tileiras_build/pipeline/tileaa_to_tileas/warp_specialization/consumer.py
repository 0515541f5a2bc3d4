"""The consumer: the program, whose dots wait for their stages, multiply and release them.

Its warps issue warpgroup MMAs, or read operands to registers. ``mma_issuer.py`` has what is in tensor memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....ir.casting import ancestor_in, as_op, defining_op, next_op, parent_block, terminator, tile_type, unwrap
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    BarrierOp,
    ConvertLayoutOp,
    LocalLoadOp,
    LocalStoreOp,
    TmemLoadOp,
    TmemStoreOp,
)
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import (
    is_if,
    is_loop,
    is_loop_exit,
    is_region_end,
    is_return,
    is_structured_control_flow,
)
from ...analysis.dot_operand_chains import rounds_to_tf32, smem_layout_after_views
from ...analysis.enclosing_control_flow import is_accumulation_loop, is_defined_in_loop
from ...analysis.resource_model import MIN_STAGES
from ...common.llvm_element_types import element_of
from ...common.rebuilt_loops import control_operands, drop_carried, rebuilt
from ...mma.family import Storage, family_of, register_mma_ops
from ..layout_assignment.view_chain_layouts import fragment_at_load, layout_through_view, with_layout
from ..op_insertion import (
    insert_before,
    insertion_before,
    is_not_first_iteration,
    loop_continues_at,
)
from .operand_tiles import TmaOperandLoad
from .pipelines import (
    Mainloop,
    Operands,
    Pipeline,
    PipelineState,
    StationaryOperand,
    accumulators_of,
    stages_of,
    stationary_operands_of,
    written_of,
)

# Attributes that mark a dot, and that its instruction does not have.
MMA_SELECTION_ATTRIBUTES = (
    "tmem_columns",
    "warps",
    "rescaled",
    "stationary",
    "stored",
    "staged",
    "copied",
    "shares_rows",
    "overlaid",
)
SIDES, PLACEMENTS = ("lhs", "rhs"), ("lhs_placement", "rhs_placement")
CreateTokenOp = COUNTERPARTS["nv_tileaa.create_mem_token"]


class Consumer:
    """Rewrites the program in place."""

    def __init__(self, mainloops: list[Mainloop]):
        self.mainloops = mainloops
        # The pipelines whose tokens pass through the loops, and the branches, around an operation.
        self.loops: list[list[Pipeline]] = []
        self.branches: list[list[Pipeline]] = []
        self.stages: dict[Mainloop, SSAValue] = {}  # by their first readers
        # By the body of a loop: carried accumulators that stay in tensor memory, and the MMA that the next iteration waits for.
        self.carried_in_tmem: dict[Block, list[tuple[int, Mainloop]]] = {}
        self.in_flight: dict[Block, tuple[int, Mainloop, TableOp]] = {}
        self.first_tokens: dict[Pipeline, SSAValue] = {}

    def run(self, body: Block) -> None:
        insert = insertion_before(unwrap(body.first_op))
        self.first_tokens = {pipeline: insert.constant(0) for pipeline in self.pipelines()}
        state = PipelineState(insert, dict(self.first_tokens))
        self._block(body, state)
        self._end(state.before(terminator(body)))
        for stationary in stationary_operands_of(self.mainloops):
            erase_load(stationary.operand_load.load, stationary.operand_load.chain)

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        """The pipelines whose tokens the role has, or those used inside ``place``, a loop or a branch."""
        used = (stages_of, written_of, accumulators_of)
        return list(dict.fromkeys(pipeline for of in used for pipeline in of(self.mainloops, place)))

    def pipelines_to_drain(self) -> list[Pipeline]:
        """What no producer waits for: commits could otherwise arrive after the CTA's end."""
        released = [one.stages for one in self.mainloops if one.consumers and not one.is_loaded]
        return list(dict.fromkeys([*released, *written_of(self.mainloops)]))

    def emit(self, op: Operation, state: PipelineState) -> None:
        """Rewrite an operation; ``state``: before it."""
        for stationary in stationary_operands_of(self.mainloops):
            if op is stationary.operand_load.load:
                self._wait_for_stationary(stationary, state)
        for mainloop in self.mainloops:
            if op is mainloop.dot:
                self._multiply(mainloop, state)
            for source in mainloop.sources:
                if op is source.load:
                    _read_source(source, self._wait(mainloop, state))

    # ---- loops and branches --------------------------------------------------------------------------------
    def _block(self, block: Block, state: PipelineState) -> None:
        for op in list(block.ops):
            if is_structured_control_flow(op):
                self._structure(as_op(op), state.before(op))
            elif is_return(op):
                self._end(state.before(op))
            elif is_region_end(op):
                self._leave(op, state)
            else:
                self.emit(op, state.before(op))

    def _end(self, state: PipelineState) -> None:
        """Wait for what no producer waits for, at the end or before a return, unless no stage has been used before it."""
        for pipeline in self.pipelines_to_drain():
            if state.tokens[pipeline] is not self.first_tokens[pipeline]:
                state.tail(pipeline)

    def _structure(self, op: TableOp, state: PipelineState) -> None:
        """Pass tokens through a loop or a branch that uses them, that leaves a loop which does, or that returns."""
        pipelines = self.pipelines(op)
        returns = any(map(is_return, walk(op)))
        if is_if(op) and (pipelines or returns or any(map(is_loop_exit, walk(op)))):
            self._if(op, pipelines, state)
        elif is_loop(op) and (pipelines or returns):
            self._loop(op, pipelines, state)

    def _leave(self, op: Operation, state: PipelineState) -> None:
        """The end of an arm, of an iteration or of a loop passes the tokens on."""
        passing = self.loops if is_loop_exit(op) else self.branches
        if passing:
            op.operands = [*op.operands, *(state.tokens[pipeline] for pipeline in passing[-1])]

    def _if(self, choice: TableOp, pipelines: list[Pipeline], state: PipelineState) -> None:
        """A branch with the tokens that each arm yields."""
        self.branches.append(pipelines)
        for region in choice.regions:
            self._block(region.blocks[0], state.inside(state.insert))
        self.branches.pop()
        self._rebuild(choice, [choice.condition], list(range(len(choice.results))), pipelines, state)
        choice.detach()
        choice.erase()

    def _loop(self, loop: TableOp, pipelines: list[Pipeline], state: PipelineState) -> None:
        """The loop with loop-carried tokens of the pipelines that it uses, without the accumulators that stay in tensor
        memory.
        """
        block = loop.regions[0].blocks[0]
        carried = [(pipeline, block.insert_arg(i32, len(block.args))) for pipeline in pipelines]
        self.loops.append(pipelines)
        self._block(block, state.inside(state.insert, carried))
        self.loops.pop()
        accumulators = self.carried_in_tmem.get(block, [])
        gone = {index for index, _ in accumulators}
        new_op = self.rebuild_loop(loop, gone, pipelines, state)
        self._wait_for_last(new_op, state)
        for index, mainloop in accumulators:
            result = self.read_accumulator(mainloop, loop.initial[index], new_op, state)
            loop.results[index].replace_all_uses_with(result)
            if len(accumulators) > 1 and not (mainloop.reuses_accumulator or mainloop.accumulator.shares_columns):
                _read_where_used(defining_op(result))
        continued = [loop.initial[index] for index, mainloop in accumulators if mainloop.continues]
        loop.detach()
        loop.erase()
        for initial in continued:
            _erase_read(initial)

    def rebuild_loop(self, loop: TableOp, gone: set[int], pipelines: list[Pipeline], state: PipelineState) -> TableOp:
        """A loop with the body of ``loop`` that carries its values but ``gone``, and the tokens."""
        kept = [index for index in range(len(loop.results)) if index not in gone]
        drop_carried(loop.regions[0].blocks[0], gone)
        initial = [loop.initial[index] for index in kept] + [state.tokens[pipeline] for pipeline in pipelines]
        return self._rebuild(loop, [*control_operands(loop), initial], kept, pipelines, state)

    def _rebuild(
        self,
        op: TableOp,
        operands: list[SSAValue | list[SSAValue]],
        kept: list[int],
        pipelines: list[Pipeline],
        state: PipelineState,
    ) -> TableOp:
        """A loop or branch with the regions of ``op`` that has its results ``kept`` and the tokens."""
        new_op = rebuilt(op, operands, kept, [i32] * len(pipelines))
        state.insert(new_op)
        state.tokens.update(zip(pipelines, new_op.results[len(kept) :]))
        for mainloop in self.mainloops:
            mainloop.replace(op, new_op)
        return new_op

    def _wait_for_last(self, loop: TableOp, state: PipelineState) -> None:
        """The dot that the last iteration left in flight completes after the loop, and its stage is released."""
        if (found := self.in_flight.get(loop.regions[0].blocks[0])) is None:
            return
        index, mainloop, issued = found
        result, uses = loop.results[index], list(loop.results[index].uses)
        complete = state.insert(register_mma_ops(issued).wait.make([result], [result.type], pending=0))
        for use in uses:
            use.operation.operands[use.index] = complete
        if mainloop.is_reused or mainloop.in_cluster:
            state.release_previous(mainloop.stages, state.insert(loop_continues_at(loop, loop.lower)))

    def read_accumulator(self, mainloop: Mainloop, initial: SSAValue, loop: TableOp, state: PipelineState) -> SSAValue:
        """Write the initial accumulator that stays in tensor memory before a loop, and read it after it."""
        raise NotImplementedError

    # ---- stationary operands ------------------------------------------------------------------------
    def _wait_for_stationary(self, stationary: StationaryOperand, state: PipelineState) -> None:
        """Wait for a stationary operand. Where another one follows it, release it after the last loop that reads it, in
        which all dots were waited for.
        """
        state.wait(stationary.stages)
        if stationary.loops:
            state.before(self._after_last_reader(stationary)).release(stationary.stages)
        state.advance(stationary.stages)

    def _after_last_reader(self, stationary: StationaryOperand) -> Operation:
        """The operation after the last loop of the dots that read it, in the block of its load."""
        depth, block = len(stationary.enclosing_ops), parent_block(stationary.operand_load.load)
        readers = [one.enclosing_ops[depth] for one in self.mainloops if one.stationary is stationary]
        return next_op([op for op in block.ops if op in readers][-1])

    # ---- dots ----------------------------------------------------------------------------------
    def _wait(self, mainloop: Mainloop, state: PipelineState) -> SSAValue:
        """Wait for a stage, if nothing in this iteration has waited for it yet, and return its number."""
        first = mainloop.readers[0]
        if first not in self.stages:
            if mainloop.written is not None:
                state.acquire(mainloop.written)
                if mainloop.reads_stages_of_pair:
                    state.wait(mainloop.stages)
            else:
                state.wait(mainloop.stages) if mainloop.is_loaded else state.acquire(mainloop.stages, by_readers=True)
            self.stages[first] = state.stage(mainloop.stages)
        return self.stages[first]

    def _multiply(self, mainloop: Mainloop, state: PipelineState) -> None:
        """Wait and multiply; the last reader releases the stage."""
        dot, stage = mainloop.dot, self._wait(mainloop, state)
        _store_operands(mainloop, stage, state)
        if Storage.SHARED in family_of(dot).b_storage:
            self._issue(mainloop, stage, state)
        else:
            for operand_load in mainloop.operand_loads:
                _read_fragment(operand_load, stage, dot)
            self._release(mainloop, state.before(next_op(dot)))
        if mainloop.is_last_reader:
            state.before(next_op(dot)).advance(mainloop.stages)
        erase_dot(mainloop)

    def _issue(self, mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> None:
        """Issue an MMA with its accumulator in registers. Where it stays in flight, the stage before it is released."""
        dot, block = mainloop.dot, parent_block(mainloop.dot)
        operands, attributes = mma_operands(mainloop, stage, state)
        behind = operands.get("lhs_stage") is not None and _may_stay_in_flight(mainloop)
        kind = register_mma_ops(dot).issue
        given = operands_by_name(kind, operands | {"acc": dot.acc})
        issued = kind.make(given, [dot.result.type], attributes, pending=int(behind))
        dot.result.replace_all_uses_with(state.insert(issued))
        after = state.before(next_op(dot))
        if not behind:
            self._release(mainloop, after)
            return
        self.in_flight[block] = (dot.acc.index - 1, mainloop, issued)
        later = is_not_first_iteration(as_op(block.parent_op()), block.args[0])
        after.release_previous(mainloop.stages, after.insert(later))

    def _release(self, mainloop: Mainloop, state: PipelineState) -> None:
        if mainloop.is_last_reader:
            state.release(mainloop.stages)


# ---- operands ------------------------------------------------------------------------------------------------------
def async_mma_attributes(mainloop: Mainloop) -> dict[str, Attribute]:
    """How the instructions of a dot address shared memory, and their other attributes."""
    dot, kept = mainloop.dot, {}
    for load in (*mainloop.operand_loads, *([mainloop.stationary.operand_load] if mainloop.stationary else ())):
        kept[PLACEMENTS[load.index]] = SharedLayoutAttr(unwrap(smem_layout_after_views(load.chain, load.box.placement)))
    for stored in (one for one in mainloop.stored if not one.columns):
        kept[PLACEMENTS[stored.index]] = SharedLayoutAttr(stored.placement)
    return {key: value for key, value in dot.attributes.items() if key not in MMA_SELECTION_ATTRIBUTES} | kept


def operands_by_name(kind: type[TableOp], operands: Operands) -> list[SSAValue | None]:
    """The operands of an operation, in its order."""
    names = [name for name, _ in kind.operand_groups]
    assert operands.keys() <= set(names), operands.keys() - set(names)
    return [operands.get(name) for name in names]


def mma_operands(mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> tuple[Operands, dict[str, Attribute]]:
    """The operands of an MMA with the stages of those in shared memory, and its attributes."""
    dot, insert, attributes = mainloop.dot, state.insert, async_mma_attributes(mainloop)
    operands: Operands = {"lhs": dot.lhs, "rhs": dot.rhs}
    if mainloop.stationary is not None:
        operands |= {"lhs": mainloop.stationary.operand_load.buffer, "lhs_stage": insert.constant(0)}
    for stored in mainloop.stored:
        side = SIDES[stored.index]
        operands |= {side: stored.buffer, f"{side}_stage": insert.constant(0) if stored.is_invariant else stage}
    for loaded in mainloop.operand_loads:
        side = SIDES[loaded.index]
        if loaded.index == 0 and dot.a_via_registers:
            operands[side] = _read_fragment(loaded, stage, dot)
            del attributes[PLACEMENTS[0]]
        else:
            operands |= {side: loaded.buffer, f"{side}_stage": stage}
    return operands, attributes


def _read_fragment(operand_load: TmaOperandLoad, stage: SSAValue, dot: TableOp) -> SSAValue:
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


def _read_source(operand_load: TmaOperandLoad, stage: SSAValue) -> None:
    """Threads read a tile from its stage, in place of its load."""
    load = operand_load.load
    value = insert_before(LocalLoadOp.make([operand_load.buffer, stage], [load.value.type]), load)
    load.value.replace_all_uses_with(value)
    erase_load(load, [])


def _store_operands(mainloop: Mainloop, stage: SSAValue, state: PipelineState) -> None:
    """Threads write operands of a dot to shared memory: into the stage, or before the loops that do not compute them."""
    dot, written = mainloop.dot, mainloop.written or mainloop.stages
    own = [stored for stored in mainloop.stored if stored.first is None]
    for stored in own:
        value = dot.operands[stored.index]
        if stored.columns:
            insert_before(TmemStoreOp.make([value, stored.buffer, None, stage, written.pipeline], []), dot)
            continue
        if not stored.is_invariant:
            insert_before(LocalStoreOp.make([value, stored.buffer, stage, written.pipeline], []), dot)
            continue
        place = next(loop for loop in mainloop.loops if not is_defined_in_loop(value, loop))
        insert = insertion_before(place)
        if place is not mainloop.loops[0]:
            insert(BarrierOp.make([], []))  # no thread multiplies the last one any more
        insert(LocalStoreOp.make([value, stored.buffer, insert.constant(0), None], []))
        insert(BarrierOp.make([], []))
    if mainloop.written is not None:
        _hand_over(mainloop, mainloop.written, state)
    elif own and not (mainloop.is_loaded and all(stored.is_invariant for stored in own)):
        # All threads have written them, or have waited until the stage is empty.
        insert_before(BarrierOp.make([], []), dot)


def _hand_over(mainloop: Mainloop, written: Pipeline, state: PipelineState) -> None:
    """Let the thread that issues the MMAs of a pair wait for what the threads of both CTAs have written, and TMA has loaded."""
    state.commit(written)
    for pipeline in dict.fromkeys((written, written if mainloop.reads_stages_of_pair else mainloop.stages)):
        state.wait(pipeline, by_issuer=True)


# ---- results -------------------------------------------------------------------------------------------------------
def _may_stay_in_flight(mainloop: Mainloop) -> bool:
    """Whether the next iteration may start before a dot is complete, with its left operand in shared memory.

    The tiles of the next iteration arrive only if there is another stage, and are loaded during an iteration only if there is one
    besides: where threads compute an operand first, the stage of the dot before would be released behind that. 16-bit accumulators are packed in pairs, and
    loop-carried values are unpacked, so they must be complete. A left operand in registers is in flight with its dot,
    and the next iteration has another one. Partial accumulators are added at once.
    """
    dot = mainloop.dot
    if mainloop.waits_at_once:
        return False
    whole = element_of(dot.result.type).bits == 32 and not dot.promotion
    least = MIN_STAGES + mainloop.computes_from_stages
    return mainloop.stages.stage_count >= least and is_accumulation_loop(dot) and whole


def _erase_read(value: SSAValue) -> None:
    """Erase the read of an accumulator that stays in tensor memory for the next loop, and the conversions of its layout."""
    op = defining_op(value)
    while not list(op.results[0].uses):
        before = op.operands[0]
        op.detach()
        op.erase()
        if not isinstance(before.owner, ConvertLayoutOp | TmemLoadOp):
            return
        op = before.owner


def _read_where_used(read: Operation) -> None:
    """Move the read of an accumulator to its first use: threads lack the registers for several at once."""
    block = parent_block(read)
    users = {ancestor_in(use.operation, block) for use in read.results[0].uses}
    first = next((op for op in block.ops if op in users), None)
    if first is not None:
        read.detach()
        block.insert_op_before(read, first)


def erase_dot(mainloop: Mainloop) -> None:
    """Erase a dot that is replaced, and the loads of its operands."""
    dot = mainloop.dot
    if not list(dot.result.uses):
        dot.detach()
        dot.erase()
    for operand_load in mainloop.operand_loads:
        erase_load(operand_load.load, operand_load.chain)
    for scale_load in mainloop.scale_loads:
        erase_load(scale_load.load, scale_load.chain)


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
