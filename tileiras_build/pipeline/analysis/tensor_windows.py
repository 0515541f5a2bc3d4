"""Tensors inside an array whose address or extents only the kernel knows: windows of a tensor map of the array.

An example is a slice of an array between rows that the kernel loads. The map of its array has two dimensions more, one of units of
16 bytes and one of units of 16 GiB from the array's address. Together they reach each address that is aligned for TMA: addresses are
computed modulo 2^64. Where the kernel computes an extent, the map has as many elements as a tile, and a copy begins as many elements before
its end as the window has left. TMA then fills or drops what lies beyond the window, and the two dimensions make up for the shift
(``tileas_to_ll/pipelines/tma_windows.py``). Ragged descriptors of Triton rely on this arithmetic, too (``triton/tools/ragged_tma.py``).
"""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from ...ir.casting import defining_table_op, view_type
from ...ir.dialects.nv_tileaa.types import MemRefType, TiledViewType
from ...ir.dialects.op_definition import TableOp
from ..common.llvm_element_types import element_of
from .axis_info import AxisAnalysis
from .host_values import FORWARDING_OPS, host_value

UNIT_BYTES, FAR_BYTES = 16, 1 << 34  # between neighbors along the two dimensions
UNITS = FAR_BYTES // UNIT_BYTES  # elements of each
WINDOW_DIMS = 2
ADD_OFFSET = "nv_tileas.addptr"


def is_window(view: SSAValue) -> bool:
    """Whether a view is that of a tensor whose map the host cannot encode as it is."""
    memref = _memref(view)
    return any(host_value(value) is None for value in (memref.base, *memref.sizes))


def array_address(address: SSAValue) -> SSAValue | None:
    """The address that the host knows, to which the kernel adds offsets to get this one; None if there is none."""
    while host_value(address) is None:
        op = address.owner
        if isinstance(op, Block) or op.name not in (*FORWARDING_OPS, ADD_OFFSET):
            return None
        address = op.operands[0]
    return address


def has_window_map(view: SSAValue, fastest: int, max_rank: int, analysis: AxisAnalysis) -> bool:
    """Whether a map of the array has windows for the tiles of a view, all of whose strides the host knows. The shift along the
    ``fastest`` dimension would not be aligned.
    """
    memref = _memref(view)
    address = array_address(memref.base)
    if address is None or analysis(address).divisibility % UNIT_BYTES:
        return False
    return len(view_type(view).source.shape) + WINDOW_DIMS <= max_rank and fastest not in windowed_dims(view)


def windowed_dims(view: SSAValue) -> dict[int, int]:
    """The dimensions of a memory reference whose extents only the kernel knows, and the extents of a tile along them."""
    type, sizes = view_type(view), iter(_memref(view).sizes)
    dynamic = [dim for dim, size in enumerate(type.source.shape) if size is None]
    return {dim: type.tile[type.dim_map.index(dim)] for dim in dynamic if host_value(next(sizes)) is None}


def narrow_strides(view: SSAValue) -> set[int]:
    """The dimensions of a memory reference whose strides have 32 bits at most."""
    memref = _memref(view)
    dynamic = (dim for dim, stride in enumerate(view_type(view).source.strides) if stride is None)
    return {dim for dim, stride in zip(dynamic, memref.strides) if element_of(stride.type).bits <= 32}


def map_operands(view: SSAValue) -> tuple[SSAValue, list[SSAValue], list[SSAValue]]:
    """The address, the extents and the strides that the host knows."""
    memref = _memref(view)
    known = [size for size in memref.sizes if host_value(size) is not None]
    return array_address(memref.base) or memref.base, known, list(memref.strides)


def map_type(view: SSAValue) -> MemRefType:
    """The memory reference of the map: that of the tensor, with two dimensions more."""
    source, cut = view_type(view).source, windowed_dims(view)
    shape = [cut.get(dim, size) for dim, size in enumerate(source.shape)]
    steps = [step // element_of(source.element_type).bytes for step in (UNIT_BYTES, FAR_BYTES)]
    return MemRefType.of(source.element_type, [*shape, *[UNITS] * WINDOW_DIMS], [*source.strides, *steps])


def tile_order(view: TiledViewType, dims: tuple[int, ...]) -> list[int]:
    """The dimensions of a tile in the order of those of its map, without those of windows."""
    return [view.dim_map.index(dim) for dim in dims if dim in view.dim_map]


def _memref(view: SSAValue) -> TableOp:
    return defining_table_op(defining_table_op(view).operands[0])
