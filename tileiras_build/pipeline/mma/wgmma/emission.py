"""Warpgroup MMA (PTX ISA 9.0, section 9.7.15, wgmma).

The right operand, and the left one unless it is a tile in registers, are read from a stage in shared memory through
matrix descriptors. Accumulators are tied to the results of each group and wait (``ir/dialects/nvvm/wgmma.py``): they
stay in the same registers from one MMA to the next, and nothing reads them before the wait.

The tensor core accumulates fp8 at reduced precision. Accumulator promotion starts new accumulators for each chunk of k,
and adds them to the f32 accumulators by ordinary instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import IntegerAttr, MemRefType, VectorType, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import type_as, typed, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nv_tileas.ops import AsyncDotOp
from ....ir.dialects.nv_tileas.types import BufferType
from ....ir.dialects.nvgpu.attrs import SwizzleAttr
from ....ir.dialects.nvgpu.ops_matrix import WarpgroupGenerateDescriptorOp, WarpgroupMmaOp
from ....ir.dialects.nvgpu.ops_matrix import WarpgroupMmaInitAccumulatorOp as InitAccumulatorOp
from ....ir.dialects.nvgpu.types import WarpgroupAccumulatorType, WarpgroupDescriptorType
from ....ir.dialects.nvvm.wgmma import WgmmaWaitOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import MatrixOperand, SharedLayout, WgmmaTiling, matrix_operand
from ....ir.layouts.linear_layout import log2_exact
from ....ir.layouts.matrix_descriptor import UNSWIZZLED
from ....ir.layouts.wgmma_layout import ROWS
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I32, SHARED, struct, vector
from ...tileas_to_ll.emission.attribute_builders import Plain, attributes_of
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import Handler, KernelEmitter
from ...tileas_to_ll.emission.value_map import ValueMap
from ...tileas_to_ll.memory.shared_memory import pack_registers
from ...tileas_to_ll.pipelines.cp_async import stage_address
from ..dots import check_buffered_operands, operand_signs
from .ping_pong_barriers import BARRIER_HANDLERS
from .tiling import accumulator_promotion, tiling_of


def emit_async_dot(e: KernelEmitter, op: TableOp) -> None:
    check_buffered_operands(op)
    tiling = tiling_of(op, e.num_warps)
    dot = _Wgmma(e, op, tiling)
    if accumulator_promotion(op):
        return _emit_with_promotion(e.values, op, dot)
    tiles = [(m, n) for m in range(tiling.m_tiles) for n in range(tiling.n_tiles)]
    pending: int | None = op.pending  # None if it does not wait
    words = _packed(e.b, op.result, list(e.values.registers_as(op.acc, tiling.c)))
    for position, (m_tile, n_tile) in enumerate(tiles):
        own = dot.members(m_tile, n_tile)
        place = {"unfenced": position > 0, "uncommitted": position < len(tiles) - 1}
        waits = pending if len(tiles) == 1 else None
        words[own] = dot.issue(m_tile, n_tile, range(tiling.k_tiles), words[own], pending=waits, **place)
    if len(tiles) > 1 and pending is not None:
        words = list(_emit_wait(e.b, element_of(op.result.type), pending, words))
    registers = _unpacked(e.b, op.result, words)
    _define(e.values, op, tiling, registers)


def _define(values: ValueMap, op: TableOp, tiling: WgmmaTiling, registers: list[Value]) -> None:
    values[op.result] = [registers[name] for name in unwrap(tiling.c.register_permutation(layout_of(op.result)))]


def _emit_with_promotion(values: ValueMap, op: TableOp, wgmma: _Wgmma) -> None:
    """Accumulate chunks of ``partial_k`` along k; promote the oldest when its registers are needed for another chunk."""
    tiling, max_in_flight = wgmma.tiling, unwrap(accumulator_promotion(op)).number
    acc = list(values.registers_as(op.acc, tiling.c))
    in_flight: list[_PromotedChunk] = []
    for m_tile, n_tile, k_tiles in wgmma.chunks():
        added = _promote_oldest(values.b, op, acc, in_flight) if len(in_flight) == max_in_flight else []
        part = wgmma.issue(m_tile, n_tile, k_tiles, added, replaces=True)
        left = [*dict.fromkeys(wgmma.lhs_registers(m_tile, k_tiles))]
        in_flight.append(_PromotedChunk(wgmma.members(m_tile, n_tile), part, left))
    while in_flight:
        _promote_oldest(values.b, op, acc, in_flight)
    _define(values, op, tiling, acc)


@dataclass
class _PromotedChunk:
    """A chunk of k in flight: the registers of the accumulator that it is added to, its own, and its left operand's."""

    members: slice
    values: list[SSAValue]
    left: list[Value]


