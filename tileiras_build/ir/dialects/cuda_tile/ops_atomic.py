"""Atomic operations of cuda_tile.

``token`` is the optional memory-order input, ``result_token`` the memory-order output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from xdsl.dialects.builtin import DenseArrayBase, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, var_operand_def

from .element_types import BASE_FLOATS, BITS
from .enums import AtomicRMWMode, AtomicRMWModeAttr, MemoryOrderingSemanticsAttr, MemoryScope, MemoryScopeAttr
from .memory_checks import (
    ATOMIC_ORDER,
    ORDER,
    RELAXED,
    SCOPE,
    TOKENS,
    VIEW_ACCESS,
    inbounds_flags,
    mask_matches,
    pointee_matches,
    tile_fits_view,
    view_type,
)
from .op_base import SEGMENTED, TileOperation, define, fail, one_of, same_types, tile
from .view_types import GatherScatterViewType


@define
class AtomicCASTkoOp(TileOperation):
    """Compare with cmp and swap in val; the result is the old value."""

    name = "cuda_tile.atomic_cas_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = prop_def(MemoryScopeAttr)
    pointers = operand_def()
    cmp = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    token = opt_operand_def()
    result = result_def()
    result_token = result_def()
    irdl_options = SEGMENTED

    def _width(self) -> None:
        if BITS[tile(self, "val").element_type] not in (32, 64):
            fail("expect only float or integer types with 32 or 64 bit")

    CHECKS: ClassVar = (
        *ATOMIC_ORDER,
        same_types("cmp", "val", "result"),
        pointee_matches("pointers", "val"),
        mask_matches("val"),
        _width,
    )


# Atomic mode -> element types (Tile IR, atomic_rmw_tko).
_INTEGER_MODE = (i32, i64)


RMW_TYPES: dict[AtomicRMWMode, tuple[Attribute, ...]] = {
    AtomicRMWMode.AND: _INTEGER_MODE,
    AtomicRMWMode.OR: _INTEGER_MODE,
    AtomicRMWMode.XOR: _INTEGER_MODE,
    AtomicRMWMode.ADD: _INTEGER_MODE,
    AtomicRMWMode.MAX: _INTEGER_MODE,
    AtomicRMWMode.MIN: _INTEGER_MODE,
    AtomicRMWMode.UMAX: _INTEGER_MODE,
    AtomicRMWMode.UMIN: _INTEGER_MODE,
    AtomicRMWMode.ADDF: BASE_FLOATS,
    AtomicRMWMode.XCHG: (i32, i64, *(type for type in BASE_FLOATS if BITS[type] >= 32)),
}


class ReadModifyWrite(Protocol):
    """An atomic operation with a mode."""

    mode: AtomicRMWModeAttr


def _mode_matches_type(name: str) -> Callable[[ReadModifyWrite], None]:
    def check(op: ReadModifyWrite) -> None:
        mode, element_type = op.mode.data, tile(op, name).element_type
        if element_type not in RMW_TYPES[mode]:
            listed = ", ".join(map(str, RMW_TYPES[mode]))
            fail(f"'{mode.value}' works only with {listed}, got {element_type}")

    return check


@define
class AtomicRMWTkoOp(TileOperation):
    """Read, modify and write each location; the result is the old value."""

    name = "cuda_tile.atomic_rmw_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = prop_def(MemoryScopeAttr)
    pointers = operand_def()
    mode = prop_def(AtomicRMWModeAttr)
    arg = operand_def()
    mask = opt_operand_def()
    token = opt_operand_def()
    result = result_def()
    result_token = result_def()
    irdl_options = SEGMENTED
    CHECKS: ClassVar = (
        *ATOMIC_ORDER,
        same_types("arg", "result"),
        pointee_matches("pointers", "arg"),
        mask_matches("arg"),
        _mode_matches_type("arg"),
    )


@define
class AtomicRedViewTkoOp(TileOperation):
    """Reduce a tile into a view (since bytecode 13.3); ``inbounds`` (since 13.5) as for load_view_tko."""

    name = "cuda_tile.atomic_red_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = prop_def(MemoryScopeAttr)
    view = operand_def()
    index = var_operand_def()
    mode = prop_def(AtomicRMWModeAttr)
    value = operand_def()
    token = opt_operand_def()
    inbounds = opt_prop_def(DenseArrayBase)
    result_token = result_def()
    irdl_options = SEGMENTED
    inbounds_flags = property(inbounds_flags)

    def _view(self) -> None:
        view = view_type(self)
        if isinstance(view, GatherScatterViewType):
            fail("gather_scatter_view is not supported; use partition_view instead")
        if view.padding_value is not None:
            fail("views with padding_value are not supported for atomic reductions")
        if self.mode.data is AtomicRMWMode.XCHG:
            fail("atomic_red_view_tko op cannot use xchg operation")

    CHECKS: ClassVar = (
        one_of(ORDER, RELAXED),
        one_of(SCOPE, MemoryScope.TL_BLK, MemoryScope.DEVICE),
        TOKENS,
        _view,
        tile_fits_view("value"),
        *VIEW_ACCESS,
        _mode_matches_type("value"),
    )
