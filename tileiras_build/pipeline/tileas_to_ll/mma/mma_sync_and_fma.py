"""Matrix multiply-accumulate: mma.sync on fragments, or fused multiply-adds on any layout.

``mma`` of the operation names the row of ``target/mma_atoms.py``; ``warps`` is (warps_m, warps_n, warps_batch). Operands
shorter than the atom are held repeated (rows and columns: the copies compute copies) or masked to zero (along k).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....core.errors import InternalError
from ....ir.casting import tile_type, typed
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute_nvgpu.atom_mnemonics import mma_of
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, MmaTiling, SharedLayout, shared_access, unpack
from ....target.mma_atoms import MmaAtom
from ...analysis.scratch_memory_sizes import align_to_banks, tile_bytes
from ...analysis.slice_chunk_bits import dim_stride
from ...common.llvm_element_types import ELEMENTS, Element, element_of
from ...common.llvm_type_constructors import DOUBLE, FLOAT, HALF, I16, I32, vector
from ...mma.dots import operand_signs
from ...mma.mma_sync.family import FAMILY
from ...mma.mma_sync.tiling import sliced_to_shape, tiling_of
from ..arith.float_conversions import convert_float
from ..data_movement.chunked_slices import store_chunk_along
from ..emission.element_constants import zero_element
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import RegisterValue, materialize
from ..emission.value_map import ValueMap
from ..memory.shared_memory import load_shared, pack_register, pack_scales, store_registers

VECTOR_BYTES = 16
FP4_BITS, FP4_PADDING = 4, 2
HALF_TYPES = vector(2, HALF)
# The values of an atom's operands, as target/mma_atoms.py spells them.
VALUE_TYPES: dict[str, Attribute] = {"i32": I32, "float": FLOAT, "double": DOUBLE, "<2 x half>": HALF_TYPES}

MultiplyAdd = Callable[[Value, Value, Value], Value]


def emit_dot(e: KernelEmitter, op: TableOp) -> None:
    if op.mma is not None:
        return _emit_mma(e, op)
    _emit_multiply_add(e, op)


# ---- mma.sync ------------------------------------------------------------------------------------
def _emit_mma(e: KernelEmitter, op: TableOp) -> None:
    atom = FAMILY.row_of(op)
    tiling = tiling_of(op, atom)
    a_words = _operand_registers(e, op.lhs, tiling.a, VALUE_TYPES[atom.a_value], tiling, 0)
    b_words = _operand_registers(e, op.rhs, tiling.b, VALUE_TYPES[atom.b_value], tiling, 1)
    accumulators = _accumulators(e.values, op, tiling)
    scales = None if op.lhs_scale is None else _Scales(e, op, atom, tiling)
    is_packed, types = VALUE_TYPES[atom.c_value] == HALF_TYPES, [VALUE_TYPES[atom.c_value]] * atom.c_registers
    mma_op, kind = mma_of(atom, *operand_signs(op))
    overflow = "wrapped" if atom.a_type == "i8" else None
    for tile, (a, b, c) in zip(tiling.tiles(), tiling.atoms()):
        operands = [a_words(a), b_words(b), _c_values(e.b, is_packed, [accumulators[register] for register in c])]
        if scales is not None:
            operands.append(scales.operands(*tile))
        result = e.b.issue_several(mma_op, *operands, types=types, atom=kind, overflow=overflow)
        for register, value in zip(c, _c_scalars(e.b, is_packed, result)):
            accumulators[register] = value
    _set_result(e.values, op, tiling, accumulators)


class _Scales:
    """The scales of an MMA's operands, in the registers of the threads that supply them."""

    def __init__(self, e: KernelEmitter, op: TableOp, atom: MmaAtom, tiling: MmaTiling):
        self.e, self.atom = e, atom
        self.sides = [
            (value, tiling.scales(operand, atom.scale_block))
            for value, operand in ((op.lhs_scale, "A"), (op.rhs_scale, "B"))
        ]
        self.held = [
            e.values.packed_as(value, sliced_to_shape(scales.layout, tuple(value.type.get_shape())))
            for value, scales in self.sides
        ]

    def operands(self, batch: int, k_tile: int, m_tile: int, n_tile: int) -> list[Value]:
        """The word, the byte in it and the thread that has it, for A and for B."""
        first = k_tile * self.atom.k // self.atom.scale_block
        constant = self.e.b.constant
        result: list[Value] = []
        for (value, scales), registers, tile in zip(self.sides, self.held, (m_tile, n_tile)):
            members, byte, thread = scales.registers(tile, first, batch)
            word = pack_scales(self.e.b, element_of(value.type), [registers[register] for register in members])
            result += [word, constant(byte, I16), constant(thread, I16)]
        return result


