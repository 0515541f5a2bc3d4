"""Tiled loads and stores that TMA can perform, and their tensor maps.

A tensor map is encoded on the host before the launch, so base, extents and strides of the tensor must be kernel
parameters or constants (design, section 5), or it is a window of such a tensor (``tensor_windows.py``). TMA requires a base of 16-byte alignment and strides that are multiples of
16 bytes (PTX ISA 9.0, section 5.5.8, "Tensor-map"), which assumptions in the module must guarantee.

With a map of tf32 elements, TMA rounds f32 to tf32 when loading, to nearest even, and preserves infinities and NaNs.
NVIDIA's tileiras 13.5 creates such a map exactly for loads that Tile IR converts to tf32; Triton documents the rounding
and tests it on GPUs (``TensorDescriptor``, ``round_f32_to_tf32``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from ...ir.casting import defining_table_op, int_array_attr, str_attr, unwrap
from ...ir.dialects.fast_xdsl import string_of
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import SharedLayout
from ...ir.layouts.matrix_descriptor import UNSWIZZLED, WIDE, WIDE_CHUNK
from ...ir.layouts.shared_layout import VECTOR_BYTES
from ...target.element_types import ELEMENT_TYPES
from ..common.llvm_element_types import element_of
from .access_vectorization import ViewAccessInfo
from .axis_info import AxisAnalysis
from .dot_operand_chains import rounds_to_tf32
from .host_values import HostInt, host_value
from .op_queries import TILED_LOAD
from .tensor_windows import has_window_map, is_window, tile_order

TMA_ALIGNMENT, UNSWIZZLED_ALIGNMENT = 16, 128  # of what TMA reads, and of where it writes in shared memory
MAX_TENSOR_RANK, MAX_BOX_DIM = 5, 256
MAP_BYTES = 128  # size and alignment of a CUtensorMap (CUDA driver API, cuTensorMapEncodeTiled)
# Bytes of a line. The shortest is not swizzled; it is for operands of MMAs, and stores have longer ones.
LONGEST_LINE, SHORTEST_SWIZZLED_LINE, SHORTEST_LINE, PATTERN_LINES = 128, 32, 16, 8
# Element types by their names in tensor maps; booleans and packed types have no row.
MAP_ELEMENTS = {name: row.tma for name, row in ELEMENT_TYPES.items() if row.tma is not None}
# The manifest's entry of a tensor map.
MapEntry = dict[str, HostInt | str | list[HostInt] | list[int]]


@dataclass(frozen=True)
class MapBox:
    """The part of a tensor map that the compiler chooses. ``dims``: dimensions of the memory reference, fastest first;
    ``box``: extents along them; ``swizzle``: its name in the manifest; ``rounds``: f32 becomes tf32 on the way."""

    dims: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str
    rounds: bool

    def placed(self, placement: SharedLayout) -> TensorBox:
        """The box of tiles with this placement."""
        return TensorBox(self.dims, self.box, self.swizzle, self.rounds, placement)


@dataclass(frozen=True)
class TensorBox(MapBox):
    """``placement``: the shared layout of a tile, one box after the other."""

    placement: SharedLayout

    @property
    def tile_bytes(self) -> int:
        return self.placement.size_bytes

    @property
    def elements(self) -> int:
        """Elements of one box."""
        return prod(self.box)


def tensor_box(
    access: TableOp, chain: list[Operation], analysis: AxisAnalysis, *, for_threads: bool = False
) -> TensorBox | None:
    """The TMA box of a ``tiled_load`` whose result passes through ``chain`` to an operand, or of a ``tiled_store``.

    None if TMA cannot copy the tile. ``for_threads``: no MMA reads it, and it may have fewer lines than a pattern of swizzling.
    """
    view = access.view.type
    element = element_of(access.value.type)
    if (
        view.kind.data == "gather"
        or element.name not in MAP_ELEMENTS
        or string_of(view.source.element_type) != element.name
    ):
        return None
    if not 1 <= len(view.tile) <= MAX_TENSOR_RANK or sorted(view.dim_map) != list(range(len(view.source.shape))):
        return None
    if access.name == TILED_LOAD and view.padding.data not in ("none", "zero"):
        return None
    facts = ViewAccessInfo(access.view, analysis)
    if not _is_aligned(facts) or not _has_map(facts):
        return None
    swizzle = access.swizzle if access.name == TILED_LOAD else None
    shortest = SHORTEST_LINE if access.name == TILED_LOAD else SHORTEST_SWIZZLED_LINE
    box = _box(facts, element.bytes, swizzle, shortest)
    if box is None and for_threads:
        box = _whole_box(facts, element.bytes)
    return box if box is None else replace(box, rounds=any(rounds_to_tf32(link) for link in chain))


def widened_box(load: TableOp, box: TensorBox) -> TensorBox | None:
    """The same box with chunks of 32 bytes swizzled; None where its lines are too short."""
    if box.swizzle != f"{LONGEST_LINE}B":
        return None
    order = tile_order(load.view.type, box.dims)
    placement = SharedLayout.boxed(load.view.type.tile, order, box.placement.element_bits, LONGEST_LINE, WIDE_CHUNK)
    return replace(box, swizzle=WIDE, placement=placement)


def alignment_faults(facts: ViewAccessInfo) -> Iterator[tuple[str, int]]:
    """(name, known divisor in bytes) of the address and of each stride with insufficient alignment for TMA."""
    base = facts.analysis(facts.memref.base).divisibility
    if base % TMA_ALIGNMENT:
        yield "the address", base
    fastest = facts.type.dim_map[facts.order[0]] if facts.order else None
    for dim, stride in enumerate(facts.strides):
        bytes = stride * facts.element.bytes // facts.element.per_byte
        if dim != fastest and bytes % TMA_ALIGNMENT:
            yield f"the stride of dimension {dim}", bytes


def _is_aligned(facts: ViewAccessInfo) -> bool:
    fastest = facts.type.dim_map[facts.order[0]]
    return facts.type.source.strides[fastest] == 1 and not any(alignment_faults(facts))


def _has_map(facts: ViewAccessInfo) -> bool:
    """Whether the host can encode a tensor map. Extents must also fit the 32-bit coordinates of TMA."""
    narrow = all(element_of(size.type).bits <= 32 for size in facts.memref.sizes)
    known = all(0 < size < 1 << 31 for size in facts.type.source.shape if size is not None)
    if not (narrow and known) or any(host_value(value) is None for value in facts.memref.strides):
        return False
    fastest = facts.type.dim_map[facts.order[0]]
    return not is_window(facts.view) or has_window_map(facts.view, fastest, MAX_TENSOR_RANK, facts.analysis)


def _box(facts: ViewAccessInfo, bytes: int, swizzle: str | None, shortest: int) -> TensorBox | None:
    tile, order = facts.type.tile, facts.order
    line = min(LONGEST_LINE, tile[order[0]] * bytes)
    size = bytes
    for extent in tile:
        size *= extent
    if line < shortest or size % (line * PATTERN_LINES):
        return None
    swizzle = swizzle or (UNSWIZZLED if line == SHORTEST_LINE else f"{line}B")
    placement = SharedLayout.boxed(tile, order, 8 * bytes, line, WIDE_CHUNK if swizzle == WIDE else VECTOR_BYTES)
    box = (line // bytes, *_lines_of_box([tile[dim] for dim in order[1:]]))
    return TensorBox(tuple(facts.type.dim_map[dim] for dim in order), box, swizzle, False, placement)


def _whole_box(facts: ViewAccessInfo, bytes: int) -> TensorBox | None:
    """The box of a tile whose stages are aligned as TMA needs it without swizzling, as of scales."""
    tile, order = facts.type.tile, facts.order
    row, is_aligned = tile[order[0]], prod(tile) * bytes % UNSWIZZLED_ALIGNMENT == 0
    if not is_aligned or row > MAX_BOX_DIM or row * bytes % TMA_ALIGNMENT:
        return None
    box = tuple(_lines_of_box([tile[dim] for dim in order]))
    placement = SharedLayout.plain(tile, order, 8 * bytes)
    return TensorBox(tuple(facts.type.dim_map[dim] for dim in order), box, UNSWIZZLED, False, placement)


def _lines_of_box(extents: list[int]) -> Iterator[int]:
    """The extents of a box of lines that lie one after the other in a tile: beyond the first that is cut, one."""
    is_cut = False
    for extent in extents:
        yield 1 if is_cut else min(extent, MAX_BOX_DIM)
        is_cut |= extent > MAX_BOX_DIM


def map_box(op: TableOp) -> MapBox:
    """The box of a ``make_tiled_tma_desc``, without a position in shared memory."""
    dims, box = (int_array_attr(op, key) for key in ("dims", "box"))
    return MapBox(dims, box, str_attr(op, "swizzle_mode"), "rounds" in op.attributes)


def map_entry(op: TableOp, parameter: int) -> MapEntry:
    """The manifest's entry for a ``make_tiled_tma_desc`` whose map is kernel parameter ``parameter``
    (``pipeline/launch_manifest_json.py``).
    """
    memref, box = defining_table_op(op.source), map_box(op)
    type = memref.result.type
    element = element_of(type.element_type)
    sizes, strides = _merged(type.shape, memref.sizes), _merged(type.strides, memref.strides)
    return {
        "param": parameter,
        "element": "tf32" if box.rounds else MAP_ELEMENTS[element.name],
        "base": host_value(memref.base),
        "shape": [sizes[dim] for dim in box.dims],
        "strides": [_scaled(strides[dim], element.bytes) for dim in box.dims[1:]],
        "box": list(box.box),
        "element_strides": [1] * len(box.dims),
        "swizzle": box.swizzle,
        "interleave": "none",
        "fill": "zero",
        "l2_promotion": "128B",
    }


def _merged(static: tuple[int | None, ...], dynamic: Sequence[SSAValue]) -> list[HostInt]:
    remaining = iter(dynamic)
    return [host_value(next(remaining)) if extent is None else extent for extent in static]


def _scaled(value: HostInt, factor: int) -> HostInt:
    return value * factor if isinstance(value, int) else {**unwrap(value), "times": factor}
