"""The conversion rules: integer width, integer to float and back, float to another format."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from ....ir.dialects.nvvm import arithmetic, target_independent_intrinsics
from ...common.llvm_element_types import ELEMENTS, Element, element_of, wrap_to_width
from ...common.llvm_type_constructors import DOUBLE, FLOAT, I1, I32, I64
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from .elementwise_rule_helpers import Rule, Scalar, option_text, register_type
from .float_conversions import ROUNDING_SUFFIX, convert_float, with_last_bit


def _resize_integer(instruction: str) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, register_type(op.operands[0]), register_type(op.results[0])
        signed = instruction == "sext"

        def scalar(x: Value) -> Value:
            if isinstance(x, int) and target in (I32, I64) and source in (I32, I64):
                return wrap_to_width(x, target.width.data) if signed or x >= 0 else wrap_to_width(x & 0xFFFFFFFF, 64)
            return b.cast(instruction, x, target, source)

        return scalar if source != target else (lambda x: x)

    return rule


def _integer_to_float(signed: bool) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type), element_of(op.results[0].type)
        mode = option_text(op, "rounding_mode", "nearest_even")
        if source.type == I1 and signed:
            # LLVM's back ends differ on signed i1: here true is -1, as after sign extension.
            narrow = convert_float(e, "f32", target.name, mode)
            values = b.float_constant(-1.0, FLOAT), b.float_constant(0.0, FLOAT)
            return lambda x: narrow(b.select(x, *values, FLOAT))
        return _converted_integer(e, source, target, signed, mode)

    return rule


def _converted_integer(e: KernelEmitter, source: Element, target: Element, signed: bool, mode: str) -> Scalar:
    b, instruction = e.b, "sitofp" if signed else "uitofp"
    if mode != "nearest_even":
        wide = ELEMENTS["f64"] if target.type == DOUBLE else ELEMENTS["f32"]
        rounded = _rounded_integer_to_float(e.b, source, wide.type, signed, ROUNDING_SUFFIX[mode])
        narrow = convert_float(e, wide.name, target.name, mode)
        return lambda x: narrow(rounded(x))
    in_one_step = target.is_float and (target.name != "bf16" or e.target.has("bf16_native"))
    if in_one_step and target.name != "tf32":
        return lambda x: b.cast(instruction, x, target.type, source.type)
    narrow = convert_float(e, "f32", target.name, mode)
    if source.bits >= 32:
        odd = _integer_to_odd_float(e.b, source, signed)
        return lambda x: narrow(odd(x))
    return lambda x: narrow(b.cast(instruction, x, FLOAT, source.type))


def _integer_to_odd_float(b: InstructionBuilder, source: Element, signed: bool) -> Scalar:
    """f32 rounded to odd: the last bit is set if the result is inexact, so that a second rounding is correct."""
    cut = _rounded_integer_to_float(b, source, FLOAT, signed, "rz")

    def scalar(x: Value) -> Value:
        value = cut(x)
        back = b.cast("fptosi" if signed else "fptoui", value, source.type)
        return with_last_bit(b, value, b.compare("ne", back, x, source.type))

    return scalar


def _rounded_integer_to_float(
    b: InstructionBuilder, source: Element, target: Attribute, signed: bool, rounding: str
) -> Scalar:
    wide = I64 if source.type == I64 else I32

    def scalar(x: Value) -> Value:
        if source.type != wide:
            x = b.cast("sext" if signed else "zext", x, wide, source.type)
        operand = b.of(x, wide)
        return b.issue(arithmetic.IntegerToFloatOp, operand, type=target, rounding=rounding, unsigned=not signed)

    return scalar


def _float_to_integer(signed: bool) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type), element_of(op.results[0].type)
        if target.type == I1:
            return _is_nonzero(e, source)
        widen = (lambda x: x) if source.is_float else convert_float(e, source.name, "f32", "nearest_even")
        if "saturating" in op.attributes and target.bits < 32:
            return lambda x: _clamped_integer(e.b, widen(x), target, signed)
        return lambda x: b.cast("fptosi" if signed else "fptoui", widen(x), target.type)

    return rule


def _is_nonzero(e: KernelEmitter, source: Element) -> Scalar:
    """A conversion to i1 tests for nonzero: a half or NaN is true, though truncation would give 0."""
    b, name = e.b, source.name if source.name in ("f32", "f64") else "f32"
    widen, zero = convert_float(e, source.name, name, "nearest_even"), b.float_constant(0.0, ELEMENTS[name].type)
    return lambda x: b.compare_floats("une", widen(x), zero)


def _clamped_integer(b: InstructionBuilder, x: Value, target: Element, signed: bool) -> Value:
    """The hardware clamps to 32 bits; this clamps to a narrower range."""
    bits = target.bits
    wide = b.cast("fptosi" if signed else "fptoui", x, I32)
    if signed:
        low = b.issue(target_independent_intrinsics.SMaxOp, wide, -(1 << (bits - 1)), type=I32)
        wide = b.issue(target_independent_intrinsics.SMinOp, low, (1 << (bits - 1)) - 1, type=I32)
    else:
        wide = b.issue(target_independent_intrinsics.UMinOp, wide, (1 << bits) - 1, type=I32)
    return b.cast("trunc", wide, target.type)


def _float_to_float(e: KernelEmitter, op: Operation) -> Scalar:
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    return convert_float(e, source.name, target.name, option_text(op, "rounding_mode", "nearest_even"))


RULES: dict[str, Rule] = {
    "arith.trunci": _resize_integer("trunc"),
    "arith.extsi": _resize_integer("sext"),
    "arith.extui": _resize_integer("zext"),
    "arith.sitofp": _integer_to_float(True),
    "arith.uitofp": _integer_to_float(False),
    "arith.fptosi": _float_to_integer(True),
    "arith.fptoui": _float_to_integer(False),
    "nv_tileas.fp_to_fp": _float_to_float,
}
