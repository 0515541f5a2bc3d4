"""Products whose sums come together in tensor memory, issued by the threads that compute."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ....ir.casting import block_of, last_op, row, tile_type, type_of
from ....ir.dialects import arith
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AsyncUmmaOp,
    BarrierOp,
    ConsumerWaitOp,
    TmemLoadOp,
    TmemStoreOp,
    UmmaCommitOp,
)
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOperation
from ...analysis.scale_factor_groups import groups_multiplied
from ...analysis.view_chains import is_inside, is_zero
from ..rewriter import (
    Insert,
    appender,
    binary,
    constant_i1,
    constant_i32,
    group_of,
    insert_before,
    inserter,
    is_first_of,
    is_later,
    never_runs,
    when,
)
from .consumer_operands import operands_of
from .pipeline_buffers import Ring, Sum, Tokens, tensor_values

AddFOp = COUNTERPARTS["nv_tileaa.addf"]


class TensorMemorySums:
    """Puts products in tensor memory, and what loops sum up there, in place of those that carry tiles."""

    def __init__(self) -> None:
        self.running: dict[Block, list[tuple[int, Ring]]] = {}  # which carried tiles of a loop are such sums

    # ---- around a loop -------------------------------------------------------------------------------
    def drop_running(self, block: Block, count: int) -> list[int]:
        """Which of the tiles that a loop carries are still carried: sums that stay in tensor memory are not."""
        gone = [index for index, _ in self.running.get(block, ())]
        last = last_op(block)
        last.operands = [value for index, value in enumerate(last.operands) if index not in gone]
        for index in sorted(gone, reverse=True):
            block.erase_arg(block.args[1 + index])
        return [index for index in range(count) if index not in gone]

    def read_sums(self, old: TableOperation, loop: TableOperation, tokens: Tokens) -> None:
        """After the loop: wait for the last product, and read what has come together."""
        for index, ring in self.running.get(loop.regions[0].blocks[0], ()):
            sum, result = ring.sum, old.results[index]
            if not store_initial(old.initial[index], sum, loop):
                _meet(loop)
            if not sum.waited:
                insert_before(UmmaCommitOp.make([sum.pipeline], []), old)
                wait_for_sum(sum, old, tokens)
            result.replace_all_uses_with(insert_before(TmemLoadOp.make([sum.tile], [result.type]), old))
            if ring.used_again:
                _meet(old)  # before the next round overwrites what others still read

    # ---- a product -----------------------------------------------------------------------------------
    def accumulate(self, ring: Ring, stage: SSAValue, tokens: Tokens) -> None:
        """The product in tensor memory in place of ``dot``; its commit gives the stage back."""
        product, sum = ring.product, ring.sum
        operands, stages, kept = operands_of(ring, stage)
        if sum.left is not None:
            operands[0] = sum.left
            _store_left(ring)
        turn = _store_scales(ring, stage)
        accumulate = self._whether_to_add(ring)
        ready = sum.pipeline if sum.waited or not sum.running else None
        scales: list[SSAValue | None] = [*sum.scales] or [None, None]
        read = [
            *operands,
            sum.tile,
            accumulate,
            *stages,
            ring.pipeline,
            tokens[ring.stages],
            ready,
            *scales,
            None,
            turn,
        ]
        insert_before(AsyncUmmaOp.make(read, [], kept, **tensor_values(product)), product)
        if ready is not None:
            wait_for_sum(sum, product, tokens)
        product.result.replace_all_uses_with(product.acc if sum.running else _read_sum(ring))

    def _whether_to_add(self, ring: Ring) -> SSAValue:
        """Whether a product is added to what its tile holds."""
        product, sum = ring.product, ring.sum
        if not sum.running:
            _meet(product)  # operands are written, the last sum is read
            return insert_before(constant_i1(False), product)
        if sum.scales and product.scale_steps == 1:
            _meet(product)  # all of them are written
        block, index = block_of(product), product.acc.index - 1
        self.running.setdefault(block, []).append((index, ring))
        # The first iteration has nothing to add to where the sum starts from zero.
        loop = row(block.parent_op())
        starts_from_zero = is_zero(loop.initial[index])
        return insert_before(is_later(loop, block.args[0]) if starts_from_zero else constant_i1(True), product)


def store_initial(initial: SSAValue, sum: Sum, loop: TableOperation) -> bool:
    """Before a loop: what its sum starts from. Zeros (the answer) are written only if there will be no product."""
    starts_from_zero = is_zero(initial)
    never = insert_before(never_runs(loop), loop) if starts_from_zero else None
    insert_before(TmemStoreOp.make([initial, sum.tile, never, None, None], []), loop)
    return starts_from_zero


def _store_left(ring: Ring) -> None:
    """A left operand from registers goes to tensor memory where it is computed: once, if outside the loops."""
    product, value = ring.product, ring.product.lhs
    place: Operation = product
    for loop in reversed(ring.loops):
        if not is_inside(value, loop):
            place = loop
    if ring.sum.held is value:
        return  # the loop before has left it there
    ring.sum.held = value if place is not product else None
    insert_before(TmemStoreOp.make([value, ring.sum.left, None, None, None], []), place)
    if ring.sum.running:
        _meet(place)  # all of it is written


def _store_scales(ring: Ring, stage: SSAValue) -> SSAValue | None:
    """What used a stage before is done, or it would not be full again: so are the scales of its products. Those of groups of
    iterations are stored by the first of each, and the product learns which turn is its own.
    """
    product, steps = ring.product, ring.product.scale_steps
    if steps == 1:
        _store_scale_tiles(ring, stage, inserter(product))
        return None
    index, insert = block_of(product).args[0], inserter(product)
    groups = groups_multiplied(steps, type_of(ring.pipeline, PipelineType).stages.data)
    turn = insert(binary(arith.RemUIOp, index, insert(constant_i32(groups * steps))))
    first, block = is_first_of(index, steps, insert), Block()
    group = group_of(turn, steps, appender(block))
    _store_scale_tiles(ring, group, appender(block))
    block.add_op(BarrierOp.make([], []))  # all of them are written
    insert(when(first, block))
    return turn


def _store_scale_tiles(ring: Ring, stage: SSAValue, insert: Insert) -> None:
    product = ring.product
    for line_dim, tile in enumerate(ring.sum.scales):
        value = (product.lhs_scale, product.rhs_scale)[line_dim]
        attributes = {"line_dim": IntegerAttr(line_dim, i32)}
        insert(TmemStoreOp.make([value, tile, None, stage, None], [], attributes))


def _read_sum(ring: Ring) -> SSAValue:
    """A sum of one product in registers, with what it is added to."""
    product = ring.product
    result = insert_before(TmemLoadOp.make([ring.sum.tile], [product.result.type]), product)
    return result if is_zero(product.acc) else insert_before(_added(result, product.acc), product)


def _added(first: SSAValue, second: SSAValue) -> Operation:
    kind = arith.AddiOp if str(tile_type(first).element_type) == "i32" else AddFOp
    return kind.make([first, second], [first.type])


def _meet(place: Operation) -> None:
    insert_before(BarrierOp.make([], []), place)


def wait_for_sum(sum: Sum, place: Operation, tokens: Tokens) -> None:
    insert_before(ConsumerWaitOp.make([sum.pipeline, tokens[sum]], []), place)
    tokens[sum] = insert_before(AdvanceOp.make([sum.pipeline, tokens[sum]], [i32]), place)
