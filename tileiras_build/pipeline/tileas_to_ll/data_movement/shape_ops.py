"""Constants, splats, views, permutations and slices: operations that permute registers.

Their layouts are chosen such that no data moves. Slices at dynamic positions are the exception: they go through shared
memory.
"""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import Unsupported
from ....ir.casting import cast, int_array_attr, int_attr, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import string_of
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, SharedLayout, shared_access
from ...analysis.slice_chunk_bits import inner_bits, slice_to_whole_index
from ...common.llvm_element_types import Element, element_of, value_bits
from ...common.llvm_type_constructors import GLOBAL, I1, I32, I64, integer
from ..emission.element_constants import constant_element
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..memory.element_coordinates import ElementCoordinates
from ..memory.shared_memory import holder_of, load_registers, load_shared, store_registers, store_shared
from .chunked_slices import extract_in_chunks, insert_in_chunks, slice_shape, slice_start


def element_bits(data: bytes, index: int, size: int) -> int:
    return int.from_bytes(data[index * size : (index + 1) * size], "little")


def emit_constant(e: KernelEmitter, op: Operation) -> None:
    """A scalar is a constant; a tile of different values is loaded from a table in constant memory."""
    value, result = op.properties["value"], op.results[0]
    element = element_of(result.type)
    if isinstance(value, IntegerAttr):
        width = cast(IntegerType, element.type).width.data
        e.values[result] = constant_element(e.b, element, value.value.data & ((1 << width) - 1))
    elif isinstance(value, FloatAttr):
        e.values[result] = constant_element(e.b, element, constant_bits(value))
    else:
        _emit_table(e, cast(DenseIntOrFPElementsAttr, value), result, element)


def constant_bits(value: FloatAttr) -> int:
    """The bits of a scalar constant."""
    packed = DenseIntOrFPElementsAttr.from_list(TensorType(value.type, [1]), [value.value.data]).data.data
    if string_of(value.type) == "tf32":
        return struct.unpack("<I", struct.pack("<f", value.value.data))[0]
    return int.from_bytes(packed, "little")


def _emit_table(e: KernelEmitter, value: DenseIntOrFPElementsAttr, result: SSAValue, element: Element) -> None:
    layout, data = layout_of(result), value.data.data
    size = len(data) // layout.size
    elements = [element_bits(data, index, size) for index in range(layout.size)]
    if len(set(elements)) == 1:
        e.values.set(result, [constant_element(e.b, element, elements[0])] * layout.num_registers)
        return
    if element.type == I1:
        elements = [number & 1 for number in elements]
    table, type = e.symbols.constant_table(elements, element.bits), integer(element.bits)
    with e.b.at_function_start():
        thread = e.threads.linear(layout.lanes, layout.warps)
    registers = []
    for offset in layout.register_offsets:
        address = e.b.offset(e.b.address_of(table, GLOBAL), e.b.xor(thread, offset), type, I32)
        loaded = e.b.load_invariant(type, address, element.bytes)
        registers.append(_from_integer(e.b, element, loaded))
    e.values.set(result, registers)


def _from_integer(b: InstructionBuilder, element: Element, value: Value) -> Value:
    type = integer(element.bits)
    return b.compare("ne", value, 0, type) if element.type == I1 else b.bitcast(value, element.type, type)


def emit_range(e: KernelEmitter, op: TableOp) -> None:
    layout, type = layout_of(op.result), element_of(op.result.type).type
    positions = ElementCoordinates(e, layout)
    registers = []
    for register in range(layout.num_registers):
        thread, constant = positions.coordinate(register, 0)
        index = e.b.add(thread, constant)
        registers.append(_resized(e.b, index, type))
    e.values.set(op.result, registers)


def _resized(b: InstructionBuilder, value: Value, type: Attribute) -> Value:
    if isinstance(value, int) or type == I32:
        return value
    return b.cast("zext" if type == I64 else "trunc", value, type)


def emit_splat(e: KernelEmitter, op: TableOp) -> None:
    e.values.set(op.result, [e.values.scalar(op.source)] * layout_of(op.result).num_registers)


def emit_broadcast(e: KernelEmitter, op: TableOp) -> None:
    wanted = layout_of(op.result)
    for dim, size in enumerate(op.source.type.get_shape()):
        if size == 1:
            wanted = wanted.project(dim)
    e.values[op.result] = list(e.values.packed_as(op.source, wanted))


