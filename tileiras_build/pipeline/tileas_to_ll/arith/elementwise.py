"""Elementwise operations: each element of the result depends on one element of each operand.

RULES maps an operation to its rule. Rules of integers, bits and pointers are here, other rules in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import cast, str_attr
from ....ir.dialects.nv_tileaa.types import PointerType
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.nvvm.arithmetic import RoundPairOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.foldable_f16_extensions import PACKED_TYPES
from ...common.llvm_element_types import element_of, wrap_to_width
from ...common.llvm_type_constructors import FLOAT, GLOBAL, I1, I32, I64, integer, pointer
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import (
    LazyElement,
    LazyValues,
    PackedLane,
    RegisterValue,
    held_by,
    materialize,
    spill_vectors,
)
from ..memory.shared_memory import pack_registers
from . import float_arithmetic, numeric_conversions
from .bytes_to_halves import halves_of_bytes
from .elementwise_rule_helpers import Rule, Scalar, binary, issued, register_type, rounded_half
from .exp2_polynomial import exp2_of_pair, uses_polynomial
from .f32_pairs import in_pairs, pair
from .packed_bytes import bytes_of_words
from .small_integers import halves_of_small_integers

INTEGER_BINARY = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.divui": "udiv",
    "arith.divsi": "sdiv",
    "arith.remui": "urem",
    "arith.remsi": "srem",
}
SHIFTS = {"arith.shli": "shl", "arith.shrui": "lshr", "arith.shrsi": "ashr"}
INTEGER_MIN_MAX: dict[str, type[TableOp]] = {
    "arith.minsi": target_independent_intrinsics.SMinOp,
    "arith.maxsi": target_independent_intrinsics.SMaxOp,
    "arith.minui": target_independent_intrinsics.UMinOp,
    "arith.maxui": target_independent_intrinsics.UMaxOp,
}


REGISTER_BITS = 32
# Computes result registers from tuples of operand registers.
Compute = Callable[[Sequence[tuple[Value, ...]]], Sequence[RegisterValue]]


def emit_elementwise(e: KernelEmitter, op: Operation) -> None:
    """Apply the rule of ``op`` to every register, or to two at once where the rule has a packed form."""
    if (lanes := halves_of_bytes(e, op) or bytes_of_words(e, op)) is not None:
        e.values.set(op.results[0], lanes)
    else:
        emit_with(e, op, op.operands, partial(_results, e, op))


def emit_with(e: KernelEmitter, op: Operation, operands: Sequence[SSAValue], compute: Compute) -> None:
    """Compute the result of ``op`` from each register of ``operands``; equal inputs share one instruction."""
    late = e.computes_at_use and isinstance(op.results[0].type, TensorType)
    columns = [e.values.packed(operand) if late else e.values.registers(operand) for operand in operands]
    count = max(map(len, columns))
    columns = [column if len(column) == count else column * count for column in columns]
    calls = list(zip(*columns))
    # Keyed by identity: hashing SSA values is slow.
    keys = [tuple(map(id, arguments)) for arguments in calls]
    distinct = dict(zip(keys, calls))
    results = _computed(e, op, compute, list(distinct.values())) if late else compute(list(distinct.values()))
    known = dict(zip(distinct, results))
    e.values.set(op.results[0], [known[key] for key in keys])


def _results(e: KernelEmitter, op: Operation, calls: Sequence[tuple[Value, ...]]) -> Sequence[RegisterValue]:
    scalar = RULES[op.name](e, op)
    if uses_polynomial(e, op, len(calls)):
        (first,), (second,), *others = calls
        return [*exp2_of_pair(e.b, pair(e.b, first, second)), *(scalar(*arguments) for arguments in others)]
    if e.computes_where_fewer_remain and (words := _packed_floats(e, op, calls)):
        return words
    if (small := halves_of_small_integers(e, op, calls)) is not None:
        return small
    if len(calls) > 1 and (on_pairs := float_arithmetic.on_pairs(e, op)) is not None:
        return in_pairs(e.b, calls, on_pairs, scalar)
    return [scalar(*arguments) for arguments in calls]


def _computed(
    e: KernelEmitter, op: Operation, compute: Compute, calls: Sequence[tuple[RegisterValue, ...]]
) -> Sequence[RegisterValue]:
    """The results, computed at their uses or, where fewer registers remain, group by group."""
    results = _lazy(e.b, compute, calls)
    if e.computes_where_fewer_remain and _fewer_remain(op, results):
        return [result.source.value(e.b, result.position) for result in results]
    return results


def _lazy(b: InstructionBuilder, compute: Compute, calls: Sequence[tuple[RegisterValue, ...]]) -> list[LazyElement]:
    """The results in groups of one access, each group computed at the first use of one of them."""

    def computed(group: Sequence[tuple[RegisterValue, ...]]) -> Sequence[RegisterValue]:
        return compute([tuple(materialize(b, value) for value in arguments) for arguments in group])

    sources = [
        (LazyValues(partial(computed, group), held_by(value for call in group for value in call)), len(group))
        for group in spill_vectors(calls)
    ]
    return [LazyElement(source, position) for source, count in sources for position in range(count)]


def _packed_floats(e: KernelEmitter, op: Operation, calls: Sequence[tuple[Value, ...]]) -> list[PackedLane]:
    """f32 rounded to fewer bits, in whole words: ptxas gives a register to each value that is not packed. None for other results."""
    element = element_of(op.results[0].type)
    if op.name != "nv_tileas.fp_to_fp" or register_type(op.operands[0]) != FLOAT or element.bits not in (8, 16):
        return []
    per_word = REGISTER_BITS // element.bits
    if len(calls) % per_word:
        return []
    if rounded_half(op) is not None:
        pairs, kind = zip(calls[::2], calls[1::2]), PACKED_TYPES[element.type]
        words: list[Value] = [e.b.issue(RoundPairOp, low, high, type=I32, halves=kind) for (low,), (high,) in pairs]
    else:
        words = pack_registers(e.b, element, [RULES[op.name](e, op)(value) for (value,) in calls])
    return [PackedLane(e.b.of(word, I32), place, element) for word in words for place in range(per_word)]


def _fewer_remain(op: Operation, results: Sequence[LazyElement]) -> bool:
    """Whether results take fewer registers than all that they are computed from. Predicates count as values: a thread has few."""
    bits = element_of(op.results[0].type).bits
    return len(results) * (bits if bits > 1 else REGISTER_BITS) < REGISTER_BITS * len(held_by(results))


# ---- integers ------------------------------------------------------------------------------------
FOLDED = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}


def _integer_binary(e: KernelEmitter, op: Operation) -> Scalar:
    instruction = INTEGER_BINARY[op.name]
    plain, fold = binary(e.b, op, instruction), FOLDED.get(instruction)
    width = register_type(op.results[0])
    if fold is None or not isinstance(width, IntegerType) or width.width.data < 8:
        return plain

    def folded(x: Value, y: Value) -> Value:
        if isinstance(x, int) and isinstance(y, int):
            return wrap_to_width(fold(x, y), width.width.data)
        return plain(x, y)

    return folded


def _shift(e: KernelEmitter, op: Operation) -> Scalar:
    return binary(e.b, op, SHIFTS[op.name])


def _integer_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    return issued(e.b, INTEGER_MIN_MAX[op.name], register_type(op.results[0]))


def _ceil_div_unsigned(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, register_type(op.results[0])

    def scalar(x: Value, y: Value) -> Value:
        quotient = b.binary("udiv", x, y, type)
        rest = b.compare("ne", b.binary("urem", x, y, type), 0, type)
        return b.binary("add", quotient, b.cast("zext", rest, type), type)

    return scalar


def _rounded_signed_div(e: KernelEmitter, op: Operation) -> Scalar:
    """Floor or ceiling division: the truncated quotient, corrected by one if the remainder has the wrong sign."""
    b, type = e.b, register_type(op.results[0])
    up = op.name == "arith.ceildivsi"

    def scalar(x: Value, y: Value) -> Value:
        quotient, rest = b.binary("sdiv", x, y, type), b.binary("srem", x, y, type)
        nonzero = b.compare("ne", rest, 0, type)
        signs = b.binary("xor", x, y, type)
        wrong = b.compare("sge" if up else "slt", signs, 0, type)
        fix = b.cast("zext" if up else "sext", b.and_(nonzero, wrong, I1), type)
        return b.binary("add", quotient, fix, type)

    return scalar


def _multiply_high(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, register_type(op.results[0])
    width = cast(IntegerType, type).width.data
    wide = integer(2 * width)

    def scalar(x: Value, y: Value) -> Value:
        left, right = (b.cast("zext", value, wide, type) for value in (x, y))
        wide_result = b.binary("mul", left, right, wide)
        return b.cast("trunc", b.binary("lshr", wide_result, width, wide), type)

    return scalar


def _integer_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, register_type(op.operands[0])
    predicate = str_attr(op, "predicate")
    return lambda x, y: b.compare(predicate, x, y, type)


def _absolute_integer(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, register_type(op.results[0])
    return lambda x: b.issue(target_independent_intrinsics.AbsOp, b.of(x, type), b.constant(0, I1), type=type)


def _select(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, register_type(op.results[0])
    return lambda c, x, y: x if x == y else b.select(c, x, y, type)


# ---- bits and pointers ---------------------------------------------------------------------------
def _bitcast(e: KernelEmitter, op: Operation) -> Scalar:
    b, source, target = e.b, register_type(op.operands[0]), register_type(op.results[0])
    if isinstance(source, LLVMPointerType) or isinstance(target, LLVMPointerType):
        return lambda x: x
    return lambda x: b.bitcast(x, target, source)


def _add_pointer(e: KernelEmitter, op: Operation) -> Scalar:
    b = e.b
    pointee = element_of(cast(PointerType, _scalar_type(op.results[0].type)).pointee)
    index = register_type(op.operands[1])

    def scalar(base: SSAValue, offset: Value) -> Value:
        if pointee.per_byte > 1:
            offset = b.binary("sdiv", offset, pointee.per_byte, index)
        return b.offset(base, offset, pointee.memory_type, index)

    return scalar


def _scalar_type(type: Attribute) -> Attribute:
    return getattr(type, "element_type", type)


def _int_to_pointer(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: e.b.cast("inttoptr", x, pointer(GLOBAL), I64)


def _pointer_to_int(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: e.b.cast("ptrtoint", x, I64)


def _identity(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: x


RULES: dict[str, Rule] = {
    **dict.fromkeys(INTEGER_BINARY, _integer_binary),
    **dict.fromkeys(SHIFTS, _shift),
    **dict.fromkeys(INTEGER_MIN_MAX, _integer_min_max),
    "arith.ceildivui": _ceil_div_unsigned,
    "arith.ceildivsi": _rounded_signed_div,
    "arith.floordivsi": _rounded_signed_div,
    "arith.cmpi": _integer_compare,
    "arith.select": _select,
    "math.absi": _absolute_integer,
    "nv_tileas.mulhiui": _multiply_high,
    "nv_tileas.bitcast": _bitcast,
    "nv_tileas.addptr": _add_pointer,
    "nv_tileas.int_to_ptr": _int_to_pointer,
    "nv_tileas.ptr_to_int": _pointer_to_int,
    "nv_tileas.assume": _identity,
    **float_arithmetic.RULES,
    **numeric_conversions.RULES,
}

HANDLERS: dict[str, Handler] = dict.fromkeys(RULES, emit_elementwise)
