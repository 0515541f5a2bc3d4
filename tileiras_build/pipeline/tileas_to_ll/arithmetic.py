"""Elementwise operations: what one element becomes.

Each rule reads an operation once and gives a function from the scalars of one element to the scalar result. Rows
name the instruction by operation and type; rounding and flush-to-zero select NVVM intrinsics where plain LLVM
instructions cannot say them (reference: llvm-nvptx, sections 3 and 4). The half precisions compute transcendental
functions in f32, as the Tile IR specification says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Operation

from ...errors import Unsupported
from ..shared.element_types import ELEMENTS, Element, element_of
from .builder import Value, boolean
from .float_conversions import convert_float
from .kernel_emitter import Handler, KernelEmitter

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
INTEGER_MIN_MAX = {"arith.minsi": "smin", "arith.maxsi": "smax", "arith.minui": "umin", "arith.maxui": "umax"}
FLOAT_MIN_MAX = {
    "arith.minimumf": "minimum",
    "arith.maximumf": "maximum",
    "arith.minnumf": "minnum",
    "arith.maxnumf": "maxnum",
}
ROUNDING_SUFFIX = {"nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp"}
FLOAT_LETTER = {"float": "f", "double": "d"}

# math operation -> libdevice function stem: __nv_<stem>f for f32, __nv_<stem> for f64.
LIBDEVICE = {
    "math.atan2": "atan2",
    "math.cos": "cos",
    "math.cosh": "cosh",
    "math.exp": "exp",
    "math.log": "log",
    "math.log2": "log2",
    "math.powf": "pow",
    "math.sin": "sin",
    "math.sinh": "sinh",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "nv_tileas.remf": "fmod",
}
ROUND_TO_INTEGRAL = {"math.floor": "floor", "math.ceil": "ceil"}


def emit_elementwise(e: KernelEmitter, op: Operation) -> None:
    """Apply the rule of ``op`` to every register; equal inputs give one instruction."""
    scalar = RULES[op.name](e, op)
    columns = [e.registers(operand) for operand in op.operands]
    count = max(map(len, columns))
    columns = [column if len(column) == count else column * count for column in columns]
    known: dict[tuple, Value] = {}
    registers = []
    for arguments in zip(*columns):
        if (result := known.get(arguments)) is None:
            result = known[arguments] = scalar(*arguments)
        registers.append(result)
    e.set(op.results[0], registers)


# ---- helpers -------------------------------------------------------------------------------------
def _text(op: Operation, key: str, default: str) -> str:
    attribute = op.attributes.get(key)
    return attribute.data if isinstance(attribute, StringAttr) else default


def _flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def _in_f32(e: KernelEmitter, element: Element, scalar: Scalar, mode: str = "nearest_even") -> Scalar:
    """``scalar`` computed in f32 for the half precisions, and rounded to them as ``mode`` says."""
    if element.register not in ("half", "bfloat"):
        return scalar
    b, type = e.b, element.register
    narrow = convert_float(e, "f32", element.name, mode if mode in ROUNDING_SUFFIX else "nearest_even")

    def widened(*arguments: Value) -> Value:
        wide = [b.pure(f"fpext {type} {argument} to float") for argument in arguments]
        return narrow(scalar(*wide))

    return widened


def _binary(e: KernelEmitter, op: Operation, instruction: str) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    return lambda x, y: b.pure(f"{instruction} {type} {x}, {y}")


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
            return _wrapped(fold(x, y), width.width.data)
        return plain(x, y)

    return folded


def _wrapped(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _shift(e: KernelEmitter, op: Operation) -> Scalar:
    return _binary(e, op, SHIFTS[op.name])


def _integer_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    name = INTEGER_MIN_MAX[op.name]
    return lambda x, y: b.pure(f"call {type} @llvm.{name}.{type}({type} {x}, {type} {y})")


def _ceil_div_unsigned(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register

    def scalar(x: Value, y: Value) -> Value:
        quotient = b.pure(f"udiv {type} {x}, {y}")
        rest = b.pure(f"icmp ne {type} {b.pure(f'urem {type} {x}, {y}')}, 0")
        return b.pure(f"add {type} {quotient}, {b.pure(f'zext i1 {rest} to {type}')}")

    return scalar


def _rounded_signed_div(e: KernelEmitter, op: Operation) -> Scalar:
    """Floor or ceiling: the truncated quotient corrected by one where a remainder of the wrong sign is left."""
    b, type = e.b, element_of(op.results[0].type).register
    up = op.name == "arith.ceildivsi"

    def scalar(x: Value, y: Value) -> Value:
        quotient, rest = b.pure(f"sdiv {type} {x}, {y}"), b.pure(f"srem {type} {x}, {y}")
        nonzero = b.pure(f"icmp ne {type} {rest}, 0")
        signs = b.pure(f"xor {type} {x}, {y}")
        wrong = b.pure(f"icmp {'sge' if up else 'slt'} {type} {signs}, 0")
        fix = b.pure(f"{'zext' if up else 'sext'} i1 {b.pure(f'and i1 {nonzero}, {wrong}')} to {type}")
        return b.pure(f"add {type} {quotient}, {fix}")

    return scalar


def _multiply_high(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    width = int(type[1:])

    def scalar(x: Value, y: Value) -> Value:
        wide = [b.pure(f"zext {type} {value} to i{2 * width}") for value in (x, y)]
        product = b.pure(f"mul i{2 * width} {wide[0]}, {wide[1]}")
        return b.pure(f"trunc i{2 * width} {b.pure(f'lshr i{2 * width} {product}, {width}')} to {type}")

    return scalar


def _integer_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.operands[0].type).register
    predicate = op.attributes["predicate"].data
    return lambda x, y: b.pure(f"icmp {predicate} {type} {x}, {y}")


def _absolute_integer(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    return lambda x: b.pure(f"call {type} @llvm.abs.{type}({type} {x}, i1 false)")


# ---- floats --------------------------------------------------------------------------------------
def _rounded_float(instruction: str, intrinsic: str) -> Rule:
    """add, sub and mul: the LLVM instruction for round-to-nearest-even, an NVVM intrinsic for the rest.

    NVVM has no subtraction with a rounding mode: it adds the negated operand.
    """

    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, element = e.b, element_of(op.results[0].type)
        type = element.register
        rounding = ROUNDING_SUFFIX[_text(op, "rounding_mode", "nearest_even")]
        if rounding == "rn" and not (_flushes(op) and type == "float"):
            return lambda x, y: b.pure(f"{instruction} {type} {x}, {y}")
        name = f"@llvm.nvvm.{intrinsic}.{rounding}{'.ftz' if _flushes(op) else ''}.{FLOAT_LETTER.get(type, 'f')}"
        wide = type if type in FLOAT_LETTER else "float"

        def scalar(x: Value, y: Value) -> Value:
            if instruction == "fsub":
                y = b.pure(f"fneg {wide} {y}")
            return b.pure(f"call {wide} {name}({wide} {x}, {wide} {y})")

        return _in_f32(e, element, scalar, _text(op, "rounding_mode", "nearest_even"))

    return rule


def _fma(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    type = element.register
    rounding = ROUNDING_SUFFIX[_text(op, "rounding_mode", "nearest_even")]
    if rounding == "rn" and not (_flushes(op) and type == "float"):
        suffix = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}[type]
        return lambda x, y, z: b.pure(f"call {type} @llvm.fma.{suffix}({type} {x}, {type} {y}, {type} {z})")
    name = f"@llvm.nvvm.fma.{rounding}{'.ftz' if _flushes(op) else ''}.{FLOAT_LETTER.get(type, 'f')}"
    wide = type if type in FLOAT_LETTER else "float"
    mode = _text(op, "rounding_mode", "nearest_even")
    return _in_f32(e, element, lambda x, y, z: b.pure(f"call {wide} {name}({wide} {x}, {wide} {y}, {wide} {z})"), mode)


def _divide(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    mode = _text(op, "rounding_mode", "nearest_even")
    ftz = ".ftz" if _flushes(op) else ""
    if element.register == "double":
        if mode in ("nearest_even", "full", "approx"):
            return lambda x, y: b.pure(f"fdiv double {x}, {y}")
        return lambda x, y: b.pure(f"call double @llvm.nvvm.div.{ROUNDING_SUFFIX[mode]}.d(double {x}, double {y})")
    kind = {"approx": "approx", "full": "full"}.get(mode) or ROUNDING_SUFFIX[mode]
    if kind == "rn" and not ftz:
        return _in_f32(e, element, lambda x, y: b.pure(f"fdiv float {x}, {y}"))
    name = f"@llvm.nvvm.div.full{ftz}" if kind == "full" else f"@llvm.nvvm.div.{kind}{ftz}.f"
    return _in_f32(e, element, lambda x, y: b.pure(f"call float {name}(float {x}, float {y})"), mode)


def _square_root(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    mode = _text(op, "rounding_mode", "nearest_even")
    ftz = ".ftz" if _flushes(op) else ""
    if element.register == "double":
        kind = ROUNDING_SUFFIX.get(mode, "rn")
        return lambda x: b.pure(f"call double @llvm.nvvm.sqrt.{kind}.d(double {x})")
    kind = "approx" if mode == "approx" else ROUNDING_SUFFIX.get(mode, "rn")
    return _in_f32(e, element, lambda x: b.pure(f"call float @llvm.nvvm.sqrt.{kind}{ftz}.f(float {x})"), mode)


def _reciprocal_root(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    if element.register == "double":
        return _libdevice_call(e, "__nv_rsqrt", "double")
    ftz = ".ftz" if _flushes(op) else ""
    return _in_f32(e, element, lambda x: b.pure(f"call float @llvm.nvvm.rsqrt.approx{ftz}.f(float {x})"))


def _exp2(e: KernelEmitter, op: Operation) -> Scalar:
    b, element = e.b, element_of(op.results[0].type)
    if element.register == "double":
        return _libdevice_call(e, "__nv_exp2", "double")
    suffix = ".ftz.f32" if _flushes(op) else ".f32"
    return _in_f32(e, element, lambda x: b.pure(f"call float @llvm.nvvm.ex2.approx{suffix}(float {x})"))


def _libdevice_call(e: KernelEmitter, name: str, type: str, arguments: tuple[str, ...] = ()) -> Scalar:
    b = e.b

    def scalar(*values: Value) -> Value:
        types = arguments or (type,) * len(values)
        e.module.use_libdevice(name, type, types)
        return b.pure(f"call {type} @{name}({', '.join(f'{t} {v}' for t, v in zip(types, values))})")

    return scalar


def _libdevice(e: KernelEmitter, op: Operation) -> Scalar:
    element, stem = element_of(op.results[0].type), LIBDEVICE[op.name]
    mode = _text(op, "rounding_mode", "full")
    if element.register == "double":
        return _libdevice_call(e, f"__nv_{stem}", "double")
    if mode == "approx" and (approximate := APPROXIMATE.get(op.name)) is not None:
        return _in_f32(e, element, approximate(e))
    return _in_f32(e, element, _libdevice_call(e, f"__nv_{stem}f", "float"))


def _approximate_tanh(e: KernelEmitter) -> Scalar:
    return lambda x: e.b.pure(f"call float @llvm.nvvm.tanh.approx.f32(float {x})")


def _approximate_exp(e: KernelEmitter) -> Scalar:
    """exp(x) = 2 ** (x * log2(e)), the constant rounded to f32."""

    def scalar(x: Value) -> Value:
        scaled = e.b.pure(f"fmul float {x}, 0x3FF7154760000000")
        return e.b.pure(f"call float @llvm.nvvm.ex2.approx.f32(float {scaled})")

    return scalar


APPROXIMATE = {"math.tanh": _approximate_tanh, "math.exp": _approximate_exp}


def _integer_power(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    exponent = element_of(op.operands[1].type).register
    if exponent != "i32":
        raise Unsupported("powi-exponent", f"an integer power takes an i32 exponent, not {exponent}")
    if element.register == "double":
        return _libdevice_call(e, "__nv_powi", "double", ("double", "i32"))
    power = _libdevice_call(e, "__nv_powif", "float", ("float", "i32"))
    if element.register == "float":
        return power
    b, type = e.b, element.register
    return lambda x, n: b.pure(f"fptrunc float {power(b.pure(f'fpext {type} {x} to float'), n)} to {type}")


SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def _round_to_integral(e: KernelEmitter, op: Operation) -> Scalar:
    element = element_of(op.results[0].type)
    name, b = ROUND_TO_INTEGRAL[op.name], e.b
    wide = "double" if element.register == "double" else "float"
    return _in_f32(e, element, lambda x: b.pure(f"call {wide} @llvm.{name}.{SUFFIX[wide]}({wide} {x})"))


def _absolute_float(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    return lambda x: b.pure(f"call {type} @llvm.fabs.{SUFFIX[type]}({type} {x})")


def _negate(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    return lambda x: b.pure(f"fneg {type} {x}")


def _float_min_max(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    name = f"@llvm.{FLOAT_MIN_MAX[op.name]}.{SUFFIX[type]}"
    if _flushes(op) and type == "float":
        nan = ".nan" if op.name.endswith("imumf") else ""
        name = f"@llvm.nvvm.f{'max' if 'max' in op.name else 'min'}.ftz{nan}.f"
    return lambda x, y: b.pure(f"call {type} {name}({type} {x}, {type} {y})")


def _float_compare(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.operands[0].type).register
    predicate = op.attributes["predicate"].data
    return lambda x, y: b.pure(f"fcmp {predicate} {type} {x}, {y}")


def _select(e: KernelEmitter, op: Operation) -> Scalar:
    b, type = e.b, element_of(op.results[0].type).register
    return lambda c, x, y: x if x == y else b.pure(f"select i1 {boolean(c)}, {type} {x}, {type} {y}")


# ---- integers of another width, integers and floats ----------------------------------------------
def _resize_integer(instruction: str) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type).register, element_of(op.results[0].type).register
        signed = instruction == "sext"

        def scalar(x: Value) -> Value:
            if isinstance(x, int) and target in ("i32", "i64") and source in ("i32", "i64"):
                return _wrapped(x, int(target[1:])) if signed or x >= 0 else _wrapped(x & 0xFFFFFFFF, 64)
            return b.pure(f"{instruction} {source} {x} to {target}")

        return scalar if source != target else (lambda x: x)

    return rule


def _integer_to_float(signed: bool) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type), element_of(op.results[0].type)
        instruction = "sitofp" if signed else "uitofp"
        mode = _text(op, "rounding_mode", "nearest_even")
        if source.register == "i1" and signed:
            # LLVM's back ends differ on what a signed bit is: here true is -1, as it is when extended.
            narrow = convert_float(e, "f32", target.name, mode)
            return lambda x: narrow(b.pure(f"select i1 {x}, float -1.0, float 0.0"))
        return _converted_integer(e, source, target, instruction, mode)

    return rule


def _converted_integer(e: KernelEmitter, source: Element, target: Element, instruction: str, mode: str) -> Scalar:
    b, signed = e.b, instruction == "sitofp"
    if mode != "nearest_even":
        wide = ELEMENTS["f64"] if target.register == "double" else ELEMENTS["f32"]
        rounded = _rounded_integer_to_float(e, source, wide, signed, ROUNDING_SUFFIX[mode])
        narrow = convert_float(e, wide.name, target.name, mode)
        return lambda x: narrow(rounded(x))
    in_one_step = target.is_float and (target.name != "bf16" or e.target.has("bf16_native"))
    if in_one_step and target.name != "tf32":
        return lambda x: b.pure(f"{instruction} {source.register} {x} to {target.register}")
    narrow = convert_float(e, "f32", target.name, mode)
    if source.bits >= 32:
        odd = _integer_to_odd_float(e, source, signed)
        return lambda x: narrow(odd(x))
    return lambda x: narrow(b.pure(f"{instruction} {source.register} {x} to float"))


def _integer_to_odd_float(e: KernelEmitter, source: Element, signed: bool) -> Scalar:
    """f32 with the last bit set where it is inexact, so that rounding it again rounds as if once."""
    b, cut = e.b, _rounded_integer_to_float(e, source, ELEMENTS["f32"], signed, "rz")

    def scalar(x: Value) -> Value:
        value = cut(x)
        back = b.pure(f"{'fptosi' if signed else 'fptoui'} float {value} to {source.register}")
        inexact = b.pure(f"icmp ne {source.register} {back}, {x}")
        odd = b.pure(f"or i32 {b.pure(f'bitcast float {value} to i32')}, {b.pure(f'zext i1 {inexact} to i32')}")
        return b.pure(f"bitcast i32 {odd} to float")

    return scalar


def _rounded_integer_to_float(e: KernelEmitter, source: Element, target: Element, signed: bool, suffix: str) -> Scalar:
    b = e.b
    width = 64 if source.register == "i64" else 32
    letter = ("ll" if signed else "ull") if width == 64 else ("i" if signed else "ui")
    name = f"@llvm.nvvm.{letter}2{FLOAT_LETTER[target.register]}.{suffix}"

    def scalar(x: Value) -> Value:
        if source.register != f"i{width}":
            x = b.pure(f"{'sext' if signed else 'zext'} {source.register} {x} to i{width}")
        return b.pure(f"call {target.register} {name}(i{width} {x})")

    return scalar


def _float_to_integer(signed: bool) -> Rule:
    def rule(e: KernelEmitter, op: Operation) -> Scalar:
        b, source, target = e.b, element_of(op.operands[0].type), element_of(op.results[0].type)
        instruction = "fptosi" if signed else "fptoui"
        if target.register == "i1":
            return _is_nonzero(e, source)
        known, type = source.is_float, source.register if source.is_float else "float"
        widen = (lambda x: x) if known else convert_float(e, source.name, "f32", "nearest_even")
        if "saturating" in op.attributes and target.bits < 32:
            return lambda x: _clamped_integer(e, widen(x), type, target, signed)
        return lambda x: b.pure(f"{instruction} {type} {widen(x)} to {target.register}")

    return rule


def _is_nonzero(e: KernelEmitter, source: Element) -> Scalar:
    """A truth value: Tile IR's front ends ask for one, so that a half or NaN is true, though rounded it were not."""
    known = source.name in ("f32", "f64")
    widen, type = (
        (lambda x: x, source.register) if known else (convert_float(e, source.name, "f32", "nearest_even"), "float")
    )
    return lambda x: e.b.pure(f"fcmp une {type} {widen(x)}, 0.0")


