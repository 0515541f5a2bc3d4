"""Floating-point arithmetic (PTX ISA 9.0, sections 9.7.3 to 9.7.5); integer forms of shared opcodes are forwarded."""

from __future__ import annotations

from ..codegen.f32x2_registers import F32Half, halves_of, set_pair
from . import integer_instructions
from .handler_registry import handles
from .integer_instructions import INTEGER_TYPES

_ROUNDINGS = {"rn", "rz", "rm", "rp"}
_PACKED = {"f16": ("f16", False), "f16x2": ("f16", True), "bf16": ("bf16", False), "bf16x2": ("bf16", True)}


def rounding(ins) -> str:
    return next((m for m in ins.mods if m in _ROUNDINGS), "rn")


def half_kind(ins) -> str:
    return "u32" if _PACKED[ins.mods[-1]][1] else "u16"


def half_call(e, ins, name: str, args) -> str:
    fmt, packed = _PACKED[ins.mods[-1]]
    kind = "u32" if packed else "u16"
    flags = e.constant(frozenset(ins.mods), "flags")
    return f"half_arithmetic({name!r}, {fmt!r}, {packed}, {flags}, {', '.join(e.use(a, kind) for a in args)})"


def is_half(ins) -> bool:
    return ins.mods[-1] in _PACKED


def emit_half(e, ins, name: str):
    e.set(ins.args[0], half_kind(ins), half_call(e, ins, name, ins.args[1:]))


def flush_source(e, ins, operand, kind: str) -> str:
    name = e.use(operand, kind)
    return f"flush({name})" if "ftz" in ins.mods and kind == "f32" else name


def assign_float(e, ins, kind: str, expression: str, flush_result: bool = True):
    if "ftz" in ins.mods and kind == "f32" and flush_result:
        expression = f"flush({expression})"
    if "sat" in ins.mods:
        expression = f"saturate({expression})"
    e.set(ins.args[0], kind, expression)


_NEAREST = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}"}


def arithmetic(e, ins, name: str):
    """add, sub, mul, div, fma on f32 and f64 (and packed f32x2)."""
    kind = ins.mods[-1]
    if kind == "f32x2":
        return emit_f32x2(e, ins, name)
    values = [flush_source(e, ins, arg, kind) for arg in ins.args[1:]]
    mode = rounding(ins)
    assign_float(e, ins, kind, compute(name, mode, kind, values))


def compute(name: str, mode: str, kind: str, values: list[str]) -> str:
    if mode != "rn":
        return f"rounded({name!r}, {mode!r}, {', '.join(values)})"
    if name == "fma":
        return f"{'fma32' if kind == 'f32' else 'fma64'}({', '.join(values)})"
    return _NEAREST[name].format(*values)


_MIXED = ("f16", "bf16")


def is_mixed(ins) -> bool:
    """add, sub, fma with an f32 result and half-precision factors (PTX ISA 8.6, mixed precision instructions)."""
    return len(ins.mods) > 1 and ins.mods[-2] == "f32" and ins.mods[-1] in _MIXED


def emit_mixed_precision(e, ins, name: str):
    """All operands except the last are of the narrow type; the last operand and the result are f32."""
    narrow = ins.mods[-1]
    values = []
    for arg in ins.args[1:-1]:
        source = e.use(arg, "u16")
        if narrow == "f16":
            values.append(e.temp(f"{source}.view(f16).astype(f32)"))
        else:
            values.append(e.temp(f"({source}.astype(u32) << {e.scalar('u32', 16)}).view(f32)"))
    values.append(flush_source(e, ins, ins.args[-1], "f32"))
    assign_float(e, ins, "f32", compute(name, rounding(ins), "f32", values))


def emit_f32x2(e, ins, name: str):
    """f32x2: both halves of 64-bit registers."""
    operands, out = [halves_of(e, arg) for arg in ins.args[1:]], []
    for side in (0, 1):
        values = [flushed_text(ins, operand[side].number) for operand in operands]
        mode = rounding(ins)
        result = (
            f"f32x2_operation({name!r}, {', '.join(values)})" if mode == "rn" else compute(name, mode, "f32", values)
        )
        if mode != "rn" or "ftz" in ins.mods:
            result = f"canonicalize_nans({flushed_text(ins, result)})"
        out.append(F32Half("f32", e.temp(result), has_canonical_nans=True))
    set_pair(e, ins.args[0], *out)


def flushed_text(ins, value: str) -> str:
    return f"flush({value})" if "ftz" in ins.mods else value


@handles("add", "sub")
def handle_add(e, ins):
    if ins.mods[-1] in INTEGER_TYPES or ins.mods[-1] in ("u16x2", "s16x2"):
        return integer_instructions.integer_add(e, ins, "+" if ins.op == "add" else "-")
    if is_mixed(ins):
        return emit_mixed_precision(e, ins, ins.op)
    if is_half(ins):
        return emit_half(e, ins, ins.op)
    if ins.mods[-1] in ("f32", "f64", "f32x2"):
        return arithmetic(e, ins, ins.op)
    e.fail()


