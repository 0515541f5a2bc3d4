"""Atomic updates: one instruction per element, by the thread that holds its canonical copy.

Additions of floats whose old values nobody reads update consecutive elements by one red: pairs of 16-bit floats, from sm_90 on
vectors of up to 16 bytes, each element atomic by itself (PTX ISA 9.0, 9.7.13.6). A red reads nothing that could acquire, so updates
that acquire are an atom without a destination. For a single 16-bit float ptxas makes a loop of compare-and-swaps.

LLVM's atomicrmw drops ordering and scope (llvm-nvptx, section 0), so these are PTX instructions. Where several threads hold
copies of an element, shared memory broadcasts the result to them. Operations without an instruction become a
compare-and-swap loop (PTX ISA 9.0, 9.7.13.5, atom.cas).

An atom that releases or acquires has fences of its own, so that a thread's updates could not overlap. Several of a thread are
relaxed between two fences of the thread: one before makes each a release, one after an acquire (PTX ISA 9.0, 8.8, release and
acquire patterns). Nothing orders the elements of a tile among each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ....core.errors import Unsupported
from ....ir.casting import int_attr, str_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nv_tileas.scheduling_attributes import ATOM_LOOP
from ....ir.dialects.nvvm.cluster_sync_and_fences import FenceOp
from ....ir.dialects.nvvm.memory_access import AtomLoopOp, AtomOp, ReductionOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ...analysis.access_vectorization import pointer_order
from ...analysis.memory_semantics import acquires, releases
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I32, integer
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.kernel_memory import KernelMemory
from .global_memory import SCOPES, TileAddresses, accesses, is_mask_needed, space_of, tile_addresses, vector_of
from .shared_memory import load_shared, pack_registers, store_shared
from .vector_access import Modifiers, predicate

# (mode, element) -> PTX operation and type. Exchange moves bits of any 32- or 64-bit type.
INTEGER_MODES = {"and": "and.b", "or": "or.b", "xor": "xor.b", "add": "add.u", "max": "max.s", "min": "min.s"}
INTEGER_MODES |= {"umax": "max.u", "umin": "min.u", "xchg": "exch.b"}
FLOAT_ADDS = {"f16": "add.noftz.f16", "bf16": "add.noftz.bf16", "f32": "add.f32", "f64": "add.f64"}


@dataclass(frozen=True)
class Update:
    """An instruction that updates memory, with its attributes."""

    kind: type[TableOp]
    attributes: Mapping[str, str | bool]


# The operations of compare-and-swap loops.
LOOPS = {("addf", "bf16"): "add.bf16"}


def operation_text(mode: str, element: Element) -> str:
    """The ``.op.type`` of an atom instruction; raises Unsupported where PTX has none."""
    if mode == "addf" and element.name in FLOAT_ADDS:
        return FLOAT_ADDS[element.name]
    if mode in INTEGER_MODES and element.bits in (32, 64) and (mode == "xchg" or not element.is_float):
        return f"{INTEGER_MODES[mode]}{element.bits}"
    raise Unsupported("atomic-type", f"no atomic {mode} of {element.name}", remedy="use a 32- or 64-bit type")


def _modification(memory: KernelMemory, op: TableOp, element: Element) -> Update:
    """The read-modify-write of one element by this operation."""
    mode = str_attr(op, "mode")
    if "reduce_atom" in op.attributes and str_attr(op, "reduce_atom") == ATOM_LOOP:
        return Update(AtomLoopOp, {"operation": LOOPS[mode, element.name], **_modifiers(memory, op)})
    return Update(AtomOp, {"operation": operation_text(mode, element), **_modifiers(memory, op)})


def _addition(memory: KernelMemory, op: TableOp, element: Element, vector: int) -> Update:
    """The addition of ``vector`` consecutive elements, without their old values."""
    name, _, type = FLOAT_ADDS[element.name].rpartition(".")
    words, packed = (vector // 2, "x2") if element.bits == 16 else (vector, "")
    text = f"{name}{f'.v{words}' if words > 1 else ''}.{type}{packed}"
    return Update(
        ReductionOp, {"operation": text, **({"reads": True} if acquires(op) else {}), **_modifiers(memory, op)}
    )


def _modifiers(memory: KernelMemory, op: TableOp) -> Modifiers:
    semantic, scope = str_attr(op, "mem_semantic"), SCOPES[str_attr(op, "mem_scope")]
    return {"semantics": "relaxed" if semantic == "weak" else semantic, "scope": scope, **space_of(memory)}


@contextmanager
def _ordered(e: KernelEmitter, op: TableOp, update: Update, count: int) -> Iterator[Update]:
    """The update that a thread makes ``count`` times, with fences around several that are ordered."""
    if count == 1 or not (acquires(op) or releases(op)):
        yield update
        return
    scope, one_way = SCOPES[str_attr(op, "mem_scope")], e.target.has("one_way_fences")
    if releases(op):
        e.b.issue(FenceOp, semantics="release" if one_way else "acq_rel", scope=scope)
    yield replace(update, attributes={**update.attributes, "semantics": "relaxed"})
    if acquires(op):
        e.b.issue(FenceOp, semantics="acquire" if one_way else "acq_rel", scope=scope)


def _bits(b: InstructionBuilder, element: Element, value: Value) -> SSAValue:
    bits = integer(element.bits)
    return b.cast("bitcast", value, bits) if element.is_float else b.of(value, bits)


def _atom(
    b: InstructionBuilder,
    element: Element,
    update: Update,
    address: Value,
    offset: int,
    operands: Sequence[Value],
    mask: Value | None,
) -> Value:
    """One predicated atomic; its old value. If masked out, a compare-and-swap returns the compared value, others 0."""
    bits = [_bits(b, element, value) for value in operands]
    old = b.issue(
        update.kind,
        address,
        bits,
        predicate(b, mask),
        type=integer(element.bits),
        offset=offset or None,
        **update.attributes,
    )
    return b.cast("bitcast", old, element.type) if element.is_float else old


def _add(
    b: InstructionBuilder,
    element: Element,
    addition: Update,
    place: tuple[Value, int],
    values: Sequence[Value],
    mask: Value | None,
) -> None:
    """One predicated addition of consecutive elements at an address and an offset in bytes."""
    words = [b.of(word, I32) for word in pack_registers(b, element, values)]
    pointer, offset = place
    b.issue(ReductionOp, pointer, words, predicate(b, mask), type=None, offset=offset or None, **addition.attributes)


def emit_atomic_rmw(e: KernelEmitter, op: TableOp) -> None:
    element = element_of(op.value.type)
    layout = layout_of(op.value) if isinstance(e.values[op.value], list) else None
    if layout is not None and (vector := vector_of(op, layout, pointer_order(op, layout.rank))) > 1:
        return _emit_additions(e, op, element, layout, vector)
    _emit_elements(e, op, element, _modification(e.memory, op, element), [op.value])


def _emit_additions(e: KernelEmitter, op: TableOp, element: Element, layout: LinearLayout, vector: int) -> None:
    """Add a tile at its pointers, ``vector`` elements with one mask an instruction."""
    pointers, values = e.values.registers(op.pointer), e.values.registers(op.value)
    masks = [None] * len(pointers) if op.mask is None else e.values.registers(op.mask)
    holder, places = e.threads.holds_canonical_copy(layout), accesses(layout, vector).values()
    with _ordered(e, op, _addition(e.memory, op, element, vector), len(places)) as one:
        for first in places:
            mask = e.b.all_of([holder, is_mask_needed(masks[first])])
            _add(e.b, element, one, (pointers[first], 0), values[first : first + vector], mask)


def emit_atomic_cas(e: KernelEmitter, op: TableOp) -> None:
    element = element_of(op.value.type)
    if element.bits not in (16, 32, 64):
        raise Unsupported(
            "atomic-type", f"no compare-and-swap of {element.name}", remedy="use a 16-, 32- or 64-bit type"
        )
    swap = Update(AtomOp, {"operation": f"cas.b{element.bits}", **_modifiers(e.memory, op)})
    _emit_elements(e, op, element, swap, [op.compare, op.value])


def _emit_elements(e: KernelEmitter, op: TableOp, element: Element, update: Update, operands: list[SSAValue]) -> None:
    tile = isinstance(e.values[op.value], list)
    layout = layout_of(op.value) if tile else None
    holder = e.threads.is_first_thread if layout is None else e.threads.holds_canonical_copy(layout)
    pointers, columns = e.values.registers(op.pointer), [e.values.registers(value) for value in operands]
    masks = [None] * len(pointers) if op.mask is None else e.values.registers(op.mask)
    offsets = (0,) if layout is None else layout.register_offsets
    known: dict[int, Value] = {}
    with _ordered(e, op, update, len(set(offsets))) as one:
        for register, offset in enumerate(offsets):
            if offset in known:
                continue
            mask = e.b.all_of([holder, is_mask_needed(masks[register])])
            values = [column[register] for column in columns]
            known[offset] = _atom(e.b, element, one, pointers[register], 0, values, mask)
    if holder is not None and op.results[0].uses:
        known = _shared_results(e, op, element, known, layout, holder)
    e.values.set(op.results[0], [known[offset] for offset in offsets])


def _shared_results(
    e: KernelEmitter,
    op: TableOp,
    element: Element,
    known: dict[int, Value],
    layout: LinearLayout | None,
    holder: Value,
):
    """Broadcast the results to every thread that holds a copy of the element."""
    scratch = int_attr(op, "scratch_offset")
    size = element.bytes
    lanes = tuple(image * size for image in layout.lanes) if layout else ()
    warps = tuple(image * size for image in layout.warps) if layout else ()
    with e.b.at_function_start():
        base = e.b.add(e.threads.linear(lanes, warps), e.memory.shared_base)
    if "sync_before" in op.attributes:
        e.memory.barrier()
    for offset, value in known.items():
        store_shared(e.b, element, [value], base, scratch + offset * size, holder)
    e.memory.barrier()
    return {offset: load_shared(e.b, element, 1, base, scratch + offset * size)[0] for offset in known}


def emit_tiled_atomic_rmw(e: KernelEmitter, op: TableOp) -> None:
    view, layout = e.values.view(op.view), layout_of(op.value)
    addresses = tile_addresses(e, op, view, layout)
    vector = vector_of(op, layout, view.order)
    e.values.registers(op.value)

    def update(vector: int, masked: bool) -> list[Value]:
        return _update_tile(e, op, addresses, vector, masked)

    if "has_boundary_tile" not in op.attributes or vector == 1:
        update(vector, True)
    else:
        e.b.if_else(addresses.is_full_tile(), lambda: update(vector, False), lambda: update(1, True))


def _update_tile(e: KernelEmitter, op: TableOp, addresses: TileAddresses, vector: int, masked: bool) -> list[Value]:
    """Update each element of a tile once, ``vector`` of them an instruction."""
    layout, element, values = addresses.layout, addresses.element, e.values.registers(op.value)
    update = _modification(e.memory, op, element) if vector == 1 else _addition(e.memory, op, element, vector)
    holder, places = e.threads.holds_canonical_copy(layout), accesses(layout, vector).values()
    with _ordered(e, op, update, len(places)) as one:
        for first in places:
            place = addresses.address(first)
            mask = e.b.all_of([holder, addresses.mask(first) if masked else None])
            if vector == 1:
                _atom(e.b, element, one, *place, [values[first]], mask)
            else:
                _add(e.b, element, one, place, values[first : first + vector], mask)
    return []


HANDLERS: dict[str, Handler] = {
    "nv_tileas.atomic_rmw": emit_atomic_rmw,
    "nv_tileas.atomic_cas": emit_atomic_cas,
    "nv_tileas.tiled_atomic_rmw": emit_tiled_atomic_rmw,
}
