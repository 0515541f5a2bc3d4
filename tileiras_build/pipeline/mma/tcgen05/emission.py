"""MMAs with accumulators in tensor memory (PTX ISA 9.0, section 9.7.16, tcgen05).

The kernel has one allocation of columns. One thread issues the MMAs: of the first warp, or of a dedicated MMA warp. Each
compute warp loads and stores the 32 lanes of its index modulo 4. The high 16 bits of an address are the lane, the low
16 bits the column. A barrier or mbarrier, with a fence on either side, orders loads and stores of threads with the MMAs
of another thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from xdsl.ir import SSAValue

from ....ir.casting import cast, int_array_attr, int_attr, type_as, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.cute_nvgpu.atom_mnemonics import tensor_atom
from ....ir.dialects.cute_nvgpu.ops import (
    CopyToTensorMemoryOp,
    StoreTensorMemoryOp,
    UmmaBlockScaledOp,
    UmmaOp,
)
from ....ir.dialects.nv_tileas.types import BufferType, TmemType
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import (
    MatrixOperand,
    ScaleColumns,
    TcgenMma,
    matrix_operand,
    shared_access,
    tmem_tile,
)
from ....ir.layouts.linear_layout import log2_exact
from ....ir.layouts.matrix_descriptor import ADDRESS_MASK, PATTERN_LINES, UNIT_SHIFT, plain_descriptor
from ....ir.layouts.tmem_layout import (
    COLUMN_BITS,
    COPIED_REGISTERS,
    HALF_ROWS,
    LANES,
    PAIR,
    ROWS,
    SCALES_PER_REGISTER,
    WARPS,
)
from ....target.mma_atoms import ELEMENT_BITS
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I1, I16, I32, I64, SHARED
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import Handler, KernelEmitter
from ...tileas_to_ll.emission.register_values import RegisterValue
from ...tileas_to_ll.memory.shared_memory import REGISTER_TYPE, pack_registers, pack_scales, store_shared
from ...tileas_to_ll.pipelines.cp_async import stage_address
from ...tileas_to_ll.pipelines.mbarrier_arrivals import arrive_of_warp
from ...tileas_to_ll.pipelines.warp_partitions_and_mbarriers import (
    barrier_in,
    ctas_of,
    empty_barrier,
    is_pair,
    leading,
    phase_of,
    stage_of,
    wait,
)
from ..dots import check_buffered_operands, operand_signs
from .accumulator_read_emission import emit_tmem_load
from .family import FAMILY
from .rescale_emission import begin_chunk, emit_tmem_scale, is_behind_rescale
from .tmem_access import (
    LANE_SHIFT,
    form_of,
    in_columns_of,
    pointer_to,
    tile_of,
    tile_start,
    vector_of,
    warp_address,
)
from .tmem_allocation import TmemAllocation, addresses_of_its_own, allocation_of

REGISTER_BYTES = 4
COLUMN_BYTES = LANES * REGISTER_BYTES  # of a column of scales, which is replicated to the lanes of all four warps
WHOLE = 0, 1  # the only part of one
COPIED_MATRIX = plain_descriptor(PATTERN_LINES * COPIED_REGISTERS * REGISTER_BYTES)


# ---- allocation ----------------------------------------------------------------------------------
def emit_create_tmem(e: KernelEmitter, op: TableOp) -> None:
    e.tmem = TmemAllocation(op)


def emit_alloc_tmem(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = int_attr(op, "column")


# ---- tiles between registers and tensor memory -----------------------------------------------------
def emit_tmem_store(e: KernelEmitter, op: TableOp) -> None:
    if "line_dim" in op.attributes:
        return _store_scales(e, op)
    if op.chunk is not None:
        return _store_chunk(e, op)
    if op.enabled is None:
        return _store(e, op)
    with e.b.if_then(e.values.scalar(op.enabled)):
        _store(e, op)


def _store(e: KernelEmitter, op: TableOp) -> None:
    element = element_of(op.value.type)
    bits, is_pair = COLUMN_BITS if op.accumulator else element.bits, op.accumulator and allocation_of(e).is_pair
    tile = in_columns_of(tile_of(op.value, bits, e.num_warps, is_pair=is_pair), op.dest)
    registers = e.values.packed_as(op.value, tile.layout)
    words = pack_registers(e.b, element, registers, COLUMN_BITS // tile.element_bits)
    e.b.issue(instructions.FenceAfterOp)  # MMAs of other threads may have read these columns
    place, start = tile_start(e, op.dest, op.stage, tile.total_tmem_columns), 0
    for own, first, repetitions in tile.pieces(e.vector_registers):
        address = pointer_to(e.b, warp_address(e.threads, tile, place, own, first))
        count = repetitions * tile.shape.registers
        together = vector_of(e.b, words[start : start + count])
        start += count
        e.b.issue(StoreTensorMemoryOp, address, together, type=None, **form_of(tile.shape.name, repetitions))
    e.b.issue(instructions.WaitStoreOp)
    e.b.issue(instructions.FenceBeforeOp)


def _store_chunk(e: KernelEmitter, op: TableOp) -> None:
    """Store one chunk of the columns of each warp's lanes, then arrive at its mbarrier."""
    if op.chunk == 0 and not is_behind_rescale(op):
        begin_chunk(e, 0)
    element, shape, parts = element_of(op.value.type), op.value.type.get_shape(), op.filled.type.stages.data
    tile = replace(unwrap(tmem_tile(*shape, element.bits, e.num_warps)), min_step=_row_step(op.dest, shape[0]))
    registers, per_word = e.values.packed_as(op.value, tile.layout), COLUMN_BITS // element.bits
    words = tile.tmem_columns_per_warp // parts
    place, start = tile_start(e, op.dest, op.stage, tile.total_tmem_columns), 0
    for own, first, repetitions in tile.pieces(min(e.vector_registers, words)):
        count = repetitions * tile.shape.registers
        if first // words == op.chunk:
            held = registers[start * per_word : (start + count) * per_word]
            address = pointer_to(e.b, warp_address(e.threads, tile, place, own, first))
            together = vector_of(e.b, pack_registers(e.b, element, held))
            e.b.issue(StoreTensorMemoryOp, address, together, type=None, **form_of(tile.shape.name, repetitions))
        start += count
    if op.chunk + 1 < parts:
        begin_chunk(e, op.chunk + 1)
    e.b.issue(instructions.WaitStoreOp)
    e.b.issue(instructions.FenceBeforeOp)
    arrive_of_warp(e.threads, barrier_in(e, op.filled, op.chunk))