def emit_view(e: KernelEmitter, op: TableOp) -> None:
    wanted = layout_of(op.result).reshape(tuple(op.source.type.get_shape()))
    e.values[op.result] = list(e.values.packed_as(op.source, wanted))


def emit_permute(e: KernelEmitter, op: TableOp) -> None:
    permutation = int_array_attr(op, "permutation")
    inverse = [permutation.index(dim) for dim in range(len(permutation))]
    e.values[op.result] = list(e.values.packed_as(op.source, layout_of(op.result).permute_dims(inverse)))


def emit_cat(e: KernelEmitter, op: TableOp) -> None:
    """The two tiles' registers one after the other, in the order that the result's layout names them."""
    dim = int_attr(op, "dim")
    part = layout_of(op.lhs)
    joined = part.cat(dim)
    registers = list(e.values.packed(op.lhs)) + list(e.values.packed_as(op.rhs, part))
    names = unwrap(joined.register_permutation(layout_of(op.result)))
    e.values[op.result] = [registers[name] for name in names]


# ---- slices --------------------------------------------------------------------------------------
def emit_extract_slice(e: KernelEmitter, op: TableOp) -> None:
    """Through shared memory: the threads of a slice write the elements that they hold, the slice is read at its position."""
    source, result = op.source, op.result
    layout, element = layout_of(source), element_of(source.type)
    if layout.size == 1:
        e.values.set(result, e.values.registers(source)[:1] * _count(result))
        return
    if op.chunk_bits:
        e.values.set(result, extract_in_chunks(e, op))
        return
    scratch = int_attr(op, "scratch_offset")
    placement = SharedLayout.plain(layout.shape, tuple(range(layout.rank - 1, -1, -1)), element.bits)
    if "sync_before" in op.attributes:
        e.memory.barrier()
    own = _holds_slice(e, op, layout)
    store_registers(e, shared_access(layout, placement), element, e.values.packed(source), scratch, only=own)
    e.memory.barrier()
    e.values.set(result, _read_slice(e, op, layout.shape, element, scratch))


def _count(result: SSAValue) -> int:
    return layout_of(result).num_registers if isinstance(result.type, TensorType) else 1


def _holds_slice(e: KernelEmitter, op: TableOp, layout: LinearLayout) -> Value | None:
    """Whether all registers of a thread are in the slice, else none is; None where registers are in several slices."""
    part = slice_shape(op)
    outer = layout.size - 1 & ~inner_bits(layout.shape, part)
    if not outer or any(offset & outer for offset in layout.register_offsets):
        return None
    lanes, warps = (tuple(image & outer for image in images) for images in (layout.lanes, layout.warps))
    return e.b.compare("eq", e.threads.linear(lanes, warps), slice_start(e.values, op.indices, layout.shape, part))


def _read_slice(e: KernelEmitter, op: TableOp, shape: tuple[int, ...], element: Element, scratch: int) -> list[Value]:
    result, part = op.result, slice_shape(op)
    start = e.b.mul(slice_start(e.values, op.indices, shape, part), element.bytes)
    base = e.b.add(start, e.memory.shared_base)
    if not isinstance(result.type, TensorType):
        return load_shared(e.b, element, 1, base, scratch)
    layout = layout_of(result)
    thread = _distributed(e, layout, shape, element)
    address = e.b.add(base, thread)
    known: dict[int, Value] = {}
    for offset in layout.register_offsets:
        if offset not in known:
            known[offset] = load_shared(
                e.b, element, 1, address, scratch + slice_to_whole_index(offset, part, shape) * element.bytes
            )[0]
    return [known[offset] for offset in layout.register_offsets]


def _distributed(e: KernelEmitter, layout: LinearLayout, shape: tuple[int, ...], element: Element) -> Value:
    """The thread's byte offset in the whole tile.

    Thread and register bases of the slice must not share bits.
    """
    part = layout.shape
    if not ElementCoordinates(e, layout).additive:
        raise Unsupported("slice-layout", "a slice whose layout mixes thread and register bits has no lowering")
    lanes = tuple(slice_to_whole_index(image, part, shape) * element.bytes for image in layout.lanes)
    warps = tuple(slice_to_whole_index(image, part, shape) * element.bytes for image in layout.warps)
    return e.threads.linear(lanes, warps)


