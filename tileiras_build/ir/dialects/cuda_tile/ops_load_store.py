"""Memory of cuda_tile: allocation, loads and stores, and the tokens that order them.

``token`` is the optional memory-order input, ``result_token`` the memory-order output.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float4E2M1FNType, IntegerAttr, UnitAttr, i1
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, var_operand_def

from .address_overflow_checks import check_elements
from .attrs import OptimizationHintsAttr
from .element_types import BITS
from .enums import MemoryOrderingSemanticsAttr, MemoryScopeAttr
from .memory_checks import (
    LOAD_ORDER,
    STORE_ORDER,
    TOKENS,
    VIEW_ACCESS,
    HasView,
    inbounds_flags,
    mask_matches,
    pointee_matches,
    tile_fits_view,
    view_type,
)
from .op_base import SEGMENTED, PureOperation, TileOperation, define, fail, of_type, pointer_type, pointers, scalars
from .types import TokenType


def _packed_along_one_dimension(op: HasView) -> None:
    """Two 4-bit elements share a byte along the dimension of unit stride, so that must be static."""
    memory = view_type(op).tensor_view
    if isinstance(memory.element_type, Float4E2M1FNType) and memory.strides.count(1) != 1:
        fail(
            f"a view of 4-bit elements requires exactly one statically encoded unit stride to identify the packing "
            f"dimension; got {memory.strides.count(1)} in {memory}"
        )


@define
class AllocaOp(TileOperation):
    """Memory for ``num_elem`` elements (since bytecode 13.3), shared between threads if ``global_``."""

    name = "cuda_tile.alloca"
    num_elem = prop_def(IntegerAttr)
    alignment = prop_def(IntegerAttr)
    global_ = opt_prop_def(UnitAttr, prop_name="global")
    result = result_def()

    def _alignment(self) -> None:
        alignment = self.alignment.value.data
        if self.num_elem.value.data < 0:
            fail("'num_elem' must not be negative")
        if alignment <= 0 or alignment & (alignment - 1):
            fail("'alignment' must be power of two")
        pointee = pointer_type(self.result, "result").pointee_type
        size = 1 if pointee == i1 else BITS[pointee] // 8
        if alignment < size:
            fail(f"'alignment' ({alignment}) must be at least the natural size ({size} bytes) of {pointee}")
        check_elements("an allocation", self.num_elem.value.data, BITS[pointee], pointee)

    CHECKS: ClassVar = (pointers("result"), scalars("result"), _alignment)


@define
class JoinTokensOp(PureOperation):
    """A token after all operands."""

    name = "cuda_tile.join_tokens"
    tokens = var_operand_def()
    result = result_def()

    def _tokens(self) -> None:
        if len(self.operands) < 2:
            fail("expect two or more tokens")
        if any(not isinstance(value.type, TokenType) for value in (*self.operands, *self.results)):
            fail("operands and result must be tokens")

    CHECKS: ClassVar = (_tokens,)


@define
class LoadPtrTkoOp(TileOperation):
    """Gather: load through each pointer; masked-off elements are ``padding_value`` or unspecified."""

    name = "cuda_tile.load_ptr_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    source = operand_def()
    mask = opt_operand_def()
    padding_value = opt_operand_def()
    token = opt_operand_def()
    optimization_hints = opt_prop_def(OptimizationHintsAttr)
    result = result_def()
    result_token = result_def()
    irdl_options = SEGMENTED

    def _padding(self) -> None:
        if self.padding_value is not None and self.padding_value.type != self.result.type:
            fail(f"type of 'padding_value' must match the type of 'result', got {self.padding_value.type}")

    CHECKS: ClassVar = (*LOAD_ORDER, pointee_matches("source", "result"), mask_matches("source"), _padding)


@define
class LoadViewTkoOp(TileOperation):
    """Load the tile at ``index`` of a view.

    ``inbounds`` (since bytecode 13.4) has one flag per dimension along which all tiles are in bounds; the default is
    none.
    """

    name = "cuda_tile.load_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    view = operand_def()
    index = var_operand_def()
    token = opt_operand_def()
    optimization_hints = opt_prop_def(OptimizationHintsAttr)
    inbounds = opt_prop_def(DenseArrayBase)
    tile = result_def()
    result_token = result_def()
    irdl_options = SEGMENTED
    inbounds_flags = property(inbounds_flags)
    CHECKS: ClassVar = (*LOAD_ORDER, tile_fits_view("tile"), *VIEW_ACCESS, _packed_along_one_dimension)


@define
class MakeTokenOp(PureOperation):
    """A token that depends on nothing."""

    name = "cuda_tile.make_token"
    result = result_def()
    CHECKS: ClassVar = (of_type(TokenType, "result"),)


@define
class MemoryFenceAliasTkoOp(TileOperation):
    """Order accesses to the same memory through different address spaces (since bytecode 13.4)."""

    name = "cuda_tile.memory_fence_alias_tko"
    token = operand_def()
    result_token = result_def()
    CHECKS: ClassVar = (TOKENS,)


@define
class StorePtrTkoOp(TileOperation):
    """Scatter: store through each pointer that the mask selects."""

    name = "cuda_tile.store_ptr_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    destination = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    token = opt_operand_def()
    optimization_hints = opt_prop_def(OptimizationHintsAttr)
    result_token = result_def()
    irdl_options = SEGMENTED
    CHECKS: ClassVar = (*STORE_ORDER, pointee_matches("destination", "value"), mask_matches("destination"))


@define
class StoreViewTkoOp(TileOperation):
    """Store a tile at ``index`` of a view; elements outside the tensor are dropped."""

    name = "cuda_tile.store_view_tko"
    memory_ordering_semantics = prop_def(MemoryOrderingSemanticsAttr)
    memory_scope = opt_prop_def(MemoryScopeAttr)
    tile = operand_def()
    view = operand_def()
    index = var_operand_def()
    token = opt_operand_def()
    optimization_hints = opt_prop_def(OptimizationHintsAttr)
    inbounds = opt_prop_def(DenseArrayBase)
    result_token = result_def()
    irdl_options = SEGMENTED
    inbounds_flags = property(inbounds_flags)
    CHECKS: ClassVar = (*STORE_ORDER, tile_fits_view("tile"), *VIEW_ACCESS, _packed_along_one_dimension)
