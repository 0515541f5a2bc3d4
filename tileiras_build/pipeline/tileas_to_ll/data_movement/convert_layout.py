"""Layout conversion: register permutation, warp shuffles, or shared memory (ir/layouts/conversion_plan.py).

One operation may convert several tiles: their stores share one barrier before their loads.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import SSAValue

from ....ir.casting import int_attr
from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.nvvm.target_independent_intrinsics import CtPopOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import NoOp, RegisterPermutation, SharedRoundTrip, WarpShuffle
from ....ir.layouts.warp_shuffle import Shuffle, Swap
from ...analysis.convert_layout_op_plans import conversion_plans
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I32, I64, integer
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import RegisterValue
from ..emission.thread_ids import ThreadIds
from ..memory.shared_memory import load_registers, pack_register, store_registers

# Source, result, their element, the plan, and the offset in shared memory.
_RoundTrip = tuple[SSAValue, SSAValue, Element, SharedRoundTrip, int]


def emit_convert_layout(e: KernelEmitter, op: TableOp) -> None:
    """Stores of all operands, one barrier, loads of all results; each operand has its own part of the scratch region."""
    scratch = int_attr(op, "scratch_offset") if "scratch_offset" in op.attributes else 0
    trips: list[_RoundTrip] = []
    for source, result, plan in zip(op.operands, op.results, conversion_plans(op, e.target)):
        element = element_of(source.type)
        if isinstance(plan, SharedRoundTrip):
            trips.append((source, result, element, plan, scratch))
            scratch += -(-plan.scratch_bytes // 128) * 128
        else:
            e.values[result] = _apply_plan(e, plan, source, element)
    if trips:
        _round_trips(e, trips, "sync_before" in op.attributes)


def _round_trips(e: KernelEmitter, round_trips: list[_RoundTrip], sync_before: bool) -> None:
    loaded: list[dict[int, RegisterValue]] = [{} for _ in round_trips]
    for number in range(max(len(plan.passes) for *_, plan, _ in round_trips)):
        if sync_before or number:
            e.memory.barrier()
        active = [(i, trip) for i, trip in enumerate(round_trips) if number < len(trip[3].passes)]
        for _, (source, _, element, plan, scratch) in active:
            store_registers(e, plan.passes[number].store, element, e.values.packed(source), scratch)
        e.memory.barrier()
        for i, (_, _, element, plan, scratch) in active:
            loaded[i] |= load_registers(e, plan.passes[number].load, element, scratch)
    for registers, (_, result, _, plan, _) in zip(loaded, round_trips):
        e.values[result] = [registers[number] for number in plan.register_source]


def _apply_plan(
    e: KernelEmitter, plan: NoOp | RegisterPermutation | WarpShuffle, source: SSAValue, element: Element
) -> Sequence[RegisterValue]:
    if isinstance(plan, WarpShuffle):
        return _shuffle(e, plan, source, element)
    registers = e.values.packed(source)
    return registers if isinstance(plan, NoOp) else [registers[register] for register in plan.registers]


# ---- shuffles ------------------------------------------------------------------------------------
def _shuffle(e: KernelEmitter, plan: WarpShuffle, source: SSAValue, element: Element) -> list[Value]:
    """Pack elements, swap, shuffle, swap back, unpack (ir/layouts/warp_shuffle.py)."""
    registers = e.values.registers(source)
    words = [_pack(e.b, element, [registers[r] for r in members]) for members in plan.source_values]
    words = _swapped(e.threads, words, plan.source_swaps)
    lane = e.threads.linear(plan.lane_bases, plan.warp_bases)
    received = [_received(e.b, plan, shuffle, words, lane) for shuffle in plan.shuffles]
    received = _swapped(e.threads, received, plan.result_swaps)
    width = len(plan.source_values[0])
    return [_unpack(e.b, element, received[value], position, width) for value, position in plan.result_registers]


def _received(
    b: InstructionBuilder, plan: WarpShuffle, shuffle: Shuffle, words: list[list[Value]], lane: Value
) -> list[Value]:
    value = words[shuffle.value]
    if plan.is_own_lane(shuffle):
        return value
    with b.at_function_start():
        source = b.xor(lane, shuffle.lane_xor)
    return [b.shuffle(ShuffleMode.IDX, word, source) for word in value]


def _swapped(threads: ThreadIds, values: list[list[Value]], swaps: Sequence[Swap]) -> list[list[Value]]:
    for swap in swaps:
        applies = _parity(threads, swap.lane_mask, swap.warp_mask)
        values = [
            [_choice(threads.b, applies, there, here) for here, there in zip(values[v], values[v ^ swap.register_xor])]
            for v in range(len(values))
        ]
    return values


def _choice(b: InstructionBuilder, condition: Value, then: Value, otherwise: Value) -> Value:
    return then if then == otherwise else b.select(condition, then, otherwise, I32)


def _parity(threads: ThreadIds, lane_mask: int, warp_mask: int) -> Value:
    with threads.b.at_function_start():
        bits = threads.b.and_(threads.thread, lane_mask | warp_mask << 5)
        odd = threads.b.and_(threads.b.issue(CtPopOp, bits, type=I32), 1)
        return threads.b.compare("ne", odd, 0)


def _pack(b: InstructionBuilder, element: Element, values: list[Value]) -> list[Value]:
    """The 32-bit words of one shuffled value."""
    if element.bits == 64:
        return split_registers(b, element, values[0])
    if len(values) * element.bits == 32:
        return [pack_register(b, element, values)]
    word: Value = 0
    for position, value in enumerate(values):
        word = b.or_(word, b.shift(as_register(b, element, value), element.bits * position))
    return [word]


def split_registers(b: InstructionBuilder, element: Element, value: Value) -> list[Value]:
    """A 64-bit element as two i32, low first."""
    is_pointer = isinstance(element.type, LLVMPointerType)
    bits = b.cast("ptrtoint", value, I64) if is_pointer else b.bitcast(value, I64, element.type)
    return [b.cast("trunc", bits, I32, I64), b.cast("trunc", b.binary("lshr", bits, 32, I64), I32)]


def join_registers(b: InstructionBuilder, element: Element, words: list[Value]) -> Value:
    """The inverse of ``split_registers``."""
    is_pointer = isinstance(element.type, LLVMPointerType)
    low, high = (b.cast("zext", word, I64) for word in words)
    bits = b.binary("or", low, b.binary("shl", high, 32, I64), I64)
    return b.cast("inttoptr", bits, element.type) if is_pointer else b.bitcast(bits, element.type)


def as_register(b: InstructionBuilder, element: Element, value: Value) -> Value:
    """An element of at most 32 bits in the low bits of an i32, zeros above."""
    held = integer(element.bits) if element.is_float else element.type
    bits = b.bitcast(value, held, element.type)
    return bits if held == I32 else b.cast("zext", bits, I32, held)


def from_register(b: InstructionBuilder, element: Element, word: Value) -> Value:
    """The element in the low bits of an i32."""
    held = integer(element.bits) if element.is_float else element.type
    bits = word if held == I32 else b.cast("trunc", word, held)
    return b.bitcast(bits, element.type)


def _unpack(b: InstructionBuilder, element: Element, words: list[Value], position: int, width: int) -> Value:
    if element.bits == 64:
        return join_registers(b, element, words)
    return from_register(b, element, b.shift(words[0], -element.bits * position))


HANDLERS: dict[str, Handler] = {"nv_tileas.convert_layout": emit_convert_layout}
