"""Memory operations of cuda_tile: views, loads and stores, atomics, tokens, printing.

``token`` is the optional memory-order input, ``result_token`` the memory-order output.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float4E2M1FNType, IntegerAttr, StringAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoMemoryEffect, Pure

from tileiras_build.dialects.cuda_tile.attrs import OptimizationHintsAttr
from tileiras_build.dialects.cuda_tile.base import (
    SEGMENTED,
    Check,
    TileOperation,
    define,
    elements,
    fail,
    of_type,
    one_of,
    pointers,
    same_types,
    scalars,
    tile,
    tile_type,
)
from tileiras_build.dialects.cuda_tile.enums import (
    AtomicRMWMode,
    AtomicRMWModeAttr,
    MemoryOrderingSemantics,
    MemoryOrderingSemanticsAttr,
    MemoryScope,
    MemoryScopeAttr,
    MultimemReductionKind,
    MultimemReductionKindAttr,
    PtrAttr,
)
from tileiras_build.dialects.cuda_tile.extents import check_elements, check_tensor, known_range
from tileiras_build.dialects.cuda_tile.types import (
    BASE_FLOATS,
    BITS,
    INTEGERS,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileView,
    TokenType,
)

ORDER, SCOPE = "memory_ordering_semantics", "memory_scope"
TOKENS = of_type(TokenType, "token", "result_token")
WEAK, RELAXED = MemoryOrderingSemantics.WEAK, MemoryOrderingSemantics.RELAXED
ACQUIRE, RELEASE = MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.RELEASE


def _scope_fits_order(op: Operation) -> None:
    """Weak accesses have no scope, all others need one."""
    weak = op.memory_ordering_semantics.data is WEAK
    if weak and SCOPE in op.properties:
        fail("a weak access must not have a memory scope")
    if not weak and SCOPE not in op.properties:
        fail(f"a memory scope is required for {op.memory_ordering_semantics.data.value} accesses")


LOAD_ORDER: tuple[Check, ...] = (one_of(ORDER, WEAK, RELAXED, ACQUIRE), _scope_fits_order, TOKENS)
STORE_ORDER: tuple[Check, ...] = (one_of(ORDER, WEAK, RELAXED, RELEASE), _scope_fits_order, TOKENS)
ATOMIC_ORDER: tuple[Check, ...] = (
    one_of(ORDER, RELAXED, ACQUIRE, RELEASE, MemoryOrderingSemantics.ACQ_REL),
    TOKENS,
)


def _refuse_multicast(op: Operation, ptr_attr: str | None) -> None:
    if ptr_attr == PtrAttr.MULTICAST.value:
        fail(f"{op.name.removeprefix('cuda_tile.')} cannot access a multicast pointer; multimem operations can")


def _shown(ptr_attr: str | None) -> str:
    return ptr_attr or "absent"


def _pointee_matches(pointer: str, value: str) -> Check:
    """A tile of pointers to the elements of another tile, of the same shape, and not into a multicast object."""

    def check(op: Operation) -> None:
        addresses, values = tile(op, pointer), tile(op, value)
        if not addresses.is_pointer:
            fail(f"'{pointer}' must be a tile of pointers, got {addresses}")
        if addresses.shape != values.shape or addresses.element_type.pointee_type != values.element_type:
            fail(f"'{pointer}' must be a tile of pointers to the elements of '{value}', got {addresses} and {values}")
        _refuse_multicast(op, addresses.element_type.ptr_attr)

    return check


def _mask_matches(name: str) -> Check:
    """The optional mask is a tile of i1 in the shape of a named value."""

    def check(op: Operation) -> None:
        if op.mask is not None and op.mask.type != TileType(tile(op, name).shape, i1):
            fail(f"'mask' must be a tile of i1 in the shape of '{name}', got {op.mask.type}")

    return check


def view_type(op: Operation) -> TileView:
    """The type of the view operand, which must be a tile view."""
    if not isinstance(op.view.type, TileView):
        fail(f"'view' must be a tile view, got {op.view.type}")
    return op.view.type


def _is_scalar_integer(type) -> bool:
    return isinstance(type, TileType) and not type.shape and type.element_type in INTEGERS


def _index_fits_view(op: Operation) -> None:
    view = view_type(op)
    indices = list(op.index)
    if len(indices) != view.index_rank:
        fail(f"expected {view.index_rank} index operands for {view}, got {len(indices)}")
    if isinstance(view, GatherScatterViewType):
        rows = indices.pop(view.sparse_dim)
        count = view.tile_shape[view.sparse_dim]
        if tile_type(rows, "index").shape != (count,) or rows.type.element_type not in INTEGERS:
            fail(f"expected a one-dimensional index tile of {count} integers at position {view.sparse_dim}, "
                 f"got {rows.type}")
    for index in indices:
        if not _is_scalar_integer(index.type):
            fail(f"expected scalar integer indices, got {index.type}")
        if index.type != indices[0].type:
            fail(f"expected indices of one type, got {indices[0].type} and {index.type}")
    flags = op.properties.get("inbounds")
    if flags is not None and len(flags) != view.index_rank:
        fail(f"expected {view.index_rank} inbounds flags, got {len(flags)}")
    if not isinstance(view, GatherScatterViewType):
        _tile_number_fits(view, indices)


def _tile_number_fits(view: TileView, indices: list) -> None:
    """Where a tile begins, for an index that is constant."""
    steps = view.traversal_strides if isinstance(view, StridedViewType) else view.tile_shape
    for dim, index in enumerate(indices):
        stride = view.tensor_view.strides[view.dim_map[dim]]
        for number in known_range(index) or ():
            distance = number * steps[dim] * (stride or 1)
            check_elements(f"the distance to tile {number},", distance, BITS[view.element_type], view.element_type)


def _with_constants(dims, values) -> tuple[int | None, ...]:
    """Sizes or strides, with the operands' values where they are constant and positive."""
    ranges = (known_range(value) for value in values)
    known = [found[0] if found is not None and found[0] > 0 else None for found in ranges]
    waiting = iter(known)
    return tuple(next(waiting) if dim is None else dim for dim in dims)


