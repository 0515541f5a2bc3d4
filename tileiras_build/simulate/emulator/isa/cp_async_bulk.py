"""Bulk copies: cp.async.bulk(.tensor) and cp.reduce.async.bulk(.tensor) (PTX ISA 9.0, section 9.7.9.25).

Copies to shared memory are performed when a thread tests their mbarrier (``mbarrier_waits.py``), copies from it when a thread
waits for their bulk group (``async_copy_groups.py``): the latest moments that the ISA allows. A wait for reads only
(``.read``) reads shared memory; global memory is written at the next full wait or the thread's exit.
"""

from __future__ import annotations

from ..ptx.ast import Address, Immediate, Vector
from ..tensor_map import GATHER_ROWS
from .bulk_copy_issue import BulkSite
from .ld_st import address_expression
from .tensormap_replace import map_address
from .tma_box_layout import BOX_ALIGN, CHUNK
from .tma_mode_modifiers import IM2COL_MODES, is_gather4_or_scatter4, is_im2col, is_im2col_w


def shared_operand(e, address: Address) -> tuple[str, int]:
    return address_expression(e, "shared", address)


def is_shared(mod: str) -> bool:
    return mod.startswith("shared")


def active(e) -> str:
    """The condition that some thread executes an instruction, for instructions that only affect copies in flight."""
    return f"if np.any({e.predicate}): " if e.predicate else ""


def emit_bulk(e, ins, mods, reduces: bool):
    """cp.async.bulk… and cp.reduce.async.bulk…; ``mods`` are the modifiers after ``bulk``, with .cta_group at any position."""
    mods = tuple(m for m in mods if not m.startswith("cta_group"))
    if mods[:1] == ("commit_group",):
        return e.line(f"{active(e)}g.bulk_copy_groups.commit()")
    if mods[:1] == ("wait_group",):
        wait = "read" if mods[1:] == ("read",) else "perform"
        return e.line(f"{active(e)}g.bulk_copy_groups.{wait}(g, {ins.args[0].value})")
    if mods[:1] == ("prefetch",):
        return None
    if any(m.startswith("im2col") and m not in IM2COL_MODES or m == "cp_mask" for m in mods):
        e.fail("not supported")
    if mods[0] == "tensor":
        return emit_tensor(e, ins, mods, reduces)
    return emit_line(e, ins, mods, reduces)


_REDUCTIONS = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}


def reduction_of(e, mods) -> str:
    found = next((m for m in mods if m in _REDUCTIONS), None)
    return found if found is not None else e.fail("unknown operation")


def offsets_of(e, mods, rank: int) -> list:
    """The im2col offsets of W, H, D (the operand after the mbarrier, if any), then wHalo."""
    if rank < 3:
        e.fail("im2col needs 3 to 5 dimensions")
    none = Immediate("int", 0)
    if "im2col_no_offs" in mods:
        return [none] * (rank - 2)
    operand = e.ins.args[3] if len(e.ins.args) > 3 else None
    count = 2 if is_im2col_w(mods) else rank - 2
    if not isinstance(operand, Vector) or len(operand.items) != count:
        e.fail(f"expected {count} offsets")
    if not is_im2col_w(mods):
        return operand.items
    halo, offset = operand.items
    return [offset, *[none] * (rank - 3), halo]


def tensor_operand(e, mods, operand: Address) -> tuple[str, str]:
    """(source of the map's address, source of the coordinates) of ``[map, {c0, c1, …}]``."""
    [coordinates] = operand.extra
    items = coordinates.items if isinstance(coordinates, Vector) else [coordinates]
    count = 1 + GATHER_ROWS if is_gather4_or_scatter4(mods) else int(mods[1][0])
    if len(items) != count or is_gather4_or_scatter4(mods) and mods[1] != "2d":
        e.fail(f"expected {count} coordinates")
    places = [e.use(c, "s32") for c in items]
    if is_im2col(mods):
        places += [e.use(offset, "u16") for offset in offsets_of(e, mods, count)]
    return map_address(e, Address(operand.base, operand.offset)), "[" + ", ".join(places) + "]"


def emit_tensor(e, ins, mods, reduces):
    mask = e.predicate or "None"
    if is_shared(mods[2]):
        to, tensor, mbar = ins.args[:3]
        base, offset = shared_operand(e, to)
        bar, bar_offset = shared_operand(e, mbar)
        site = e.constant(BulkSite(ins, offset, 0, bar_offset, BOX_ALIGN), "bulk")
        address, coordinates = tensor_operand(e, mods, tensor)
        ctas = "None"
        if "multicast::cluster" in mods:
            masks = ins.args[3 + is_im2col(mods) :]
            ctas = e.use(masks[0], "u16") if masks else e.fail("a multicast needs a CTA mask")
        return e.line(f"{site}.load_tensor(g, {base}, {address}, {coordinates}, {bar}, {mask}, {ctas})")
    tensor, source = ins.args[:2]
    base, offset = shared_operand(e, source)
    function = reduction_of(e, mods) if reduces else None
    site = e.constant(BulkSite(ins, 0, offset, 0, BOX_ALIGN, function), "bulk")
    address, coordinates = tensor_operand(e, mods, tensor)
    e.line(f"{site}.store_tensor(g, {address}, {coordinates}, {base}, {mask})")


def emit_line(e, ins, mods, reduces):
    mask = e.predicate or "None"
    to, source, size = ins.args[:3]
    function = (reduction_of(e, mods), mods[-1]) if reduces else None
    to_shared, from_shared = is_shared(mods[0]), is_shared(mods[1])
    to_base, to_offset = address_expression(e, "shared" if to_shared else "global", to)
    from_base, from_offset = address_expression(e, "shared" if from_shared else "global", source)
    if to_shared:
        bar, bar_offset = shared_operand(e, ins.args[3])
        site = e.constant(BulkSite(ins, to_offset, from_offset, bar_offset, CHUNK, function), "bulk")
        ctas = e.use(ins.args[4], "u16") if "multicast::cluster" in mods else "None"
        return e.line(
            f"{site}.load_line(g, {to_base}, {from_base}, {e.use(size, 'u32')}, {bar}, {mask}, {from_shared}, {ctas})"
        )
    site = e.constant(BulkSite(ins, to_offset, from_offset, 0, CHUNK, function), "bulk")
    e.line(f"{site}.store_line(g, {to_base}, {from_base}, {e.use(size, 'u32')}, {mask})")