def _clamped_integer(e: KernelEmitter, x: Value, type: str, target: Element, signed: bool) -> Value:
    """The hardware clamps to 32 bits; the narrower range is clamped after it."""
    b, bits = e.b, target.bits
    wide = b.pure(f"{'fptosi' if signed else 'fptoui'} {type} {x} to i32")
    if signed:
        low = b.pure(f"call i32 @llvm.smax.i32(i32 {wide}, i32 {-(1 << (bits - 1))})")
        wide = b.pure(f"call i32 @llvm.smin.i32(i32 {low}, i32 {(1 << (bits - 1)) - 1})")
    else:
        wide = b.pure(f"call i32 @llvm.umin.i32(i32 {wide}, i32 {(1 << bits) - 1})")
    return b.pure(f"trunc i32 {wide} to {target.register}")


# ---- bits and pointers ---------------------------------------------------------------------------
def _bitcast(e: KernelEmitter, op: Operation) -> Scalar:
    b, source, target = e.b, element_of(op.operands[0].type).register, element_of(op.results[0].type).register
    if source == target:
        return lambda x: x
    if "ptr" in source or "ptr" in target:
        return lambda x: x
    return lambda x: b.pure(f"bitcast {source} {x} to {target}")


def _add_pointer(e: KernelEmitter, op: Operation) -> Scalar:
    b = e.b
    pointee = element_of(_scalar_type(op.results[0].type).pointee)
    index = element_of(op.operands[1].type).register

    def scalar(pointer: Value, offset: Value) -> Value:
        if pointee.per_byte > 1:
            offset = b.pure(f"sdiv {index} {offset}, {pointee.per_byte}")
        return b.pure(f"getelementptr {pointee.memory}, ptr addrspace(1) {pointer}, {index} {offset}")

    return scalar


