"""The rules of floating-point arithmetic.

Rounding modes and flush-to-zero need PTX instructions where LLVM has no equivalent (reference: llvm-nvptx, sections 3
and 4). Transcendental functions of the half precisions are computed in f32, as the Tile IR specification requires.
"""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Attribute, Operation

from ....core.errors import Unsupported
from ....ir.casting import str_attr
from ....ir.dialects.arith_ext import RemfOp
from ....ir.dialects.nvvm import arithmetic, target_independent_intrinsics
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import DOUBLE, FLOAT, I32
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter
from .elementwise_rule_helpers import Rule, Scalar, binary, flushes, in_f32, issued, option_text, register_type
from .exp_f32_pairs import exp_of_pair
from .f32_pairs import PAIR, OnPairs, has_pairs
from .float_conversions import ROUNDING_SUFFIX

# LLVM operation, PTX operation that flushes subnormal numbers, and whether NaN propagates.
FLOAT_MIN_MAX: dict[str, tuple[type[TableOp], type[TableOp], bool]] = {
    "arith.minimumf": (target_independent_intrinsics.MinimumOp, arithmetic.FMinOp, True),
    "arith.maximumf": (target_independent_intrinsics.MaximumOp, arithmetic.FMaxOp, True),
    "arith.minnumf": (target_independent_intrinsics.MinNumOp, arithmetic.FMinOp, False),
    "arith.maxnumf": (target_independent_intrinsics.MaxNumOp, arithmetic.FMaxOp, False),
}

# Tile operation -> scalar operation that is lowered to a libdevice call (libdevice_math.py: CALLEES).
MATH: dict[str, type[Operation]] = {
    "math.atan2": math.Atan2Op,
    "math.cos": math.CosOp,
    "math.cosh": math.CoshOp,
    "math.exp": math.ExpOp,
    "math.log": math.LogOp,
    "math.log2": math.Log2Op,
    "math.powf": math.PowFOp,
    "math.sin": math.SinOp,
    "math.sinh": math.SinhOp,
    "math.tan": math.TanOp,
    "math.tanh": math.TanhOp,
    "nv_tileas.remf": RemfOp,
}
EXACT_MATH = FastMathFlagsAttr("none")
ROUND_TO_INTEGRAL = {
    "math.floor": target_independent_intrinsics.FloorOp,
    "math.ceil": target_independent_intrinsics.CeilOp,
}


def is_plain(op: Operation, type: Attribute) -> bool:
    """Whether an LLVM instruction has these semantics: round to nearest even, no flushing."""
    rounding = ROUNDING_SUFFIX[option_text(op, "rounding_mode", "nearest_even")]
    return rounding == "rn" and not (flushes(op) and type == FLOAT)


def _rounded(b: InstructionBuilder, op: Operation, kind: type[TableOp]) -> Scalar:
    """A PTX instruction with the rounding of ``op``; in f32 for the half precisions."""
    type = register_type(op.results[0])
    rounding = ROUNDING_SUFFIX[option_text(op, "rounding_mode", "nearest_even")]
    return issued(b, kind, DOUBLE if type == DOUBLE else FLOAT, rounding=rounding, ftz=flushes(op))


def _rounded_float(instruction: str, kind: type[TableOp]) -> Rule:
    """add, sub and mul: the LLVM instruction for round-to-nearest-even, one of PTX for the rest.

    NVVM has no subtraction with a rounding mode: it adds the negated operand.
    """

    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        element = element_of(op.results[0].type)
        if is_plain(op, element.type):
            return binary(e.b, op, instruction)
        rounded = _rounded(e.b, op, kind)
        scalar = (lambda x, y: rounded(x, e.b.negate(y))) if instruction == "fsub" else rounded
        return in_f32(e, element, scalar, option_text(op, "rounding_mode", "nearest_even"))

    return rule


