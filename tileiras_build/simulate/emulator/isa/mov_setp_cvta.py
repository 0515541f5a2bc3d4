"""Data movement between registers, selection and comparison (PTX ISA 9.0, sections 9.7.6, 9.7.9)."""

from __future__ import annotations

import numpy as np

from ..codegen.emit_block import KIND_BITS, UNSIGNED, kind_of
from ..codegen.f32x2_registers import F32Half, half_of, pair_of, set_pair
from ..memory.address_space import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW
from ..memory.load_store import Site
from ..ptx.ast import SINK, Address, Name, Pair, Register, Variable, Vector
from ..simt.geometry import RANK_MASK, RANK_SHIFT
from .handler_registry import handles, helper


@handles("mov")
def handle_mov(e, ins):
    destination, source = ins.args
    if isinstance(destination, Vector) and isinstance(source, Vector):
        return [emit_move(e, d, s, kind_of(ins.mods[-1])) for d, s in zip(destination.items, source.items)]
    if isinstance(destination, Vector):
        return emit_unpack(e, destination.items, source)
    if isinstance(source, Vector):
        return emit_pack(e, destination, source.items)
    emit_move(e, destination, source, kind_of(ins.mods[-1]))


def emit_move(e, destination, source, kind: str):
    if kind == "b128" or (isinstance(destination, Register) and destination.bits == 128):
        return e.set(destination, "b128", e.use(source, "b128"))
    if isinstance(destination, Register) and destination.bits == KIND_BITS[kind]:
        kind = (
            destination.kind
            if not isinstance(source, Register) or source.kind == destination.kind
            else UNSIGNED[destination.bits]
        )
    e.set(destination, kind, e.use(source, kind))


def element_bits(items, total: int) -> int:
    return total // len(items)


def emit_unpack(e, items, source):
    """mov.b64 {a, b}, c: a is the low part."""
    total = source.bits if isinstance(source, Register) else KIND_BITS[kind_of(e.ins.mods[-1])]
    if total == 128:
        pair = e.use(source, "b128")
        for i, item in enumerate(items):
            e.set(item, "u64", f"{pair}[{i}]")
        return
    total = KIND_BITS[kind_of(e.ins.mods[-1])]
    bits = element_bits(items, total)
    halves = pair_of(e, source)
    if halves is not None and bits == 32:
        for item, half in zip(items, halves):
            if item is not SINK:
                unpack_half(e, item, half)
        return
    whole = e.use(source, UNSIGNED[total])
    for i, item in enumerate(items):
        if item is SINK:
            continue
        shifted = f"({whole} >> {e.scalar(UNSIGNED[total], i * bits)})" if i else whole
        e.set(item, UNSIGNED[bits], f"{shifted}.astype({UNSIGNED[bits]})")


def unpack_half(e, item, half: F32Half):
    """Assign a half to a 32-bit register, without a conversion to bits if that preserves the bits of NaNs."""
    if half.has_canonical_nans and item.kind == "f32":
        return e.set(item, "f32", half.number)
    e.set(item, "u32", half.bits)


def emit_pack(e, destination, items):
    total = destination.bits if isinstance(destination, Register) else KIND_BITS[kind_of(e.ins.mods[-1])]
    if total == 128:
        return e.set(destination, "b128", f"({', '.join(e.use(i, 'u64') for i in items)})")
    total = KIND_BITS[kind_of(e.ins.mods[-1])]
    bits, kind = element_bits(items, total), UNSIGNED[total]
    if bits == 32 and total == 64:
        return set_pair(e, destination, *(half_of(e, item) for item in items))
    terms = []
    for i, item in enumerate(items):
        value = f"{e.use(item, UNSIGNED[bits])}.astype({kind})"
        terms.append(f"({value} << {e.scalar(kind, i * bits)})" if i else value)
    e.set(destination, kind, " | ".join(terms))


@handles("selp")
def handle_selp(e, ins):
    destination, a, b, p = ins.args
    kind = kind_of(ins.mods[-1])
    if isinstance(destination, Register) and destination.bits == KIND_BITS[kind]:
        kind = destination.kind
    e.set(destination, kind, f"choose({e.use(p, 'p')}, {e.use(a, kind)}, {e.use(b, kind)})")