def _scalar_type(type: Any) -> Any:
    return getattr(type, "element_type", type)


def _int_to_pointer(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: e.b.pure(f"inttoptr i64 {x} to ptr addrspace(1)")


def _pointer_to_int(e: KernelEmitter, op: Operation) -> Scalar:
    return lambda x: e.b.pure(f"ptrtoint ptr addrspace(1) {x} to i64")


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
    **dict.fromkeys(LIBDEVICE, _libdevice),
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
    "nv_tileas.addf": _rounded_float("fadd", "add"),
    "nv_tileas.subf": _rounded_float("fsub", "add"),
    "nv_tileas.mulf": _rounded_float("fmul", "mul"),
    "nv_tileas.divf": _divide,
    "nv_tileas.fma": _fma,
    "nv_tileas.sqrt": _square_root,
    "nv_tileas.rsqrt": _reciprocal_root,
    "nv_tileas.exp2": _exp2,
    "nv_tileas.mulhiui": _multiply_high,
    "nv_tileas.fp_to_fp": _convert_float_rule,
    "nv_tileas.bitcast": _bitcast,
    "nv_tileas.addptr": _add_pointer,
    "nv_tileas.int_to_ptr": _int_to_pointer,
    "nv_tileas.ptr_to_int": _pointer_to_int,
    "nv_tileas.assume": _identity,
}

HANDLERS: dict[str, Handler] = dict.fromkeys(RULES, emit_elementwise)
