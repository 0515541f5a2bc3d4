"""Chained products (``keep_accumulators_in_tmem.py``) by two agents: one thread issues both, the warps that compute have the softmax alone.

The warps scale the sum as soon as they know by what, and write the left operand in parts along k. Behind each part they
arrive, and its products run while the next one is computed. They never meet: what a warp writes over scores is its own lanes', and
the next scores come after all have arrived behind the last part.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import block_of, given, row
from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    AsyncUmmaOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemScaleOp,
    TmemStoreOp,
    UmmaAcquireOp,
    UmmaCommitOp,
    UmmaReleaseOp,
)
from ....ir.dialects.op_definition import TableOperation
from ...analysis.chained_dots import running_sum
from ...analysis.op_queries import is_pure
from ...analysis.view_chains import is_zero
from ..rewriter import Insert, constant_i1, constant_i32, insert_before, is_later
from .consumer_operands import drop_fetch
from .consumer_partition import ComputingAgent
from .pipeline_buffers import (
    Resident,
    Ring,
    State,
    Tokens,
    lefts_of,
    residents_of,
    stage_of,
    stage_operands,
    stages_of,
    sums_of,
    tensor_values,
)
from .producer_partitions import AgentSlice
from .tmem_accumulators import TensorMemorySums, store_initial, wait_for_sum

REDUCE = "nv_tileas.reduce"


class ChainIssuer(AgentSlice):
    """Issues the products of all chains."""

    def states(self, loop: Operation | None = None) -> list[State]:
        again = [ring.sum for ring in self.rings if ring.product.rescaled and ring.used_again]
        sums = [sum for sum in sums_of(self.rings, loop) if sum in again]
        return [*stages_of(self.rings, loop), *lefts_of(self.rings, loop), *sums]

    def leave(self, loop: TableOperation, insert: Insert, tokens: Tokens) -> None:
        """Behind a loop of products its sum is complete, and behind the last one that reads it the left operand is free."""
        for ring in self.rings:
            if ring.loops[-1] is loop and ring.product.rescaled:
                self._complete(ring, insert, tokens)
        for resident in residents_of(self.rings):
            if resident.loops and self._readers(resident)[-1] is loop:
                token = tokens[resident.stages]
                insert(UmmaReleaseOp.make([resident.stages.pipeline, token], []))
                tokens[resident.stages] = insert(AdvanceOp.make([resident.stages.pipeline, token], [i32]))

    def _complete(self, ring: Ring, insert: Insert, tokens: Tokens) -> None:
        """No sooner than the last sum was read: between the two there may be no product to wait for."""
        sum = ring.sum
        if ring.used_again:
            insert(UmmaAcquireOp.make([sum.pipeline, tokens[sum]], []))
            tokens[sum] = insert(AdvanceOp.make([sum.pipeline, tokens[sum]], [i32]))
        insert(UmmaCommitOp.make([sum.pipeline], []))

    def _readers(self, resident: Resident) -> list[Operation]:
        return [ring.loops[len(resident.loops)] for ring in self.rings if ring.resident is resident]

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        for resident in residents_of(self.rings):
            if op is resident.fetch.load:
                self._await(resident, insert, tokens)
        ring = next((ring for ring in self.rings if op is ring.product), None)
        if ring is not None:
            self._issue(ring, insert, tokens)

    def _await(self, resident: Resident, insert: Insert, tokens: Tokens) -> None:
        stages = resident.stages
        insert(ConsumerWaitOp.make([stages.pipeline, tokens[stages]], []))
        if not resident.loops:
            tokens[stages] = insert(AdvanceOp.make([stages.pipeline, tokens[stages]], [i32]))

    def _issue(self, ring: Ring, insert: Insert, tokens: Tokens) -> None:
        token = tokens[ring.stages]
        insert(ConsumerWaitOp.make([ring.pipeline, token], []))
        stage = stage_of(insert, ring.pipeline, token)
        if ring.product.rescaled:
            self._add_parts(ring, stage, insert, tokens)
        else:
            left = given(given(ring.resident).fetch.buffer)
            read = [left, insert(constant_i1(False)), insert(constant_i32(0)), stage]
            self._multiply(ring, read, [ring.pipeline, token, ring.sum.pipeline], insert)
        tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, token], [i32]))

    def _add_parts(self, ring: Ring, stage: SSAValue, insert: Insert, tokens: Tokens) -> None:
        """The products of each part of the left operand, once it is there; the last of them give the stage back."""
        left, token = given(ring.sum.written), tokens[ring.stages]
        adds = self._adds(ring, insert)
        for part in range(left.parts):
            insert(ConsumerWaitOp.make([left.pipeline, tokens[left]], []))
            tokens[left] = insert(AdvanceOp.make([left.pipeline, tokens[left]], [i32]))
            ends = [ring.pipeline, token] if part + 1 == left.parts else [None, None]
            read = [given(ring.sum.left), adds if part == 0 else insert(constant_i1(True)), None, stage]
            self._multiply(ring, read, [*ends, None], insert, part=(part, left.parts))

    def _multiply(
        self,
        ring: Ring,
        read: Sequence[SSAValue | None],
        ends: Sequence[SSAValue | None],
        insert: Insert,
        part: tuple[int, int] | None = None,
    ) -> None:
        left, adds, *stages = read
        [right] = [fetch.buffer for fetch in ring.fetches]
        operands = [left, right, ring.sum.tile, adds, *stages, *ends, None, None, None, None]
        told = tensor_values(ring.product) | ({} if part is None else {"part": part})
        insert(AsyncUmmaOp.make(operands, [], stage_operands(ring), **told))

    def _adds(self, ring: Ring, insert: Insert) -> SSAValue:
        """Whether a product is added to what its sum holds: not the first one, where the sum starts from zero."""
        loop = row(ring.loops[-1])
        if not is_zero(loop.initial[given(running_sum(ring.product)).argument.index - 1]):
            return insert(constant_i1(True))
        later = is_later(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return insert(later)


class ChainReader(ComputingAgent):
    """The softmax: it reads what the first product makes, and writes what the second one multiplies."""

    def __init__(self, rings: list[Ring]):
        super().__init__(rings)
        self.sums: ChainedSums = ChainedSums()

    def states(self, loop: Operation | None = None) -> list[State]:
        return sums_of(self.rings, loop)

    def _await(self, resident: Resident, tokens: Tokens) -> None:
        """Nobody but the thread that issues products waits for a left operand in shared memory."""

    def _product(self, ring: Ring, tokens: Tokens) -> None:
        product = ring.product
        if product.rescaled:
            self.sums.write_left(ring)
        else:
            wait_for_sum(ring.sum, product, tokens)
            loaded = TmemLoadOp.make([ring.sum.tile], [product.result.type])
            product.result.replace_all_uses_with(insert_before(loaded, product))
        product.detach()
        product.erase()
        for fetch in ring.fetches:
            drop_fetch(fetch)


class ChainedSums(TensorMemorySums):
    """Sums that another agent completes."""

    def write_left(self, ring: Ring) -> None:
        """Scale the sum, write the left operand part by part; what neither needs is computed behind that."""
        product, left = ring.product, given(ring.sum.written)
        block, index = block_of(product), given(running_sum(product)).argument.index - 1
        self.running.setdefault(block, []).append((index, ring))
        _rescale(ring)
        for part in range(left.parts):
            operands = [product.lhs, ring.sum.left, None, None, left.pipeline]
            insert_before(TmemStoreOp.make(operands, [], part=part), product)
        product.result.replace_all_uses_with(product.acc)
        _delay(block, product)

    def read_sums(self, old: TableOperation, loop: TableOperation, tokens: Tokens) -> None:
        for index, ring in self.running.get(loop.regions[0].blocks[0], ()):
            sum, token = ring.sum, tokens[ring.sum]
            store_initial(old.initial[index], sum, loop)
            wait_for_sum(sum, old, tokens)
            loaded = TmemLoadOp.make([sum.tile], [old.results[index].type])
            old.results[index].replace_all_uses_with(insert_before(loaded, old))
            if ring.used_again:
                insert_before(ConsumerReleaseOp.make([sum.pipeline, token, None], []), old)


def _rescale(ring: Ring) -> None:
    """The sum so far is scaled where it is, which no product adds to: the scores have come after the last one."""
    product, running = ring.product, given(running_sum(ring.product))
    loop = row(block_of(product).parent_op())
    product.operands[2] = running.argument
    if running.scale is None:
        return
    begun = None
    if is_zero(loop.initial[running.argument.index - 1]):
        begun = insert_before(is_later(loop, block_of(product).args[0]), product)
    insert_before(TmemScaleOp.make([ring.sum.tile, running.factor, begun], []), product)
    running.scale.detach()
    running.scale.erase()


def _delay(block: Block, place: Operation) -> None:
    """Move what a block computes before ``place`` for what comes behind it."""
    before = [op for op in block.ops if op.is_before_in_block(place)]
    later: list[Operation] = []
    for op in reversed(before):
        users = {use.operation for result in op.results for use in result.uses}
        if _computes(op) and all(_follows(user, place) or user in later for user in users):
            later.append(op)
    for op in later:
        op.detach()
        block.insert_op_after(op, place)


def _computes(op: Operation) -> bool:
    return op.name == REDUCE or (is_pure(op) and not op.regions)


def _follows(user: Operation, place: Operation) -> bool:
    return user.parent is place.parent and place.is_before_in_block(user)
