"""Lower structured control flow to blocks and phis.

A loop has a header block with the test, a body, a latch that all ``continue`` branch to, and an exit that all ``break``
branch to. Each register of a carried tile is a separate scalar phi, which leaves register allocation to ptxas
(llvm-nvptx, section 2). Only a tile of small elements that only MMAs read is carried in packed 32-bit words.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....ir.casting import ancestor_in, as_op, parent_block
from ....ir.dialects.cute import layout_of
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_async_mma, is_counted_loop
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import I32
from ..emission.function_builder import BranchWeights, Edge, Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.loop_frame import LoopFrame
from ..emission.register_values import PackedLane
from ..emission.value_map import ValueMap
from ..memory import heap_storage
from ..memory.shared_memory import pack_registers

# Indices of the operands that operations read in packed 32-bit words; an asynchronous MMA also reads its accumulator so.
PACKED_OPERANDS = {"nv_tileas.tmem_store": (0,), "nv_tileas.dot": (0, 1)}
PACKED_MMA_OPERANDS = (0, 1, 2)
# By predicate: the weights of a branch that one iteration of a loop takes, or all but one; those of LLVM's own llvm.expect.
ONE_ITERATION: dict[str, BranchWeights] = {"eq": (1, 2000), "ne": (2000, 1)}


def _packable_arguments(arguments: Sequence[SSAValue]) -> frozenset[int]:
    """The carried tiles that stay packed in 32-bit words: those of small elements that only MMAs read."""
    return frozenset(index for index, value in enumerate(arguments) if _is_passed_packed(value))


def _packed_operands(op: Operation) -> tuple[int, ...]:
    return PACKED_MMA_OPERANDS if is_async_mma(op) else PACKED_OPERANDS.get(op.name, ())


def _is_passed_packed(value: SSAValue) -> bool:
    if not isinstance(value.type, TensorType) or (bits := element_of(value.type).bits) not in (8, 16):
        return False
    uses = list(value.uses)
    by_words = all(use.index in _packed_operands(use.operation) for use in uses)
    return bool(uses) and by_words and layout_of(value).num_registers % (32 // bits) == 0


def _flatten(values: ValueMap, tiles: Sequence[SSAValue], packed: frozenset[int] = frozenset()) -> list[Value]:
    registers: list[Value] = []
    for index, value in enumerate(tiles):
        if index in packed:
            registers += pack_registers(values.b, element_of(value.type), values.packed(value))
        elif value.type.name != "nv_tileaa.mem_token":
            registers += values.registers(value)
    return registers


def _count(value: SSAValue) -> int:
    return layout_of(value).num_registers if isinstance(value.type, TensorType) else 1


def _types(values: Sequence[SSAValue], packed: frozenset[int] = frozenset()) -> list[Attribute]:
    """The LLVM type of each register of the values."""
    types: list[Attribute] = []
    for index, value in enumerate(values):
        if index in packed:
            types += [I32] * (_count(value) * element_of(value.type).bits // 32)
        elif value.type.name != "nv_tileaa.mem_token":
            types += [element_of(value.type).type] * _count(value)
    return types


def _bind(
    values: ValueMap, targets: Sequence[SSAValue], registers: Sequence[Value], packed: frozenset[int] = frozenset()
) -> None:
    position = 0
    for index, value in enumerate(targets):
        if value.type.name == "nv_tileaa.mem_token":
            values[value] = None
            continue
        per_word = 32 // element_of(value.type).bits if index in packed else 1
        count = _count(value) // per_word
        held = registers[position : position + count]
        if index in packed:
            values.set(
                value,
                [
                    PackedLane(values.b.uniqued(word), place, element_of(value.type))
                    for word in held
                    for place in range(per_word)
                ],
            )
        else:
            values.set(value, list(held))
        position += count


# ---- loops ---------------------------------------------------------------------------------------
def emit_for(e: KernelEmitter, op: TableOp) -> None:
    b = e.b
    block = op.regions[0].blocks[0]
    lower, upper, step = e.values.scalar(op.lower), e.values.scalar(op.upper), e.values.scalar(op.step)
    index_type = element_of(op.lower.type).type
    words = _packable_arguments(block.args[1:])
    types = [index_type, *_types(op.results, words)]
    initial = [lower, *_flatten(e.values, op.initial, words)]
    loop, body = LoopFrame(b.label(), b.label(), words), b.label()
    header, (index, *carried) = _start_header(e.b, types, initial)
    with b.scope():
        condition = b.compare("ult" if "unsigned" in op.attributes else "slt", index, upper, index_type)
        b.branch_if(condition, body, loop.exit)
        b.start(body)
        e.values[block.args[0]] = index
        _bind(e.values, block.args[1:], carried, words)
        with b.scope():  # an early continue reaches the latch without the values of the rest of the body
            _emit_body(e, block, loop)
        b.start(loop.latch)
        values = b.phis(types[1:], loop.continues) if loop.continues else []
        following = b.binary("add", index, step, index_type)
        b.branch(header)
        b.branch_with_values([following, *values], types, b.block, header)
    b.start(loop.exit)
    _bind(e.values, op.results, b.phis(types[1:], [(carried, header), *loop.breaks]), words)


def _start_header(
    b: InstructionBuilder, types: Sequence[Attribute], initial: Sequence[Value]
) -> tuple[Block, Sequence[SSAValue]]:
    """Start a loop header, entered from here with the ``initial`` values; the phis of the carried values."""
    entry, header = b.block, b.label()
    b.branch(header)
    b.start(header)
    carried = b.arguments(types)
    b.branch_with_values(initial, types, entry, header)
    return header, carried


def emit_loop(e: KernelEmitter, op: TableOp) -> None:
    b = e.b
    block = op.regions[0].blocks[0]
    types = _types(op.initial)
    loop = LoopFrame(b.label(), b.label())
    header, carried = _start_header(e.b, types, _flatten(e.values, op.initial))
    with b.scope():
        _bind(e.values, block.args, carried)
        _emit_body(e, block, loop)
        if loop.continues:
            b.start(loop.latch)
            values = b.phis(types, loop.continues)
            b.branch(header)
            b.branch_with_values(values, types, b.block, header)
    b.start(loop.exit)
    if loop.breaks:
        _bind(e.values, op.results, b.phis(_types(op.results), loop.breaks))
    else:
        _bind(e.values, op.results, _undefined(e.b, op.results))


def _undefined(b: InstructionBuilder, values: Sequence[SSAValue]) -> list[Value]:
    """Values for results that no path defines."""
    return [b.undefined(type) for type in _types(values)]


def _emit_body(e: KernelEmitter, block: Block, loop: LoopFrame) -> None:
    e.loops.append(loop)
    e.emit_block(block)
    e.loops.pop()


def emit_continue(e: KernelEmitter, op: TableOp) -> None:
    heap_storage.free_in_loop(e, op)
    loop = e.loops[-1]
    values = _flatten(e.values, op.operands, loop.packed)
    loop.continues.append((values, e.b.block))
    e.b.branch(loop.latch)


def emit_break(e: KernelEmitter, op: TableOp) -> None:
    heap_storage.free_in_loop(e, op)
    loop = e.loops[-1]
    values = _flatten(e.values, op.operands, loop.packed)
    loop.breaks.append((values, e.b.block))
    e.b.branch(loop.exit)


# ---- if ------------------------------------------------------------------------------------------
def emit_if(e: KernelEmitter, op: TableOp) -> None:
    b = e.b
    labels, merge = (b.label(), b.label()), b.label()
    edges: list[Edge] = []
    b.branch_if(e.values.scalar(op.condition), *labels, _branch_weights(op.condition))
    for region, label in zip(op.regions, labels):
        b.start(label)
        block = region.blocks[0]
        last = block.last_op
        with b.scope():
            e.emit_block(block)
            if last is None or last.name.endswith(".yield"):
                edges.append((_flatten(e.values, last.operands if last else ()), b.block))
                b.branch(merge)
    if not edges:
        # Both arms leave the loop: later code is unreachable.
        b.start(merge)
        _bind(e.values, op.results, _undefined(e.b, op.results))
        return
    b.start(merge)
    _bind(e.values, op.results, b.phis(_types(op.results), edges))


def _branch_weights(condition: SSAValue) -> BranchWeights | None:
    """Weights of a branch that asks whether a loop's counter is a value from before the loop: it is in one iteration at most.

    LLVM computes what only such a branch needs there. Before the loop, a mask's comparisons would keep all predicates over the loop.
    None for other conditions.
    """
    compare = condition.owner
    if not isinstance(compare, Operation) or compare.name != "arith.cmpi":
        return None
    if any(_counts_to(*pair) for pair in (compare.operands, tuple(compare.operands)[::-1])):
        return ONE_ITERATION.get(as_op(compare).predicate)
    return None


def _counts_to(counter: SSAValue, value: SSAValue) -> bool:
    """Whether ``counter`` is the counter of a loop, and ``value`` is from before the loop."""
    block = counter.owner
    if not isinstance(block, Block) or counter is not block.args[0]:
        return False
    loop = block.parent_op()
    return loop is not None and is_counted_loop(loop) and not _is_inside(value, block)


def _is_inside(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    inner = owner.parent_op() if isinstance(owner, Block) else owner
    return owner is block or (inner is not None and ancestor_in(inner, block) is not None)


def emit_yield(e: KernelEmitter, op: TableOp) -> None:
    """Emit nothing: the parent operation reads the operands."""
    heap_storage.free_in_block(e, parent_block(op))


def emit_return(e: KernelEmitter, op: Operation) -> None:
    """Return from the kernel; inside a partition, branch to the partition's exit, which synchronizes with the others."""
    heap_storage.free_in_kernel(e, op)
    if e.pipelines.partition_exit is None:
        e.b.return_()
    else:
        e.b.branch(e.pipelines.partition_exit)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.for": emit_for,
    "nv_tileas.loop": emit_loop,
    "nv_tileas.if": emit_if,
    "nv_tileas.continue": emit_continue,
    "nv_tileas.break": emit_break,
    "nv_tileas.yield": emit_yield,
    "func.return": emit_return,
    "llvm.return": emit_return,  # inside a branch or a loop
}
