"""Tensor views and tile views: the memory addresses of a tile's elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Operation

from ...ir.dialects.cuda_tile.enums import PaddingValue
from ...ir.dialects.cuda_tile.ops_load_store import LoadViewTkoOp, StoreViewTkoOp
from ...ir.dialects.cuda_tile.ops_make_view import (
    GetIndexSpaceShapeOp,
    GetTensorShapeOp,
    MakeGatherScatterViewOp,
    MakePartitionViewOp,
    MakeStridedViewOp,
    MakeTensorViewOp,
)
from ...ir.dialects.cuda_tile.view_types import GatherScatterViewType, StridedViewType, TileView
from .element_types import (
    FNV8,
    FORMATS,
    element_of,
    from_bit_patterns,
    from_float64,
    storage_bits,
    storage_dtype,
    to_bit_patterns,
)
from .integer_ops import to_int64, to_python, wrap
from .interpreter_errors import make_fault
from .tile_block_interpreter import Frame, handles


@dataclass(frozen=True)
class TensorView:
    """A tensor in memory: address of its first element, sizes and strides in elements."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_type: Attribute


@dataclass(frozen=True)
class TileViewOf:
    """A tile view's type over a tensor."""

    type: TileView
    tensor: TensorView

    def step(self, dim: int) -> int:
        """Elements between the origins of neighboring tiles along tile dimension ``dim``.

        A gather/scatter view is not divided into tiles: its indices count elements, also along dense dimensions.
        """
        if isinstance(self.type, GatherScatterViewType):
            return 1
        strides = self.type.traversal_strides if isinstance(self.type, StridedViewType) else self.type.tile_shape
        return strides[dim]


@handles(MakeTensorViewOp)
def make_tensor_view(frame: Frame, op: MakeTensorViewOp):
    def fill(dims, values):
        given = iter([to_python(frame.get(value), element_of(value), False) for value in values])
        return tuple(next(given) if dim is None else dim for dim in dims)

    type = op.tensor_view()
    return TensorView(
        int(frame.get(op.base)),
        fill(type.shape, op.dynamic_shape),
        fill(type.strides, op.dynamic_strides),
        type.element_type,
    )


@handles(MakePartitionViewOp, MakeStridedViewOp, MakeGatherScatterViewOp)
def make_view(frame: Frame, op):
    return TileViewOf(op.result.type, frame.get(op.tensor_view))


def _sizes(op, sizes) -> tuple:
    return tuple(wrap(np.asarray(size, np.int64), element_of(result)) for size, result in zip(sizes, op.results))


@handles(GetTensorShapeOp)
def get_tensor_shape(frame: Frame, op: GetTensorShapeOp):
    return _sizes(op, frame.get(op.src).shape)


