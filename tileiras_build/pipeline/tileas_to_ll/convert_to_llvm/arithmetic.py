"""Arithmetic on ``index``, and on multi-dimensional vectors, which are arrays of vectors in LLVM."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.dialects.checked_cast import cast
from ....ir.dialects.nvvm import target_independent_intrinsics
from ..convert_nvgpu_and_gpu_to_nvvm.arith_to_llvm import FLOATS, PASSED_THROUGH, REMAPPED
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter
from ..type_converter import BYTE
from .lowering_registry import by_rows, lowering


@lowering(*REMAPPED)
def lower_remapped(emit: Emitter, op: Operation) -> None:
    """The LLVM operation of the same meaning."""
    for value in (*op.operands, *op.results):
        _check_width(value.type, emit)
    properties: dict[str, Attribute] = {name: op.properties[name] for name in PASSED_THROUGH if name in op.properties}
    if type(op) in FLOATS:
        properties["fastmathFlags"] = llvm.FastMathAttr(None)
    result = emit.types.convert(op.results[0].type)
    if isinstance(op, arith.ConstantOp):
        return emit.replace(emit.create(llvm.ConstantOp, (), result, {"value": _constant(op.value, result)}))
    operands = [emit.converted(value) for value in op.operands]
    row = lambda values, type: emit.create(REMAPPED[op.__class__], values, type, properties)
    emit.replace(by_rows(operands, result, row, emit))


def _check_width(type: Attribute, emit: Emitter) -> None:
    """Reject integers narrower than a byte, which are stored in bytes: their arithmetic would not wrap."""
    if isinstance(type, IntegerType) and 1 < type.width.data < BYTE:
        raise emit.unsupported("integer-width", f"computes with '{type}'", "use i1, or 8 bits and more")


def _constant(value: Attribute, type: Attribute) -> Attribute:
    if isinstance(value, IntegerAttr) and isinstance(value.type, IndexType):
        return IntegerAttr(value.value.data, cast(IntegerType, type))
    return value


@lowering(arith.IndexCastOp)
def lower_index_cast(emit: Emitter, op: arith.IndexCastOp) -> None:
    """Sign-extend or truncate an integer."""
    result = emit.types.convert(op.results[0].type)
    emit.replace(
        by_rows([emit.converted(op.input)], result, lambda values, type: _resized(values[0], type, emit), emit)
    )


def _resized(value: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    before, after = _bits(value.type), _bits(type)
    if before == after:
        return value
    return emit.create(llvm.SExtOp if after > before else llvm.TruncOp, (value,), type)


def _bits(type: Attribute) -> int:
    element = type.element_type if isinstance(type, VectorType) else type
    return element.width.data if isinstance(element, IntegerType) else 0


# Division that rounds otherwise than towards zero ---------------------------------------------------------------------

Quotient = Callable[[SSAValue, SSAValue, Attribute, Emitter], SSAValue]


def _ceiling_unsigned(a: SSAValue, b: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    quotient = emit.binary("udiv", a, b, type)
    rest = emit.binary("urem", a, b, type)
    return _stepped(llvm.AddOp, quotient, _compared(llvm.ICmpPredicateFlag.NE, rest, _zero(type, emit), emit), emit)


def _signed(step: type[Operation], *, same_sign: bool) -> Quotient:
    """The quotient, adjusted by one if the remainder is nonzero and its sign equals, or differs from, that of the
    divisor.
    """

    def make(a: SSAValue, b: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
        quotient, rest = emit.binary("sdiv", a, b, type), emit.binary("srem", a, b, type)
        zero = _zero(type, emit)
        is_rest = _compared(llvm.ICmpPredicateFlag.NE, rest, zero, emit)
        signs = emit.binary("xor", rest, b, type)
        wanted = llvm.ICmpPredicateFlag.SGE if same_sign else llvm.ICmpPredicateFlag.SLT
        is_step = emit.binary("and", is_rest, _compared(wanted, signs, zero, emit), i1)
        return _stepped(step, quotient, is_step, emit)

    return make


def _zero(type: Attribute, emit: Emitter) -> SSAValue:
    return emit.constant(0, type)


def _compared(predicate: llvm.ICmpPredicateFlag, a: SSAValue, b: SSAValue, emit: Emitter) -> SSAValue:
    return emit.insert(llvm.ICmpOp(a, b, IntegerAttr(predicate.to_int(), 64)))


def _stepped(step: type[Operation], quotient: SSAValue, condition: SSAValue, emit: Emitter) -> SSAValue:
    return emit.create(step, (quotient, emit.create(llvm.ZExtOp, (condition,), quotient.type)), quotient.type)


QUOTIENTS: dict[type[Operation], Quotient] = {
    arith.CeilDivUIOp: _ceiling_unsigned,
    arith.CeilDivSIOp: _signed(llvm.AddOp, same_sign=True),
    arith.FloorDivSIOp: _signed(llvm.SubOp, same_sign=False),
}


@lowering(*QUOTIENTS)
def lower_quotient(emit: Emitter, op: Operation) -> None:
    """Divide with rounding toward zero, then adjust."""
    type = emit.types.convert(op.results[0].type)
    if not isinstance(type, IntegerType):
        raise emit.unsupported("quotient-type", f"divides scalars, but got '{op.results[0].type}'")
    _check_width(op.results[0].type, emit)
    a, b = (emit.converted(value) for value in op.operands)
    emit.replace(QUOTIENTS[op.__class__](a, b, type, emit))


# What LLVM has an intrinsic for -----------------------------------------------------------------------------------------


@lowering(math.CtPopOp)
def lower_population(emit: Emitter, op: math.CtPopOp) -> None:
    """llvm.ctpop"""
    result = emit.types.convert(op.results[0].type)
    row = lambda values, type: emit.insert(target_independent_intrinsics.CtPopOp.make(list(values), [type]))
    emit.replace(by_rows([emit.converted(op.operands[0])], result, row, emit))


INTRINSICS: dict[type[Operation], str] = {
    math.CountLeadingZerosOp: "llvm.ctlz",
    math.CountTrailingZerosOp: "llvm.cttz",
}


@lowering(*INTRINSICS)
def lower_zeros(emit: Emitter, op: Operation) -> None:
    """Count zeros; the result for zero is defined: the bit width."""

    def row(values, type):
        name = f"{INTRINSICS[op.__class__]}.{target_independent_intrinsics.suffix(type)}"
        return emit.insert(llvm.CallIntrinsicOp(name, [*values, emit.constant(0, i1)], [type]))

    result = emit.types.convert(op.results[0].type)
    emit.replace(by_rows([emit.converted(op.operands[0])], result, row, emit))