def _operand_registers(
    e: KernelEmitter, value: SSAValue, layout: LinearLayout, type: Attribute, tiling: MmaTiling, k_from_end: int
) -> Callable[[range], list[Value]]:
    """A function from the registers of an atom's operand to its words, each of ``type``."""
    shape = tuple(tile_type(value).get_shape())
    element = element_of(value.type)
    k_dim = len(shape) - 1 if k_from_end == 0 else len(shape) - 2
    registers: Sequence[RegisterValue]
    if layout.shape[k_dim] != shape[k_dim]:
        registers = _masked(e, value, layout, shape, k_dim, element)
    else:
        registers = e.values.packed_as(value, sliced_to_shape(layout, shape))
    per_word = max(1, 32 // element.bits)

    def words(members: range) -> list[Value]:
        if element.bits >= 32:
            return [e.b.bitcast(materialize(e.b, registers[register]), type, element.type) for register in members]
        groups = [members[i : i + per_word] for i in range(0, len(members), per_word)]
        packed = [pack_register(e.b, element, [registers[r] for r in group]) for group in groups]
        return [e.b.bitcast(word, type) for word in _narrowed(e.b, element, packed, tiling)]

    return words


def _narrowed(b: InstructionBuilder, element: Element, words: list[Value], tiling: MmaTiling) -> list[Value]:
    """fp4 as instructions read it: two to a byte, or in the middle of one (PTX ISA 9.0, section 9.7.14.5.12).

    Two words of four neighbors along k become one with the elements of the second between those of the first: A and B
    have them in the same order, and all have one scale.
    """
    if element.per_byte == 1:
        return words
    if tiling.atom.element_bits == 8:
        return [b.shift(word, FP4_PADDING) for word in words]
    return [b.or_(low, b.shift(high, FP4_BITS)) for low, high in zip(words[::2], words[1::2])]


def _masked(
    e: KernelEmitter, value: SSAValue, layout: LinearLayout, shape: tuple[int, ...], k_dim: int, element: Element
) -> list[Value]:
    """Registers of the padded operand: zero where the position along k is past the tile."""
    registers = e.values.registers_as(value, sliced_to_shape(layout, shape))
    unit = 1
    for size in layout.shape[k_dim + 1 :]:
        unit *= size
    beyond = (layout.shape[k_dim] - shape[k_dim]) * unit
    thread_mask = sum(1 << bit for bit, image in enumerate((*layout.lanes, *layout.warps)) if image & beyond)
    inside = None
    if thread_mask:
        with e.b.at_function_start():
            inside = e.b.compare("eq", e.b.and_(e.threads.thread, thread_mask), 0)
    result = []
    for register, offset in enumerate(layout.register_offsets):
        if offset & beyond:
            result.append(zero_element(e.b, element))
        elif inside is None:
            result.append(registers[register])
        else:
            result.append(e.b.select(inside, registers[register], zero_element(e.b, element), element.type))
    return result


def _accumulators(values: ValueMap, op: TableOp, tiling: MmaTiling) -> list[Value]:
    wanted = sliced_to_shape(tiling.c, tuple(op.acc.type.get_shape()))
    return list(values.registers_as(op.acc, wanted))


def _c_values(b: InstructionBuilder, is_packed: bool, scalars: list[Value]) -> list[Value]:
    """The accumulator operands: pairs of halves for f16 accumulation."""
    if not is_packed:
        return scalars
    return [b.vector(scalars[first : first + 2], HALF_TYPES) for first in range(0, len(scalars), 2)]


def _c_scalars(b: InstructionBuilder, is_packed: bool, values: Sequence[SSAValue]) -> Sequence[Value]:
    if not is_packed:
        return values
    return [b.element(typed(value, VectorType), i) for value in values for i in range(2)]


def _set_result(values: ValueMap, op: TableOp, tiling: MmaTiling, accumulators: list[Value]) -> None:
    held = sliced_to_shape(tiling.c, tuple(op.result.type.get_shape()))
    names = held.register_permutation(layout_of(op.result))
    if names is None:
        raise InternalError("dot-layout", "the result of a dot does not have its atom's layout")
    values[op.result] = [accumulators[name] for name in names]


# ---- fused multiply-adds -------------------------------------------------------------------------
def _emit_multiply_add(e: KernelEmitter, op: TableOp) -> None:
    """FMAs with both operands in shared memory, or chunk by chunk of one along k.

    Each thread iterates over k for the elements of the result that it holds.
    """
    layout, parts = layout_of(op.result), op.k_chunks
    starts = (op.scratch_offset, op.scratch_offset + align_to_banks(tile_bytes(op.lhs) // parts))
    multiply = MULTIPLY_ADD[element_of(op.result.type).type](e, op, element_of(op.lhs.type), element_of(op.rhs.type))
    registers: Sequence[Value] = list(e.values.registers_as(op.acc, layout))
    for number in range(parts):
        if number or "sync_before" in op.attributes:
            e.memory.barrier()
        for value, dim, start in zip((op.lhs, op.rhs), (-1, -2), starts):
            _store_chunk(e, value, dim, parts, number, start)
        e.memory.barrier()
        left, right = starts
        readers = [_Reader(e, op.lhs, layout, left, True, parts), _Reader(e, op.rhs, layout, right, False, parts)]
        registers = _loop_over_k(e.b, op, readers, multiply, registers, parts)
    e.values[op.result] = registers


def _store_chunk(e: KernelEmitter, value: SSAValue, dim: int, chunks: int, index: int, start: int) -> None:
    """Store one chunk of an operand, cut along ``dim``; vectorized where it is not cut."""
    if chunks > 1:
        return store_chunk_along(e, value, dim, chunks, index, start)
    access = shared_access(layout_of(value), _row_major_smem_layout(e.b, value))
    return store_registers(e, access, element_of(value.type), e.values.packed(value), start)


# Steps along k that the loop body unrolls: enough to hide a load behind the multiply-adds of another.
UNROLLED = 4


def _loop_over_k(
    b: InstructionBuilder,
    op: TableOp,
    readers: list[_Reader],
    multiply: MultiplyAdd,
    registers: Sequence[Value],
    chunks: int = 1,
) -> Sequence[Value]:
    """A loop over k with the accumulators as arguments; a short k is unrolled."""
    length = op.lhs.type.get_shape()[-1] // chunks
    if length <= UNROLLED:
        return _steps(readers, multiply, registers, 0, length)
    types = [I32, *[element_of(op.result.type).type] * len(registers)]
    entry, body, after = b.block, b.label(), b.label()
    b.branch(body)
    b.start(body)
    k, *accumulators = b.arguments(types)
    with b.scope():
        results = _steps(readers, multiply, accumulators, k, UNROLLED)
        following = b.add(k, UNROLLED)
        b.branch_if(b.compare("slt", following, length), body, after)
    b.branch_with_values([0, *registers], types, entry, body)
    b.branch_with_values([following, *results], types, body, body)
    b.start(after)
    return results


def _steps(
    readers: list[_Reader], multiply: MultiplyAdd, registers: Sequence[Value], k: Value, count: int
) -> Sequence[Value]:
    """``count`` positions along k from ``k`` on."""
    for reader in readers:
        reader.move_to(k)
    for step in range(count):
        known: dict[tuple, Value] = {}
        following = []
        for register, accumulator in enumerate(registers):
            key = (*(reader.element(register, step) for reader in readers), accumulator)
            if key not in known:
                known[key] = multiply(*key)
            following.append(known[key])
        registers = following
    return registers


def _row_major_smem_layout(b: InstructionBuilder, value: SSAValue) -> SharedLayout:
    shape = tuple(tile_type(value).get_shape())
    return SharedLayout.plain(shape, tuple(range(len(shape) - 1, -1, -1)), element_of(value.type).bits)


class _Reader:
    """Loads the element of an operand in shared memory that a register of the result needs at position k."""

    def __init__(
        self, e: KernelEmitter, value: SSAValue, layout: LinearLayout, start: int, is_left: bool, parts: int = 1
    ):
        self.e, self.value_element, self.start = e, element_of(value.type), start
        shape = list(tile_type(value).get_shape())
        rank = len(shape)
        shape[-1 if is_left else -2] //= parts
        bytes = self.value_element.bytes
        units = [bytes * dim_stride(shape, dim) for dim in range(rank)]
        self.k_unit = units[-1] if is_left else units[-2]
        # Result dimensions: batch…, m, n. The left operand has no n, the right one no m.
        self.units = [*units[:-2], units[-2], 0] if is_left else [*units[:-2], 0, units[-1]]
        self.offsets = [self._offset(unpack(image, layout.shape)) for image in layout.register_offsets]
        lanes = tuple(self._offset(unpack(image, layout.shape)) for image in layout.lanes)
        warps = tuple(self._offset(unpack(image, layout.shape)) for image in layout.warps)
        with e.b.at_function_start():
            self.thread = e.b.add(e.threads.linear(lanes, warps), e.memory.shared_base)
        # The right operand's rows are read in vectors where a thread holds neighbors.
        self.vector = 1 if is_left else min(layout.contiguous(), VECTOR_BYTES // bytes)
        self.known: dict[int, list[Value]] = {}

    def _offset(self, coordinates: tuple[int, ...]) -> int:
        return sum(coordinate * unit for coordinate, unit in zip(coordinates, self.units))

    def move_to(self, k: Value) -> None:
        """Read from position ``k`` on."""
        self.base = self.e.b.add(self.thread, self.e.b.mul(k, self.k_unit))
        self.known.clear()

    def element(self, register: int, step: int) -> Value:
        """The element for a register, ``step`` positions after ``k``."""
        first = register - register % self.vector
        place = self.start + self.offsets[first] + step * self.k_unit
        if place not in self.known:
            self.known[place] = load_shared(self.e.b, self.value_element, self.vector, self.base, place)
        return self.known[place][register - first]


def _float_multiply(name: str) -> Callable[..., MultiplyAdd]:
    def rule(e: KernelEmitter, op: TableOp, left: Element, right: Element) -> MultiplyAdd:
        widen = [convert_float(e, element.name, name, "nearest_even") for element in (left, right)]
        type = ELEMENTS[name].type
        return lambda a, c, acc: e.b.issue(
            target_independent_intrinsics.FMAOp, widen[0](a), widen[1](c), acc, type=type
        )

    return rule


def _integer_multiply(e: KernelEmitter, op: TableOp, left: Element, right: Element) -> MultiplyAdd:
    b = e.b
    extend = ["sext" if signed else "zext" for signed in operand_signs(op)]

    def multiply(a: Value, c: Value, acc: Value) -> Value:
        x = b.cast(extend[0], a, I32, left.type)
        y = b.cast(extend[1], c, I32, right.type)
        return b.binary("add", acc, b.binary("mul", x, y, I32), I32)

    return multiply


MULTIPLY_ADD = {ELEMENTS[name].type: _float_multiply(name) for name in ("f16", "f32", "f64")} | {I32: _integer_multiply}

HANDLERS: dict[str, Handler] = {"nv_tileas.dot": emit_dot}
