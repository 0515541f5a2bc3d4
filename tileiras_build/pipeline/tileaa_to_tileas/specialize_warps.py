"""Set one warp aside to fetch tiles by TMA, ahead of the warps that compute, and one to issue products of loops over tiles.

In:    tiled_loads marked ``tma`` in counted loops, products that read their tiles, all with layouts.
Out:   the scalars of the kernel, with the loads of those that are looked up in memory, then an agent_switch: its first
       region is the slice of the program that fetches (the same loops, each with only what the tiles' places depend on),
       its last the program without those loads. Between
       them a ring of stages in shared memory for each product, with a full and an empty mbarrier per stage. Products of
       warpgroups read their stages directly (async.dot), others by local_load. Where all products sum up from zero in
       tensor memory, in a loop inside another one, a region between the two issues them (agent_slices.py): the sums
       are a ring, too, of two buffers where there is room, and the last region only reads them. ``producer_warps`` on the
       kernel, and ``agent_registers`` where the agents divide its registers unevenly.
After: assign_layouts, select_async. Before: pipeline_loads (other loads), assign_scratch (rings need room).
Sound: all agents run the same loops over the same scalars, so the n-th stage that one fills is the n-th that another
       reads; a token that both carry names it. A stage is filled again only after every computing warp has arrived at
       its empty mbarrier, which it does once its products of that stage are done; a buffer of sums, once the registers of
       every computing warp hold the last one. A sum of no products is the zeros that these warps write there themselves.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import arith
from ...dialects.cute.shared import SharedLayoutAttr
from ...dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AgentSwitchOp,
    AllocTensorOp,
    AllocTmemOp,
    AsyncDotOp,
    AsyncDotWaitOp,
    AsyncUmmaOp,
    BarrierOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    CreateTmemOp,
    LocalLoadOp,
    TmemLoadOp,
    TmemStoreOp,
    UmmaCommitOp,
)
from ...dialects.nv_tileas.types import BufferType, PipelineType, TmemType
from ...layouts.tensor_memory import ALL_COLUMNS, LEAST_COLUMNS
from ..analysis.dot_atoms import partial_sums, scale_columns, tensor_memory_tiles
from ..analysis.kinds import is_pure, is_tile
from ..analysis.operand_chains import LOOP, TOKEN, ScalarSlice, is_inside, is_zero, only_accumulates, rounds_to_tf32
from ..analysis.shared_rings import ring_keys
from ..contracts import EdgePass
from ..job import Job
from ..shared.element_types import element_of
from .agent_slices import (
    Fetch,
    FetchingAgent,
    ForOp,
    IssuingAgent,
    Ring,
    Stages,
    State,
    Sum,
    Tokens,
    YieldOp,
    is_later,
    stage_of,
    stage_operands,
    stages_of,
    sums_of,
    tensor_attributes,
)
from .assign_scratch import RING_ALIGNMENT, largest_scratch
from .choose_warps import WARPGROUP, divided_registers, divides_registers, has_registers_for_issuing
from .pipeline_loads import MOST_STAGES as COPY_STAGES
from .pipeline_loads import constant_i32, forwarded, fragment_of, resident_ctas, runs_at, with_layout
from .select_async import LEAST_STAGES, MOST_STAGES, SMALL_BYTES, products
from .tma_descriptors import descriptor_of, hoist

CreateTokenOp, AddFOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "addf"))
SUM_BUFFERS = 2  # one is read while the next sum comes together in the other


class SpecializeWarps(EdgePass):
    """A fetching warp and computing warps."""

    name = "tileas-specialize-warps"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in list(module.body.block.ops):
            if func.name == "nv_tileaa.func" and (found := list(products(func))):
                _Specializer(func, job, found).run()


class _Specializer:
    def __init__(self, func: Operation, job: Job, found: list[Any]):
        self.func, self.job = func, job
        self.warps = func.attributes["num_warps"].value.data
        self.rings = [Ring.of(product) for product in found]
        self.groups = _groups(self.rings)
        self.entry = func.regions[0].blocks[0]
        self.shared: set[Operation] = set()
        self.ctas = 1  # that share a multiprocessor
        # In a loop over tiles the products of the next one need not wait until the last sum has been stored.
        again = any(len(ring.loops) > 1 for ring in self.rings)
        self.issues_apart = again and all(map(_fills_sums, self.rings)) and self._has_registers()

    def run(self) -> None:
        self._set_warps()
        for fetch in (fetch for ring in self.rings for fetch in ring.fetches):
            hoist(fetch.load.view, self.entry)
        loops, fetched = self._slice(places=False), self._slice(places=True)
        body = self._outline(fetched.lookups)
        self._create_rings(body)
        agents = [FetchingAgent(self.rings, fetched).run(body)]
        if self.issues_apart:
            agents.append(IssuingAgent(self.rings, loops).run(body))
        (_SumReader if self.issues_apart else _Consumer)(self).run(body)
        switch = AgentSwitchOp.make([], [], {}, [Region(agent) for agent in (*agents, body)])
        self.entry.insert_op_before(switch, self.entry.last_op)

    def _has_registers(self) -> bool:
        words = max(ring.product.result.type.encoding.data.size for ring in self.rings)
        return has_registers_for_issuing(words, self.func, self.job, self.warps)

    def _slice(self, places: bool) -> ScalarSlice:
        """What the loops depend on, and where the tiles are."""
        slice = ScalarSlice()
        for ring in self.rings:
            for loop in ring.loops:
                slice.add_loop(loop)
            for coord in (coord for fetch in ring.fetches for coord in fetch.load.coords if places):
                slice.add(coord)
        return slice

    def _set_warps(self) -> None:
        divided = divides_registers(self.func, self.job, self.warps)
        agents = 2 if self.issues_apart else 1
        self.func.attributes["producer_warps"] = IntegerAttr(WARPGROUP if divided else agents, i32)
        if divided:
            self.func.attributes["agent_registers"] = DenseArrayBase.from_list(i32, divided_registers(self.warps))

    def _outline(self, lookups: set[Operation]) -> Block:
        """All but the scalars that both agents may need, moved to a block of its own; ``lookups`` are such scalars' loads."""
        body = Block()
        for op in list(self.entry.ops)[:-1]:
            if op in lookups:
                self._order_freely(op)
            if op in lookups or self._is_common(op):
                self.shared.add(op)
            else:
                op.detach()
                body.add_op(op)
        body.add_op(YieldOp.make([[]], []))
        return body

    def _order_freely(self, op: Any) -> None:
        """A load that waits for nothing needs no token of what stays behind."""
        for index, token in enumerate(op.operands):
            if token.type.name == TOKEN:
                op.operands[index] = _before(CreateTokenOp.make([], [token.type]), op)
                self.shared.add(op.operands[index].owner)

    def _is_common(self, op: Operation) -> bool:
        """Pure, without tiles, and computed from nothing that stays behind."""
        if not is_pure(op) or op.regions or any(is_tile(value) for value in (*op.operands, *op.results)):
            return False
        owners = (value.owner for value in op.operands)
        return all(isinstance(owner, Block) or owner in self.shared for owner in owners)

    # ---- rings -----------------------------------------------------------------------------------
    def _create_rings(self, body: Block) -> None:
        stages = self._stages(body)
        for first, *others in self.groups:
            first.stages = self._create_stages(first, stages)
            for ring in others:
                ring.stages = first.stages
            for ring in (first, *others):
                ring.used_again = len(ring.loops) > 1 or bool(others)
                for fetch, buffer, descriptor in zip(ring.fetches, ring.stages.buffers, ring.stages.descriptors):
                    fetch.buffer, fetch.descriptor = buffer, descriptor
        self._create_sums(stages)

    def _create_stages(self, ring: Ring, count: int) -> Stages:
        descriptors, buffers = [], []
        for fetch in ring.fetches:
            descriptors.append(self._descriptor(fetch))
            type = BufferType(fetch.element, IntAttr(count), SharedLayoutAttr(fetch.box.placement))
            buffers.append(self._add(AllocTensorOp.make([], [type])))
        pipeline = self._pipeline(count, ring.consumers or self.warps, ring.stage_bytes)
        return Stages(pipeline, buffers, descriptors)

    def _pipeline(self, stages: int, consumers: int, bytes: int) -> SSAValue:
        attributes = {"consumers": IntegerAttr(consumers, i32), "bytes": IntegerAttr(bytes, i32)}
        return self._add(CreatePipelineOp.make([], [PipelineType(IntAttr(stages))], attributes))

    def _create_sums(self, stages: int) -> None:
        groups = [group for group in self.groups if group[0].consumers]
        if not groups:
            return
        rings = [group[0] for group in groups]
        tiles = [_tensor_tiles(ring, self.warps) for ring in rings]
        scales = [_scale_words(ring, self.warps, stages) for ring in rings]
        buffers, columns = self._choose_columns(tiles, scales)
        memory = self._add(CreateTmemOp.make([], [TmemType(IntAttr(columns))]))
        column = 0
        for group, (left, accumulators), words in zip(groups, tiles, scales):
            tile = self._tile(memory, column, buffers * accumulators)
            column += buffers * accumulators
            operand = self._tile(memory, column, left) if left else None
            column += left
            sum = self._sum(group[0], tile, operand, buffers)
            for count in words:
                sum.scales.append(self._tile(memory, column, count))
                column += count
            for ring in group:
                ring.sum = sum

    def _choose_columns(self, tiles: list[tuple[int, int]], scales: list[list[int]]) -> tuple[int, int]:
        """(buffers of each sum, columns of all): two buffers where the CTAs of a multiprocessor have room for them."""
        sums = sum(accumulators for _, accumulators in tiles)
        others = sum(left for left, _ in tiles) + sum(map(sum, scales))
        if self.issues_apart and self.ctas * (columns := _allocated(SUM_BUFFERS * sums + others)) <= ALL_COLUMNS:
            return SUM_BUFFERS, columns
        return 1, _allocated(sums + others)

    def _sum(self, ring: Ring, tile: SSAValue, operand: SSAValue | None, buffers: int) -> Sum:
        running = only_accumulates(ring.product)
        waited = running and operand is not None and is_inside(ring.product.lhs, ring.loops[-1])
        pipeline = self._pipeline(buffers, self.warps if self.issues_apart else 1, 0)
        return Sum(running, waited, pipeline, tile, operand)

    def _tile(self, memory: SSAValue, column: int, columns: int) -> SSAValue:
        attributes = {"column": IntegerAttr(column, i32)}
        return self._add(AllocTmemOp.make([memory], [TmemType(IntAttr(columns))], attributes))

    def _stages(self, body: Block) -> int:
        """As many as shared memory holds beside the scratch that is used while a ring turns."""
        size = sum(group[0].stage_bytes for group in self.groups)
        room = self.job.target.max_shared_memory
        last = [op for op in body.ops if any(op is ring.loops[0] for ring in self.rings)][-1]
        gone = {op for ring in self.rings for fetch in ring.fetches for op in fetch.chain}
        early = [op for op in body.ops if op is last or op.is_before_in_block(last)]
        scratch = largest_scratch((op for top in early for op in top.walk() if op not in gone), self.job)
        scratch += SMALL_BYTES * len(self.groups)
        copied = sum(_scale_bytes(ring.product) for ring in self.rings)
        # Scales are not copied ahead where tiles then would not be.
        for beside in dict.fromkeys((scratch + copied, scratch)):
            for ctas in range(resident_ctas(self.func, body, self.job), 0, -1):
                if (stages := (room // ctas - beside) // size) >= LEAST_STAGES:
                    self.ctas = ctas
                    return min(stages, MOST_STAGES)
        return max(1, (room - scratch) // size)

    def _descriptor(self, fetch: Fetch) -> SSAValue:
        made = descriptor_of(fetch.load.view, fetch.box, self.entry, self.entry.last_op)
        self.shared.add(made.owner)
        return made

    def _add(self, op: Operation) -> SSAValue:
        """At the end of what both agents share."""
        self.entry.insert_op_before(op, self.entry.last_op)
        self.shared.add(op)
        return op.results[0]


# ---- the agents that compute -----------------------------------------------------------------------
class _Consumer:
    """Changes the program in place: products wait for their stages and give them back."""

    def __init__(self, whole: _Specializer):
        self.whole = whole
        self.running: dict[Block, list[tuple[int, Ring]]] = {}  # which carried tiles of a loop are such sums

    def run(self, body: Block) -> None:
        first = body.first_op
        self._block(body, {state: _before(constant_i32(0), first) for state in self.states()})

    def states(self, loop: Operation | None = None) -> list[State]:
        """What the agent has tokens of, or what of it is inside ``loop``."""
        return [*stages_of(self.whole.rings, loop), *sums_of(self.whole.rings, loop)]

    def _block(self, block: Block, tokens: Tokens) -> None:
        for op in list(block.ops):
            if op.name == LOOP and (states := self.states(op)):
                self._loop(op, states, tokens)
            for ring in self.whole.rings:
                if op is ring.product:
                    self._product(ring, tokens)

    def _loop(self, loop: Any, states: list[State], tokens: Tokens) -> None:
        block = loop.regions[0].blocks[0]
        carried = {state: block.insert_arg(i32, len(block.args)) for state in states}
        self._block(block, carried)
        last = block.last_op
        last.operands = [*last.operands, *(carried[state] for state in states)]
        kept = self._drop_running(block, len(loop.results))
        initial = [loop.initial[index] for index in kept] + [tokens[state] for state in states]
        types = [loop.results[index].type for index in kept] + [i32] * len(states)
        operands = [loop.lower, loop.upper, loop.step, initial]
        made = ForOp.make(operands, types, dict(loop.attributes), [Region(loop.regions[0].detach_block(block))])
        _before(made, loop)
        tokens.update(zip(states, made.results[len(kept) :]))
        for index, result in zip(kept, made.results):
            loop.results[index].replace_all_uses_with(result)
        for ring in self.whole.rings:
            ring.loops = [made if around is loop else around for around in ring.loops]
        self._finish(made, tokens)
        self._read_sums(loop, made, tokens)
        loop.detach()
        loop.erase()

    # ---- sums in tensor memory ---------------------------------------------------------------------
    def _drop_running(self, block: Block, count: int) -> list[int]:
        """Which of the tiles that a loop carries are still carried: sums that stay in tensor memory are not."""
        gone = [index for index, _ in self.running.get(block, ())]
        last = block.last_op
        last.operands = [value for index, value in enumerate(last.operands) if index not in gone]
        for index in sorted(gone, reverse=True):
            block.erase_arg(block.args[1 + index])
        return [index for index in range(count) if index not in gone]

    def _read_sums(self, old: Any, loop: Any, tokens: Tokens) -> None:
        """After the loop: wait for the last product, and read what has come together."""
        for index, ring in self.running.get(loop.regions[0].blocks[0], ()):
            sum, initial, result = ring.sum, old.initial[index], old.results[index]
            if is_zero(initial):
                _before(TmemStoreOp.make([initial, sum.tile, _never(loop, loop), None], []), loop)
            else:
                _before(TmemStoreOp.make([initial, sum.tile, None, None], []), loop)
                _before(BarrierOp.make([], []), loop)
            if not sum.waited:
                _before(UmmaCommitOp.make([sum.pipeline], []), old)
                self._wait(sum, old, tokens)
            result.replace_all_uses_with(_before(TmemLoadOp.make([sum.tile], [result.type]), old))
            if ring.used_again:
                _before(BarrierOp.make([], []), old)  # before the next round overwrites what others still read

    def _wait(self, sum: Sum, place: Operation, tokens: Tokens) -> None:
        _before(ConsumerWaitOp.make([sum.pipeline, tokens[sum]], []), place)
        tokens[sum] = _before(AdvanceOp.make([sum.pipeline, tokens[sum]], [i32]), place)

    def _accumulate(self, ring: Ring, stage: SSAValue, tokens: Tokens) -> None:
        """The product in tensor memory in place of ``dot``; its commit gives the stage back."""
        product, sum = ring.product, ring.sum
        operands, stages, kept = self._operands(ring, stage)
        block = product.parent
        if sum.left is not None:
            operands[0] = sum.left
            self._store_left(ring)
        kept |= tensor_attributes(product)
        # What used a stage before is done, or it would not be full again: so are the scales of its products.
        for line_dim, tile in enumerate(sum.scales):
            value = (product.lhs_scale, product.rhs_scale)[line_dim]
            attributes = {"line_dim": IntegerAttr(line_dim, i32)}
            _before(TmemStoreOp.make([value, tile, None, stage], [], attributes), product)
        if sum.running and sum.scales:
            _before(BarrierOp.make([], []), product)  # all of them are written
        if sum.running:
            index = product.acc.index - 1
            self.running.setdefault(block, []).append((index, ring))
            accumulate = self._accumulates(block, index, product)
        else:
            _before(BarrierOp.make([], []), product)  # operands are written, the last sum is read
            accumulate = _before(_constant_i1(False), product)
        ready = sum.pipeline if sum.waited or not sum.running else None
        given = [*operands, sum.tile, accumulate, *stages, ring.pipeline, tokens[ring.stages], ready]
        given += [*(sum.scales or [None, None]), None]
        _before(AsyncUmmaOp.make(given, [], kept), product)
        if ready is not None:
            self._wait(sum, product, tokens)
        if sum.running:
            product.result.replace_all_uses_with(product.acc)
            return
        result = _before(TmemLoadOp.make([sum.tile], [product.result.type]), product)
        if not is_zero(product.acc):
            result = _before(_sum_of(result, product.acc), product)
        product.result.replace_all_uses_with(result)

    def _accumulates(self, block: Block, index: int, product: Operation) -> SSAValue:
        """Whether there is something to add to: not in the first iteration, where the sum starts from zero."""
        loop = block.parent_op()
        if not is_zero(loop.initial[index]):
            return _before(_constant_i1(True), product)
        return _before(is_later(loop, block.args[0]), product)

    def _store_left(self, ring: Ring) -> None:
        """A left operand from registers goes to tensor memory where it is computed: once, if outside the loops."""
        product, value = ring.product, ring.product.lhs
        place = product
        for loop in reversed(ring.loops):
            if not is_inside(value, loop):
                place = loop
        if ring.sum.held is value:
            return  # the loop before has left it there
        ring.sum.held = value if place is not product else None
        _before(TmemStoreOp.make([value, ring.sum.left, None, None], []), place)
        if ring.sum.running:
            _before(BarrierOp.make([], []), place)  # all of it is written

    # ---- products of warps -------------------------------------------------------------------------
    def _finish(self, loop: Any, tokens: Tokens) -> None:
        """Products left under way by the last iteration end here, and their stage is empty."""
        for result in list(loop.results):
            if result.type != i32 and _is_under_way(loop, result.index):
                uses = list(result.uses)
                wait = AsyncDotWaitOp.make([result], [result.type], {"pending": IntegerAttr(0, i32)})
                loop.parent.insert_op_after(wait, loop)
                for use in uses:
                    use.operation.operands[use.index] = wait.results[0]
                self._release_last(loop, wait, tokens)

    def _release_last(self, loop: Any, wait: Operation, tokens: Tokens) -> None:
        ring = next(ring for ring in self.whole.rings if ring.loops[-1] is loop)
        if not ring.used_again:
            return
        ran = runs_at(loop, loop.lower)
        operands = [ring.pipeline, tokens[ring.stages], ran.results[0]]
        release = ConsumerReleaseOp.make(operands, [], {"behind": UnitAttr()})
        loop.parent.insert_op_after(release, wait)
        loop.parent.insert_op_after(ran, wait)

    def _product(self, ring: Ring, tokens: Tokens) -> None:
        """Wait, multiply, give the stage back."""
        product, token = ring.product, tokens[ring.stages]
        _before(ConsumerWaitOp.make([ring.pipeline, token], []), product)
        stage = stage_of(lambda op: _before(op, product), token)
        if ring.sum is not None:
            self._accumulate(ring, stage, tokens)
        else:
            self._multiply_and_release(ring, stage, token)
        tokens[ring.stages] = _before(AdvanceOp.make([ring.pipeline, token], [i32]), product.next_op)
        if not list(product.result.uses):
            product.detach()
            product.erase()
        for fetch in ring.fetches:
            _drop(fetch)

    def _multiply_and_release(self, ring: Ring, stage: SSAValue, token: SSAValue) -> None:
        product, after = ring.product, ring.product.next_op
        if "warpgroup" not in product.attributes:
            for fetch in ring.fetches:
                _read(fetch, stage, product)
            _before(ConsumerReleaseOp.make([ring.pipeline, token, None], []), after)
            return
        if not self._multiply(ring, stage):
            _before(ConsumerReleaseOp.make([ring.pipeline, token, None], []), after)
            return
        block = product.parent
        later = _before(is_later(block.parent_op(), block.args[0]), after)
        _before(ConsumerReleaseOp.make([ring.pipeline, token, later], [], {"behind": UnitAttr()}), after)

    def _operands(
        self, ring: Ring, stage: SSAValue
    ) -> tuple[list[SSAValue], list[SSAValue | None], dict[str, Attribute]]:
        """What a product reads, the stages of what lies in shared memory, and how it lies there."""
        product = ring.product
        operands, stages, kept = [product.lhs, product.rhs], [None, None], stage_operands(ring)
        for fetch in ring.fetches:
            if fetch.index == 0 and "scattered_rows" in product.attributes:
                operands[0] = _read(fetch, stage, product)
                del kept["lhs_placement"]
                continue
            operands[fetch.index], stages[fetch.index] = fetch.buffer, stage
        return operands, stages, kept

    def _multiply(self, ring: Ring, stage: SSAValue) -> bool:
        """The product of a warpgroup in place of ``dot``; whether it is still under way afterwards."""
        product = ring.product
        operands, stages, kept = self._operands(ring, stage)
        # Sums of 16 bits travel in pairs: carrying them takes the pairs apart, so they must be complete. A left operand
        # in registers is under way with its product, and the next iteration has another. Partial sums are added at once.
        behind = only_accumulates(product) and element_of(product.result.type).bits == 32 and stages[0] is not None
        behind = behind and partial_sums(product) is None
        kept |= {"atom": product.attributes["warpgroup"], "pending": IntegerAttr(int(behind), i32)}
        made = AsyncDotOp.make([*operands, product.acc, *stages], [product.result.type], kept)
        _before(made, product)
        product.result.replace_all_uses_with(made.result)
        return behind


class _SumReader(_Consumer):
    """Changes the program in place: instead of products there are sums, each read from its buffer and given back."""

    def states(self, loop: Operation | None = None) -> list[State]:
        return sums_of(self.whole.rings, loop)

    def _block(self, block: Block, tokens: Tokens) -> None:
        for op in list(block.ops):
            if (ring := next((ring for ring in self.whole.rings if ring.loops[-1] is op), None)) is not None:
                self._take_sum(ring, op, tokens)
            elif op.name == LOOP and (states := self.states(op)):
                self._loop(op, states, tokens)

    def _take_sum(self, ring: Ring, loop: Any, tokens: Tokens) -> None:
        """Wait until a buffer is full, read it, give it back; of the loop that filled it only what else it does is left."""
        sum, index = ring.sum, ring.product.acc.index - 1
        token, result = tokens[sum], loop.results[index]

        def insert(op: Operation) -> Any:
            return _before(op, loop)

        insert(ConsumerWaitOp.make([sum.pipeline, token], []))
        stage = stage_of(insert, token)
        insert(TmemStoreOp.make([loop.initial[index], sum.tile, _never(loop, loop), stage], []))
        result.replace_all_uses_with(insert(TmemLoadOp.make([sum.tile, stage], [result.type])))
        insert(ConsumerReleaseOp.make([sum.pipeline, token, None], []))
        tokens[sum] = insert(AdvanceOp.make([sum.pipeline, token], [i32]))
        self._drop_product(ring, loop, index)

    def _drop_product(self, ring: Ring, loop: Any, index: int) -> None:
        block = loop.regions[0].blocks[0]
        ring.product.result.replace_all_uses_with(ring.product.acc)
        ring.product.detach()
        ring.product.erase()
        for fetch in ring.fetches:
            _drop(fetch)
        _erase_unused(block)
        _rebuild_without(loop, index)


def _erase_unused(block: Block) -> None:
    """What has no effect and no use goes."""
    for op in reversed(list(block.ops)):
        if is_pure(op) and not op.regions and not any(list(result.uses) for result in op.results):
            op.detach()
            op.erase()


def _rebuild_without(loop: Any, index: int) -> None:
    """The loop without a value that it carries, or nothing where it only passes on what it was given."""
    block = loop.regions[0].blocks[0]
    last, kept = block.last_op, [other for other in range(len(loop.results)) if other != index]
    last.operands = [last.operands[other] for other in kept]
    block.erase_arg(block.args[1 + index])
    initial = [loop.initial[other] for other in kept]
    if block.first_op is last and list(last.operands) == list(block.args[1:]):
        results = initial
    else:
        types = [loop.results[other].type for other in kept]
        operands = [loop.lower, loop.upper, loop.step, initial]
        region = Region(loop.regions[0].detach_block(block))
        made = ForOp.make(operands, types, dict(loop.attributes), [region])
        _before(made, loop)
        results = made.results
    for other, result in zip(kept, results):
        loop.results[other].replace_all_uses_with(result)
    loop.detach()
    loop.erase()


def _groups(rings: list[Ring]) -> list[list[Ring]]:
    """The rings that use the same stages, each in a loop of its own, in program order."""
    keys = ring_keys((ring.product, [fetch.index for fetch in ring.fetches]) for ring in rings)
    groups: dict[Hashable, list[Ring]] = {}
    for key, ring in zip(keys, rings):
        groups.setdefault(key, []).append(ring)
    return list(groups.values())


def _fills_sums(ring: Ring) -> bool:
    """Whether all of a product is fetched, and its sums come together in tensor memory, from zero, in a loop that adds
    nothing else."""
    product, loop = ring.product, ring.loops[-1]
    fetched = ring.consumers and len(ring.fetches) == 2 and product.lhs_scale is None
    return bool(fetched and only_accumulates(product) and is_zero(loop.initial[product.acc.index - 1]))


def _never(loop: Any, place: Operation) -> SSAValue:
    """Whether a loop does not run at all."""
    predicate = StringAttr("uge" if "unsigned" in loop.attributes else "sge")
    return _before(arith.CmpiOp.make([loop.lower, loop.upper], [i1], {"predicate": predicate}), place)


def _allocated(columns: int) -> int:
    """Columns of tensor memory that an allocation for so many takes: a power of two."""
    return max(1 << (columns - 1).bit_length(), LEAST_COLUMNS)


def _constant_i1(value: bool) -> Operation:
    return arith.ConstantOp.create(result_types=[i1], properties={"value": IntegerAttr(int(value), i1)})


def _is_under_way(loop: Any, index: int) -> bool:
    last = loop.regions[0].blocks[0].last_op
    owner = last.operands[index].owner
    return isinstance(owner, AsyncDotOp) and owner.attributes["pending"].value.data > 0


def _sum_of(first: SSAValue, second: SSAValue) -> Operation:
    is_integer = str(first.type.element_type) == "i32"
    return (
        arith.AddiOp.make([first, second], [first.type]) if is_integer else AddFOp.make([first, second], [first.type])
    )


def _tensor_tiles(ring: Ring, warps: int) -> tuple[int, int]:
    """Columns of tensor memory for the left operand (0 where it is fetched) and for the accumulators."""
    left, accumulators = tensor_memory_tiles(ring.product, warps)
    fetched = any(fetch.index == 0 for fetch in ring.fetches)
    return 0 if fetched else left.total_words, accumulators.total_words


def _scale_words(ring: Ring, warps: int, stages: int) -> list[int]:
    """Columns of tensor memory for the scales of each operand, of all stages."""
    if ring.product.lhs_scale is None:
        return []
    return [stages * columns.words for columns in scale_columns(ring.product, warps)]


def _scale_bytes(product: Any) -> int:
    """Shared memory for the rings in which all threads copy scales ahead (PipelineLoads)."""
    scales = [] if product.lhs_scale is None else [product.lhs_scale, product.rhs_scale]
    bytes = (prod(value.type.get_shape()) * element_of(value.type).bytes for value in scales)
    return sum(-(-COPY_STAGES * size // RING_ALIGNMENT) * RING_ALIGNMENT for size in bytes)


def _read(fetch: Fetch, stage: SSAValue, product: Any) -> SSAValue:
    """An operand in registers: read from the stage in the fragment that the product wants."""
    layout = fragment_of(fetch.load, fetch.chain)
    type = TensorType(fetch.element, fetch.load.value.type.get_shape())
    current = _before(LocalLoadOp.make([fetch.buffer, stage], [with_layout(type, layout)]), product)
    for link in fetch.chain:
        if link.name == "nv_tileas.convert_layout" or rounds_to_tf32(link):
            continue
        layout = forwarded(link, layout)
        type = TensorType(current.type.element_type, link.results[0].type.get_shape())
        if link.name == "nv_tileas.fp_to_fp":
            type = link.results[0].type
        current = _before(link.make([current], [with_layout(type, layout)], dict(link.attributes)), product)
    product.operands[fetch.index] = current
    return current


def _drop(fetch: Fetch) -> None:
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