def _row_step(tile: SSAValue, rows: int) -> int:
    """Columns from 128 rows of a tile to the next, of those that it has."""
    return type_as(tile, TmemType).columns.data // max(1, rows // ROWS)


def _store_scales(e: KernelEmitter, op: TableOp) -> None:
    """Store all scales to the lanes of each of the first four warps."""
    columns = ScaleColumns(tuple(op.value.type.get_shape()), int_attr(op, "line_dim"), e.num_warps)
    words = _scale_registers(
        e.b, element_of(op.value.type), e.values.packed_as(op.value, columns.layout), columns.scales_per_tmem_column
    )
    address = _stage_address(e, e.values.scalar(op.dest), columns, op.stage)
    with e.b.at_function_start():
        lanes = e.b.linear(e.threads.uniform_warp, [32 << LANE_SHIFT, 64 << LANE_SHIFT])
        writes = e.b.compare("ult", e.threads.uniform_warp, WARPS)
    with e.b.if_then(writes):
        e.b.issue(instructions.FenceAfterOp)
        pointer = pointer_to(e.b, e.b.add(address, lanes))
        e.b.issue(StoreTensorMemoryOp, pointer, vector_of(e.b, words), type=None, **form_of("32x32b", len(words)))
        e.b.issue(instructions.WaitStoreOp)
    e.b.issue(instructions.FenceBeforeOp)


