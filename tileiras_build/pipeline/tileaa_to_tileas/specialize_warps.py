"""Set one warp aside to fetch tiles by TMA, ahead of the warps that compute.

In:    tiled_loads marked ``tma`` in counted loops, products that read their tiles, all with layouts.
Out:   the scalars of the kernel, then an agent_switch: its first region is the slice of the program that fetches (the
       same loops, each with only what the tiles' places depend on), its second the program without those loads. Between
       them a ring of stages in shared memory for each product, with a full and an empty mbarrier per stage. Products of
       warpgroups read their stages directly (async.dot), others by local_load. ``producer_warps`` on the kernel, and ``agent_registers`` where the agents divide its registers unevenly.
After: assign_layouts, select_async. Before: pipeline_loads (other loads), assign_scratch (rings need room).
Sound: both agents run the same loops over the same scalars, so the n-th stage that one fills is the n-th that the other
       reads; a token that both carry names it. A stage is filled again only after every computing warp has arrived at
       its empty mbarrier, which it does once its products of that stage are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntAttr, IntegerAttr, ModuleOp, UnitAttr, i1, i32, i64
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from ...dialects import arith
from ...dialects.cute.layout import LayoutAttr
from ...dialects.cute.shared import SharedLayoutAttr
from ...dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AgentSwitchOp,
    AllocTensorOp,
    AsyncDotOp,
    AsyncDotWaitOp,
    AsyncTiledTmaLoadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    LocalLoadOp,
    MakeTiledTmaDescOp,
    ProducerAcquireOp,
)
from ...dialects.nv_tileas.types import BufferType, PipelineType, TmaDescType
from ..analysis.axis_info import AxisAnalysis
from ..analysis.kinds import is_tile
from ..analysis.operand_chains import LOOP, TOKEN, ScalarSlice, loops_around, placement_after, source_load
from ..analysis.tensor_maps import TensorBox, tensor_box
from ..contracts import EdgePass
from ..job import Job
from ..shared.optimization_hints import hint
from .assign_scratch import largest_scratch
from .pipeline_loads import REGISTER_FILE, constant_i32, forwarded, fragment_of, resident_ctas, with_layout
from .select_async import LEAST_STAGES, SMALL_BYTES, products

MOST_STAGES = 6  # more hide no more latency
# From so many computing warps on registers are short: a whole warpgroup fetches, and gives its own away.
MANY_WARPS, WARPGROUP = 8, 4
# setmaxnreg takes multiples of 8 from 24 to 256 (PTX ISA 9.0, section 9.7.20.5); a kernel's threads never have 256.
FETCHING_REGISTERS, MOST_REGISTERS, REGISTER_UNIT = 24, 240, 8
ForOp, YieldOp, ContinueOp, CreateTokenOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "yield", "continue", "create_mem_token")
)
Insert = Callable[[Operation], SSAValue | None]


class SpecializeWarps(EdgePass):
    """A fetching warp and computing warps."""

    name = "tileas-specialize-warps"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(module.body.block.ops):
            if func.name == "nv_tileaa.func" and (found := list(products(func))):
                _Specializer(func, job, found).run()


@dataclass(eq=False)
class _Fetch:
    """One operand of a product: its load, the operations between, and where its tiles lie."""

    index: int
    load: Any
    chain: list[Operation]
    box: TensorBox
    buffer: SSAValue | None = None
    descriptor: SSAValue | None = None


@dataclass(eq=False)
class _Ring:
    """The stages of one product."""

    product: Any
    fetches: list[_Fetch]
    loops: list[Operation]
    pipeline: SSAValue | None = None
    loads: dict[Operation, _Fetch] = field(default_factory=dict)

    @property
    def stage_bytes(self) -> int:
        return sum(fetch.box.tile_bytes for fetch in self.fetches)


def _ring(product: Any) -> _Ring:
    analysis = AxisAnalysis()
    fetches = []
    for index in (0, 1):
        found = source_load(product, index)
        if found is not None and "tma" in found[0].attributes:
            box = tensor_box(found[0], analysis)
            fetches.append(_Fetch(index, *found, box))
    ring = _Ring(product, fetches, loops_around(product))
    ring.loads = {fetch.load: fetch for fetch in fetches}
    return ring


class _Specializer:
    def __init__(self, func: Operation, job: Job, found: list[Any]):
        self.func, self.job = func, job
        self.warps = func.attributes["num_warps"].value.data
        self.rings = [_ring(product) for product in found]
        self.entry = func.regions[0].blocks[0]
        self.slice = ScalarSlice()
        self.shared: set[Operation] = set()

    def run(self) -> None:
        for ring in self.rings:
            for loop in ring.loops:
                self.slice.add_loop(loop)
            for coord in (coord for fetch in ring.fetches for coord in fetch.load.coords):
                self.slice.add(coord)
        self._set_warps()
        body = self._outline()
        self._create_rings(body)
        fetching = _Producer(self).run(body)
        _Consumer(self).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(fetching), Region(body)])
        self.entry.insert_op_before(switch, self.entry.last_op)

    def _set_warps(self) -> None:
        many = self.warps >= MANY_WARPS and self.job.target.has("setmaxnreg")
        self.func.attributes["producer_warps"] = IntegerAttr(WARPGROUP if many else 1, i32)
        if many and not hint(self.func, self.job, "occupancy"):
            threads = 32 * self.warps
            left = (REGISTER_FILE - 32 * WARPGROUP * FETCHING_REGISTERS) // threads // REGISTER_UNIT * REGISTER_UNIT
            registers = [FETCHING_REGISTERS, min(left, MOST_REGISTERS)]
            self.func.attributes["agent_registers"] = DenseArrayBase.from_list(i32, registers)

    def _outline(self) -> Block:
        """All but the scalars that both agents may need, moved to a block of its own."""
        body = Block()
        for op in list(self.entry.ops)[:-1]:
            if self._is_common(op):
                self.shared.add(op)
            else:
                op.detach()
                body.add_op(op)
        body.add_op(YieldOp.make([[]], []))
        return body

    def _is_common(self, op: Operation) -> bool:
        """Pure, without tiles, and computed from nothing that stays behind."""
        pure = any(isinstance(trait, Pure) for trait in op.traits.traits)
        if not pure or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
            return False
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)

    # ---- rings -----------------------------------------------------------------------------------
    def _create_rings(self, body: Block) -> None:
        stages = self._stages(body)
        for ring in self.rings:
            for fetch in ring.fetches:
                fetch.descriptor = self._descriptor(fetch)
                element = fetch.load.value.type.element_type
                type = BufferType(element, IntAttr(stages), SharedLayoutAttr(fetch.box.placement))
                fetch.buffer = self._add(AllocTensorOp.make([], [type]))
            attributes = {"consumers": IntegerAttr(self.warps, i32), "bytes": IntegerAttr(ring.stage_bytes, i32)}
            ring.pipeline = self._add(CreatePipelineOp.make([], [PipelineType(IntAttr(stages))], attributes))

    def _stages(self, body: Block) -> int:
        """As many as shared memory holds beside the scratch that is used while a ring turns."""
        size = sum(ring.stage_bytes for ring in self.rings)
        room = self.job.target.max_shared_memory
        last = [op for op in body.ops if any(op is ring.loops[0] for ring in self.rings)][-1]
        gone = {op for ring in self.rings for fetch in ring.fetches for op in fetch.chain}
        early = [op for op in body.ops if op is last or op.is_before_in_block(last)]
        scratch = largest_scratch((op for top in early for op in top.walk() if op not in gone), self.job)
        scratch += SMALL_BYTES * len(self.rings)
        for ctas in range(resident_ctas(self.func, body, self.job), 0, -1):
            if (stages := (room // ctas - scratch) // size) >= LEAST_STAGES:
                return min(stages, MOST_STAGES)
        return max(1, (room - scratch) // size)

    def _descriptor(self, fetch: _Fetch) -> SSAValue:
        box = fetch.box
        attributes = {
            "dims": DenseArrayBase.from_list(i64, box.dims),
            "box": DenseArrayBase.from_list(i64, box.box),
            "swizzle_mode": StringAttr(f"{box.swizzle_bytes}B"),
        }
        memref = fetch.load.view.owner.operands[0]
        for other in self.entry.ops:
            same = other.name == MakeTiledTmaDescOp.name and other.operands[0] is memref
            if same and all(other.attributes[key] == value for key, value in attributes.items()):
                return other.results[0]
        return self._add(MakeTiledTmaDescOp.make([memref], [TmaDescType()], attributes))

    def _add(self, op: Operation) -> SSAValue:
        """At the end of what both agents share."""
        self.entry.insert_op_before(op, self.entry.last_op)
        self.shared.add(op)
        return op.results[0]

    def start(self, insert: Insert) -> dict[_Ring, SSAValue]:
        """The tokens of the first stages."""
        return {ring: insert(constant_i32(0)) for ring in self.rings}

    def rings_in(self, loop: Operation) -> list[_Ring]:
        return [ring for ring in self.rings if loop in ring.loops]


# ---- the agent that fetches ------------------------------------------------------------------------
class _Producer:
    """Clones the slice of the program that fetches."""

    def __init__(self, whole: _Specializer):
        self.whole = whole
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self, body: Block) -> Block:
        block = Block()
        tokens = self.whole.start(_appender(block))
        self._block(body, block, tokens)
        block.add_op(YieldOp.make([[]], []))
        return block

    def _block(self, source: Block, target: Block, tokens: dict[_Ring, SSAValue]) -> None:
        insert = _appender(target)
        for op in source.ops:
            if op.name == LOOP and self.whole.rings_in(op):
                self._loop(op, insert, tokens)
            elif op in self.whole.slice.needed:
                insert(self._clone(op))
            else:
                self._fetch(op, insert, tokens)

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _clone(self, op: Operation) -> Operation:
        clone = type(op).create(
            operands=[self._value(operand) for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.values.update(zip(op.results, clone.results))
        return clone

    def _loop(self, loop: Any, insert: Insert, tokens: dict[_Ring, SSAValue]) -> None:
        block = loop.regions[0].blocks[0]
        rings = self.whole.rings_in(loop)
        kept = [arg.index - 1 for arg in block.args[1:] if arg in self.whole.slice.arguments]
        types = [block.args[1 + index].type for index in kept] + [i32] * len(rings)
        inner = Block(arg_types=[block.args[0].type, *types])
        self.values[block.args[0]] = inner.args[0]
        self.values.update((block.args[1 + index], arg) for index, arg in zip(kept, inner.args[1:]))
        carried = dict(zip(rings, inner.args[1 + len(kept) :]))
        self._block(block, inner, carried)
        following = [self._value(block.last_op.operands[index]) for index in kept]
        inner.add_op(ContinueOp.make([[*following, *(carried[ring] for ring in rings)]], []))
        initial = [self._value(loop.initial[index]) for index in kept] + [tokens[ring] for ring in rings]
        bounds = [self._value(value) for value in (loop.lower, loop.upper, loop.step)]
        made = ForOp.make([*bounds, initial], types, dict(loop.attributes), [Region(inner)])
        insert(made)
        tokens.update(zip(rings, made.results[len(kept) :]))

    def _fetch(self, op: Any, insert: Insert, tokens: dict[_Ring, SSAValue]) -> None:
        ring = next((ring for ring in self.whole.rings if op in ring.loads), None)
        if ring is None:
            return
        first, last = ring.fetches[0].load, ring.fetches[-1].load
        if len(ring.fetches) == 2 and not first.is_before_in_block(last):
            first, last = last, first
        if op is first:
            insert(ProducerAcquireOp.make([ring.pipeline, tokens[ring]], []))
        fetch = ring.loads[op]
        coords = [self._value(coord) for coord in op.coords]
        operands = [op.view, fetch.descriptor, coords, fetch.buffer, ring.pipeline, tokens[ring]]
        kept = {"loc": op.attributes["loc"]} if "loc" in op.attributes else {}
        insert(AsyncTiledTmaLoadOp.make(operands, [], kept))
        if op is last:
            tokens[ring] = insert(AdvanceOp.make([ring.pipeline, tokens[ring]], [i32]))


# ---- the agents that compute -----------------------------------------------------------------------
class _Consumer:
    """Changes the program in place: products wait for their stages and give them back."""

    def __init__(self, whole: _Specializer):
        self.whole = whole

    def run(self, body: Block) -> None:
        first = body.first_op
        tokens = self.whole.start(lambda op: _before(op, first))
        self._block(body, tokens)

    def _block(self, block: Block, tokens: dict[_Ring, SSAValue]) -> None:
        for op in list(block.ops):
            if op.name == LOOP and (rings := self.whole.rings_in(op)):
                self._loop(op, rings, tokens)
            for ring in self.whole.rings:
                if op is ring.product:
                    tokens[ring] = self._product(ring, tokens[ring])

    def _loop(self, loop: Any, rings: list[_Ring], tokens: dict[_Ring, SSAValue]) -> None:
        block = loop.regions[0].blocks[0]
        carried = {ring: block.insert_arg(i32, len(block.args)) for ring in rings}
        self._block(block, carried)
        last = block.last_op
        last.operands = [*last.operands, *(carried[ring] for ring in rings)]
        types = [*(result.type for result in loop.results), *([i32] * len(rings))]
        operands = [loop.lower, loop.upper, loop.step, [*loop.initial, *(tokens[ring] for ring in rings)]]
        made = ForOp.make(operands, types, dict(loop.attributes), [Region(loop.regions[0].detach_block(block))])
        _before(made, loop)
        tokens.update(zip(rings, made.results[len(loop.results) :]))
        for old, result in zip(list(loop.results), made.results):
            old.replace_all_uses_with(result)
        for ring in rings:
            ring.loops[ring.loops.index(loop)] = made
        self._finish(loop, made, rings, tokens)
        loop.detach()
        loop.erase()

    def _finish(self, old: Any, loop: Any, rings: list[_Ring], tokens: dict[_Ring, SSAValue]) -> None:
        """Products left under way by the last iteration end here, and their stage is empty."""
        for result in list(loop.results):
            if result.type != i32 and _is_under_way(loop, result.index):
                wait = AsyncDotWaitOp.make([result], [result.type], {"pending": IntegerAttr(0, i32)})
                loop.parent.insert_op_after(wait, loop)
                result.replace_uses_with_if(wait.results[0], lambda use: use.operation is not wait)
                self._release_last(loop, wait, rings, tokens)

    def _release_last(self, loop: Any, wait: Operation, rings: list[_Ring], tokens: dict[_Ring, SSAValue]) -> None:
        ring = next(ring for ring in rings if ring.loops[-1] is loop)
        if len(ring.loops) == 1:
            return
        ran = arith.CmpiOp.make([loop.lower, loop.upper], [i1], {"predicate": StringAttr(_less(loop))})
        release = ConsumerReleaseOp.make([ring.pipeline, tokens[ring], ran.results[0]], [], {"behind": UnitAttr()})
        loop.parent.insert_op_after(release, wait)
        loop.parent.insert_op_after(ran, wait)

    def _product(self, ring: _Ring, token: SSAValue) -> SSAValue:
        """Wait, multiply, give the stage back; the next token."""
        product = ring.product
        _before(ConsumerWaitOp.make([ring.pipeline, token], []), product)
        stage = _before(arith.ShRUIOp.make([token, _before(constant_i32(1), product)], [i32]), product)
        if "warpgroup" in product.attributes:
            behind = self._multiply(ring, stage)
        else:
            for fetch in ring.fetches:
                _read(fetch, stage, product)
            behind = False
        after = product.next_op
        enabled = None
        if behind:
            loop = ring.loops[-1]
            block = product.parent
            later = arith.CmpiOp.make(
                [block.args[0], _outer_lower(block)], [i1], {"predicate": StringAttr("ne")}
            )
            enabled = _before(later, after)
        release = ConsumerReleaseOp.make(
            [ring.pipeline, token, enabled], [], {"behind": UnitAttr()} if behind else {}
        )
        _before(release, after)
        following = _before(AdvanceOp.make([ring.pipeline, token], [i32]), after)
        if "warpgroup" in product.attributes:
            product.detach()
            product.erase()
        for fetch in ring.fetches:
            _drop(fetch)
        return following

    def _multiply(self, ring: _Ring, stage: SSAValue) -> bool:
        """The product of a warpgroup in place of ``dot``; whether it is still under way afterwards."""
        product = ring.product
        operands, stages, kept = [product.lhs, product.rhs], [None, None], {}
        for fetch in ring.fetches:
            operands[fetch.index], stages[fetch.index] = fetch.buffer, stage
            placement = placement_after(fetch.chain, fetch.box.placement)
            kept[("lhs", "rhs")[fetch.index] + "_placement"] = SharedLayoutAttr(placement)
        behind = _only_accumulates(product)
        kept |= {key: value for key, value in product.attributes.items() if key not in ("warpgroup", "warps")}
        kept |= {"atom": product.attributes["warpgroup"], "pending": IntegerAttr(int(behind), i32)}
        made = AsyncDotOp.make([*operands, product.acc, *stages], [product.result.type], kept)
        _before(made, product)
        product.result.replace_all_uses_with(made.result)
        return behind


def _only_accumulates(product: Any) -> bool:
    """Whether the loop does nothing with the sum but add to it, and multiplies nothing else."""
    block, last = product.parent, product.parent.last_op
    argument = product.acc
    if not isinstance(argument.owner, Block) or argument.owner is not block or len(list(argument.uses)) != 1:
        return False
    others = sum(op.name in ("nv_tileas.dot", AsyncDotOp.name) for op in block.walk())
    uses = list(product.result.uses)
    returns = len(uses) == 1 and uses[0].operation is last and uses[0].index == argument.index - 1
    return returns and others == 1


def _is_under_way(loop: Any, index: int) -> bool:
    last = loop.regions[0].blocks[0].last_op
    owner = last.operands[index].owner
    return isinstance(owner, AsyncDotOp) and owner.attributes["pending"].value.data > 0


def _outer_lower(block: Block) -> SSAValue:
    return block.parent_op().lower


def _less(loop: Any) -> str:
    return "ult" if "unsigned" in loop.attributes else "slt"


def _read(fetch: _Fetch, stage: SSAValue, product: Any) -> None:
    """The operand of a product of single warps: read from the stage in the fragment that the product wants."""
    layout = fragment_of(fetch.load, fetch.chain)
    value = LocalLoadOp.make([fetch.buffer, stage], [with_layout(fetch.load.value.type, layout)])
    current = _before(value, product)
    for link in fetch.chain:
        if link.name == "nv_tileas.convert_layout":
            continue
        layout = forwarded(link, layout)
        clone = type(link).make([current], [with_layout(link.results[0].type, layout)], dict(link.attributes))
        current = _before(clone, product)
    product.operands[fetch.index] = current


def _drop(fetch: _Fetch) -> None:
    """The load and what only it fed are gone; what its token ordered follows what it followed."""
    load = fetch.load
    for link in reversed(fetch.chain):
        link.detach()
        link.erase()
    if load.result_token is not None and list(load.result_token.uses):
        token = load.token
        if token is None:
            token = _before(CreateTokenOp.make([], [load.result_token.type]), load)
        load.result_token.replace_all_uses_with(token)
    load.detach()
    load.erase()


def _before(op: Operation, place: Operation) -> Any:
    place.parent.insert_op_before(op, place)
    return op.results[0] if op.results else None


def _appender(block: Block) -> Insert:
    def insert(op: Operation) -> SSAValue | None:
        block.add_op(op)
        return op.results[0] if op.results else None

    return insert
