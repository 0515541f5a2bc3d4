"""Integer arithmetic, logic, shifts and bit manipulation (PTX ISA 9.0, sections 9.7.1, 9.7.2 and 9.7.8)."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import KIND_BITS, kind_of
from ..numerics.integer_arithmetic import WIDER, mulhi, unsigned
from ..ptx.ast import SINK, Immediate, Pair
from .handler_registry import handles, helper

INTEGER_TYPES = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}


def binary(e, ins, kind: str, template: str, destination=None):
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    e.set(ins.args[0] if destination is None else destination, kind, template.format(a=a, b=b))


def integer_add(e, ins, sign: str):
    kind = ins.mods[-1]
    if kind in ("u16x2", "s16x2"):
        return binary(e, ins, "u32", f"packed_halves({'add' if sign == '+' else 'sub'!r}, {{a}}, {{b}}, {kind!r})")
    if "sat" in ins.mods:
        return binary(e, ins, "s32", f"saturating({{a}}, {{b}}, {sign == '-'})")
    if "cc" in ins.mods:
        return carry_add(e, ins, sign, False)
    binary(e, ins, unsigned(kind), f"{{a}} {sign} {{b}}")


def carry_add(e, ins, sign: str, carry_in: bool):
    """add.cc/addc/sub.cc/subc."""
    kind = unsigned(ins.mods[-1])
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    emit_carry(e, ins, kind, a, b, sign, carry_in)


def emit_carry(e, ins, kind: str, a: str, b: str, sign: str, carry_in: bool):
    """a + b (+ carry); the group stores the carry flag between instructions."""
    carry = e.temp(f"g.carry.astype({kind})") if carry_in else e.scalar(kind, 0)
    total = e.temp(f"{a} {sign} {b}")
    result = e.temp(f"{total} {sign} {carry}")
    if "cc" in ins.mods:
        if sign == "+":
            e.line(f"g.carry = ({total} < {a}) | ({result} < {total})")
        else:
            e.line(f"g.carry = ({a} < {b}) | ({total} < {carry})")
    e.set(ins.args[0], kind, result)


@handles("addc", "subc")
def handle_carry(e, ins):
    carry_add(e, ins, "+" if ins.op == "addc" else "-", True)


@handles("madc")
def handle_multiply_carry(e, ins):
    multiply_carry(e, ins, True)


def multiply_carry(e, ins, carry_in: bool):
    """mad{c}{.lo,.hi}.cc: the low or high half of a * b, plus c, plus the carry."""
    kind = ins.mods[-1]
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    plain = unsigned(kind)
    if "hi" in ins.mods:
        half = e.temp(f"({mulhi(e, a, b, kind)}).view({plain})")
    else:
        half = e.temp(f"({a} * {b}).view({plain})")
    emit_carry(e, ins, plain, half, e.use(ins.args[3], plain), "+", carry_in)


@handles("mul24", "mad24")
def handle_mul24(e, ins):
    kind = ins.mods[-1]
    wide = "s64" if kind == "s32" else "u64"
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    cut = [f"(({x} << {e.scalar(kind, 8)}) >> {e.scalar(kind, 8)}).astype({wide})" for x in (a, b)]
    full = e.temp(f"{cut[0]} * {cut[1]}")
    value = f"({full} >> {e.scalar(wide, 16)})" if "hi" in ins.mods else full
    result = f"({value}).astype(u32)"
    if "sat" in ins.mods:
        return e.set(ins.args[0], "s32", f"saturating(({value}).astype(s32), {e.use(ins.args[3], 's32')}, False)")
    if ins.op == "mad24":
        result += f" + {e.use(ins.args[3], 'u32')}"
    e.set(ins.args[0], "u32", result)


def integer_multiply(e, ins, accumulate: bool):
    kind, form = ins.mods[-1], ins.mods[0]
    if "cc" in ins.mods:
        return multiply_carry(e, ins, False)
    if form == "wide":
        a, b = (e.use(arg, kind) for arg in ins.args[1:3])
        wide = WIDER[kind]
        result = f"np.multiply({a}, {b}, dtype={wide})"
        if accumulate:
            result += f" + {e.use(ins.args[3], wide)}"
        return e.set(ins.args[0], wide, result)
    if form == "hi":
        a, b = (e.use(arg, kind) for arg in ins.args[1:3])
        result = mulhi(e, a, b, kind)
        if "sat" in ins.mods:
            result = f"saturating({result}, {e.use(ins.args[3], kind)}, False)"
        elif accumulate:
            result += f" + {e.use(ins.args[3], kind)}"
        return e.set(ins.args[0], kind, result)
    kind = unsigned(kind)
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    result = f"{a} * {b}"
    if accumulate:
        result += f" + {e.use(ins.args[3], kind)}"
    e.set(ins.args[0], kind, result)


def integer_divide(e, ins, name: str):
    kind = ins.mods[-1]
    if isinstance(ins.args[2], Immediate) and kind[0] == "u" and ins.args[2].value:
        return binary(e, ins, kind, "{a} // {b}" if name == "div" else "{a} % {b}")
    binary(e, ins, kind, f"{kind[0]}{name}({{a}}, {{b}})")


@handles("rem")
def handle_rem(e, ins):
    integer_divide(e, ins, "rem")


def integer_extreme(e, ins, name: str):
    kind = ins.mods[-1]
    if kind in ("u16x2", "s16x2"):
        return binary(e, ins, "u32", f"packed_halves({ins.op!r}, {{a}}, {{b}}, {kind!r})")
    result = f"np.{name}({e.use(ins.args[1], kind)}, {e.use(ins.args[2], kind)})"
    if len(ins.args) > 3:
        result = f"np.{name}({result}, {e.use(ins.args[3], kind)})"
    if "relu" in ins.mods:
        result = f"np.maximum({result}, {e.scalar(kind, 0)})"
    e.set(ins.args[0], kind, result)


@handles("sad")
def handle_sad(e, ins):
    kind = ins.mods[-1]
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    c = e.use(ins.args[3], unsigned(kind))
    e.set(ins.args[0], unsigned(kind), f"{c} + (np.maximum({a}, {b}) - np.minimum({a}, {b})).view({unsigned(kind)})")


_LOGIC = {"and": "{a} & {b}", "or": "{a} | {b}", "xor": "{a} ^ {b}"}


@handles("and", "or", "xor")
def handle_logic(e, ins):
    binary(e, ins, kind_of(ins.mods[-1]), _LOGIC[ins.op])


@handles("not")
def handle_not(e, ins):
    kind = kind_of(ins.mods[-1])
    e.set(ins.args[0], kind, f"~{e.use(ins.args[1], kind)}")


@handles("cnot")
def handle_cnot(e, ins):
    kind = kind_of(ins.mods[-1])
    e.set(ins.args[0], kind, f"({e.use(ins.args[1], kind)} == 0).astype({kind})")


@handles("shl", "shr")
def handle_shift(e, ins):
    """NumPy clamps like PTX: a shift by the width or more returns 0 (or the sign)."""
    kind = kind_of(ins.mods[-1])
    a, amount = e.use(ins.args[1], kind), ins.args[2]
    if isinstance(amount, Immediate):
        b = e.scalar(kind, min(amount.value & 0xFFFFFFFF, KIND_BITS[kind]))
    else:
        b = e.use(amount, "u32")
        if KIND_BITS[kind] == 16:
            b = f"np.minimum({b}, {e.scalar('u32', 16)}).astype({kind})"
        elif kind != "u32":
            b = (
                f"{b}.astype({kind})"
                if KIND_BITS[kind] == 64
                else f"np.minimum({b}, {e.scalar('u32', 32)}).view({kind})"
            )
    e.set(ins.args[0], kind, f"{a} {'<<' if ins.op == 'shl' else '>>'} {b}")


@handles("shf")
def handle_funnel(e, ins):
    a, b, c = (e.use(arg, "u32") for arg in ins.args[1:4])
    e.set(ins.args[0], "u32", f"funnel({a}, {b}, {c}, {ins.mods[0] == 'l'}, {'clamp' in ins.mods})")


@handles("bfe")
def handle_bfe(e, ins):
    kind = ins.mods[-1]
    a = e.use(ins.args[1], kind)
    b, c = (e.use(arg, "u32") for arg in ins.args[2:4])
    e.set(ins.args[0], kind, f"extract_field({a}, {b}, {c}, {kind[0] == 's'})")


@handles("bfi")
def handle_bfi(e, ins):
    kind = kind_of(ins.mods[-1])
    a, b = (e.use(arg, kind) for arg in ins.args[1:3])
    c, d = (e.use(arg, "u32") for arg in ins.args[3:5])
    e.set(ins.args[0], kind, f"insert_field({a}, {b}, {c}, {d})")


@helper
def make_mask(start, width, clamp):
    """bmsk (section 9.7.8.10): ``width`` ones from bit ``start``."""
    if not clamp:
        start, width = start & np.uint32(31), width & np.uint32(31)
    one = np.uint64(1)
    start, width = (np.minimum(np.asarray(v), np.uint32(32)).astype(np.uint64) for v in (start, width))
    return ((((one << width) - one) << start) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


@handles("bmsk")
def handle_bmsk(e, ins):
    binary(e, ins, "u32", f"make_mask({{a}}, {{b}}, {'clamp' in ins.mods})")


@helper
def extend_sign(a, position, signed, clamp):
    """szext (section 9.7.8.9)."""
    n = position if clamp else position & np.uint32(31)
    n = np.minimum(np.asarray(n), np.uint32(32)).astype(np.uint64)
    one = np.uint64(1)
    mask = (one << n) - one
    low = np.asarray(a).view(np.uint32).astype(np.uint64) & mask
    if signed:
        sign = (n > 0) & ((low >> (np.maximum(n, one) - one)) & one != 0)
        low = np.where(sign, low | ~mask, low)
    return (low & np.uint64(0xFFFFFFFF)).astype(np.uint32)


@handles("szext")
def handle_szext(e, ins):
    binary(e, ins, "u32", f"extend_sign({{a}}, {{b}}, {ins.mods[-1] == 's32'}, {'clamp' in ins.mods})")


@handles("bfind")
def handle_bfind(e, ins):
    e.set(ins.args[0], "u32", f"find_leading({e.use(ins.args[1], ins.mods[-1])}, {'shiftamt' in ins.mods})")


@handles("brev", "popc", "clz")
def handle_bits(e, ins):
    kind = kind_of(ins.mods[-1])
    name = {"brev": "reverse_bits", "popc": "popcount", "clz": "leading_zeros"}[ins.op]
    e.set(ins.args[0], kind if ins.op == "brev" else "u32", f"{name}({e.use(ins.args[1], kind)})")


@handles("fns")
def handle_fns(e, ins):
    a, b, c = (e.use(arg, "u32") for arg in ins.args[1:4])
    e.set(ins.args[0], "u32", f"find_nth_set({a}, {b}, {c})")


@handles("prmt")
def handle_prmt(e, ins):
    a, b = (e.use(arg, "u32") for arg in ins.args[1:3])
    mode = ins.mods[1] if len(ins.mods) > 1 else None
    if mode is None and isinstance(ins.args[3], Immediate):
        return e.set(ins.args[0], "u32", f"permute_constant({a}, {b}, {ins.args[3].value})")
    e.set(ins.args[0], "u32", f"permute_bytes({a}, {b}, {e.use(ins.args[3], 'u32')}, {mode!r})")


@handles("lop3")
def handle_lop3(e, ins):
    """lop3.b32 d, a, b, c, table; and the predicate form lop3.or.b32 d|p, a, b, c, table, q."""
    a, b, c = (e.use(arg, "u32") for arg in ins.args[1:4])
    value = e.temp(f"logic3({a}, {b}, {c}, {ins.args[4].value})")
    destination = ins.args[0]
    if isinstance(destination, Pair):
        join = "|" if "or" in ins.mods else "&"
        q = e.use(ins.args[5], "p")
        e.set(destination.second, "p", f"({value} != 0) {join} {q}")
        destination = destination.first
    if destination is not SINK:
        e.set(destination, "u32", value)


@handles("dp4a", "dp2a")
def handle_dot(e, ins):
    a_type, b_type = ins.mods[-2], ins.mods[-1]
    half = None if ins.op == "dp4a" else (2 if ins.mods[0] == "hi" else 0)
    a, b, c = (e.use(arg, "u32") for arg in ins.args[1:4])
    e.set(ins.args[0], "u32", f"dot_bytes({a}, {b}, {c}, {a_type[0] == 's'}, {b_type[0] == 's'}, {half})")