def _fma(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    if is_plain(op, element.type):
        return issued(e.b, target_independent_intrinsics.FMAOp, element.type)
    return in_f32(e, element, _rounded(e.b, op, arithmetic.FmaOp), option_text(op, "rounding_mode", "nearest_even"))


# Operation -> LLVM operation on a vector of two, which rounds to nearest even.
IN_PAIRS: dict[str, str | type[TableOp]] = {
    "nv_tileas.addf": "fadd", "nv_tileas.subf": "fsub", "nv_tileas.mulf": "fmul", "nv_tileas.fma": target_independent_intrinsics.FMAOp,
}  # fmt: skip


def on_pairs(e: KernelEmitter, op: Operation) -> OnPairs | None:
    """The packed form of an operation; None where the target has none with its rounding and flushing."""
    instruction = IN_PAIRS.get(op.name)
    if not has_pairs(e.target, type := register_type(op.results[0])):
        return None
    if op.name == "math.exp" and option_text(op, "rounding_mode", "full") != "approx":
        return lambda x: exp_of_pair(e.b, x)
    if instruction is None or not is_plain(op, type):
        return None
    if isinstance(instruction, str):
        return lambda x, y: e.b.binary(instruction, x, y, PAIR)
    return lambda *pairs: e.b.issue(instruction, *pairs, type=PAIR)


def _divide(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    mode, ftz = option_text(op, "rounding_mode", "nearest_even"), flushes(op)
    if element.type == DOUBLE:
        if mode in ("nearest_even", "full", "approx"):
            return lambda x, y: b.binary("fdiv", x, y, DOUBLE)
        return issued(e.b, arithmetic.DivOp, DOUBLE, rounding=ROUNDING_SUFFIX[mode])
    rounding = mode if mode in ("approx", "full") else ROUNDING_SUFFIX[mode]
    if rounding == "rn" and not ftz:
        return in_f32(e, element, lambda x, y: b.binary("fdiv", x, y, FLOAT))
    return in_f32(e, element, issued(e.b, arithmetic.DivOp, FLOAT, rounding=rounding, ftz=ftz), mode)


def _square_root(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    mode = option_text(op, "rounding_mode", "nearest_even")
    rounding = ROUNDING_SUFFIX.get(mode, "rn")
    if element.type == DOUBLE:
        return issued(e.b, arithmetic.SqrtOp, DOUBLE, rounding=rounding)
    rounding = mode if mode == "approx" else rounding
    return in_f32(e, element, issued(e.b, arithmetic.SqrtOp, FLOAT, rounding=rounding, ftz=flushes(op)), mode)


def _approximate_float(kind: type[TableOp], exact: type[Operation]) -> Rule:
    """A PTX approximation for f32, a libdevice function for f64."""

    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        element = element_of(op.results[0].type)
        if element.type == DOUBLE:
            return _math_function(e.b, exact, DOUBLE)
        return in_f32(e, element, issued(e.b, kind, FLOAT, ftz=flushes(op)))

    return rule


def _math_function(
    b: InstructionBuilder, kind: type[Operation], type: Attribute, second: Attribute | None = None
) -> Scalar:
    """A scalar operation on ``type``; ``second`` is the type of its second operand where that differs."""
    types = (type, second or type)

    def scalar(*values: Value) -> Value:
        operands = tuple(b.of(value, kind_of_value) for value, kind_of_value in zip(values, types))
        return b.pure(kind, operands, type, {"fastmath": EXACT_MATH})

    return scalar


def _call_math(e: KernelEmitter, op: Operation) -> Scalar:
    element, mode = element_of(op.results[0].type), option_text(op, "rounding_mode", "full")
    if element.type == DOUBLE:
        return _math_function(e.b, MATH[op.name], DOUBLE)
    if mode == "approx" and (approximate := APPROXIMATE.get(op.name)) is not None:
        return in_f32(e, element, approximate(e))
    return in_f32(e, element, _math_function(e.b, MATH[op.name], FLOAT))


def _approximate_tanh(e: KernelEmitter) -> Scalar:
    return issued(e.b, arithmetic.TanhOp, FLOAT)


# Rounded to f32.
LOG2_E = 1.4426950216293335


def _approximate_exp(e: KernelEmitter) -> Scalar:
    """exp(x) = 2 ** (x * log2(e))."""
    b, exponential = e.b, issued(e.b, arithmetic.Ex2Op, FLOAT)
    return lambda x: exponential(b.binary("fmul", x, b.float_constant(LOG2_E, FLOAT), FLOAT))


APPROXIMATE = {"math.tanh": _approximate_tanh, "math.exp": _approximate_exp}


def _integer_power(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    exponent = register_type(op.operands[1])
    if exponent != I32:
        raise Unsupported("powi-exponent", f"an integer power takes an i32 exponent, not {exponent}")
    if element.type == DOUBLE:
        return _math_function(e.b, math.FPowIOp, DOUBLE, I32)
    power = _math_function(e.b, math.FPowIOp, FLOAT, I32)
    if element.type == FLOAT:
        return power
    return lambda x, n: b.cast("fptrunc", power(b.cast("fpext", x, FLOAT), n), element.type)


def _round_to_integral(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    return in_f32(e, element, issued(e.b, ROUND_TO_INTEGRAL[op.name], DOUBLE if element.type == DOUBLE else FLOAT))


def _absolute_float(e: KernelEmitter, op: Operation) -> Scalar:
    return issued(e.b, target_independent_intrinsics.FAbsOp, register_type(op.results[0]))


def _negate(e: KernelEmitter, op: Operation) -> Scalar:
    return e.b.negate


def _float_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    type, (plain, flushing, nan) = register_type(op.results[0]), FLOAT_MIN_MAX[op.name]
    if flushes(op) and type == FLOAT:
        return issued(e.b, flushing, type, ftz=True, nan=nan)
    return issued(e.b, plain, type)


def _float_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, predicate = e.b, str_attr(op, "predicate")
    return lambda x, y: b.compare_floats(predicate, x, y)


RULES: dict[str, Rule] = {
    **dict.fromkeys(FLOAT_MIN_MAX, _float_min_max),
    **dict.fromkeys(MATH, _call_math),
    **dict.fromkeys(ROUND_TO_INTEGRAL, _round_to_integral),
    "arith.cmpf": _float_compare,
    "arith.negf": _negate,
    "math.absf": _absolute_float,
    "math.fpowi": _integer_power,
    "nv_tileas.addf": _rounded_float("fadd", arithmetic.AddOp),
    "nv_tileas.subf": _rounded_float("fsub", arithmetic.AddOp),
    "nv_tileas.mulf": _rounded_float("fmul", arithmetic.MulOp),
    "nv_tileas.divf": _divide,
    "nv_tileas.fma": _fma,
    "nv_tileas.sqrt": _square_root,
    "nv_tileas.rsqrt": _approximate_float(arithmetic.RsqrtOp, math.RsqrtOp),
    "nv_tileas.exp2": _approximate_float(arithmetic.Ex2Op, math.Exp2Op),
}
