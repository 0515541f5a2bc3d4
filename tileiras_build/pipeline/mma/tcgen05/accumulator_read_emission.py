"""Emit reads of accumulators in tensor memory: all at once, in parts, or each slice of columns where its elements are used."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from xdsl.ir import SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.cute_nvgpu.ops import LoadTensorMemoryOp
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import TmemTile
from ....ir.layouts.tmem_layout import COLUMN_BITS
from ...analysis.enclosing_control_flow import enclosing_loops
from ...common.llvm_element_types import element_of
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.kernel_emitter import KernelEmitter
from ...tileas_to_ll.emission.register_values import LazyElement, LazyValues
from .tmem_access import form_of, pointer_to, registers_type, scalars_of, tile_of, tile_start, warp_address
from .tmem_allocation import allocation_of

# Registers of a load whose columns are added to others before the next load: with twice as many, ptxas spills.
ADDED_REGISTERS = 8
# Registers of a slice of an accumulator that threads read where they use it.
SLICE_REGISTERS = 16
ADDITIONS = frozenset(("nv_tileas.addf", "arith.addi"))


def emit_tmem_load(e: KernelEmitter, op: TableOp) -> None:
    element = element_of(op.result.type)
    tile = tile_of(op.result, COLUMN_BITS, e.num_warps, is_pair=allocation_of(e).is_pair)
    column, width = op.slice or (0, 0)
    tile = replace(tile, min_step=width)
    e.b.issue(instructions.FenceAfterOp)
    loaded = []
    start = e.b.add(tile_start(e, op.source, op.stage, tile.total_tmem_columns), column)
    if op in e.sliced_reads:
        return _read_at_uses(e, op, tile, start)
    by_parts = _exceeds_registers_with_addend(e, op, tile.layout.num_registers) or _is_rounded_beyond_registers(e, op)
    for own, first, repetitions in tile.pieces(ADDED_REGISTERS if by_parts else e.vector_registers):
        address = pointer_to(e.b, warp_address(e.threads, tile, start, own, first))
        type = registers_type(repetitions * tile.shape.registers)
        loaded.append(e.b.issue(LoadTensorMemoryOp, address, type=type, **form_of(tile.shape.name, repetitions)))
        if by_parts:
            e.b.issue(instructions.WaitLoadOp)
    if not by_parts:
        e.b.issue(instructions.WaitLoadOp)
    e.b.issue(instructions.FenceBeforeOp)
    registers = [value for words in loaded for value in scalars_of(e.b, element.type, words)]
    names = unwrap(tile.layout.register_permutation(layout_of(op.result)))
    e.values[op.result] = [registers[name] for name in names]


def _read_at_uses(e: KernelEmitter, op: TableOp, tile: TmemTile, start: Value) -> None:
    """Read each slice of the columns where its first element is used."""
    type, registers = element_of(op.result.type).type, list[LazyElement]()

    def read(address: SSAValue, repetitions: int) -> list[Value]:
        words = registers_type(repetitions * tile.shape.registers)
        loaded = e.b.issue(LoadTensorMemoryOp, address, type=words, **form_of(tile.shape.name, repetitions))
        e.b.issue(instructions.WaitLoadOp)
        if enclosing_loops(op):  # MMAs of the next iteration
            e.b.issue(instructions.FenceBeforeOp)
        return scalars_of(e.b, type, loaded)

    for own, first, repetitions in tile.pieces(SLICE_REGISTERS):
        address = pointer_to(e.b, warp_address(e.threads, tile, start, own, first))
        slice = LazyValues(partial(read, address, repetitions))
        registers += (LazyElement(slice, place) for place in range(repetitions * tile.shape.registers))
    names = unwrap(tile.layout.register_permutation(layout_of(op.result)))
    e.values[op.result] = [registers[name] for name in names]


def _exceeds_registers_with_addend(e: KernelEmitter, op: TableOp, size: int) -> bool:
    """Whether threads have too few registers for the ``size`` registers of a loaded tile beside the tile that it is added to. Each
    part is then added before the next one is loaded: ptxas moves additions above a later wait, but none above their own.
    """
    added = [use.operation.name in ADDITIONS for use in op.result.uses]
    return added == [True] and 2 * size > e.tile_registers


def _is_rounded_beyond_registers(e: KernelEmitter, op: TableOp) -> bool:
    """Whether a loaded tile is only rounded to fewer bits, each part before the next one is loaded, and threads have too few registers
    for all of it beside the other live tiles.
    """
    users = [use.operation for use in op.result.uses]
    if not e.computes_where_fewer_remain or len(users) != 1 or users[0].name != "nv_tileas.fp_to_fp":
        return False
    return e.live_behind(op) > e.tile_registers