@handles(GetIndexSpaceShapeOp)
def get_index_space_shape(frame: Frame, op: GetIndexSpaceShapeOp):
    view = frame.get(op.src)
    return _sizes(op, [-(-view.tensor.shape[dim] // view.step(d)) for d, dim in enumerate(view.type.dim_map)])


def coordinates(frame: Frame, op, view: TileViewOf) -> list[np.ndarray]:
    """Per tile dimension, the coordinates of its elements along the tensor dimension it lies on.

    Indices are unsigned and places have no width: a tile of any other index than those of the index space is outside.
    """
    found = []
    for dim, (size, index) in enumerate(zip(view.type.tile_shape, op.index)):
        values = np.asarray(to_int64(frame.get(index), element_of(index), False)).astype(object)
        if isinstance(view.type, GatherScatterViewType) and dim == view.type.sparse_dim:
            found.append(values.reshape(-1))
        else:
            origin = int(values) * view.step(dim)
            found.append(origin + np.arange(size).astype(object))
    return found


def locate(frame: Frame, op, view: TileViewOf) -> tuple[np.ndarray, np.ndarray]:
    """The element offset from the base of each element of a tile (int64), and whether it is in the tensor."""
    shape = view.type.tile_shape
    offsets, inside = np.zeros(shape, np.int64), np.ones(shape, bool)
    promised = op.inbounds.get_values() if getattr(op, "inbounds", None) is not None else ()
    for dim, places in enumerate(coordinates(frame, op, view)):
        along = view.type.dim_map[dim]
        within = np.array([0 <= place < view.tensor.shape[along] for place in places], bool)
        if dim < len(promised) and promised[dim] and not within.all():
            raise make_fault(
                op,
                "tile-outside",
                f"tile exceeds the tensor (size {view.tensor.shape}) along "
                f"dimension {along}, although marked in_bounds",
            )
        line = [1] * len(shape)
        line[dim] = shape[dim]
        stride = view.tensor.strides[along]
        steps = np.array([place * stride if ok else 0 for place, ok in zip(places, within)], np.int64)
        offsets, inside = offsets + steps.reshape(line), inside & within.reshape(line)
    return offsets, inside


# Padding -> value. Zero are bits that are all zero, what a TMA copy fills with: in f8E8M0FNU, which has no zero, 2^-127.
PADDING = {
    PaddingValue.NEG_ZERO: -0.0,
    PaddingValue.NAN: np.nan,
    PaddingValue.POS_INF: np.inf,
    PaddingValue.NEG_INF: -np.inf,
}


def padding_of(frame: Frame, op: Operation, type: TileView, inside: np.ndarray) -> np.ndarray:
    """A tile of the padding value, for elements outside of the tensor."""
    element_type = type.element_type
    if type.padding_value is not None and not _can_hold(element_type, type.padding_value):
        raise make_fault(
            op, "padding-value", f"{element_type} cannot represent the padding value {type.padding_value.value}"
        )
    if type.padding_value is None and not inside.all():
        return frame.choice.arbitrary(storage_dtype(element_type), type.tile_shape)
    if type.padding_value in (None, PaddingValue.ZERO):
        return np.zeros(type.tile_shape, storage_dtype(element_type))
    value = (
        np.nan if element_type == FNV8 and type.padding_value is PaddingValue.POS_INF else PADDING[type.padding_value]
    )
    return np.full(type.tile_shape, from_float64(np.asarray(value), element_type))


def _can_hold(element_type: Attribute, padding: PaddingValue) -> bool:
    """Whether a type can represent a padding value; f8E5M3FNU uses its NaN for infinity, and has one zero."""
    if padding is PaddingValue.ZERO:
        return True
    form = FORMATS.get(element_type)
    if form is None or padding is PaddingValue.NAN:
        return form is not None and form.has_nan
    if element_type == FNV8:
        return padding is not PaddingValue.NEG_INF
    return form.signed if padding is PaddingValue.NEG_ZERO else form.has_infinity


def addresses_of(view: TileViewOf, offsets: np.ndarray) -> np.ndarray:
    """Addresses of elements of at least a byte."""
    size = storage_bits(view.tensor.element_type) // 8
    return np.uint64(view.tensor.base) + (offsets * size).view(np.uint64)


def _nibble_addresses(view: TileViewOf, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For 4-bit elements: the address of the byte, and the element's shift in it."""
    return np.uint64(view.tensor.base) + (offsets >> 1).view(np.uint64), ((offsets & 1) * 4).astype(np.uint8)


@handles(LoadViewTkoOp)
def load_view(frame: Frame, op: LoadViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    element_type = view.tensor.element_type
    values = padding_of(frame, op, view.type, inside)
    if storage_bits(element_type) < 8:
        places, shifts = _nibble_addresses(view, offsets[inside])
        loaded = from_bit_patterns(frame.launch.memory.load(places, 1) >> shifts & np.uint8(15), element_type)
    else:
        loaded = frame.load(addresses_of(view, offsets[inside]), element_type)
    values[inside] = loaded
    return values, None


@handles(StoreViewTkoOp)
def store_view(frame: Frame, op: StoreViewTkoOp):
    view = frame.get(op.view)
    offsets, inside = locate(frame, op, view)
    element_type, values = view.tensor.element_type, np.asarray(frame.get(op.tile))[inside]
    if storage_bits(element_type) >= 8:
        frame.store(addresses_of(view, offsets[inside]), values, element_type)
        return None
    places, shifts = _nibble_addresses(view, offsets[inside])
    words = to_bit_patterns(values, element_type)
    for shift in (0, 4):  # both halves of a byte, one after the other
        half = shifts == shift
        kept = frame.launch.memory.load(places[half], 1) & np.uint8(0xF0 >> shift)
        frame.launch.memory.store(places[half], (kept | words[half] << np.uint8(shift)).astype(np.uint8))
    return None