@handles("slct")
def handle_slct(e, ins):
    """slct{.ftz}.dtype.{s32,f32} d, a, b, c: a where c >= 0."""
    kind, test = kind_of(ins.mods[-2]), ins.mods[-1]
    c = e.use(ins.args[3], test)
    e.set(
        ins.args[0], kind, f"choose({c} >= {e.scalar(test, 0)}, {e.use(ins.args[1], kind)}, {e.use(ins.args[2], kind)})"
    )


# -- comparison --------------------------------------------------------------------------------------
_INTEGER = {
    "eq": "{a} == {b}", "ne": "{a} != {b}", "lt": "{a} < {b}", "le": "{a} <= {b}", "gt": "{a} > {b}",
    "ge": "{a} >= {b}", "lo": "{a} < {b}", "ls": "{a} <= {b}", "hi": "{a} > {b}", "hs": "{a} >= {b}",
}  # fmt: skip
_FLOAT = {
    "eq": "{a} == {b}", "ne": "(({a} < {b}) | ({a} > {b}))", "lt": "{a} < {b}", "le": "{a} <= {b}",
    "gt": "{a} > {b}", "ge": "{a} >= {b}", "equ": "~(({a} < {b}) | ({a} > {b}))", "neu": "{a} != {b}",
    "ltu": "~({a} >= {b})", "leu": "~({a} > {b})", "gtu": "~({a} <= {b})", "geu": "~({a} < {b})",
    "num": "({a} == {a}) & ({b} == {b})", "nan": "({a} != {a}) | ({b} != {b})",
}  # fmt: skip
_JOIN = {"and": "{x} & {y}", "or": "{x} | {y}", "xor": "{x} ^ {y}"}
_FLOAT_TYPES = {"f16", "f32", "f64", "bf16", "f16x2", "bf16x2"}


def comparison(e, ins, type_: str) -> list[str]:
    """Names of the predicates that compare the second and third operands (two for packed types)."""
    condition = ins.mods[0]
    if type_ in ("f16x2", "bf16x2"):
        a, b = (e.temp(f"compare_halves({type_[:-2]!r}, {e.use(arg, 'u32')})") for arg in ins.args[1:3])
        return [e.temp(_FLOAT[condition].format(a=f"{a}[{i}]", b=f"{b}[{i}]")) for i in (0, 1)]
    if type_ in ("f16", "bf16"):
        a, b = (e.temp(f"half_as_float32({type_!r}, {e.use(arg, 'u16')})") for arg in ins.args[1:3])
    else:
        kind = kind_of(type_)
        if condition in ("lo", "ls", "hi", "hs"):
            kind = UNSIGNED[KIND_BITS[kind]]
        a, b = (e.use(arg, kind) for arg in ins.args[1:3])
        if "ftz" in ins.mods:
            a, b = e.temp(f"flush({a})"), e.temp(f"flush({b})")
    table = _FLOAT if type_ in _FLOAT_TYPES else _INTEGER
    if condition not in table:
        e.fail(f"no comparison .{condition} for .{type_}")
    return [table[condition].format(a=a, b=b)]


@helper
def compare_halves(fmt, bits):
    from ..numerics import float_formats

    pair = float_formats.widen(fmt, float_formats.halves(np.asarray(bits)))
    return pair[..., 0], pair[..., 1]


@handles("setp")
def handle_setp(e, ins):
    results = comparison(e, ins, ins.mods[-1])
    join = next((m for m in ins.mods[1:-1] if m in _JOIN), None)
    destination = ins.args[0]
    first, second = (destination.first, destination.second) if isinstance(destination, Pair) else (destination, None)
    if join is None and second is None:
        return e.set(first, "p", results[0])
    base = e.temp(results[0])
    other = e.temp(f"~({base})") if len(results) == 1 else results[1]
    if join is not None:
        c = e.use(ins.args[3], "p")
        base, other = (e.temp(_JOIN[join].format(x=x, y=c)) for x in (base, other))
    for target, value in ((first, base), (second, other)):
        if target is not None and target is not SINK:
            e.set(target, "p", value)


