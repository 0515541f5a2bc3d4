"""Accesses of all copies of a multicast object by multimem instructions (PTX ISA 9.0, section 9.7.9.14).

f32 is accessed in vectors, f16 and bf16 in vectors of pairs; other types one element an instruction. Sums of pairs are
accumulated in f32. A pair whose first element is inside the tensor is accessed whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.errors import Unsupported
from ....ir.casting import str_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nvvm.memory_access import MultimemLoadReduceOp, MultimemReductionOp, MultimemStoreOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.access_vectorization import multimem_word
from ...common.llvm_element_types import Element
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from .global_memory import TileAddresses, accesses, load_once, modifiers_of, padding_bits, tile_addresses, vector_of
from .packed_loads import merged
from .vector_access import Modifiers, fields, predicate, registers_type

# (PTX's operation, signedness of its integers) of each reduction.
OPERATIONS = {
    **{mode: (mode, "s") for mode in ("min", "max")},
    **{f"u{mode}": (mode, "u") for mode in ("min", "max")},
    **{mode: (mode, "b") for mode in ("and", "or", "xor")},
    "add": ("add", "u"),
}
F32_ACCUMULATION = ".acc::f32"


def _word_type(element: Element, signedness: str) -> str:
    """The type of an instruction's word."""
    if not element.is_float:
        return f"{signedness}{element.bits}"
    return element.name + ("x2" if multimem_word(element) > 1 else "")


def _attributes(e: KernelEmitter, op: TableOp, element: Element) -> Modifiers:
    """Order, scope, state space, operation and type of an operation's instructions; raises Unsupported[multimem-target]."""
    if not e.target.has("multimem"):
        name = op.name.partition(".")[2]
        raise Unsupported(
            "multimem-target",
            f"{e.target.name} has no multimem instructions, which {name} needs",
            remedy="compile for sm_90 or newer",
        )
    modifiers = modifiers_of(e.memory, op)
    if "mode" not in op.attributes:
        return {**modifiers, "word": _word_type(element, "b")}
    operation, signedness = OPERATIONS[str_attr(op, "mode")]
    return {**modifiers, "operation": operation, "word": _word_type(element, signedness)}


def emit_load_reduce(e: KernelEmitter, op: TableOp) -> None:
    view, layout = e.values.view(op.view), layout_of(op.value)
    addresses = tile_addresses(e, op, view, layout)
    element, vector = addresses.element, vector_of(op, layout, view.order)
    attributes = dict(_attributes(e, op, element))
    if attributes["operation"] == "add" and element.bits == 16:
        attributes["operation"] += F32_ACCUMULATION

    def load(vector: int, masked: bool) -> list[Value]:
        return _load_tile(e, addresses, vector, masked, attributes)

    if "has_boundary_tile" not in op.attributes:
        return e.values.set(op.value, load(vector, True))
    narrow = multimem_word(element)
    branches = e.b.if_else(addresses.is_full_tile(), lambda: load(vector, False), lambda: load(narrow, True))
    return e.values.set(op.value, merged(e.b, element, branches))


def _load_tile(
    e: KernelEmitter, addresses: TileAddresses, vector: int, masked: bool, attributes: Modifiers
) -> list[Value]:
    """The registers of a tile, ``vector`` elements an access."""
    element, type = addresses.element, registers_type(addresses.element.type, vector)

    def load(first: int) -> Sequence[Value]:
        mask = addresses.mask(first) if masked else None
        pointer, offset = addresses.address(first)
        fill = padding_bits(element, addresses.view.type.padding.data) if mask is not None else None
        guard = predicate(e.b, mask)
        word = e.b.issue(
            MultimemLoadReduceOp, pointer, guard, type=type, offset=offset or None, fill=fill, **attributes
        )
        return fields(e.b, word, vector)

    return load_once(addresses.layout, vector, load)


def _emit_write(instruction: type[TableOp]) -> Handler:
    """The handler of an operation that writes a tile to each copy."""

    def emit(e: KernelEmitter, op: TableOp) -> None:
        view, layout = e.values.view(op.view), layout_of(op.value)
        addresses = tile_addresses(e, op, view, layout)
        vector, values = vector_of(op, layout, view.order), e.values.registers(op.value)
        attributes = _attributes(e, op, addresses.element)

        def write(vector: int, masked: bool) -> list[Value]:
            return _write_tile(e, instruction, addresses, values, vector, masked, attributes)

        if "has_boundary_tile" not in op.attributes:
            write(vector, True)
        else:
            narrow = multimem_word(addresses.element)
            e.b.if_else(addresses.is_full_tile(), lambda: write(vector, False), lambda: write(narrow, True))

    return emit


def _write_tile(
    e: KernelEmitter,
    instruction: type[TableOp],
    addresses: TileAddresses,
    values: Sequence[Value],
    vector: int,
    masked: bool,
    attributes: Modifiers,
) -> list[Value]:
    """Write each element of a tile once, ``vector`` elements an access."""
    holder = e.threads.holds_canonical_copy(addresses.layout)
    for first in accesses(addresses.layout, vector).values():
        mask = e.b.all_of([holder, addresses.mask(first) if masked else None])
        written = [e.b.of(value, addresses.element.type) for value in values[first : first + vector]]
        pointer, offset = addresses.address(first)
        guard = predicate(e.b, mask)
        e.b.issue(instruction, pointer, written, guard, type=None, offset=offset or None, **attributes)
    return []


HANDLERS: dict[str, Handler] = {
    "nv_tileas.multimem_load_reduce": emit_load_reduce,
    "nv_tileas.multimem_reduce": _emit_write(MultimemReductionOp),
    "nv_tileas.multimem_store": _emit_write(MultimemStoreOp),
}
