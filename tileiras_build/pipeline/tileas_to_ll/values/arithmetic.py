"""Elementwise operations: what one element becomes.

Each rule reads an operation once and gives a function from the scalars of one element to the scalar result. Rows
name the instruction by operation and type; rounding and flush-to-zero select instructions of PTX where those of LLVM
cannot say them (reference: llvm-nvptx, sections 3 and 4). The half precisions compute transcendental
functions in f32, as the Tile IR specification says.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.arith_ext import RemfOp
from ....dialects.definition import TableOperation
from ....dialects.nv_tileaa.types import PointerType
from ....dialects.nvvm import arithmetic, generic
from ....errors import Unsupported
from ...shared.accessors import expect, string_of
from ...shared.element_types import ELEMENTS, Element, element_of, wrapped
from ...shared.llvm_types import BFLOAT, DOUBLE, FLOAT, GLOBAL, HALF, I1, I32, I64, integer, pointer
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.thread_code import Value
from .float_conversions import ROUNDING_SUFFIX, convert_float, with_last_bit

Scalar = Callable[..., Value]
Rule = Callable[[KernelEmitter, Operation], Scalar]

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
INTEGER_MIN_MAX: dict[str, type[TableOperation]] = {
    "arith.minsi": generic.SMinOp,
    "arith.maxsi": generic.SMaxOp,
    "arith.minui": generic.UMinOp,
    "arith.maxui": generic.UMaxOp,
}
# LLVM's operation, the one of PTX that flushes subnormal numbers, and whether NaN wins.
FLOAT_MIN_MAX: dict[str, tuple[type[TableOperation], type[TableOperation], bool]] = {
    "arith.minimumf": (generic.MinimumOp, arithmetic.FMinOp, True),
    "arith.maximumf": (generic.MaximumOp, arithmetic.FMaxOp, True),
    "arith.minnumf": (generic.MinNumOp, arithmetic.FMinOp, False),
    "arith.maxnumf": (generic.MaxNumOp, arithmetic.FMaxOp, False),
}

# Operation on tiles -> the one on scalars that becomes a call of libdevice (libdevice_math.py: CALLEES).
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
ROUND_TO_INTEGRAL = {"math.floor": generic.FloorOp, "math.ceil": generic.CeilOp}


def emit_elementwise(e: KernelEmitter, op: Operation) -> None:
    """Apply the rule of ``op`` to every register; equal inputs give one instruction."""
    scalar = RULES[op.name](e, op)
    columns = [e.registers(operand) for operand in op.operands]
    count = max(map(len, columns))
    columns = [column if len(column) == count else column * count for column in columns]
    known: dict[tuple[int, ...], Value] = {}
    registers = []
    for arguments in zip(*columns):
        # By identity: values are hashed in Python.
        key = tuple(map(id, arguments))
        if (result := known.get(key)) is None:
            result = known[key] = scalar(*arguments)
        registers.append(result)
    e.set(op.results[0], registers)


# ---- helpers -------------------------------------------------------------------------------------
def _text(op: Operation, key: str, default: str) -> str:
    attribute = op.attributes.get(key)
    return attribute.data if isinstance(attribute, StringAttr) else default


def _flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def _type(value: SSAValue) -> Attribute:
    """The type of a tile's or scalar's elements in registers."""
    return element_of(value.type).type


def _in_f32(e: KernelEmitter, element: Element, scalar: Scalar, mode: str = "nearest_even") -> Scalar:
    """``scalar`` computed in f32 for the half precisions, and rounded to them as ``mode`` says."""
    if element.type not in (HALF, BFLOAT):
        return scalar
    narrow = convert_float(e, "f32", element.name, mode if mode in ROUNDING_SUFFIX else "nearest_even")

    def widened(*arguments: Value) -> Value:
        wide = [e.b.cast("fpext", argument, FLOAT) for argument in arguments]
        return narrow(scalar(*wide))

    return widened


def _binary(e: KernelEmitter, op: Operation, instruction: str) -> Scalar:
    b, type = e.b, _type(op.results[0])
    return lambda x, y: b.binary(instruction, x, y, type)


def _issued(e: KernelEmitter, kind: type[TableOperation], type: Attribute, **attributes: bool | str) -> Scalar:
    """An instruction whose operands have the type of its result."""
    b = e.b
    return lambda *values: b.issue(kind, *[b.of(value, type) for value in values], type=type, **attributes)


# ---- integers ------------------------------------------------------------------------------------
FOLDED = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}


def _integer_binary(e: KernelEmitter, op: Operation) -> Scalar:
    instruction = INTEGER_BINARY[op.name]
    plain, fold = _binary(e, op, instruction), FOLDED.get(instruction)
    width = op.results[0].type
    if fold is None or not isinstance(width, IntegerType) or width.width.data < 32:
        return plain

    def folded(x: Value, y: Value) -> Value:
        if isinstance(x, int) and isinstance(y, int):
            return wrapped(fold(x, y), width.width.data)
        return plain(x, y)

    return folded


def _shift(e: KernelEmitter, op: Operation) -> Scalar:
    return _binary(e, op, SHIFTS[op.name])


def _integer_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    return _issued(e, INTEGER_MIN_MAX[op.name], _type(op.results[0]))


def _ceil_div_unsigned(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, _type(op.results[0])

    def scalar(x: Value, y: Value) -> Value:
        quotient = b.binary("udiv", x, y, type)
        rest = b.compare("ne", b.binary("urem", x, y, type), 0, type)
        return b.binary("add", quotient, b.cast("zext", rest, type), type)

    return scalar


def _rounded_signed_div(e: KernelEmitter, op: Operation) -> Scalar:
    """Floor or ceiling: the truncated quotient corrected by one where a remainder of the wrong sign is left."""
    b, type = e.b, _type(op.results[0])
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
    b, type = e.b, _type(op.results[0])
    width = expect(IntegerType, type).width.data
    wide = integer(2 * width)

    def scalar(x: Value, y: Value) -> Value:
        left, right = (b.cast("zext", value, wide, type) for value in (x, y))
        product = b.binary("mul", left, right, wide)
        return b.cast("trunc", b.binary("lshr", product, width, wide), type)

    return scalar


def _integer_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, _type(op.operands[0])
    predicate = string_of(op, "predicate")
    return lambda x, y: b.compare(predicate, x, y, type)


def _absolute_integer(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, _type(op.results[0])
    return lambda x: b.issue(generic.AbsOp, b.of(x, type), b.constant(0, I1), type=type)


# ---- floats --------------------------------------------------------------------------------------
def _is_plain(op: Operation, type: Attribute) -> bool:
    """Whether LLVM's own instruction says it: rounded to nearest even, nothing flushed where that is done at all."""
    rounding = ROUNDING_SUFFIX[_text(op, "rounding_mode", "nearest_even")]
    return rounding == "rn" and not (_flushes(op) and type == FLOAT)


