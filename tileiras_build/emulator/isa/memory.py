"""Loads, stores, asynchronous copies and cache hints (PTX ISA 9.0, sections 9.7.9 and 9.7.10)."""

from __future__ import annotations

import numpy as np

from ..access import Selection, Site
from ..emit import SIGNED, UNSIGNED, items_of
from ..parse import SINK, TYPE_BITS, Address, Immediate, Name, Register, Variable
from ..watch import flight_of
from . import handles

SPACES = ("global", "shared", "local", "param", "const")


def space_of(ins) -> str:
    for mod in ins.mods:
        name = mod.split("::")[0]
        if name in SPACES:
            return name
    return "generic"


def resolve_space(e, space: str, address: Address) -> str:
    """Parameters of calls live with local memory; const and global are plain process memory."""
    base = address.base
    if isinstance(base, Name):
        base = e.program.lookup(base) or base
    if space == "param":
        inside = isinstance(base, Variable) and not any(base is p for p in e.program.params)
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
    """Global and generic accesses through a 32-bit register use it zero-extended."""
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
    targets = items_of(ins.args[0])
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
        values = ", ".join(e.use(v, UNSIGNED[size * 8]) for v in items_of(ins.args[1]))
    e.line(f"{site}.store(g, {widen_address(e, base, address, space)}, [{values}]{mask})")


# -- hints -------------------------------------------------------------------------------------------
@handles("prefetch", "prefetchu", "discard", "applypriority")
def handle_hint(e, ins):
    """Hints have no effect on values; the address is not checked."""


@handles("createpolicy")
def handle_policy(e, ins):
    e.set(ins.args[0], "u64", e.scalar("u64", 0))


# -- cp.async ----------------------------------------------------------------------------------------
class PendingCopy:
    """Bytes on their way to shared memory: ``index`` into the view of ``dtype``, ``data``, and each one's thread."""

    __slots__ = ("data", "dtype", "flat", "index")

    def __init__(self, flat, dtype, index, data):
        self.flat, self.dtype, self.index, self.data = flat, dtype, index, data

    def only(self, member):
        keep = member[self.flat]
        if not keep.any():
            return None
        return PendingCopy(self.flat[keep], self.dtype, self.index[keep], self.data[keep])

    def land(self, machine):
        machine.shared_view(self.dtype)[self.index] = self.data
        machine.flight.end(self.index, self.data.itemsize)


class CopySite:
    """One cp.async instruction of 4, 8 or 16 bytes."""

    def __init__(self, ins, size: int, to_offset: int, from_offset: int):
        self.size = size
        self.source = Site(ins, "global", size, 1, from_offset)
        self.target = Site(ins, "shared", size, 1, to_offset)
        self.bytes = Site(ins, "global", 1, 1, 0, align=1)
        self.from_offset = from_offset

    def issue(self, group, to, source, source_size=None, mask=None):
        """Read now, write when waited for. Bytes beyond ``source_size`` are zeros and are not read."""
        selection = Selection(group, True if mask is None else mask)
        if not len(selection.rows):
            return
        pick = selection.pick
        data = self.fetch(group, pick(source), None if source_size is None else pick(source_size), selection)
        place = self.target.in_shared(group, pick(to), selection)
        if group.machine.watch is not None:
            group.machine.watch(self.target, group, [(place, None)], True, selection)
        count = len(selection.rows)
        cta = group.cta[selection.rows, 0] if group.product else group.cta[0, selection.columns]
        flat = cta * group.machine.threads + group.tid[0, selection.columns]
        index = np.broadcast_to(place.index(self.size), count)
        flight_of(group.machine).begin(self.target.ins, index, self.size)
        group.copies.pending.append(PendingCopy(flat, self.target.dtype, index, np.broadcast_to(data, count)))

    def fetch(self, group, source, source_size, selection):
        if source_size is None:
            return self.read(group, source, selection)
        count = len(selection.rows)
        sizes = np.broadcast_to(source_size, count)
        if (sizes == self.size).all():
            return self.read(group, source, selection)
        source = np.broadcast_to(source, count)
        out = np.zeros((count, self.size), np.uint8)
        full = np.flatnonzero(sizes >= self.size)
        if len(full):
            part = self.read(group, source[full], _subset(selection, full))
            out[full] = np.ascontiguousarray(np.broadcast_to(part, len(full)))[:, None].view(np.uint8)
        for size in np.unique(sizes[(sizes > 0) & (sizes < self.size)]):
            some = np.flatnonzero(sizes == size)
            for k in range(int(size)):
                address = source[some] + np.uint64((self.from_offset + k) & 0xFFFFFFFFFFFFFFFF)
                [(place, _)] = self.bytes.locate(group, address, _subset(selection, some))[:1]
                out[some, k] = place.view(np.uint8)[place.index(1)]
        return out.view(self.target.dtype)[:, 0]

    def read(self, group, source, selection):
        pieces = self.source.locate(group, source, selection)
        if pieces[0][1] is None:
            place = pieces[0][0]
            return place.view(self.source.dtype)[place.index(self.size)]
        return self.source.collect(pieces, np.shape(source))[0]


def _subset(selection, index):
    out = Selection.__new__(Selection)
    out.rows, out.columns, out.shape, out.mask = selection.rows[index], selection.columns[index], selection.shape, None
    return out


@handles("cp")
def handle_copy(e, ins):
    if "bulk" in ins.mods:
        from .bulk import emit_bulk

        return emit_bulk(e, ins, ins.mods[ins.mods.index("bulk") + 1 :], ins.mods[0] == "reduce")
    if ins.mods[:1] != ("async",):
        e.fail("not supported yet")
    if ins.mods[1] == "commit_group":
        return e.line("g.copies.commit()")
    if ins.mods[1] == "wait_group":
        return e.line(f"g.copies.land(g.m, {ins.args[0].value})")
    if ins.mods[1] == "wait_all":
        return e.line("g.copies.land_all(g.m)")
    if ins.mods[1] == "mbarrier":
        return copy_arrive(e, ins)
    to, source, size = ins.args[:3]
    to_base, to_offset = address_expression(e, "shared", to)
    from_base, from_offset = address_expression(e, "global", source)
    site = e.constant(CopySite(ins, size.value, to_offset, from_offset), "copy")
    sizes = source_size(e, ins)
    e.line(f"{site}.issue(g, {to_base}, {from_base}, {sizes}, {e.predicate or 'None'})")


def source_size(e, ins) -> str:
    """The optional src-size operand, or ignore-src as sizes; a 64-bit register is a cache policy."""
    for arg in ins.args[3:]:
        if isinstance(arg, Register) and arg.bits == 1:
            return f"np.where({e.use(arg, 'p')}, u32(0), u32({ins.args[2].value}))"
        if isinstance(arg, Register) and arg.bits == 64 and any("cache_hint" in m for m in ins.mods):
            continue
        if isinstance(arg, (Register, Immediate)):
            return e.use(arg, "u32")
    return "None"


def copy_arrive(e, ins):
    """cp.async.mbarrier.arrive: without .noinc, the pending count is raised first, which cancels the arrival."""
    from .mbarrier import BarrierSite

    base, offset = address_expression(e, "shared", ins.args[0])
    site = e.constant(BarrierSite(ins, offset), "mbarrier")
    e.line(f"arrive_after_copies({site}, g, {base}, {int('noinc' in ins.mods)}, {e.predicate or 'None'})")