def _packed_along_one_dimension(op: Operation) -> None:
    """Two 4-bit elements share a byte along the dimension of unit stride, so that must be known."""
    memory = view_type(op).tensor_view
    if isinstance(memory.element_type, Float4E2M1FNType) and memory.strides.count(1) != 1:
        fail(f"a view of 4-bit elements requires exactly one statically encoded unit stride to identify the packing "
             f"dimension; got {memory.strides.count(1)} in {memory}")


def _inbounds_flags(op: Operation) -> tuple[bool, ...]:
    """Per dimension of the view, whether no tile leaves the tensor there."""
    flags = op.properties.get("inbounds")
    return (False,) * op.view.type.index_rank if flags is None else tuple(map(bool, flags.get_values()))


def _tile_fits_view(name: str) -> Check:
    def check(op: Operation) -> None:
        expected = view_type(op).tile_type
        if getattr(op, name).type != expected:
            fail(f"expected '{name}' of type {expected} for this view, got {getattr(op, name).type}")

    return check


def _not_multicast(op: Operation) -> None:
    _refuse_multicast(op, view_type(op).tensor_view.ptr_attr)


VIEW_ACCESS: tuple[Check, ...] = (_index_fits_view, _not_multicast)


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
        pointee = self.result.type.element_type.pointee_type
        size = 1 if pointee == i1 else BITS[pointee] // 8
        if alignment < size:
            fail(f"'alignment' ({alignment}) must be at least the natural size ({size} bytes) of {pointee}")
        check_elements("an allocation", self.num_elem.value.data, BITS[pointee], pointee)

    CHECKS: ClassVar = (pointers("result"), scalars("result"), _alignment)


@define
class AtomicCASTkoOp(TileOperation):
    """Compare with cmp and swap in val; the result is what was there."""

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
        _pointee_matches("pointers", "val"),
        _mask_matches("val"),
        _width,
    )