def _rounded(e: KernelEmitter, op: Operation, kind: type[TableOperation]) -> Scalar:
    """An instruction of PTX that rounds as ``op`` says, in f32 for the half precisions."""
    type = _type(op.results[0])
    rounding = ROUNDING_SUFFIX[_text(op, "rounding_mode", "nearest_even")]
    return _issued(e, kind, DOUBLE if type == DOUBLE else FLOAT, rounding=rounding, ftz=_flushes(op))


def _rounded_float(instruction: str, kind: type[TableOperation]) -> Rule:
    """add, sub and mul: the LLVM instruction for round-to-nearest-even, one of PTX for the rest.

    NVVM has no subtraction with a rounding mode: it adds the negated operand.
    """

    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        element = element_of(op.results[0].type)
        if _is_plain(op, element.type):
            return _binary(e, op, instruction)
        rounded = _rounded(e, op, kind)
        scalar = (lambda x, y: rounded(x, e.b.negate(y))) if instruction == "fsub" else rounded
        return _in_f32(e, element, scalar, _text(op, "rounding_mode", "nearest_even"))

    return rule


def _fma(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    if _is_plain(op, element.type):
        return _issued(e, generic.FMAOp, element.type)
    return _in_f32(e, element, _rounded(e, op, arithmetic.FmaOp), _text(op, "rounding_mode", "nearest_even"))


def _divide(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    mode, ftz = _text(op, "rounding_mode", "nearest_even"), _flushes(op)
    if element.type == DOUBLE:
        if mode in ("nearest_even", "full", "approx"):
            return lambda x, y: b.binary("fdiv", x, y, DOUBLE)
        return _issued(e, arithmetic.DivOp, DOUBLE, rounding=ROUNDING_SUFFIX[mode])
    rounding = mode if mode in ("approx", "full") else ROUNDING_SUFFIX[mode]
    if rounding == "rn" and not ftz:
        return _in_f32(e, element, lambda x, y: b.binary("fdiv", x, y, FLOAT))
    return _in_f32(e, element, _issued(e, arithmetic.DivOp, FLOAT, rounding=rounding, ftz=ftz), mode)


def _square_root(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    mode = _text(op, "rounding_mode", "nearest_even")
    rounding = ROUNDING_SUFFIX.get(mode, "rn")
    if element.type == DOUBLE:
        return _issued(e, arithmetic.SqrtOp, DOUBLE, rounding=rounding)
    rounding = mode if mode == "approx" else rounding
    return _in_f32(e, element, _issued(e, arithmetic.SqrtOp, FLOAT, rounding=rounding, ftz=_flushes(op)), mode)


def _approximate_float(kind: type[TableOperation], exact: type[Operation]) -> Rule:
    """An approximation of PTX for f32, a function of libdevice for f64."""

    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        element = element_of(op.results[0].type)
        if element.type == DOUBLE:
            return _math_function(e, exact, DOUBLE)
        return _in_f32(e, element, _issued(e, kind, FLOAT, ftz=_flushes(op)))

    return rule


def _math_function(e: KernelEmitter, kind: type[Operation], type: Attribute, second: Attribute | None = None) -> Scalar:
    """A scalar operation on ``type``; ``second`` is the type of its second operand where that differs."""
    b, types = e.b, (type, second or type)

    def scalar(*values: Value) -> Value:
        operands = tuple(b.of(value, kind_of_value) for value, kind_of_value in zip(values, types))
        return b.pure(kind, operands, type, {"fastmath": EXACT_MATH})

    return scalar


def _math(e: KernelEmitter, op: Operation) -> Scalar:
    element, mode = element_of(op.results[0].type), _text(op, "rounding_mode", "full")
    if element.type == DOUBLE:
        return _math_function(e, MATH[op.name], DOUBLE)
    if mode == "approx" and (approximate := APPROXIMATE.get(op.name)) is not None:
        return _in_f32(e, element, approximate(e))
    return _in_f32(e, element, _math_function(e, MATH[op.name], FLOAT))


def _approximate_tanh(e: KernelEmitter) -> Scalar:
    return _issued(e, arithmetic.TanhOp, FLOAT)


# Rounded to f32.
LOG2_E = 1.4426950216293335


def _approximate_exp(e: KernelEmitter) -> Scalar:
    """exp(x) = 2 ** (x * log2(e))."""
    b, exponential = e.b, _issued(e, arithmetic.Ex2Op, FLOAT)
    return lambda x: exponential(b.binary("fmul", x, b.float_constant(LOG2_E, FLOAT), FLOAT))


APPROXIMATE = {"math.tanh": _approximate_tanh, "math.exp": _approximate_exp}


def _integer_power(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    exponent = _type(op.operands[1])
    if exponent != I32:
        raise Unsupported("powi-exponent", f"an integer power takes an i32 exponent, not {exponent}")
    if element.type == DOUBLE:
        return _math_function(e, math.FPowIOp, DOUBLE, I32)
    power = _math_function(e, math.FPowIOp, FLOAT, I32)
    if element.type == FLOAT:
        return power
    return lambda x, n: b.cast("fptrunc", power(b.cast("fpext", x, FLOAT), n), element.type)


def _round_to_integral(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    return _in_f32(e, element, _issued(e, ROUND_TO_INTEGRAL[op.name], DOUBLE if element.type == DOUBLE else FLOAT))


def _absolute_float(e: KernelEmitter, op: Operation) -> Scalar:
    return _issued(e, generic.FAbsOp, _type(op.results[0]))


def _negate(e: KernelEmitter, op: Operation) -> Scalar:
    return e.b.negate


def _float_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    type, (plain, flushing, nan) = _type(op.results[0]), FLOAT_MIN_MAX[op.name]
    if _flushes(op) and type == FLOAT:
        return _issued(e, flushing, type, ftz=True, nan=nan)
    return _issued(e, plain, type)


def _float_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, predicate = e.b, string_of(op, "predicate")
    return lambda x, y: b.compare_floats(predicate, x, y)


def _select(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, _type(op.results[0])
    return lambda c, x, y: x if x == y else b.select(c, x, y, type)


# ---- integers of another width, integers and floats ----------------------------------------------
def _resize_integer(instruction: str) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, _type(op.operands[0]), _type(op.results[0])
        signed = instruction == "sext"

        def scalar(x: Value) -> Value:
            if isinstance(x, int) and target in (I32, I64) and source in (I32, I64):
                return wrapped(x, target.width.data) if signed or x >= 0 else wrapped(x & 0xFFFFFFFF, 64)
            return b.cast(instruction, x, target, source)

        return scalar if source != target else (lambda x: x)

    return rule


def _integer_to_float(signed: bool) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type), element_of(op.results[0].type)
        mode = _text(op, "rounding_mode", "nearest_even")
        if source.type == I1 and signed:
            # LLVM's back ends differ on what a signed bit is: here true is -1, as it is when extended.
            narrow = convert_float(e, "f32", target.name, mode)
            values = b.float_constant(-1.0, FLOAT), b.float_constant(0.0, FLOAT)
            return lambda x: narrow(b.select(x, *values, FLOAT))
        return _converted_integer(e, source, target, signed, mode)

    return rule


def _converted_integer(e: KernelEmitter, source: Element, target: Element, signed: bool, mode: str) -> Scalar:
    b, instruction = e.b, "sitofp" if signed else "uitofp"
    if mode != "nearest_even":
        wide = ELEMENTS["f64"] if target.type == DOUBLE else ELEMENTS["f32"]
        rounded = _rounded_integer_to_float(e, source, wide.type, signed, ROUNDING_SUFFIX[mode])
        narrow = convert_float(e, wide.name, target.name, mode)
        return lambda x: narrow(rounded(x))
    in_one_step = target.is_float and (target.name != "bf16" or e.target.has("bf16_native"))
    if in_one_step and target.name != "tf32":
        return lambda x: b.cast(instruction, x, target.type, source.type)
    narrow = convert_float(e, "f32", target.name, mode)
    if source.bits >= 32:
        odd = _integer_to_odd_float(e, source, signed)
        return lambda x: narrow(odd(x))
    return lambda x: narrow(b.cast(instruction, x, FLOAT, source.type))


def _integer_to_odd_float(e: KernelEmitter, source: Element, signed: bool) -> Scalar:
    """f32 with the last bit set where it is inexact, so that rounding it again rounds as if once."""
    b, cut = e.b, _rounded_integer_to_float(e, source, FLOAT, signed, "rz")

    def scalar(x: Value) -> Value:
        value = cut(x)
        back = b.cast("fptosi" if signed else "fptoui", value, source.type)
        return with_last_bit(e, value, b.compare("ne", back, x, source.type))

    return scalar


def _rounded_integer_to_float(
    e: KernelEmitter, source: Element, target: Attribute, signed: bool, rounding: str
) -> Scalar:
    b, wide = e.b, I64 if source.type == I64 else I32

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
            return lambda x: _clamped_integer(e, widen(x), target, signed)
        return lambda x: b.cast("fptosi" if signed else "fptoui", widen(x), target.type)

    return rule


def _is_nonzero(e: KernelEmitter, source: Element) -> Scalar:
    """A truth value: Tile IR's front ends ask for one, so that a half or NaN is true, though rounded it were not."""
    b, name = e.b, source.name if source.name in ("f32", "f64") else "f32"
    widen, zero = convert_float(e, source.name, name, "nearest_even"), b.float_constant(0.0, ELEMENTS[name].type)
    return lambda x: b.compare_floats("une", widen(x), zero)


def _clamped_integer(e: KernelEmitter, x: Value, target: Element, signed: bool) -> Value:
    """The hardware clamps to 32 bits; the narrower range is clamped after it."""
    b, bits = e.b, target.bits
    wide = b.cast("fptosi" if signed else "fptoui", x, I32)
    if signed:
        low = b.issue(generic.SMaxOp, wide, -(1 << (bits - 1)), type=I32)
        wide = b.issue(generic.SMinOp, low, (1 << (bits - 1)) - 1, type=I32)
    else:
        wide = b.issue(generic.UMinOp, wide, (1 << bits) - 1, type=I32)
    return b.cast("trunc", wide, target.type)


# ---- bits and pointers ---------------------------------------------------------------------------
def _bitcast(e: KernelEmitter, op: Operation) -> Scalar:
    b, source, target = e.b, _type(op.operands[0]), _type(op.results[0])
    if isinstance(source, LLVMPointerType) or isinstance(target, LLVMPointerType):
        return lambda x: x
    return lambda x: b.bitcast(x, target, source)


def _add_pointer(e: KernelEmitter, op: Operation) -> Scalar:
    b = e.b
    pointee = element_of(expect(PointerType, _scalar_type(op.results[0].type)).pointee)
    index = _type(op.operands[1])

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


def _convert_float_rule(e: KernelEmitter, op: Operation) -> Scalar:
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    return convert_float(e, source.name, target.name, _text(op, "rounding_mode", "nearest_even"))


def _identity(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: x


RULES: dict[str, Rule] = {
    **dict.fromkeys(INTEGER_BINARY, _integer_binary),
    **dict.fromkeys(SHIFTS, _shift),
    **dict.fromkeys(INTEGER_MIN_MAX, _integer_min_max),
    **dict.fromkeys(FLOAT_MIN_MAX, _float_min_max),
    **dict.fromkeys(MATH, _math),
    **dict.fromkeys(ROUND_TO_INTEGRAL, _round_to_integral),
    "arith.ceildivui": _ceil_div_unsigned,
    "arith.ceildivsi": _rounded_signed_div,
    "arith.floordivsi": _rounded_signed_div,
    "arith.cmpi": _integer_compare,
    "arith.cmpf": _float_compare,
    "arith.select": _select,
    "arith.negf": _negate,
    "arith.trunci": _resize_integer("trunc"),
    "arith.extsi": _resize_integer("sext"),
    "arith.extui": _resize_integer("zext"),
    "arith.sitofp": _integer_to_float(True),
    "arith.uitofp": _integer_to_float(False),
    "arith.fptosi": _float_to_integer(True),
    "arith.fptoui": _float_to_integer(False),
    "math.absi": _absolute_integer,
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
    "nv_tileas.mulhiui": _multiply_high,
    "nv_tileas.fp_to_fp": _convert_float_rule,
    "nv_tileas.bitcast": _bitcast,
    "nv_tileas.addptr": _add_pointer,
    "nv_tileas.int_to_ptr": _int_to_pointer,
    "nv_tileas.ptr_to_int": _pointer_to_int,
    "nv_tileas.assume": _identity,
}

HANDLERS: dict[str, Handler] = dict.fromkeys(RULES, emit_elementwise)
