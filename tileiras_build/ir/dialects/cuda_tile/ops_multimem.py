"""Operations of cuda_tile on all copies of a multicast object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from xdsl.dialects.builtin import DenseArrayBase, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, var_operand_def

from .element_types import BASE_FLOATS, BITS
from .enums import (
    MemoryOrderingSemanticsAttr,
    MemoryScopeAttr,
    MultimemReductionKind,
    MultimemReductionKindAttr,
    PtrAttr,
)
from .memory_checks import (
    LOAD_ORDER,
    ORDER,
    RELAXED,
    RELEASE,
    STORE_ORDER,
    TOKENS,
    HasView,
    index_fits_view,
    ptr_attr_text,
    tile_fits_view,
    view_type,
)
from .op_base import SEGMENTED, TileOperation, define, fail, one_of
from .view_types import PartitionViewType

# Reduction of a multicast object -> element types: read as (load-reduce), written (tileirdisasm 13.5).
_MULTIMEM_INTEGERS = (i32, i64)


_MULTIMEM_HALVES = tuple(type for type in BASE_FLOATS if BITS[type] == 16)


_MULTIMEM_ALL = (*_MULTIMEM_INTEGERS, *BASE_FLOATS)


MULTIMEM_LOADS: dict[MultimemReductionKind, tuple[Attribute, ...]] = {
    **dict.fromkeys(MultimemReductionKind, _MULTIMEM_INTEGERS),
    MultimemReductionKind.ADD: _MULTIMEM_ALL,
    MultimemReductionKind.MIN: (*_MULTIMEM_INTEGERS, *_MULTIMEM_HALVES),
    MultimemReductionKind.MAX: (*_MULTIMEM_INTEGERS, *_MULTIMEM_HALVES),
}


MULTIMEM_REDUCTIONS: dict[MultimemReductionKind, tuple[Attribute, ...]] = {
    **dict.fromkeys(MultimemReductionKind, _MULTIMEM_INTEGERS),
    MultimemReductionKind.ADD: _MULTIMEM_ALL,
}


def _multicast_partition(op: HasView) -> None:
    """Multimem operations access partition views of multicast objects."""
    view = view_type(op)
    if not isinstance(view, PartitionViewType):
        fail(f"multimem operations support only partition_view, got {view}")
    if view.tensor_view.ptr_attr != PtrAttr.MULTICAST.value:
        fail(
            f"expected a view of a multicast pointer, the pointer attribute is {ptr_attr_text(view.tensor_view.ptr_attr)}"
        )


class Reducing(HasView, Protocol):
    """An operation on a view that reduces."""

    reduction: MultimemReductionKindAttr


def _reduction_fits(types: Mapping[MultimemReductionKind, tuple[Attribute, ...]]) -> Callable[[Reducing], None]:
    def check(op: Reducing) -> None:
        kind, element_type = op.reduction.data, view_type(op).element_type
        if element_type not in types[kind]:
            fail(f"'{kind.value}' works only with {', '.join(map(str, types[kind]))}, got {element_type}")

    return check


def _stored_type_fits(op: HasView) -> None:
    element_type = view_type(op).element_type
    if element_type not in _MULTIMEM_ALL:
        fail(f"multimem operations work only with {', '.join(map(str, _MULTIMEM_ALL))}, got {element_type}")


@define
class MultimemLoadReduceViewTkoOp(TileOperation):
    """Load a tile of each copy of a multicast object and reduce the copies (since bytecode 13.5)."""

    name = "cuda_tile.multimem_load_reduce_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    view = operand_def()
    index = var_operand_def()
    token = opt_operand_def()
    reduction = prop_def(MultimemReductionKindAttr)
    inbounds = opt_prop_def(DenseArrayBase)
    reduced_values = result_def()
    result_token = result_def()
    irdl_options = SEGMENTED
    CHECKS: ClassVar = (
        *LOAD_ORDER,
        _multicast_partition,
        tile_fits_view("reduced_values"),
        index_fits_view,
        _reduction_fits(MULTIMEM_LOADS),
    )


@define
class MultimemReduceViewTkoOp(TileOperation):
    """Reduce a tile into each copy of a multicast object (since bytecode 13.5)."""

    name = "cuda_tile.multimem_reduce_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = prop_def(MemoryScopeAttr)
    view = operand_def()
    tile = operand_def()
    index = var_operand_def()
    token = opt_operand_def()
    reduction = prop_def(MultimemReductionKindAttr)
    inbounds = opt_prop_def(DenseArrayBase)
    result_token = result_def()
    irdl_options = SEGMENTED
    CHECKS: ClassVar = (
        one_of(ORDER, RELAXED, RELEASE),
        TOKENS,
        _multicast_partition,
        tile_fits_view("tile"),
        index_fits_view,
        _reduction_fits(MULTIMEM_REDUCTIONS),
    )


@define
class MultimemStoreViewTkoOp(TileOperation):
    """Store a tile to each copy of a multicast object (since bytecode 13.5)."""

    name = "cuda_tile.multimem_store_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    view = operand_def()
    tile = operand_def()
    index = var_operand_def()
    token = opt_operand_def()
    inbounds = opt_prop_def(DenseArrayBase)
    result_token = result_def()
    irdl_options = SEGMENTED
    CHECKS: ClassVar = (*STORE_ORDER, _multicast_partition, tile_fits_view("tile"), index_fits_view, _stored_type_fits)