def emit_store_scales(e: KernelEmitter, op: TableOp) -> None:
    """Store scales to shared memory, 16 bytes of a tensor memory lane at a time."""
    access = shared_access(layout_of(op.value), type_as(op.buffer, BufferType).placement.data)
    start, held = stage_address(e, op.buffer, e.values.scalar(op.stage)), e.values.packed(op.value)
    thread = e.threads.linear(access.lane_offsets, access.warp_offsets)
    for one in access.vectors:
        with e.b.at_function_start():
            place = e.b.xor(thread, one.xor)
        words = _scale_registers(
            e.b, element_of(op.value.type), [held[register] for register in one.registers], SCALES_PER_REGISTER
        )
        store_shared(e.b, REGISTER_TYPE, words, e.b.add(start, place), one.add, None)


def _scale_registers(
    b: InstructionBuilder, element: Element, held: Sequence[RegisterValue], per_word: int
) -> list[Value]:
    return [pack_scales(b, element, held[first : first + per_word]) for first in range(0, len(held), per_word)]


def emit_copy_scales(e: KernelEmitter, op: TableOp) -> None:
    """Copy scales from shared to tensor memory, four columns at a time, after a fence for earlier writes. Both CTAs of a pair copy
    what each has in its shared memory.
    """
    stage, type = e.values.scalar(op.stage), type_as(op.source, BufferType)
    columns = type.placement.data.size_bytes // COLUMN_BYTES
    place = e.b.add(e.b.add(allocation_of(e).base, e.b.mul(stage, columns)), e.values.scalar(op.dest))
    source = _descriptor(e.b, stage_address(e, op.source, stage), COPIED_MATRIX)
    pair = {"cta_group": PAIR} if allocation_of(e).is_pair else {}
    with _issuing(e):
        e.b.issue(instructions.FenceAfterOp)
        for first in range(0, columns, COPIED_REGISTERS):
            there = pointer_to(e.b, e.b.add(place, first))
            here = e.b.add(source, first * COLUMN_BYTES >> UNIT_SHIFT, I64)
            e.b.issue(CopyToTensorMemoryOp, there, here, type=None, shape="32x128b.warpx4", **pair)


def _descriptor(b: InstructionBuilder, address: Value, matrix: int) -> SSAValue:
    """The matrix descriptor for a shared address; ``matrix`` has its other fields."""
    start = b.cast("zext", b.shift(b.and_(address, ADDRESS_MASK), -UNIT_SHIFT), I64)
    return b.binary("or", start, matrix, I64)


def _stage_address(e: KernelEmitter, tile: Value, columns: ScaleColumns, stage: SSAValue) -> Value:
    start = e.b.mul(e.values.scalar(stage), columns.tmem_columns)
    return e.b.add(e.b.add(allocation_of(e).base, start), tile)


# ---- MMA -------------------------------------------------------------------------------------------
@contextmanager
def _issuing(e: KernelEmitter):
    """A block that the MMA-issuing thread executes; in a pair of CTAs, the one of the first."""
    with nullcontext() if allocation_of(e).cta_group == "cg1" else leading(e.threads), e.threads.one_thread():
        yield


def _commit(e: KernelEmitter, address: Value, ctas: int = 1) -> None:
    """Commit to the mbarrier of this CTA, or to those of several: of all CTAs of the cluster, or of both of a pair."""
    pointer, mask = e.b.pointer(address, SHARED), None
    if ctas > 1:
        first = e.threads.pair_leader if allocation_of(e).is_pair else 0
        every = (1 << ctas) - 1
        mask = e.b.constant(every, I16) if first == 0 else e.b.cast("trunc", e.b.binary("shl", every, first, I32), I16)
    e.b.issue(instructions.CommitOp, pointer, mask, group=allocation_of(e).cta_group)


def emit_async_umma(e: KernelEmitter, op: TableOp) -> None:
    with addresses_of_its_own(e) if op.recomputed else nullcontext():
        mma = _Umma(e, op)
        with _issuing(e):
            e.b.issue(instructions.FenceAfterOp)
            mma.emit()
            if op.pipeline is not None:
                ctas = PAIR if is_pair(op.pipeline) else ctas_of(op.pipeline)
                _commit(e, empty_barrier(e, op, stage_of(e.values, op)), ctas)
            if op.ready is not None:
                _commit(e, barrier_in(e, op.ready, 0))