def _promote_oldest(
    b: InstructionBuilder, op: TableOp, accumulators: list[Value], in_flight: list[_PromotedChunk]
) -> list[SSAValue]:
    """Wait for the oldest chunk and add it, in one operation: LLVM would move the additions behind the next MMAs."""
    part = in_flight.pop(0)
    accumulators[part.members] = _emit_wait(
        b,
        element_of(op.result.type),
        len(in_flight),
        accumulators[part.members],
        added=part.values,
        kept_alive=part.left,
    )
    return part.values


def emit_async_dot_wait(e: KernelEmitter, op: TableOp) -> None:
    words = _packed(e.b, op.result, e.values.registers(op.source))
    kept = _lhs_in_flight(e, op.source.owner)
    words = list(_emit_wait(e.b, element_of(op.result.type), op.pending, words, kept_alive=kept))
    e.values[op.result] = _unpacked(e.b, op.result, words)


def _emit_wait(
    b: InstructionBuilder,
    element: Element,
    pending: int,
    words: Sequence[Value],
    *,
    added: Sequence[Value] = (),
    kept_alive: Sequence[Value] = (),
) -> list[SSAValue]:
    """Wait until at most ``pending`` groups are in flight; the accumulators, with ``added`` added to them."""
    type = _registers(element, len(words))
    return b.unpack(b.issue(WgmmaWaitOp, words, added, kept_alive, type=type, pending=pending))


def _lhs_in_flight(e: KernelEmitter, dot: TableOp) -> list[Value]:
    """The registers of a left operand: the MMA reads them until the wait, so the wait keeps them alive."""
    if not isinstance(dot, AsyncDotOp) or dot.lhs_stage is not None:
        return []
    return _lhs_registers(e.values, dot, tiling_of(dot, e.num_warps))


def _lhs_registers(values: ValueMap, dot: TableOp, tiling: WgmmaTiling) -> list[Value]:
    """A left operand in registers, as 32-bit words."""
    return pack_registers(values.b, element_of(dot.lhs.type), values.packed_as(dot.lhs, tiling.a))


# ---- accumulators --------------------------------------------------------------------------------
def _packed(b: InstructionBuilder, value: SSAValue, registers: list[Value]) -> list[Value]:
    """Accumulators as operands of the instruction: 16-bit ones in pairs, which stay packed until all are complete."""
    element = element_of(value.type)
    if element.bits != 16:
        return registers
    return pack_registers(b, element, registers)


def _unpacked(b: InstructionBuilder, value: SSAValue, regs: list[Value]) -> list[Value]:
    element = element_of(value.type)
    if element.bits != 16:
        return regs
    return [half for word in regs for half in _halves(b, element, word)]


def _registers(element: Element, count: int) -> LLVMStructType:
    """The type of some registers of accumulators."""
    return struct(*[I32 if element.bits == 16 else element.type] * count)


def _halves(b: InstructionBuilder, element: Element, word: Value) -> list[SSAValue]:
    pair = typed(b.uniqued(b.bitcast(word, vector(2, element.type))), VectorType)
    return [b.element(pair, index) for index in range(2)]


# ---- operands ------------------------------------------------------------------------------------
@dataclass
class _SmemOperand:
    """An operand in a stage: its canonical layout, and the descriptor of this warpgroup's part."""

    layout: MatrixOperand
    descriptor: SSAValue

    def steps(self, row: int, ks: Iterable[int]) -> tuple[int, ...]:
        """Bytes from the start of the part to each k of a row."""
        return tuple([self.layout.offset(row, k) for k in ks])


@cache
def _descriptor_type(rows: int, columns: int, element: Attribute) -> WarpgroupDescriptorType:
    return WarpgroupDescriptorType(MemRefType(element, [rows, columns], memory_space=IntegerAttr(SHARED, i64)))


@cache
def _swizzle(name: str) -> SwizzleAttr:
    return SwizzleAttr(0 if name == UNSWIZZLED else int(name.removesuffix("B")))


@cache
def _accumulator_type(columns: int, element: Attribute) -> WarpgroupAccumulatorType:
    return WarpgroupAccumulatorType(VectorType(element, [ROWS, columns]))