# Atomic mode -> element types it works on (Tile IR, atomic_rmw_tko).
_INTEGER_MODE = (i32, i64)
RMW_TYPES = {
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


def _mode_fits(name: str) -> Check:
    def check(op: Operation) -> None:
        mode, element_type = op.mode.data, tile(op, name).element_type
        if element_type not in RMW_TYPES[mode]:
            listed = ", ".join(map(str, RMW_TYPES[mode]))
            fail(f"'{mode.value}' works only with {listed}, got {element_type}")

    return check


@define
class AtomicRMWTkoOp(TileOperation):
    """Read, modify and write each location; the result is what was there."""

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
        _pointee_matches("pointers", "arg"),
        _mask_matches("arg"),
        _mode_fits("arg"),
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
    inbounds_flags = property(_inbounds_flags)

    def _view(self) -> None:
        if isinstance(view_type(self), GatherScatterViewType):
            fail("gather_scatter_view is not supported; use partition_view instead")
        if self.view.type.padding_value is not None:
            fail("views with padding_value are not supported for atomic reductions")
        if self.mode.data is AtomicRMWMode.XCHG:
            fail("atomic_red_view_tko op cannot use xchg operation")

    CHECKS: ClassVar = (
        one_of(ORDER, RELAXED),
        one_of(SCOPE, MemoryScope.TL_BLK, MemoryScope.DEVICE),
        TOKENS,
        _view,
        _tile_fits_view("value"),
        *VIEW_ACCESS,
        _mode_fits("value"),
    )


class DependentLaunch(TileOperation):
    """Grid dependency control, ordered by tokens (since bytecode 13.4)."""

    token = opt_operand_def()
    result_token = result_def()
    CHECKS: ClassVar = (TOKENS,)


@define
class GdcLaunchDependentsTkoOp(DependentLaunch):
    """Let dependent grids start."""

    name = "cuda_tile.gdc_launch_dependents_tko"


@define
class GdcWaitTkoOp(DependentLaunch):
    """Wait for the grids that this one depends on."""

    name = "cuda_tile.gdc_wait_tko"


class ShapeQuery(TileOperation):
    """One scalar per dimension; they are ``op.results``."""

    src = operand_def()
    result = var_result_def()
    traits = traits_def(NoMemoryEffect())
    CHECKS: ClassVar = (scalars("result"),)


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


@define
class JoinTokensOp(TileOperation):
    """A token after all of the given ones."""

    name = "cuda_tile.join_tokens"
    tokens = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

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

    CHECKS: ClassVar = (*LOAD_ORDER, _pointee_matches("source", "result"), _mask_matches("source"), _padding)


@define
class LoadViewTkoOp(TileOperation):
    """Load the tile number ``index`` of a view.

    ``inbounds`` (since bytecode 13.4) has one flag per dimension that says that no tile leaves the tensor
    there; absent means none.
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
    inbounds_flags = property(_inbounds_flags)
    CHECKS: ClassVar = (*LOAD_ORDER, _tile_fits_view("tile"), *VIEW_ACCESS, _packed_along_one_dimension)


def _view_of(op: Operation) -> None:
    view = op.result.type
    if view.tensor_view != op.tensor_view.type:
        fail(f"expected the type of the provided tensor_view value ({op.tensor_view.type}) to be the same as "
             f"the view's tensor_view type ({view.tensor_view})")


class MakeView(TileOperation):
    """Cut a tensor view into tiles, as the type of the result says."""

    tensor_view = operand_def()
    result = result_def()
    traits = traits_def(Pure())


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

    def _view(self) -> None:
        view, sizes, strides = self.result.type, self.dynamic_shape, self.dynamic_strides
        pointee = self.base.type.element_type.pointee_type
        if pointee != view.element_type:
            fail(f"expected pointer to {view.element_type} to build tensor_view of this type, got {pointee}")
        if (given := self.base.type.element_type.ptr_attr) != view.ptr_attr:
            fail(f"the pointer attribute of the base is {_shown(given)}, that of the view {_shown(view.ptr_attr)}")
        if len(sizes) != view.dynamic_shape_count:
            fail(f"expected {view.dynamic_shape_count} dynamic shape operands, got {len(sizes)}")
        if len(strides) != view.dynamic_stride_count:
            fail(f"expected {view.dynamic_stride_count} dynamic stride operands, got {len(strides)}")
        kinds = {value.type for value in (*sizes, *strides)}
        if len(kinds) > 1 or not all(map(_is_scalar_integer, kinds)):
            fail("expected dynamic sizes and strides to be scalar integers of one type, got "
                 + ", ".join(sorted(map(str, kinds))))

    def _distances(self) -> None:
        """Numbers that are operands, but constant, count as those in the type do."""
        view = self.result.type
        dims = (_with_constants(view.shape, self.dynamic_shape), _with_constants(view.strides, self.dynamic_strides))
        check_tensor(*dims, BITS[view.element_type], view.element_type)

    CHECKS: ClassVar = (pointers("base"), scalars("base"), of_type(TensorViewType, "result"), _view, _distances)


@define
class MakeTokenOp(TileOperation):
    """A token that depends on nothing."""

    name = "cuda_tile.make_token"
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (of_type(TokenType, "result"),)


@define
class MemoryFenceAliasTkoOp(TileOperation):
    """Order accesses to the same memory through different address spaces (since bytecode 13.4)."""

    name = "cuda_tile.memory_fence_alias_tko"
    token = operand_def()
    result_token = result_def()
    CHECKS: ClassVar = (TOKENS,)


# Reduction of a multicast object -> element types: read as (load-reduce), written (tileirdisasm 13.5).
_MULTIMEM_INTEGERS = (i32, i64)
_MULTIMEM_HALVES = tuple(type for type in BASE_FLOATS if BITS[type] == 16)
_MULTIMEM_ALL = (*_MULTIMEM_INTEGERS, *BASE_FLOATS)
MULTIMEM_LOADS: dict[MultimemReductionKind, tuple] = {
    **dict.fromkeys(MultimemReductionKind, _MULTIMEM_INTEGERS),
    MultimemReductionKind.ADD: _MULTIMEM_ALL,
    MultimemReductionKind.MIN: (*_MULTIMEM_INTEGERS, *_MULTIMEM_HALVES),
    MultimemReductionKind.MAX: (*_MULTIMEM_INTEGERS, *_MULTIMEM_HALVES),
}
MULTIMEM_REDUCTIONS = {
    **dict.fromkeys(MultimemReductionKind, _MULTIMEM_INTEGERS),
    MultimemReductionKind.ADD: _MULTIMEM_ALL,
}


def _multicast_partition(op: Operation) -> None:
    """Multimem operations access partition views of multicast objects."""
    view = view_type(op)
    if not isinstance(view, PartitionViewType):
        fail(f"multimem operations support only partition_view, got {view}")
    if view.tensor_view.ptr_attr != PtrAttr.MULTICAST.value:
        fail(f"expected a view of a multicast pointer, the pointer attribute is {_shown(view.tensor_view.ptr_attr)}")


def _reduction_fits(types: dict[MultimemReductionKind, tuple]) -> Check:
    def check(op: Operation) -> None:
        kind, element_type = op.reduction.data, op.view.type.element_type
        if element_type not in types[kind]:
            fail(f"'{kind.value}' works only with {', '.join(map(str, types[kind]))}, got {element_type}")

    return check


def _stored_type_fits(op: Operation) -> None:
    element_type = op.view.type.element_type
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
        _tile_fits_view("reduced_values"),
        _index_fits_view,
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
        _tile_fits_view("tile"),
        _index_fits_view,
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
    CHECKS: ClassVar = (
        *STORE_ORDER,
        _multicast_partition,
        _tile_fits_view("tile"),
        _index_fits_view,
        _stored_type_fits,
    )


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
    CHECKS: ClassVar = (*STORE_ORDER, _pointee_matches("destination", "value"), _mask_matches("destination"))


@define
class StoreViewTkoOp(TileOperation):
    """Store a tile as the tile number ``index`` of a view; what lies outside the tensor is dropped."""

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
    inbounds_flags = property(_inbounds_flags)
    CHECKS: ClassVar = (*STORE_ORDER, _tile_fits_view("tile"), *VIEW_ACCESS, _packed_along_one_dimension)


@define
class AssertOp(TileOperation):
    """Trap with ``message`` unless all elements of the condition hold."""

    name = "cuda_tile.assert"
    condition = operand_def()
    message = prop_def(StringAttr)
    CHECKS: ClassVar = (elements((i1,), "condition"),)


def format_expressions(text: str) -> int:
    """How many arguments a printf-like format consumes; VerifyException if an expression does not end."""
    count = position = 0
    while (position := text.find("%", position)) >= 0:
        end = position + 1
        while end < len(text) and text[end] not in "%diuxXofFeEgGaAcspn":
            end += 1
        if end == len(text):
            fail("found unterminated format expression")
        count += text[position:end + 1] != "%%"
        position = end + 1
    return count


@define
class PrintTkoOp(TileOperation):
    """Print ``args`` formatted by ``str``; the token result exists since bytecode 13.2."""

    name = "cuda_tile.print_tko"
    str = prop_def(StringAttr)
    args = var_operand_def()
    token = opt_operand_def()
    result_token = opt_result_def()
    irdl_options = SEGMENTED

    def _arguments(self) -> None:
        expected = format_expressions(self.str.data)
        if expected != len(self.args):
            fail(f"incorrect number of operands: expected {expected}, found {len(self.args)}")
        for value in self.args:
            tile_type(value, "args")

    CHECKS: ClassVar = (TOKENS, _arguments)


MEMORY_OPS = (
    AllocaOp,
    AtomicCASTkoOp,
    AtomicRMWTkoOp,
    AtomicRedViewTkoOp,
    GdcLaunchDependentsTkoOp,
    GdcWaitTkoOp,
    GetIndexSpaceShapeOp,
    GetTensorShapeOp,
    JoinTokensOp,
    LoadPtrTkoOp,
    LoadViewTkoOp,
    MakeGatherScatterViewOp,
    MakePartitionViewOp,
    MakeStridedViewOp,
    MakeTensorViewOp,
    MakeTokenOp,
    MemoryFenceAliasTkoOp,
    MultimemLoadReduceViewTkoOp,
    MultimemReduceViewTkoOp,
    MultimemStoreViewTkoOp,
    StorePtrTkoOp,
    StoreViewTkoOp,
    AssertOp,
    PrintTkoOp,
)
