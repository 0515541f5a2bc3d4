"""Operations of cuda_tile that create views of tensors and tiles, and query their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Self

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import operand_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import NoMemoryEffect

from .address_overflow_checks import check_tensor
from .constant_min_max import constant_range
from .element_types import BITS, INTEGERS
from .memory_checks import is_scalar_integer, ptr_attr_text
from .op_base import (
    SEGMENTED,
    PureOperation,
    TileOperation,
    define,
    fail,
    of_type,
    pointer_type,
    pointers,
    scalars,
    tile_type,
)
from .types import TensorViewType
from .view_types import GatherScatterViewType, PartitionViewType, StridedViewType, TileView


def _with_constants(dims: Iterable[int | None], values: Iterable[SSAValue]) -> tuple[int | None, ...]:
    """Sizes or strides, with values of operands that are positive constants."""
    ranges = (constant_range(value) for value in values)
    known = [found[0] if found is not None and found[0] > 0 else None for found in ranges]
    waiting = iter(known)
    return tuple(next(waiting) if dim is None else dim for dim in dims)


class ShapeQuery(TileOperation):
    """One scalar per dimension; they are ``op.results``."""

    src = operand_def()
    result = var_result_def()
    traits = traits_def(NoMemoryEffect())
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (scalars("result"),)


def _one_result_per_dimension(op: Operation, rank: int) -> None:
    if len(op.results) != rank:
        fail(f"expected {rank} results due to the rank, but got {len(op.results)}")
    if any(tile_type(result, "result").element_type not in INTEGERS for result in op.results):
        fail("results must be scalar tiles of integers")


@define
class GetIndexSpaceShapeOp(ShapeQuery):
    """How many tiles a view has along each dimension."""

    name = "cuda_tile.get_index_space_shape"

    def _rank(self) -> None:
        if not isinstance(self.src.type, TileView):
            fail(f"'src' must be a tile view, got {self.src.type}")
        _one_result_per_dimension(self, self.src.type.index_rank)

    CHECKS: ClassVar = (_rank,)


@define
class GetTensorShapeOp(ShapeQuery):
    """The sizes of a tensor view."""

    name = "cuda_tile.get_tensor_shape"

    def _rank(self) -> None:
        if not isinstance(self.src.type, TensorViewType):
            fail(f"'src' must be a tensor_view, got {self.src.type}")
        _one_result_per_dimension(self, self.src.type.rank)

    CHECKS: ClassVar = (_rank,)


def _view_of(op: MakeView) -> None:
    view = op.result.type
    if not isinstance(view, TileView):
        fail(f"'result' must be a tile view, got {view}")
    if view.tensor_view != op.tensor_view.type:
        fail(
            f"expected the type of the provided tensor_view value ({op.tensor_view.type}) to be the same as "
            f"the view's tensor_view type ({view.tensor_view})"
        )


class MakeView(PureOperation):
    """Partition a tensor view into tiles, by the result type."""

    tensor_view = operand_def()
    result = result_def()


@define
class MakeGatherScatterViewOp(MakeView):
    """A gather/scatter view (since bytecode 13.3)."""

    name = "cuda_tile.make_gather_scatter_view"
    CHECKS: ClassVar = (of_type(GatherScatterViewType, "result"), _view_of)


@define
class MakePartitionViewOp(MakeView):
    """A view of adjacent tiles."""

    name = "cuda_tile.make_partition_view"
    CHECKS: ClassVar = (of_type(PartitionViewType, "result"), _view_of)


@define
class MakeStridedViewOp(MakeView):
    """A view of tiles at a stride (since bytecode 13.3)."""

    name = "cuda_tile.make_strided_view"
    CHECKS: ClassVar = (of_type(StridedViewType, "result"), _view_of)


@define
class MakeTensorViewOp(TileOperation):
    """A tensor at a base pointer; the dynamic sizes and strides are operands, in order."""

    name = "cuda_tile.make_tensor_view"
    base = operand_def()
    dynamic_shape = var_operand_def()
    dynamic_strides = var_operand_def()
    result = result_def()
    irdl_options = SEGMENTED
    traits = traits_def(NoMemoryEffect())

    def tensor_view(self) -> TensorViewType:
        """The type of the view."""
        if not isinstance(self.result.type, TensorViewType):
            fail(f"'result' must be a tensor_view, got {self.result.type}")
        return self.result.type

    def _view(self) -> None:
        view, sizes, strides = self.tensor_view(), self.dynamic_shape, self.dynamic_strides
        base = pointer_type(self.base, "base")
        if (pointee := base.pointee_type) != view.element_type:
            fail(f"expected pointer to {view.element_type} to build tensor_view of this type, got {pointee}")
        if base.ptr_attr != view.ptr_attr:
            fail(
                f"the pointer attribute of the base is {ptr_attr_text(base.ptr_attr)}, that of the view {ptr_attr_text(view.ptr_attr)}"
            )
        if len(sizes) != view.dynamic_shape_count:
            fail(f"expected {view.dynamic_shape_count} dynamic shape operands, got {len(sizes)}")
        if len(strides) != view.dynamic_stride_count:
            fail(f"expected {view.dynamic_stride_count} dynamic stride operands, got {len(strides)}")
        kinds = {value.type for value in (*sizes, *strides)}
        if len(kinds) > 1 or not all(map(is_scalar_integer, kinds)):
            fail(
                "expected dynamic sizes and strides to be scalar integers of one type, got "
                + ", ".join(sorted(map(str, kinds)))
            )

    def _distances(self) -> None:
        """Constant operands are checked like static values of the type."""
        view = self.tensor_view()
        dims = (_with_constants(view.shape, self.dynamic_shape), _with_constants(view.strides, self.dynamic_strides))
        check_tensor(*dims, BITS[view.element_type], view.element_type)

    CHECKS: ClassVar = (pointers("base"), scalars("base"), _view, _distances)