@handles("mul")
def handle_mul(e, ins):
    if ins.mods[-1] in INTEGER_TYPES:
        return integer_instructions.integer_multiply(e, ins, False)
    if is_half(ins):
        return emit_half(e, ins, "mul")
    arithmetic(e, ins, "mul")


@handles("fma", "mad")
def handle_fma(e, ins):
    if ins.mods[-1] in INTEGER_TYPES:
        return integer_instructions.integer_multiply(e, ins, True)
    if is_mixed(ins):
        return emit_mixed_precision(e, ins, "fma")
    if is_half(ins):
        return emit_half(e, ins, "fma")
    arithmetic(e, ins, "fma")


@handles("div")
def handle_div(e, ins):
    if ins.mods[-1] in INTEGER_TYPES:
        return integer_instructions.integer_divide(e, ins, "div")
    arithmetic(e, ins, "div")


@handles("min", "max")
def handle_extreme(e, ins):
    kind = ins.mods[-1]
    if kind in INTEGER_TYPES or kind in ("u16x2", "s16x2"):
        return integer_instructions.integer_extreme(e, ins, "minimum" if ins.op == "min" else "maximum")
    if is_half(ins):
        return emit_half(e, ins, ins.op)
    values = [flush_source(e, ins, arg, kind) for arg in ins.args[1:]]
    flags = f"{'NaN' in ins.mods}, {'xorsign' in ins.mods}"
    if "abs" in ins.mods and "xorsign" not in ins.mods:
        values = [f"np.abs({v})" for v in values]
    result = values[0]
    for value in values[1:]:
        result = f"min_max({ins.op!r}, {result}, {value}, {flags})"
    assign_float(e, ins, kind, result, flush_result=False)


@handles("abs", "neg")
def handle_sign(e, ins):
    kind = ins.mods[-1]
    if kind in INTEGER_TYPES:
        value = e.use(ins.args[1], kind)
        return e.set(ins.args[0], kind, f"np.abs({value})" if ins.op == "abs" else f"-{value}")
    if is_half(ins):
        return emit_half(e, ins, ins.op)
    value = flush_source(e, ins, ins.args[1], kind)
    e.set(ins.args[0], kind, f"np.abs({value})" if ins.op == "abs" else f"-{value}")


@handles("copysign")
def handle_copysign(e, ins):
    """copysign d, a, b: the sign of a on the magnitude of b."""
    kind = ins.mods[-1]
    e.set(ins.args[0], kind, f"np.copysign({e.use(ins.args[2], kind)}, {e.use(ins.args[1], kind)})")


@handles("sqrt", "rcp", "rsqrt")
def handle_root(e, ins):
    kind = ins.mods[-1]
    value = flush_source(e, ins, ins.args[1], kind)
    mode = rounding(ins)
    if mode != "rn":
        result = f"rounded({ins.op!r}, {mode!r}, {value})"
    elif ins.op == "sqrt":
        result = f"np.sqrt({value})"
    elif ins.op == "rcp":
        result = f"approximate('rcp', {value})"
    else:
        result = f"reciprocal_sqrt({value})"
    if kind == "f64" and {"approx", "ftz"} <= set(ins.mods):
        # rcp/rsqrt.approx.ftz.f64 have the precision of the high word only (sections 9.7.3.13 and 9.7.3.17); without .ftz,
        # a subroutine of ptxas computes rsqrt in full precision.
        result = f"high_word({result})"
    assign_float(e, ins, kind, result)


@handles("ex2", "lg2", "sin", "cos", "tanh")
def handle_transcendental(e, ins):
    if is_half(ins):
        return emit_half(e, ins, ins.op)
    kind = ins.mods[-1]
    value, is_flushed = e.use(ins.args[1], kind), "ftz" in ins.mods and kind == "f32"
    result = f"{'approximate_flushed' if is_flushed else 'approximate'}({ins.op!r}, {value})"
    assign_float(e, ins, kind, result, flush_result=False)


_TESTS = {
    "finite": "np.isfinite({0})",
    "infinite": "np.isinf({0})",
    "number": "~np.isnan({0})",
    "notanumber": "np.isnan({0})",
    "normal": "(np.isfinite({0}) & (np.abs({0}) >= {1}))",
    "subnormal": "((np.abs({0}) < {1}) & ({0} != 0))",
}


@handles("testp")
def handle_testp(e, ins):
    kind = ins.mods[-1]
    tiny = e.scalar(kind, 2.0**-126 if kind == "f32" else 2.0**-1022)
    e.set(ins.args[0], "p", _TESTS[ins.mods[0]].format(e.use(ins.args[1], kind), tiny))
