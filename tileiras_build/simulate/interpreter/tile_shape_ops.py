"""Operations that create and rearrange tiles."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute

from ...ir.dialects.checked_cast import cast
from ...ir.dialects.cuda_tile.attrs import BoundedAttr, DivByAttr, SameElementsAttr
from ...ir.dialects.cuda_tile.ops_shape import (
    AssumeOp,
    BroadcastOp,
    CatOp,
    ConstantOp,
    ExtractOp,
    InsertOp,
    IotaOp,
    PermuteOp,
    ReshapeOp,
    SelectOp,
)
from ...ir.dialects.cuda_tile.types import PointerType
from .element_types import constant_values, element_of, storage_bits, tile_of
from .integer_ops import to_int64, to_python, wrap
from .interpreter_errors import make_fault
from .tensor_views import TensorView
from .tile_block_interpreter import Frame, handles


@handles(ConstantOp)
def constant(frame: Frame, op: ConstantOp):
    return constant_values(op.value.as_array(), element_of(op.result))


@handles(IotaOp)
def iota(frame: Frame, op: IotaOp):
    type = tile_of(op.result)
    return wrap(np.arange(type.num_elements, dtype=np.int64), type.element_type)


@handles(BroadcastOp)
def broadcast(frame: Frame, op: BroadcastOp):
    return np.broadcast_to(frame.get(op.source), tile_of(op.result).shape)


@handles(ReshapeOp)
def reshape(frame: Frame, op: ReshapeOp):
    return np.reshape(frame.get(op.source), tile_of(op.result).shape)


@handles(PermuteOp)
def permute(frame: Frame, op: PermuteOp):
    return np.transpose(frame.get(op.source), op.permutation.get_values())


@handles(SelectOp)
def select(frame: Frame, op: SelectOp):
    return np.where(*frame.operands(op))


@handles(CatOp)
def concatenate(frame: Frame, op: CatOp):
    return np.concatenate(frame.operands(op), axis=op.dim.value.data)


def _slice(frame: Frame, op, whole: tuple[int, ...], part: tuple[int, ...]) -> tuple[slice, ...] | None:
    """The slice with the operation's indices; None if it is out of range."""
    indices = [to_python(frame.get(index), element_of(index), False) for index in op.indices]
    if any((index + 1) * small > large for index, small, large in zip(indices, part, whole)):
        return None
    return tuple(slice(index * small, (index + 1) * small) for index, small in zip(indices, part))


@handles(ExtractOp)
def extract(frame: Frame, op: ExtractOp):
    shape = tile_of(op.result).shape
    place = _slice(frame, op, tile_of(op.source).shape, shape)
    if place is None:
        return frame.choice.arbitrary(frame.get(op.source).dtype, shape)
    return frame.get(op.source)[place]


@handles(InsertOp)
def insert(frame: Frame, op: InsertOp):
    whole = np.array(frame.get(op.destination))
    place = _slice(frame, op, whole.shape, tile_of(op.source).shape)
    if place is None:
        return frame.choice.arbitrary(whole.dtype, whole.shape)
    whole[place] = frame.get(op.source)
    return whole


# Assumptions: each returns the violation of a tile's value, or None.


def _as_integers(value: np.ndarray, element_type: Attribute) -> np.ndarray:
    return np.asarray(value) if isinstance(element_type, PointerType) else to_int64(value, element_type, True)


def _check_divisible(predicate: DivByAttr, value: np.ndarray, element_type: Attribute) -> str | None:
    integers = _as_integers(value, element_type)
    every, along = predicate.every or 1, predicate.along or 0
    if integers.ndim == 0:
        groups = integers.reshape(1, 1)
    else:
        lines = np.moveaxis(integers, along, -1)
        groups = lines.reshape(-1, lines.shape[-1])
    first = groups[:, ::every]
    if (first & first.dtype.type(predicate.divisor - 1)).any():
        return "a value"
    step = storage_bits(element_type.pointee_type) // 8 if isinstance(element_type, PointerType) else 1
    within = np.arange(groups.shape[1]) % every
    starts = groups[:, np.arange(groups.shape[1]) - within]
    return None if (groups == starts + (within * step).astype(groups.dtype)).all() else "a group"


def _check_same(predicate: SameElementsAttr, value: np.ndarray, element_type: Attribute) -> str | None:
    integers = _as_integers(value, element_type)
    first = integers
    for dim, size in enumerate(predicate.values):
        index = np.arange(integers.shape[dim])
        first = np.take(first, index - index % size, axis=dim)
    return None if (first == integers).all() else "a group of neighbors"


def _check_bounded(predicate: BoundedAttr, value: np.ndarray, element_type: Attribute) -> str | None:
    integers = np.asarray(_as_integers(value, element_type))
    low = predicate.lb is not None and (integers < predicate.lb).any()
    high = predicate.ub is not None and (integers > predicate.ub).any()
    return f"a value in [{integers.min()}, {integers.max()}]" if low or high else None


def _broken(op: AssumeOp, value: np.ndarray | TensorView) -> str | None:
    predicate = op.assumption()
    if isinstance(value, TensorView):
        divisor = cast(DivByAttr, predicate).divisor
        return None if value.base % divisor == 0 else f"the base address {value.base:#x}"
    if isinstance(predicate, DivByAttr):
        return _check_divisible(predicate, value, element_of(op.value))
    if isinstance(predicate, SameElementsAttr):
        return _check_same(predicate, value, element_of(op.value))
    return _check_bounded(predicate, value, element_of(op.value))


@handles(AssumeOp)
def assume(frame: Frame, op: AssumeOp):
    """The value; a violated assumption is an error here, and undefined behavior in compiled code."""
    value = frame.get(op.value)
    if frame.choice.trusting and isinstance(op.value.owner, ConstantOp):
        return value
    problem = _broken(op, value)
    if problem is not None:
        raise make_fault(op, "broken-assumption", f"{problem} breaks the assumption {op.assumption().text()}")
    return value
