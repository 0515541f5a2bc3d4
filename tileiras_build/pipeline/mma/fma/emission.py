"""Fused multiply-adds on any layout: each thread computes the elements of the result that it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....ir.casting import tile_type
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout, SharedLayout, shared_access, unpack
from ...analysis.scratch_memory_sizes import align_to_banks, tile_bytes
from ...analysis.slice_chunk_bits import dim_stride
from ...common.llvm_element_types import ELEMENTS, Element, element_of
from ...common.llvm_type_constructors import I32
from ...tileas_to_ll.arith.float_conversions import convert_float
from ...tileas_to_ll.data_movement.chunked_slices import store_chunk_along
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import Handler, KernelEmitter
from ...tileas_to_ll.memory.shared_memory import load_shared, store_registers
from ..dots import operand_signs

VECTOR_BYTES = 16
MultiplyAdd = Callable[[Value, Value, Value], Value]


def emit_dot(e: KernelEmitter, op: TableOp) -> None:
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
