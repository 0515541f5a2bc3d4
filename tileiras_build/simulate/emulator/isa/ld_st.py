"""Loads, stores, prefetches and cache hints (PTX ISA 9.0, sections 9.7.9 and 9.7.10)."""

from __future__ import annotations

from ..codegen.emit_block import SIGNED, UNSIGNED, vector_items
from ..memory.load_store import Site
from ..ptx.ast import SINK, TYPE_BITS, Address, Immediate, Name, Register, Variable
from .handler_registry import handles

SPACES = ("global", "shared", "local", "param", "const")


def space_of(ins) -> str:
    for mod in ins.mods:
        name = mod.split("::")[0]
        if name in SPACES:
            return name
    return "generic"


def resolve_space(e, space: str, address: Address) -> str:
    """The space of an access: parameters of calls are in local memory; const and global are process memory."""
    base = address.base
    if isinstance(base, Name):
        base = e.program.lookup(base) or base
    if space == "param":
        inside = isinstance(base, Variable) and id(base) not in e.program.param_ids
        return "local" if inside else "param"
    return {"const": "global"}.get(space, space)


def address_expression(e, space: str, address: Address) -> tuple[str, int]:
    """(source of the base address, constant offset)."""
    base = address.base
    if isinstance(base, Name):
        base = e.program.lookup(base) or base
    if isinstance(base, Register):
        return e.use(base, "u64" if base.bits == 64 else "u32"), address.offset
    if isinstance(base, Immediate):
        return e.scalar("u64", base.value), address.offset
    kind = "u64" if space in ("global", "generic") else "u32"
    if e.program.in_own_shared(base):
        return e.symbol(base, kind), address.offset
    value = base.offset if isinstance(base, Variable) else e.program.address_of(base, e.ins)
    if space == "generic" and isinstance(base, Variable) and base.space in ("shared", "local", "param"):
        e.fail("a variable of another space in a generic access")
    return e.scalar(kind, value), address.offset


def make_site(e, space: str, size: int, count: int, offset: int) -> str:
    return e.constant(Site(e.ins, space, size, count, offset), "site")


def widen_address(e, base: str, address: Address, space: str) -> str:
    """Zero-extend a 32-bit register that addresses global or generic memory."""
    if space in ("global", "generic") and isinstance(address.base, Register) and address.base.bits == 32:
        return f"{base}.astype(u64)"
    return base


def access_shape(ins) -> tuple[str, int, int]:
    """(type, bytes per element, count) of a load or store."""
    type_ = ins.mods[-1]
    count = next((int(m[1]) for m in ins.mods if m in ("v2", "v4", "v8")), 1)
    bits = TYPE_BITS[type_]
    if bits == 128:
        return type_, 8, 2 * count
    return type_, bits // 8, count


@handles("ld", "ldu")
def handle_load(e, ins):
    type_, size, count = access_shape(ins)
    address = ins.args[1]
    space = resolve_space(e, space_of(ins), address)
    base, offset = address_expression(e, space, address)
    site = make_site(e, space, size, count, offset)
    mask = f", {e.predicate}" if e.predicate else ""
    call = f"{site}.load(g, {widen_address(e, base, address, space)}{mask})"
    if type_ == "b128":
        return e.set(ins.args[0], "b128", call)
    kind = SIGNED[size * 8] if type_[0] == "s" else UNSIGNED[size * 8]
    targets = vector_items(ins.args[0])
    if kind[0] == "u":
        if len(targets) == 1:
            return e.set(targets[0], kind, f"{call}[0]")
        return e.set_tuple(targets, kind, call)
    values = e.temp(call)
    for i, target in enumerate(targets):
        if target is not SINK:
            e.set(target, kind, f"{values}[{i}].view({kind})")


@handles("st")
def handle_store(e, ins):
    if ins.mods[0] == "bulk":
        e.fail("not supported yet")
    type_, size, count = access_shape(ins)
    address = ins.args[0]
    space = resolve_space(e, space_of(ins), address)
    base, offset = address_expression(e, space, address)
    site = make_site(e, space, size, count, offset)
    mask = f", {e.predicate}" if e.predicate else ""
    if type_ == "b128":
        values = f"*{e.use(ins.args[1], 'b128')}"
    else:
        values = ", ".join(e.use(v, UNSIGNED[size * 8]) for v in vector_items(ins.args[1]))
    e.line(f"{site}.store(g, {widen_address(e, base, address, space)}, [{values}]{mask})")


# -- hints -------------------------------------------------------------------------------------------
@handles("prefetch", "prefetchu", "discard", "applypriority")
def handle_hint(e, ins):
    """Hints have no effect on values; the address is not checked."""


@handles("createpolicy")
def handle_policy(e, ins):
    e.set(ins.args[0], "u64", e.scalar("u64", 0))
