"""Loads and stores of tensor memory: addresses of tiles, and registers of one instruction."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import as_op, defining_op, tile_type, type_as, typed, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nv_tileas.types import TmemType
from ....ir.layouts import TmemTile, tmem_tile
from ....ir.layouts.linear_layout import log2_exact
from ....ir.layouts.tmem_layout import ROWS
from ...common.llvm_type_constructors import HALF, I16, I32, TENSOR, vector
from ...tileas_to_ll.emission.function_builder import Value
from ...tileas_to_ll.emission.instruction_builder import InstructionBuilder
from ...tileas_to_ll.emission.kernel_emitter import KernelEmitter
from ...tileas_to_ll.emission.thread_ids import ThreadIds
from .tmem_allocation import allocation_of

LANE_SHIFT = 16


def pointer_to(b: InstructionBuilder, address: Value) -> SSAValue:
    return b.pointer(address, TENSOR)


def tile_start(e: KernelEmitter, tile: SSAValue, stage: SSAValue | None, columns_per_stage: int) -> Value:
    """The address of a tile; of a stage's, where it has ``words`` columns for each."""
    start = e.b.add(allocation_of(e).base, e.values.scalar(tile))
    return start if stage is None else e.b.add(start, e.b.mul(e.values.scalar(stage), columns_per_stage))


def warp_address(threads: ThreadIds, tile: TmemTile, start: Value, own_tile: int, first: int) -> Value:
    """Where this warp's part of a tile begins: words ``first`` and on of its tile number ``own`` of 64 or 128 rows, or of a half of its lanes."""
    images = [32 << LANE_SHIFT, 64 << LANE_SHIFT]
    images += [tile.tmem_step << bit for bit in range(log2_exact(tile.groups_m))]
    images += [tile.warp_step << bit for bit in range(log2_exact(tile.groups_n))]
    with threads.b.at_function_start():
        part = threads.b.linear(threads.uniform_warp, images)
    lane, column = tile.lane_and_column(own_tile)
    return threads.b.add(threads.b.add(start, part), (lane << LANE_SHIFT) + column + first)


def tile_of(value: SSAValue, bits: int, num_warps: int, *, is_pair: bool = False) -> TmemTile:
    """How a tile lies in tensor memory, where a value has it in registers in the layout of loads and stores."""
    shape, held = tile_type(value).get_shape(), layout_of(value)
    by_quads = None if is_pair else tmem_tile(*shape, bits, num_warps, shares_rows=True)
    if by_quads is not None and by_quads.layout.register_permutation(held) is not None:
        return by_quads
    return unwrap(tmem_tile(*shape, bits, num_warps, is_pair=is_pair))


def in_columns_of(tile: TmemTile, place: SSAValue) -> TmemTile:
    """How a tile lies in the columns of ``place``, which may be those of a wider one."""
    if as_op(defining_op(place)).parts is None:
        return tile
    return replace(tile, min_step=type_as(place, TmemType).columns.data // max(1, tile.rows // ROWS), apart=True)


def form_of(shape: str, repetitions: int) -> dict[str, bool | int | str]:
    """The shape of an asynchronous load or store; one wait follows several of them."""
    return {"shape": shape, "repetitions": repetitions, "async": True}


def registers_type(count: int) -> Attribute:
    """The type of the ``count`` registers of one instruction."""
    return I32 if count == 1 else vector(count, I32)


def scalars_of(b: InstructionBuilder, type: Attribute, loaded: SSAValue) -> list[Value]:
    """The elements of columns; an f16 is in the low bits of its own."""
    words = _elements(b, loaded)
    return [b.bitcast(b.cast("trunc", word, I16) if type == HALF else word, type) for word in words]


def _elements(b: InstructionBuilder, loaded: SSAValue) -> list[SSAValue]:
    if loaded.type == I32:
        return [loaded]
    words = typed(loaded, VectorType)
    return [b.element(words, i) for i in range(words.type.element_count())]


def vector_of(b: InstructionBuilder, words: list[Value]) -> Value:
    return words[0] if len(words) == 1 else b.vector(words, vector(len(words), I32))