def emit_insert_slice(e: KernelEmitter, op: TableOp) -> None:
    """Store the destination to shared memory, then the slice over it, and load the whole."""
    if op.chunk_bits:
        e.values.set(op.result, insert_in_chunks(e, op))
        return
    layout, element = layout_of(op.result), element_of(op.result.type)
    scratch = int_attr(op, "scratch_offset")
    placement = SharedLayout.plain(layout.shape, tuple(range(layout.rank - 1, -1, -1)), element.bits)
    if "sync_before" in op.attributes:
        e.memory.barrier()
    store_registers(e, shared_access(layout, placement), element, e.values.packed_as(op.destination, layout), scratch)
    e.memory.barrier()
    part = layout_of(op.source)
    start = e.b.mul(slice_start(e.values, op.indices, layout.shape, part.shape), element.bytes)
    address = e.b.add(e.b.add(start, e.memory.shared_base), _distributed(e, part, layout.shape, element))
    holder = holder_of(e.threads, part.free_bits("lane"), part.free_bits("warp"))
    for offset, value in dict(zip(part.register_offsets, e.values.registers(op.source))).items():
        place = scratch + slice_to_whole_index(offset, part.shape, layout.shape) * element.bytes
        store_shared(e.b, element, [value], address, place, holder)
    e.memory.barrier()
    access = shared_access(layout, placement)
    loaded = load_registers(e, access, element, scratch)
    e.values[op.result] = [loaded[number] for number in access.register_source]


# ---- elements of another width -------------------------------------------------------------------
def emit_reinterpret(e: KernelEmitter, op: TableOp) -> None:
    """Bytes of a 1-D tile as elements of another width: the narrow elements of a wide one are in one thread."""
    source, target = element_of(op.source.type), element_of(op.result.type)
    narrow, wide = value_bits(source), value_bits(target)
    registers = e.values.registers(op.source)
    if narrow == wide:
        e.values.set(op.result, [_recast(e.b, source, target, register) for register in registers])
    elif narrow < wide:
        ratio = wide // narrow
        groups = [registers[i : i + ratio] for i in range(0, len(registers), ratio)]
        e.values.set(op.result, [_concatenate_bits(e.b, source, target, narrow, group) for group in groups])
    else:
        ratio = narrow // wide
        e.values.set(
            op.result,
            [_extract_bits(e.b, source, target, wide, register, i) for register in registers for i in range(ratio)],
        )


def _as_integer(b: InstructionBuilder, element: Element, value: Value) -> Value:
    type = integer(element.bits)
    return b.cast("zext", value, type, I1) if element.type == I1 else b.bitcast(value, type, element.type)


def _recast(b: InstructionBuilder, source: Element, target: Element, value: Value) -> Value:
    return b.bitcast(value, target.type, source.type)


def _concatenate_bits(b: InstructionBuilder, source: Element, target: Element, bits: int, values: list[Value]) -> Value:
    narrow, type = integer(source.bits), integer(target.bits)
    word: Value = 0
    for position, value in enumerate(values):
        part = _as_integer(b, source, value)
        wide = part if narrow == type else b.cast("zext", part, type, narrow)
        word = b.or_(word, b.shift(wide, bits * position, type), type)
    return b.bitcast(word, target.type, type)


def _extract_bits(
    b: InstructionBuilder, source: Element, target: Element, bits: int, value: Value, position: int
) -> Value:
    wide, type = integer(source.bits), integer(target.bits)
    shifted = b.shift(_as_integer(b, source, value), -bits * position, wide)
    narrow = shifted if wide == type else b.cast("trunc", shifted, type, wide)
    if bits < target.bits:
        narrow = b.binary("and", narrow, (1 << bits) - 1, type)
    return b.compare("ne", narrow, 0, type) if target.type == I1 else b.bitcast(narrow, target.type, type)


HANDLERS: dict[str, Handler] = {
    "arith.constant": emit_constant,
    "nv_tileas.make_range": emit_range,
    "nv_tileas.splat": emit_splat,
    "nv_tileas.broadcast": emit_broadcast,
    "nv_tileas.view": emit_view,
    "nv_tileas.permute": emit_permute,
    "nv_tileas.cat": emit_cat,
    "nv_tileas.extract_slice": emit_extract_slice,
    "nv_tileas.insert_slice": emit_insert_slice,
    "nv_tileas.reinterpret": emit_reinterpret,
}