class _Wgmma:
    """The instructions of one ``async.dot``."""

    def __init__(self, e: KernelEmitter, op: TableOp, tiling: WgmmaTiling):
        self.e, self.op, self.tiling = e, op, tiling
        promotion = accumulator_promotion(op)
        self.partial_k = promotion.k if promotion else tiling.k
        self.k = min(self.partial_k, tiling.k)
        self.element = element_of(op.result.type)
        groups = log2_exact(tiling.groups_m)
        left = op.lhs, op.lhs_stage, op.lhs_placement
        self.left = self._in_shared(*left, 1, 6, range(2, 2 + groups)) if op.lhs_stage else None
        columns = log2_exact(tiling.group_n)
        others = range(2 + groups, 2 + groups + log2_exact(tiling.groups_n))
        self.right = self._in_shared(op.rhs, op.rhs_stage, op.rhs_placement, 0, columns, others)
        self.words = None if self.left else _lhs_registers(e.values, op, tiling)
        self.per_register = 2 if self.element.bits == 16 else 1
        self.accumulator_type = _accumulator_type(tiling.columns, op.result.type.element_type)
        self.attributes = self._attributes()

    def _attributes(self) -> dict[str, Attribute]:
        """The attributes of all instructions of this MMA."""
        signed = operand_signs(self.op)
        mn_major = [operand is not None and not operand.layout.k_major for operand in (self.left, self.right)]
        return attributes_of({
            "unsignedA": not signed[0], "unsignedB": not signed[1],
            "transposeA": mn_major[0], "transposeB": mn_major[1],
        })  # fmt: skip

    def _in_shared(
        self, buffer: SSAValue, stage: SSAValue, placement: SharedLayout, k_dim: int, row_bit: int, warp_bits: range
    ) -> _SmemOperand:
        """``row_bit``: the first bit of the row index that the warp bits ``warp_bits`` select."""
        e, b = self.e, self.e.b
        layout = unwrap(matrix_operand(placement, k_dim))
        images = [0] * warp_bits.stop
        for bit, offset in zip(warp_bits, layout.row_offsets[row_bit:]):
            images[bit] = offset
        with e.b.at_function_start():
            group = b.linear(e.threads.uniform_warp, images)
        address = b.add(stage_address(e, buffer, e.values.scalar(stage)), group)
        shape = (ROWS, self.k) if k_dim else (self.k, self.tiling.columns)
        type = _descriptor_type(*shape, type_as(buffer, BufferType).element_type)
        swizzle = _swizzle(layout.swizzle)
        places: dict[str, Plain] = {
            "leading_byte_offset": layout.leading,
            "matrix_stride": layout.stride,
            "swizzle_mode": swizzle,
        }
        made = attributes_of(places), tuple(places.values())
        return _SmemOperand(
            layout, b.pure(WarpgroupGenerateDescriptorOp, (b.bridge(address, type.tensor),), type, *made)
        )

    # ---- instructions ----------------------------------------------------------------------------
    def chunks(self) -> Iterator[tuple[int, int, range]]:
        """(m_tile, n_tile, k_tiles) of each chunk of k that the tensor core may accumulate without promotion."""
        tiling = self.tiling
        steps = self.partial_k // tiling.depth
        for start in range(0, tiling.k_tiles, steps):
            for m_tile in range(tiling.m_tiles):
                for n_tile in range(tiling.n_tiles):
                    yield m_tile, n_tile, range(start, min(start + steps, tiling.k_tiles))

    def members(self, m_tile: int, n_tile: int) -> slice:
        """The registers of one tile of the accumulators."""
        held = self.tiling.c_registers(m_tile, n_tile)
        return slice(held.start // self.per_register, held.stop // self.per_register)

    def issue(
        self,
        m_tile: int,
        n_tile: int,
        k_tiles: range,
        accumulators: Sequence[Value],
        pending: int | None = None,
        **flags: bool,
    ) -> list[SSAValue]:
        """Add ``k_tiles`` to one tile of the accumulators, then wait until ``pending`` groups are in flight."""
        b, tiling = self.e.b, self.tiling
        ks = [k_tile * tiling.depth for k_tile in k_tiles]
        places: dict[str, Plain] = {"stepsB": self.right.steps(n_tile * tiling.columns, ks), **flags}
        if self.left:
            left, places["stepsA"] = self.left.descriptor, self.left.steps(m_tile * tiling.m_step, ks)
        else:
            left = self._fragment(self.lhs_registers(m_tile, k_tiles))
        acc = (
            b.concatenated(accumulators, self.accumulator_type)
            if accumulators
            else b.pure(InitAccumulatorOp, (), self.accumulator_type)
        )
        places |= {"waitGroup": pending, "unawaited": pending is None}
        properties = self.attributes | attributes_of(places)
        acc = b.value(WarpgroupMmaOp, (left, self.right.descriptor, acc), self.accumulator_type, properties)
        members = self.members(m_tile, n_tile)
        return b.unpack(b.bridge(acc, _registers(self.element, members.stop - members.start)))

    def _fragment(self, words: Sequence[Value]) -> SSAValue:
        element = self.op.lhs.type.element_type
        return self.e.b.concatenated(words, VectorType(element, [len(words), 32 // element_of(self.op.lhs.type).bits]))

    def lhs_registers(self, m_tile: int, k_tiles: range) -> list[Value]:
        """The registers of the left operand that the instructions of these tiles read."""
        if self.words is None:
            return []
        per_word = 32 // element_of(self.op.lhs.type).bits
        members = [self.tiling.a_registers(m_tile, k_tile) for k_tile in k_tiles]
        return self.words[members[0].start // per_word : members[-1].stop // per_word]


HANDLERS: dict[str, Handler] = {
    **BARRIER_HANDLERS,
    "nv_tileas.async.dot": emit_async_dot,
    "nv_tileas.async.dot_wait": emit_async_dot_wait,
}
