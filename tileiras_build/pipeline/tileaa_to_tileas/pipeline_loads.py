"""Load the operands of matrix products ahead of time, through a ring of buffers in shared memory.

In:    counted loops in which tiles are loaded from views and converted to an operand of a product or to its scales.
Out:   the loads are asynchronous copies, several iterations ahead, into nv_tileas.alloc_tensor rings; the operands are
       read by local_load (ldmatrix where the placement allows). Each iteration waits for its stage, meets at one
       barrier, and starts the copy of the stage that the last iteration freed. Where no two stages fit, the operands
       of one product are copied while another is computed, and next to each product stand a wait and a barrier.
After: assign_layouts (operand fragments are known). Before: assign_scratch (rings need room).
Sound: a loop is changed only if nothing in it writes memory, so a load may move before earlier iterations; a copy that
       would run past the last iteration is disabled and leaves zeros in a stage that no one reads. A stage is
       overwritten after the barrier that follows its last reading: a loop inside another one starts with a barrier.
       A load of a loop in which threads meet is copied ahead only if its memory token has it wait for nothing.
       With one stage, the barrier after a product comes before any copy to the operands of another, hence after all
       that read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IntAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, UnitAttr, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import arith
from ...dialects.cute.layout import LayoutAttr
from ...dialects.cute.shared import SharedLayoutAttr
from ...dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AllocTensorOp,
    AsyncCommitOp,
    AsyncTiledLoadOp,
    AsyncWaitOp,
    BarrierOp,
    CreatePipelineOp,
    LocalLoadOp,
)
from ...dialects.nv_tileas.types import BufferType
from ...layouts import LinearLayout, coalesced, largest_vector, spread_vector
from ...layouts.placement import choose_swizzle
from ..analysis.axis_info import AxisAnalysis
from ..analysis.memory_access import ViewFacts
from ..analysis.operand_chains import ORDERED, PASSED_THROUGH, runs_free
from ..contracts import EdgePass
from ..job import Job
from ..shared.element_types import element_of
from ..shared.optimization_hints import hint, occupancy
from . import layout_rules as rules
from .assign_scratch import largest_scratch
from .choose_warps import REGISTER_FILE
from .select_async import SMALL_BYTES

# A ring deeper than this hides no more latency; a third CTA on a multiprocessor hides less than more stages do.
MOST_STAGES, LEAST_STAGES, MOST_CTAS = 4, 2, 2
# Registers of a thread beside its accumulators: operands of the product at hand, addresses, indices.
OTHER_REGISTERS = 64
# cp.async copies 4, 8 or 16 bytes (PTX ISA 9.0, section 9.7.9.25).
LEAST_COPY_BYTES = 4
SUM = 2  # operand of a product: after it come scales
ForOp, CreateTokenOp = COUNTERPARTS["nv_tileaa.for"], COUNTERPARTS["nv_tileaa.create_mem_token"]


class PipelineLoads(EdgePass):
    """Multi-stage copies for the loops of products."""

    name = "tileas-pipeline-loads"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name == "nv_tileas.for":
                _pipeline(op, job)


@dataclass
class _Candidate:
    """A load, the operations from it to the product's operand or scales, and the fragment its tile is read in."""

    load: Any
    chain: list[Operation]
    fragment: LinearLayout
    placement: Any
    copied: LinearLayout
    vector: int
    product: Operation
    ragged: bool
    is_scale: bool

    @property
    def bytes(self) -> int:
        return -(-self.placement.size_bytes // 128) * 128


def _pipeline(loop: Any, job: Job) -> None:
    block = loop.regions[0].blocks[0]
    if not _is_simple(block):
        return
    num_warps = _kernel(loop).attributes["num_warps"].value.data
    candidates = [found for op in block.ops if (found := _candidate(op, block, num_warps)) is not None]
    if not candidates:
        return
    kernel = _kernel(loop)
    if (stages := _choose_stages(kernel, loop, candidates, job)) >= LEAST_STAGES:
        return _Rewriter(loop, candidates, stages).run()
    operands = [candidate for candidate in candidates if not candidate.is_scale]
    if operands and (stages := _choose_stages(kernel, loop, operands, job)) >= LEAST_STAGES:
        _Rewriter(loop, operands, stages).run()
    elif stages and len({operand.product for operand in operands}) > 1:
        _Rotation(loop, operands).run()


def _choose_stages(kernel: Operation, loop: Operation, candidates: list[_Candidate], job: Job) -> int:
    """As many stages as shared memory holds for the CTAs that fit by registers; fewer CTAs rather than one stage."""
    latencies = [latency for one in candidates if (latency := hint(one.load, job, "latency"))]
    most = max(latencies) + 1 if latencies else MOST_STAGES
    size = sum(candidate.bytes for candidate in candidates)
    taken = _taken(kernel, loop, candidates, job)
    for ctas in range(resident_ctas(kernel, loop, job), 0, -1):
        stages = (job.target.max_shared_memory // ctas - taken) // size
        if stages >= LEAST_STAGES:
            return max(min(stages, most), LEAST_STAGES)
    return int(taken + size <= job.target.max_shared_memory)


def resident_ctas(kernel: Operation, loop: Operation, job: Job) -> int:
    """CTAs that share a multiprocessor: what the kernel's hint asks for, else what its accumulators leave registers for."""
    if asked := occupancy(kernel, job):
        return asked
    warps = (kernel.attributes[key].value.data for key in ("num_warps", "producer_warps") if key in kernel.attributes)
    threads = 32 * sum(warps)
    products = [op for op in loop.walk() if op.name == "nv_tileas.dot"]
    accumulators = sum(op.result.type.encoding.data.num_registers for op in products)
    return max(1, min(MOST_CTAS, REGISTER_FILE // (threads * (accumulators + OTHER_REGISTERS))))


def _taken(kernel: Operation, loop: Operation, candidates: list[_Candidate], job: Job) -> int:
    """Bytes that a ring of this loop must leave: rings of other loops, and scratch that is used while it turns."""
    rings = sum(op.result.type.size_bytes for op in kernel.walk() if op.name == "nv_tileas.alloc_tensor")
    gone = {op for candidate in candidates for op in candidate.chain}
    small = SMALL_BYTES * sum(op.name == CreatePipelineOp.name for op in kernel.walk())
    return rings + small + largest_scratch((op for op in loop.walk() if op not in gone), job)


def _kernel(op: Operation) -> Operation:
    while op.name != "nv_tileaa.func":
        op = op.parent_op()
    return op


def _is_simple(block: Block) -> bool:
    """Nothing writes memory, and the only way on is the ``continue`` at the end."""
    last = block.last_op
    if last is None or last.name != "nv_tileas.continue":
        return False
    exits = ("nv_tileas.continue", "nv_tileas.break")
    acts = ORDERED - {BarrierOp.name}
    return not any(op.name in acts or (op.name in exits and op is not last) for op in block.walk())


def _candidate(op: Any, block: Block, num_warps: int) -> _Candidate | None:
    """The copy that a load can become; None where its tile goes elsewhere than to one product, or cannot be copied."""
    if op.name != "nv_tileas.tiled_load" or op.view.type.kind.data == "gather":
        return None
    chain = _chain_to_product(op.value, block)
    if chain is None or op.view.type.padding.data not in ("none", "zero"):
        return None
    if not _movable(op, block) or (_meets(block) and not runs_free(op.token)):
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
        if user.parent is not block:
            return None
        if user.name == "nv_tileas.dot":
            return chain if use.index != SUM and "atom" in user.attributes else None
        if user.name == "nv_tileas.tmem_store":
            return chain if user.stage is not None else None
        if user.name not in PASSED_THROUGH or len(user.results) != 1:
            return None
        chain.append(user)
        value = user.results[0]
    return None


def _meets(block: Block) -> bool:
    """Whether the threads meet in a loop: a load for which memory tokens have them do so stays after that."""
    return any(op.name == BarrierOp.name for op in block.walk())


def _movable(op: Any, block: Block) -> bool:
    """Whether the tile's place can be computed for another iteration: from the loop's index and values from outside."""
    index = block.args[0]
    return all(_depends_on_index_only(coord, block, index) for coord in op.coords) and _outside(op.view, block)


def _outside(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    return owner is not block and (isinstance(owner, Block) or owner.parent is not block)


def _depends_on_index_only(value: SSAValue, block: Block, index: SSAValue) -> bool:
    if value is index or _outside(value, block):
        return True
    owner = value.owner
    if isinstance(owner, Block) or not owner.name.startswith(("arith.", "nv_tileas.assume")):
        return False
    return all(_depends_on_index_only(operand, block, index) for operand in owner.operands)


def fragment_of(op: Any, chain: list[Operation]) -> LinearLayout:
    """The product's operand layout seen as a layout of the loaded tile."""
    last = chain[-1].results[0] if chain else op.value
    layout = last.type.encoding.data
    for link in reversed(chain):
        if link.name in ("nv_tileas.view", "nv_tileas.permute"):
            layout = rules.operand_layout(link, link.operands[0], layout)
    return layout


def _placed(op: Any, chain: list[Operation], fragment: LinearLayout, num_warps: int) -> _Candidate | None:
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
    return _Candidate(op, chain, fragment, placement, copied, vector, use.operation, ragged, is_scale)


class _Rewriter:
    """Builds the pipelined loop in place of the old one."""

    def __init__(self, loop: Any, candidates: list[_Candidate], stages: int):
        self.loop, self.candidates, self.stages = loop, candidates, stages
        self.block = loop.regions[0].blocks[0]
        self.type = loop.lower.type

    def run(self) -> None:
        self.buffers = [self._allocate(candidate) for candidate in self.candidates]
        if self.loop.parent_op().name != "nv_tileaa.func":
            # The loop may run again while other threads still read its last stages.
            self._before(BarrierOp.make([], []))
        self._prologue()
        arguments = [self.block.insert_arg(i32, len(self.block.args)) for _ in range(2)]
        self._start_of_body(*arguments)
        self._replace_loads(arguments[0])
        self._end_of_body(*arguments)
        self._replace_loop()

    # ---- pieces ------------------------------------------------------------------------------------
    def _before(self, op: Operation) -> Any:
        self.loop.parent.insert_op_before(op, self.loop)
        return op.results[0] if op.results else None

    def _allocate(self, candidate: _Candidate) -> SSAValue:
        element = candidate.load.value.type.element_type
        type = BufferType(element, IntAttr(self.stages), SharedLayoutAttr(candidate.placement))
        op = AllocTensorOp.make([], [type])
        outermost = self.loop
        while outermost.parent_op().name != "nv_tileaa.func":
            outermost = outermost.parent_op()
        outermost.parent.insert_op_before(op, outermost)
        return op.results[0]

    def _prologue(self) -> None:
        """The first stages - 1 tiles; those past the end are disabled."""
        index = self.loop.lower
        for stage in range(self.stages - 1):
            enabled = self._before(runs_at(self.loop, index))
            place = self._before(constant_i32(stage))
            self._copy_all(self.candidates, index, place, enabled, self._before)
            index = self._before(_binary(arith.AddiOp, index, self.loop.step))

    def _copy_all(
        self, candidates: list[_Candidate], index: SSAValue, stage: SSAValue, enabled: SSAValue, insert: Any
    ) -> None:
        """Start the copies of one iteration as one group."""
        known: dict[SSAValue, SSAValue] = {}
        for candidate in candidates:
            coords = [self._at(coord, index, insert, known) for coord in candidate.load.coords]
            insert(_copy(candidate, coords, self.buffers[self.candidates.index(candidate)], stage, enabled))
        insert(AsyncCommitOp.make([], []))

    def _at(self, value: SSAValue, index: SSAValue, insert: Any, known: dict[SSAValue, SSAValue]) -> SSAValue:
        """``value`` computed for another value of the loop's index."""
        if value is self.block.args[0]:
            return index
        if _outside(value, self.block):
            return value
        if value not in known:
            owner = value.owner
            operands = [self._at(operand, index, insert, known) for operand in owner.operands]
            types = [result.type for result in owner.results]
            clone = type(owner).create(
                operands=operands,
                result_types=types,
                properties=dict(owner.properties),
                attributes=dict(owner.attributes),
            )
            insert(clone)
            known[value] = clone.results[0]
        return known[value]

    def _start_of_body(self, read: SSAValue, write: SSAValue) -> None:
        insert = _inserter(self.block.first_op)
        insert(_wait(self.stages - 2))
        insert(BarrierOp.make([], []))
        ahead = self.block.args[0]
        for _ in range(self.stages - 1):
            ahead = insert(_binary(arith.AddiOp, ahead, self.loop.step))
        enabled = insert(runs_at(self.loop, ahead))
        self._copy_all(self.candidates, ahead, write, enabled, insert)

    def _replace_loads(self, read: SSAValue) -> None:
        for candidate, buffer in zip(self.candidates, self.buffers):
            self._replace_load(candidate, buffer, read)

    def _replace_load(self, candidate: _Candidate, buffer: SSAValue, read: SSAValue) -> None:
        """The tile is read in the fragment it is needed in; what stood between is done in that layout."""
        load = candidate.load
        value = LocalLoadOp.make([buffer, read], [with_layout(load.value.type, candidate.fragment)])
        place = candidate.product
        self.block.insert_op_before(value, place)
        current, layout = value.results[0], candidate.fragment
        for link in candidate.chain:
            if link.name == "nv_tileas.convert_layout":
                continue
            layout = forwarded(link, layout)
            clone = type(link).make([current], [with_layout(link.results[0].type, layout)], dict(link.attributes))
            self.block.insert_op_before(clone, place)
            current = clone.results[0]
        last = candidate.chain[-1].results[0] if candidate.chain else load.value
        last.replace_all_uses_with(current)
        for link in reversed(candidate.chain):
            link.detach()
            link.erase()
        self._drop_load(load)

    def _drop_load(self, load: Any) -> None:
        if load.result_token is not None:
            token = load.token
            if token is None:
                fresh = CreateTokenOp.make([], [load.result_token.type])
                self.block.insert_op_before(fresh, load)
                token = fresh.results[0]
            load.result_token.replace_all_uses_with(token)
        load.detach()
        load.erase()

    def _end_of_body(self, read: SSAValue, write: SSAValue) -> None:
        last = self.block.last_op
        following = []
        for stage in (read, write):
            one, end, zero = (self._last(constant_i32(number), last) for number in (1, self.stages, 0))
            raised = self._last(_binary(arith.AddiOp, stage, one), last)
            wraps = self._last(_compare_equal(raised, end), last)
            select = arith.SelectOp.make([wraps, zero, raised], [i32])
            following.append(self._last(select, last))
        last.operands = [*last.operands, *following]

    def _last(self, op: Operation, last: Operation) -> SSAValue:
        self.block.insert_op_before(op, last)
        return op.results[0]

    def _replace_loop(self) -> None:
        loop = self.loop
        starts = [self._before(constant_i32(0)), self._before(constant_i32(self.stages - 1))]
        types = [*(result.type for result in loop.results), i32, i32]
        region = Region(loop.regions[0].detach_block(self.block))
        operands = [loop.lower, loop.upper, loop.step, [*loop.initial, *starts]]
        new = ForOp.make(operands, types, dict(loop.attributes), [region])
        loop.parent.insert_op_before(new, loop)
        for old, result in zip(loop.results, new.results):
            old.replace_all_uses_with(result)
        loop.parent.insert_op_before(_wait(0), loop)
        loop.detach()
        loop.erase()


class _Rotation(_Rewriter):
    """One buffer for each operand: what a product needs is copied while another one is computed."""

    def __init__(self, loop: Any, candidates: list[_Candidate]):
        super().__init__(loop, candidates, 1)
        products = [op for op in self.block.ops if any(candidate.product is op for candidate in candidates)]
        self.products = products
        self.groups = [[one for one in candidates if one.product is product] for product in products]

    def run(self) -> None:
        self.buffers = [self._allocate(candidate) for candidate in self.candidates]
        self.stage = self._before(constant_i32(0))
        self.always = self._before(
            arith.ConstantOp.create(result_types=[i1], properties={"value": IntegerAttr(1, i1)})
        )  # fmt: skip
        if self.loop.parent_op().name != "nv_tileaa.func":
            self._before(BarrierOp.make([], []))
        lower = self.loop.lower
        self._copy_all(self.groups[0], lower, self.stage, self._before(runs_at(self.loop, lower)), self._before)
        self._place_copies()
        self._replace_loads(self.stage)
        self.loop.parent.insert_op_after(_wait(0), self.loop)

    def _place_copies(self) -> None:
        """Before the first product and after every product but the last, the copies for the product after the next."""
        index = self.block.args[0]
        places = [self.block.first_op, *self.products[1:]]
        for place, group in zip(places[:-1], self.groups[1:]):
            self._meet(place)
            self._copy_all(group, index, self.stage, self.always, _inserter(place))
        insert = _inserter(places[-1])
        self._meet(places[-1])
        following = insert(_binary(arith.AddiOp, index, self.loop.step))
        self._copy_all(self.groups[0], following, self.stage, insert(runs_at(self.loop, following)), insert)

    def _meet(self, place: Operation) -> None:
        """All copies have landed, and all threads are done with the product before."""
        insert = _inserter(place)
        insert(_wait(0))
        insert(BarrierOp.make([], []))


def _inserter(place: Operation) -> Any:
    """A function that inserts an operation before ``place`` and returns its result."""

    def insert(op: Operation) -> Any:
        place.parent.insert_op_before(op, place)
        return op.results[0] if op.results else None

    return insert


def with_layout(type: Any, layout: LinearLayout) -> Any:
    return TensorType(type.element_type, type.get_shape(), LayoutAttr(layout))


def forwarded(link: Any, layout: LinearLayout) -> LinearLayout:
    if link.name == "nv_tileas.view":
        return layout.reshape(tuple(link.results[0].type.get_shape()))
    if link.name == "nv_tileas.permute":
        return layout.permute_dims(list(link.attributes["permutation"].get_values()))
    return layout


def _copy(candidate: _Candidate, coords: list[SSAValue], buffer: SSAValue, stage: SSAValue, enabled: SSAValue) -> Any:
    load = candidate.load
    kept = {key: load.attributes[key] for key in ("in_bounds", "loc") if key in load.attributes}
    kept["layout"] = LayoutAttr(candidate.copied)
    kept["vector"] = IntegerAttr(candidate.vector, i32)
    if candidate.ragged:
        kept["ragged"] = UnitAttr()
    return AsyncTiledLoadOp.make([load.view, coords, buffer, stage, enabled], [], kept)


def constant_i32(number: int) -> Operation:
    return arith.ConstantOp.create(result_types=[i32], properties={"value": IntegerAttr(number, i32)})


def _binary(kind: Any, a: SSAValue, b: SSAValue) -> Operation:
    return kind.make([a, b], [a.type])


def runs_at(loop: Any, index: SSAValue) -> Operation:
    """Whether the loop still runs at this index."""
    predicate = "ult" if "unsigned" in loop.attributes else "slt"
    return arith.CmpiOp.make([index, loop.upper], [i1], {"predicate": StringAttr(predicate)})


def _compare_equal(a: SSAValue, b: SSAValue) -> Operation:
    return arith.CmpiOp.make([a, b], [i1], {"predicate": StringAttr("eq")})


def _wait(pending: int) -> Operation:
    return AsyncWaitOp.make([], [], {"pending": IntegerAttr(pending, i32)})
