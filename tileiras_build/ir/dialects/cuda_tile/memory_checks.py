"""Verifiers of memory accesses: order and scope, pointers, masks, views, indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from xdsl.dialects.builtin import DenseArrayBase, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import VarOperand

from .address_overflow_checks import check_elements
from .constant_min_max import constant_range
from .element_types import BITS, INTEGERS
from .enums import MemoryOrderingSemantics, MemoryOrderingSemanticsAttr, PtrAttr
from .op_base import Check, fail, of_type, one_of, pointer_type, tile, tile_type
from .types import TileType, TokenType
from .view_types import GatherScatterViewType, StridedViewType, TileView

ORDER, SCOPE = "memory_ordering_semantics", "memory_scope"


class OrderedAccess(Protocol):
    """An access with an order, and an optional scope."""

    memory_ordering_semantics: MemoryOrderingSemanticsAttr
    properties: dict[str, Attribute]


class MaskedAccess(Protocol):
    """An access to the elements that its optional mask selects."""

    name: ClassVar[str]
    mask: SSAValue | None


class HasView(Protocol):
    """An operation on a view."""

    name: ClassVar[str]
    view: SSAValue


class ViewAccess(HasView, Protocol):
    """An access to a tile of a view."""

    index: VarOperand
    properties: dict[str, Attribute]


TOKENS = of_type(TokenType, "token", "result_token")


WEAK, RELAXED = MemoryOrderingSemantics.WEAK, MemoryOrderingSemantics.RELAXED


ACQUIRE, RELEASE = MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.RELEASE


def scope_fits_order(op: OrderedAccess) -> None:
    """Weak accesses have no scope, all others need one."""
    weak = op.memory_ordering_semantics.data is WEAK
    if weak and SCOPE in op.properties:
        fail("a weak access must not have a memory scope")
    if not weak and SCOPE not in op.properties:
        fail(f"a memory scope is required for {op.memory_ordering_semantics.data.value} accesses")


LOAD_ORDER = (one_of(ORDER, WEAK, RELAXED, ACQUIRE), scope_fits_order, TOKENS)


STORE_ORDER = (one_of(ORDER, WEAK, RELAXED, RELEASE), scope_fits_order, TOKENS)


ATOMIC_ORDER = (one_of(ORDER, RELAXED, ACQUIRE, RELEASE, MemoryOrderingSemantics.ACQ_REL), TOKENS)


def refuse_multicast(name: str, ptr_attr: str | None) -> None:
    if ptr_attr == PtrAttr.MULTICAST.value:
        fail(f"{name.removeprefix('cuda_tile.')} cannot access a multicast pointer; multimem operations can")


def ptr_attr_text(ptr_attr: str | None) -> str:
    return ptr_attr or "absent"


def pointee_matches(pointer: str, value: str) -> Check:
    """A tile of pointers to the elements of another tile, of the same shape, and not into a multicast object."""

    def check(op: Operation) -> None:
        addresses, values = tile(op, pointer), tile(op, value)
        element_type = pointer_type(getattr(op, pointer), pointer)
        if addresses.shape != values.shape or element_type.pointee_type != values.element_type:
            fail(f"'{pointer}' must be a tile of pointers to the elements of '{value}', got {addresses} and {values}")
        refuse_multicast(op.name, element_type.ptr_attr)

    return check


def mask_matches(name: str) -> Callable[[MaskedAccess], None]:
    """The optional mask is a tile of i1 in the shape of a named value."""

    def check(op: MaskedAccess) -> None:
        if op.mask is not None and op.mask.type != TileType(tile(op, name).shape, i1):
            fail(f"'mask' must be a tile of i1 in the shape of '{name}', got {op.mask.type}")

    return check


def view_type(op: HasView) -> TileView:
    """The type of the view operand, which must be a tile view."""
    if not isinstance(op.view.type, TileView):
        fail(f"'view' must be a tile view, got {op.view.type}")
    return op.view.type


def is_scalar_integer(type: Attribute) -> bool:
    return isinstance(type, TileType) and not type.shape and type.element_type in INTEGERS


def index_fits_view(op: ViewAccess) -> None:
    view = view_type(op)
    indices = list(op.index)
    if len(indices) != view.index_rank:
        fail(f"expected {view.index_rank} index operands for {view}, got {len(indices)}")
    if isinstance(view, GatherScatterViewType):
        rows = indices.pop(view.sparse_dim)
        count = view.tile_shape[view.sparse_dim]
        found = tile_type(rows, "index")
        if found.shape != (count,) or found.element_type not in INTEGERS:
            fail(
                f"expected a one-dimensional index tile of {count} integers at position {view.sparse_dim}, got {found}"
            )
    for index in indices:
        if not is_scalar_integer(index.type):
            fail(f"expected scalar integer indices, got {index.type}")
        if index.type != indices[0].type:
            fail(f"expected indices of one type, got {indices[0].type} and {index.type}")
    flags = op.properties.get("inbounds")
    if isinstance(flags, DenseArrayBase) and len(flags) != view.index_rank:
        fail(f"expected {view.index_rank} inbounds flags, got {len(flags)}")
    if not isinstance(view, GatherScatterViewType):
        tile_index_count_fits(view, indices)


def tile_index_count_fits(view: TileView, indices: Sequence[SSAValue]) -> None:
    """Check the offset of a tile's first element, for a constant index."""
    steps = view.traversal_strides if isinstance(view, StridedViewType) else view.tile_shape
    for dim, index in enumerate(indices):
        stride = view.tensor_view.strides[view.dim_map[dim]]
        for number in constant_range(index) or ():
            distance = number * steps[dim] * (stride or 1)
            check_elements(f"the distance to tile {number},", distance, BITS[view.element_type], view.element_type)


def inbounds_flags(op: ViewAccess) -> tuple[bool, ...]:
    """Per dimension of the view, whether all tiles are in bounds there."""
    flags = op.properties.get("inbounds")
    if isinstance(flags, DenseArrayBase):
        return tuple(map(bool, flags.get_values()))
    return (False,) * view_type(op).index_rank


def tile_fits_view(name: str) -> Callable[[HasView], None]:
    def check(op: HasView) -> None:
        expected = view_type(op).tile_type
        if getattr(op, name).type != expected:
            fail(f"expected '{name}' of type {expected} for this view, got {getattr(op, name).type}")

    return check


def not_multicast(op: HasView) -> None:
    refuse_multicast(op.name, view_type(op).tensor_view.ptr_attr)


VIEW_ACCESS = (index_fits_view, not_multicast)