@handles("set")
def handle_set(e, ins):
    """set.cmp.dtype.stype: all ones (or 1.0) where the comparison holds."""
    results = comparison(e, ins, ins.mods[-1])
    join = next((m for m in ins.mods[1:-2] if m in _JOIN), None)
    if join is not None:
        c = e.use(ins.args[3], "p")
        results = [_JOIN[join].format(x=f"({r})", y=c) for r in results]
    dtype = ins.mods[-2]
    if dtype == "f32":
        return e.set(ins.args[0], "f32", f"({results[0]}).astype(f32)")
    if dtype in ("f16", "bf16", "f16x2", "bf16x2"):
        one = 0x3C00 if dtype.startswith("f16") else 0x3F80
        kind = kind_of(dtype)
        parts = [f"(({r}).astype({kind}) * {e.scalar(kind, one << 16 * i)})" for i, r in enumerate(results)]
        return e.set(ins.args[0], kind, " | ".join(parts))
    kind = UNSIGNED[KIND_BITS[kind_of(dtype)]]
    if len(results) == 2:
        low, high = (f"({r}).astype(u32) * {e.scalar('u32', 0xFFFF << 16 * i)}" for i, r in enumerate(results))
        return e.set(ins.args[0], kind, f"({low}) | ({high})")
    e.set(ins.args[0], kind, f"-(({results[0]}).astype({kind}))")


# -- addresses ---------------------------------------------------------------------------------------
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def space_of(mod: str) -> str:
    return mod.split(":")[0]


@handles("cvta")
def handle_cvta(e, ins):
    """cvta.space converts an address to a generic address, cvta.to.space back; identical for global and const."""
    to = ins.mods[0] == "to"
    space = next(space_of(m) for m in ins.mods if space_of(m) in ("global", "const", "shared", "local", "param"))
    kind = kind_of(ins.mods[-1])
    window = _WINDOWS.get(space, 0)
    source = ins.args[1]
    if space == "shared" and "cluster" in ins.mods:
        window = SHARED_WINDOW
    value = e.use(source, kind) if not isinstance(source, (Variable, Name, Address)) else e.symbol(source, kind)
    if space == "param" and not to:
        return e.set(ins.args[0], kind, f"{value} | {e.scalar(kind, window)}")
    if window and kind == "u64":
        value = f"{value} {'-' if to else '+'} {e.scalar(kind, window)}"
    e.set(ins.args[0], kind, value)


@helper
def in_space(group, address, space, own):
    """Whether generic addresses are in a space; ``own``: in the CTA's own shared memory, not the cluster's."""
    tag = address >> np.uint64(56)
    if space in ("shared", "local", "param"):
        inside = tag == np.uint64({"shared": 1, "local": 2, "param": 4}[space])
        return inside & (cluster_rank(address) == group.geometry.rank(group.cta)) if own else inside
    if space == "const":
        out = np.zeros(np.shape(address), bool)
        for variable, _ in group.functions.program.buffers:
            if variable.space == "const":
                out = out | (
                    (address >= np.uint64(variable.offset)) & (address < np.uint64(variable.offset + variable.size))
                )
        return out[()] if isinstance(out, np.ndarray) else out
    return tag == 0


@handles("isspacep")
def handle_isspacep(e, ins):
    space = space_of(ins.mods[0])
    own = space == "shared" and "cluster" not in ins.mods[0] and e.program.cluster_size > 1
    e.set(ins.args[0], "p", f"in_space(g, {e.use(ins.args[1], 'u64')}, {space!r}, {own})")


@helper
def cluster_rank(address):
    return (address >> address.dtype.type(RANK_SHIFT)).astype(np.uint32) & np.uint32(RANK_MASK)


@helper
def map_to_rank(group, address, rank, ins):
    """mapa: the same offset in the shared memory of another CTA of the cluster."""
    if np.any(rank >= group.geometry.cluster_size):
        fault = Site(ins, "shared", 1).fault
        fault(group, f"rank {np.max(rank)} is outside the cluster of {group.geometry.cluster_size} CTAs")
    kind = address.dtype.type
    cleared = address & ~kind(RANK_MASK << RANK_SHIFT)
    return cleared | (rank.astype(kind) << kind(RANK_SHIFT))


@handles("getctarank")
def handle_rank(e, ins):
    kind = kind_of(ins.mods[-1])
    e.set(ins.args[0], "u32", f"cluster_rank({e.use(ins.args[1], kind)})")


@handles("mapa")
def handle_map(e, ins):
    kind = kind_of(ins.mods[-1])
    rank, constant = e.use(ins.args[2], "u32"), e.constant(ins, "ins")
    e.set(ins.args[0], kind, f"map_to_rank(g, {e.use(ins.args[1], kind)}, {rank}, {constant})")