def emit_umma_commit(e: KernelEmitter, op: TableOp) -> None:
    stage = 0 if op.token is None else e.b.shift(e.values.scalar(op.token), -1)
    with _issuing(e):
        _commit(e, barrier_in(e, op.ready, stage), ctas_of(op.ready))


def emit_umma_release(e: KernelEmitter, op: TableOp) -> None:
    with _issuing(e):
        _commit(e, empty_barrier(e, op, stage_of(e.values, op)), PAIR if is_pair(op.pipeline) else 1)


class _Umma:
    """The instructions of one ``async.umma``."""

    def __init__(self, e: KernelEmitter, op: TableOp):
        self.e, self.op = e, op
        self.atom = FAMILY.row_of(op)
        m, n, k = int_array_attr(op, "shape")
        check_buffered_operands(op, (m, n, k))
        self.mma = TcgenMma(m, n, k, ELEMENT_BITS[self.atom.a_type])
        self.pair = int("pair" in op.attributes)
        self.left = self._in_shared("lhs", op.lhs, op.lhs_stage, 1) if isinstance(op.lhs.type, BufferType) else None
        self.right = self._in_shared("rhs", op.rhs, op.rhs_stage, 0)
        # Columns of tensor memory of one tile of rows; 64 rows of a pair have half of them in other lanes.
        self.step = max(n, self.mma.columns) >> (self.pair and self.mma.rows == HALF_ROWS)
        self.acc = tile_start(e, op.acc, op.acc_stage, m // self.mma.rows * self.step)
        self.scales = [] if op.lhs_scale is None else self._scales(m, n, k // self.atom.scale_block)

    def _scales(self, m: int, n: int, count: int) -> list[tuple[ScaleColumns, Value]]:
        """The tensor memory columns of the scales of each operand, and the first column of this stage."""
        found, steps = [], self.op.scale_steps
        count *= steps
        for dim, (shape, tile) in enumerate((((m, count), self.op.lhs_scale), ((count, n), self.op.rhs_scale))):
            columns = ScaleColumns(shape, dim, self.e.num_warps)
            found.append((columns, self._scale_column(columns, self.e.values.scalar(tile), log2_exact(steps))))
        return found

    def _scale_column(self, columns: ScaleColumns, tile: Value, steps_log2: int) -> Value:
        """The first column of the scales of this stage, or of this iteration in a group of them."""
        if self.op.scale_iteration is None:
            return _stage_address(self.e, tile, columns, self.op.rhs_stage)
        b, iteration = self.e.b, self.e.values.scalar(self.op.scale_iteration)
        group, own = b.shift(iteration, -steps_log2), b.and_(iteration, (1 << steps_log2) - 1)
        start = b.add(
            b.mul(group, columns.tmem_columns), b.mul(own, columns.tmem_column_of(0, columns.count >> steps_log2))
        )
        return b.add(b.add(allocation_of(self.e).base, start), tile)

    def _in_shared(self, name: str, buffer: SSAValue, stage: SSAValue, k_dim: int) -> tuple[MatrixOperand, SSAValue]:
        """The canonical layout of an operand and the descriptor of its first element."""
        layout = unwrap(matrix_operand(cast(SharedLayoutAttr, self.op.attributes[f"{name}_placement"]).data, k_dim))
        address = stage_address(self.e, buffer, self.e.values.scalar(stage))
        return layout, _descriptor(self.e.b, address, layout.tcgen05_descriptor)

    def emit(self) -> None:
        chunk, chunks = self.op.chunk or WHOLE
        tile, tiles = self.op.rows or WHOLE
        for row, column, k in self.mma.instructions():
            if k * chunks // self.mma.k == chunk and row * tiles // self.mma.m == tile:
                self._instruction(row, column, k)

    def _instruction(self, row: int, column: int, k: int) -> None:
        e = self.e
        target = e.b.add(self.acc, row // ROWS * self.step + column)
        right = self._advanced(self.right, column, k)
        left = self._advanced(self.left, row, k) if self.left else self._left(row, k)
        adds = e.b.of(1 if k else e.values.scalar(self.op.accumulate), I1)
        if self.scales:
            return self._scaled_instruction(target, left, right, adds, (row, column, k))
        size = self.mma.rows << self.pair, self.mma.columns
        atom = tensor_atom(self.atom, *size, *operand_signs(self.op))
        operands = pointer_to(e.b, target), left, right, adds
        e.b.issue(UmmaOp, *operands, type=None, atom=atom, cta_group=1 + self.pair, **self._mn_major)

    def _scaled_instruction(
        self, target: Value, left: Value, right: Value, adds: Value, at: tuple[int, int, int]
    ) -> None:
        e, (row, column, k) = self.e, at
        number = k // self.atom.scale_block
        atom = tensor_atom(self.atom, self.mma.rows << self.pair, self.mma.columns)
        operands: list[Value] = [pointer_to(e.b, target), left, right, adds]
        for (columns, start), line in zip(self.scales, (row, column)):
            operands.append(pointer_to(e.b, e.b.add(start, columns.tmem_column_of(line, number))))
        e.b.issue(
            UmmaBlockScaledOp,
            *operands,
            type=None,
            atom=atom,
            scale_byte=number % SCALES_PER_REGISTER,
            cta_group=1 + self.pair,
            **self._mn_major,
        )

    @property
    def _mn_major(self) -> dict[str, bool]:
        """Whether each operand is MN-major, as attributes of the instruction."""
        left = self.left is not None and not self.left[0].k_major
        return {"a_mn_major": left, "b_mn_major": not self.right[0].k_major}

    def _left(self, row: int, k: int) -> Value:
        """An operand in tensor memory, packed along k in 32-bit words."""
        first = row // ROWS * _row_step(self.op.lhs, self.mma.m)
        tile = unwrap(tmem_tile(self.mma.m, self.mma.k, self.mma.element_bits, self.e.num_warps))
        whole = unwrap(tmem_tile(*int_array_attr(self.op, "shape")[::2], self.mma.element_bits, self.e.num_warps))
        start = tile_start(self.e, self.op.lhs, self.op.lhs_stage, whole.total_tmem_columns)
        return pointer_to(self.e.b, self.e.b.add(start, first + in_columns_of(tile, self.op.lhs).column_of(k)))

    def _advanced(self, operand: tuple[MatrixOperand, SSAValue], row: int, k: int) -> Value:
        layout, descriptor = operand
        return self.e.b.add(descriptor, layout.offset(row, k) >> 4, I64)


def emit_umma_acquire(e: KernelEmitter, op: TableOp) -> None:
    """Wait until a stage is released; for the accumulator of a pair, only the warp that issues its MMAs does."""
    if ctas_of(op.pipeline) == 1:
        return _wait_for_empty(e, op)
    with leading(e.threads), e.threads.one_warp():
        _wait_for_empty(e, op)


def _wait_for_empty(e: KernelEmitter, op: TableOp) -> None:
    wait(e.b, empty_barrier(e, op, stage_of(e.values, op)), e.b.xor(phase_of(e.values, op), 1))


HANDLERS: dict[str, Handler] = {
    "nv_tileas.async.umma_acquire": emit_umma_acquire,
    "nv_tileas.create_tmem": emit_create_tmem,
    "nv_tileas.alloc_tmem": emit_alloc_tmem,
    "nv_tileas.tmem_load": emit_tmem_load,
    "nv_tileas.tmem_store": emit_tmem_store,
    "nv_tileas.store_scales": emit_store_scales,
    "nv_tileas.async.copy_scales": emit_copy_scales,
    "nv_tileas.tmem_scale": emit_tmem_scale,
    "nv_tileas.async.umma": emit_async_umma,
    "nv_tileas.async.umma_commit": emit_umma_commit,
    "nv_tileas.async.umma_release": emit_umma_release,
}
