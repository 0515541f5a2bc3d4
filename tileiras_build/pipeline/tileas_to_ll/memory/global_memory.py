"""Loads and stores of tiles in global memory.

A tiled access computes each address as (uniform start + thread offset) * stride, plus the register offset, which is a
constant if the stride is known. Accesses outside the tensor are predicated off. A pointer access has one address per
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from ....core.errors import Unsupported
from ....ir.casting import cast, int_array_attr, int_attr, str_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.nvvm.target_independent_intrinsics import SMaxOp, SMinOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....target.element_types import ELEMENT_TYPES
from ...analysis.access_vectorization import pointer_order
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I8, I32, I64
from ..emission.compile_time_memrefs import TiledView
from ..emission.element_constants import zero_element
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.kernel_memory import KernelMemory
from ..emission.register_values import RegisterValue, materialize
from ..emission.value_map import ValueMap
from .element_coordinates import ElementCoordinates
from .ended_blocks import ending_block
from .fp4_access import load_packed, store_packed
from .lazy_loads import LazyLoads
from .packed_loads import REGISTER_TYPE, joined_later, load_packed_registers, merged, stays_packed, whole_words
from .tile_index_checks import TileBoundsChecks, computes_early
from .vector_access import Modifiers, load_vector, store_vector

SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}


def modifiers_of(memory: KernelMemory, op: TableOp) -> Modifiers:
    """The semantics and scope of an operation that is not weak, the state space of its pointers, and ``nc`` for read-only memory."""
    semantic = str_attr(op, "mem_semantic") if "mem_semantic" in op.attributes else "weak"
    space = space_of(memory)
    if semantic == "weak":
        return {**space, "path": "nc"} if space and "read_only" in op.attributes else space
    scope = SCOPES[str_attr(op, "mem_scope")] if "mem_scope" in op.attributes else "gpu"
    return {"semantics": semantic, "scope": scope, **space}


def space_of(memory: KernelMemory) -> Modifiers:
    """The state space of the kernel's pointers, if it is known."""
    return {"space": space} if (space := memory.pointer_space.removeprefix(".")) else {}


def padding_bits(element: Element, padding: str) -> int:
    """The bits of one padding element; raises Unsupported for a type without the value."""
    if (bits := ELEMENT_TYPES[element.name].padding(padding)) is None:
        raise Unsupported("padding-type", f"padding value {padding} is not a value of {element.name}")
    return bits


# ---- tiles of views --------------------------------------------------------------------------------
class TileAddresses:
    """Addresses and masks of the elements of one tile of a view, register by register."""

    def __init__(
        self,
        e: KernelEmitter,
        view: TiledView,
        coords: Sequence[Any],
        layout: LinearLayout,
        in_bounds: Sequence[bool],
        indices: TileBoundsChecks,
    ):
        self.e, self.view, self.layout, self.in_bounds = e, view, layout, in_bounds
        self.coords, self.indices, self.index_type = coords, indices, indices.type
        self.dim_map = view.type.dim_map
        self.strides = [view.memory.strides[dim] for dim in self.dim_map]
        self.positions = ElementCoordinates(e, layout)
        self.starts = [self._start(dim, coord) for dim, coord in enumerate(coords)]
        self.is_sparse = any(isinstance(start, list) for start in self.starts)
        self.has_boundary_tile = [dim for dim, whole in enumerate(in_bounds) if not whole]
        self.element = element_of(view.type.source.element_type)

    def _start(self, dim: int, coord: Any) -> Any:
        """First element of the tile along ``dim``: uniform, or one per register for the sparse dimension of a gather."""
        if isinstance(coord, list):
            return coord
        if self.in_bounds[dim]:  # the tile is whole, or it is not accessed
            return self.e.b.mul(coord, self.view.type.steps[dim], self.index_type)
        return self.indices.start(dim, coord)

    def _as_index(self, value: Value) -> Value:
        if isinstance(value, int) or self.index_type == I32:
            return value
        return self.e.b.widen(value)

    def _position(self, register: int, dim: int) -> tuple[Value, int]:
        """(value, constant) of the element's index in the tensor along the dimension of tile dimension ``dim``."""
        start, b, type = self.starts[dim], self.e.b, self.index_type
        if isinstance(start, list):
            return start[register], 0
        thread, constant = self.positions.coordinate(register, dim)
        return b.add(start, self._as_index(thread), type), constant

    def address(self, register: int) -> tuple[SSAValue, int]:
        """(pointer, constant byte offset) of a register's element."""
        extras = [self._extra(register, dim) for dim in range(self.layout.rank)]
        constant = sum(extra * stride for extra, stride in zip(extras, self.strides) if isinstance(stride, int))
        varying = [extra for extra, stride in zip(extras, self.strides) if not isinstance(stride, int)]
        key = (self, "pointer", self._thread_offset(register), *varying)
        pointer = self.e.b.get_or_create(key, lambda: self._pointer(*self._element_offset(register)[:2]))
        return pointer, constant * self.element.bytes

    def _thread_offset(self, register: int) -> int:
        """A key under which registers differ only in the constants of their coordinates."""
        return 0 if self.positions.additive and not self.is_sparse else register

    def _extra(self, register: int, dim: int) -> int:
        """The constant of a register's coordinate."""
        return 0 if isinstance(self.starts[dim], list) else self.positions.constant(register, dim)

    def packed_address(self, register: int) -> tuple[SSAValue, SSAValue]:
        """(pointer to the byte, i8 0 or 4: the bit position of the element) of a register's 4-bit element."""
        b, (offset, varying, constant) = self.e.b, self._element_offset(register)
        total = b.add(b.add(offset, varying, I64), constant, I64)
        byte = b.binary("ashr", total, 1, I64)
        odd = b.binary("and", b.cast("trunc", total, I8, I64), 1, I8)
        half = b.binary("shl", odd, 2, I8)
        return b.offset(self.view.memory.base, byte, I8), half

    def _element_offset(self, register: int) -> tuple[Value, Value, int]:
        """Three i64 terms of the distance of a register's element from the base, in elements; the last one is constant."""
        b = self.e.b
        offset: Value = 0
        constant = 0
        varying: Value = 0
        for dim in range(self.layout.rank):
            position, extra = self._position(register, dim)
            stride = self.strides[dim]
            offset = b.add(offset, b.mul(self._wide(position), stride, I64), I64)
            if isinstance(stride, int):
                constant += extra * stride
            elif extra:
                varying = b.add(varying, b.mul(stride, extra, I64), I64)
        return offset, varying, constant

    def _wide(self, position: Value) -> Value:
        """A position as i64, for address arithmetic."""
        return position if self.index_type == I64 else self.e.b.widen(position)

    def _pointer(self, offset: Value, varying: Value) -> SSAValue:
        pointer = self.view.memory.base
        for part in (offset, varying):
            if part != 0:
                pointer = self.e.b.offset(pointer, part, self.element.memory_type)
        return pointer

    def mask(self, register: int) -> Value | None:
        """Whether a register's element is inside the tensor; None where it always is."""
        return self.e.b.all_of([self.inside(register, dim) for dim in range(self.layout.rank)])

    def is_full_tile(self) -> Value:
        """Whether all elements of the tile are inside the tensor; uniform."""
        if not self.has_boundary_tile:
            return 1 if (found := self._has_base()) is None else found
        b, type, shape = self.e.b, self.index_type, self.layout.shape
        left = [(shape[dim], b.sub(self._size(dim), self.starts[dim], type)) for dim in self.has_boundary_tile]
        first, *others = [b.compare("sle", extent, rest, type) for extent, rest in left]
        return b.all_lanes(first, *others)

    def _has_base(self) -> Value | None:
        """Whether the tile starts inside the tensor along all dimensions without boundary tiles; None where it always does."""
        whole = (dim for dim, whole in enumerate(self.in_bounds) if whole)
        return self.e.b.all_of([self.indices.is_inside(dim, self.coords[dim]) for dim in whole])

    def _size(self, dim: int) -> Value:
        """The extent of the tensor; 0 for a tile that is out of bounds along a dimension without element checks."""
        size = self.view.memory.size(self.e.b, self.dim_map[dim], self.index_type)
        if dim != self.has_boundary_tile[0] or (found := self._has_base()) is None:
            return size
        with computes_early(self.e.b, found, size):
            return self.e.b.select(found, size, 0, self.index_type)

    def elements_remaining(self, register: int, dim: int) -> Value | None:
        """How many elements of the tensor follow the register's along ``dim`` (i32, may be negative); None for enough."""
        if self.in_bounds[dim]:
            return None
        b, type = self.e.b, self.index_type
        left = b.sub(self._remaining(register, dim), self._extra(register, dim), type)
        return left if type == I32 or isinstance(left, int) else self._saturated(left)

    def _saturated(self, value: SSAValue) -> SSAValue:
        b = self.e.b
        low = b.issue(SMaxOp, value, b.constant(-1, I64), type=I64)
        return b.cast("trunc", b.issue(SMinOp, low, b.constant(1024, I64), type=I64), I32)

    def inside(self, register: int, dim: int) -> Value | None:
        """Whether a register's element is inside the tensor along ``dim``; None where it always is."""
        if self.in_bounds[dim]:
            return None if self.has_boundary_tile else self.indices.is_inside(dim, self.coords[dim])
        b, type = self.e.b, self.index_type
        if isinstance(self.starts[dim], list):
            return b.compare("ult", self.starts[dim][register], self._size(dim), type)
        key = (self, dim, self._thread_offset(register))
        return b.compare(
            "slt", self._extra(register, dim), b.get_or_create(key, lambda: self._remaining(register, dim)), type
        )

    def _remaining(self, register: int, dim: int) -> Value:
        """Elements from the thread's part of the register's coordinate to the end of the tensor."""
        return self.e.b.sub(self._size(dim), self._position(register, dim)[0], self.index_type)


def vector_of(op: TableOp, layout: LinearLayout, order: Sequence[int]) -> int:
    """Elements per access: the width from layout assignment, limited by the consecutive registers."""
    allowed = int_attr(op, "vector") if "vector" in op.attributes else 1
    return min(allowed, layout.contiguous(order))


def accesses(layout: LinearLayout, vector: int) -> dict[int, int]:
    """Place in the tile -> first register of an access of ``vector`` elements: each place once."""
    found: dict[int, int] = {}
    for first in range(0, layout.num_registers, vector):
        found.setdefault(layout.register_offsets[first], first)
    return found


def load_once(layout: LinearLayout, vector: int, load: Callable[[int], Sequence[Any]]) -> list[Any]:
    """The registers of a tile, ``vector`` of them by a ``load`` from a first one on; each place is loaded once."""
    known = {key: load(first) for key, first in accesses(layout, vector).items()}
    return [
        value for first in range(0, layout.num_registers, vector) for value in known[layout.register_offsets[first]]
    ]


def emit_tiled_load(e: KernelEmitter, op: TableOp) -> None:
    view = e.values.view(op.view)
    layout = layout_of(op.value).in_memory_order(view.order)
    addresses = tile_addresses(e, op, view, layout)
    element = addresses.element
    vector = vector_of(op, layout, view.order)

    def load(width: int, masked: bool) -> list[Any]:
        return joined_later(e.b, op, element, vector, _load_tile(e, op, addresses, width, masked))

    has_boundary_tile = "has_boundary_tile" in op.attributes and vector > element.per_byte
    if not has_boundary_tile and "full_tile_version" not in op.attributes:
        e.values.set_from(op.value, layout, _load_tile(e, op, addresses, vector, True))
        return
    # The choice is uniform. Rows whose length is no multiple of the vector are then still read in vectors.
    masked = element.per_byte if has_boundary_tile else vector
    branches = e.b.if_else(addresses.is_full_tile(), lambda: load(vector, False), lambda: load(masked, True))
    e.values.set_from(op.value, layout, merged(e.b, element, branches))


def _load_tile(e: KernelEmitter, op: TableOp, addresses: TileAddresses, vector: int, masked: bool) -> list[Any]:
    """The registers of a tile, ``vector`` elements an access, predicated on bounds where ``masked``."""
    layout, element, modifiers = addresses.layout, addresses.element, modifiers_of(e.memory, op)
    if "cache" in op.attributes:
        modifiers = {**modifiers, "cache": str_attr(op, "cache")}
    fill = padding_bits(element, addresses.view.type.padding.data)
    packed = (fill == 0 or not masked) and stays_packed(op, element, vector)
    lazy_loads = LazyLoads(e) if "lazy" in op.attributes else None

    def load(first: int) -> list[Any]:
        made = partial(_load_registers, e.b, addresses, first, vector, masked, fill, modifiers, packed)
        return made() if lazy_loads is None else lazy_loads.add(made, vector)

    return load_once(layout, vector, load)


def _load_registers(
    b: InstructionBuilder,
    addresses: TileAddresses,
    first: int,
    count: int,
    masked: bool,
    fill: int,
    modifiers: Modifiers,
    packed: bool,
) -> list[Any]:
    """Load consecutive elements of a tile by one access; if ``packed``, they stay in 32-bit words."""
    mask = addresses.mask(first) if masked else None
    if addresses.element.per_byte > 1:
        return load_packed(b, addresses, first, count, mask, fill, modifiers)
    pointer, offset = addresses.address(first)
    if packed:
        return load_packed_registers(b, addresses.element, count, pointer, offset, mask, fill, modifiers)
    return load_vector(b, addresses.element, count, pointer, offset, mask, fill, modifiers)


def _store_registers(
    b: InstructionBuilder,
    addresses: TileAddresses,
    first: int,
    values: Sequence[RegisterValue],
    mask: Value | None,
    modifiers: Modifiers,
) -> None:
    words, element = whole_words(b, values), addresses.element
    stored: Sequence[Value] = words or [materialize(b, value) for value in values]
    if element.per_byte > 1:
        return store_packed(b, addresses, first, stored, mask, modifiers)
    pointer, offset = addresses.address(first)
    return store_vector(b, REGISTER_TYPE if words else element, stored, pointer, offset, mask, modifiers)


def tile_addresses(e: KernelEmitter, op: TableOp, view: TiledView, layout: LinearLayout) -> TileAddresses:
    """The addresses of the operation's tile; ``in_bounds`` has the dimensions along which every tile is inside the tensor."""
    rank = layout.rank
    in_bounds = [False] * rank
    if "in_bounds" in op.attributes:
        in_bounds = [bool(flag) for flag in int_array_attr(op, "in_bounds")]
    sparse = view.type.sparse.data
    types = {element_of(coord.type).type for coord in op.coords} | {view.memory.index_type}
    index_type = I64 if I64 in types else I32
    coords = []
    for dim, coord in enumerate(op.coords):
        type = element_of(coord.type).type
        held = _sparse_index(e.values, coord, layout, dim) if dim == sparse else [e.values.scalar(coord)]
        cast = [_index(e.b, value, type, index_type) for value in held]
        coords.append(cast if dim == sparse else cast[0])
    return TileAddresses(e, view, coords, layout, in_bounds, TileBoundsChecks(e, op, view, index_type))


def _index(b: InstructionBuilder, value: Value, source: Attribute, target: Attribute) -> Value:
    """A coordinate, which is unsigned, as the type of index arithmetic."""
    if source == target:
        return value
    if isinstance(value, int):
        return value & (1 << cast(IntegerType, source).bitwidth) - 1
    return b.cast("zext", value, target)


def _sparse_index(values: ValueMap, index: SSAValue, layout: LinearLayout, dim: int) -> list[Value]:
    """The index tile's element for each register of the tile."""
    wanted = layout
    for other in range(layout.rank - 1, -1, -1):
        if other != dim:
            wanted = wanted.drop_dim(other)
    return values.registers_as(index, wanted)


def emit_tiled_store(e: KernelEmitter, op: TableOp) -> None:
    view = e.values.view(op.view)
    layout = layout_of(op.value)
    addresses = tile_addresses(e, op, view, layout)
    vector = vector_of(op, layout, view.order)
    if not e.computes_at_use or "has_boundary_tile" in op.attributes:
        e.values.registers(op.value)

    def store(vector: int, masked: bool) -> list[Value]:
        return _store_tile(e, op, addresses, vector, masked)

    per_byte = addresses.element.per_byte
    if "has_boundary_tile" not in op.attributes or vector <= per_byte:
        store(vector, True)
    else:
        e.b.if_else(addresses.is_full_tile(), lambda: store(vector, False), lambda: store(per_byte, True))


def _store_tile(e: KernelEmitter, op: TableOp, addresses: TileAddresses, vector: int, masked: bool) -> list[Value]:
    """Store the registers of a tile without duplicates."""
    layout, modifiers = addresses.layout, modifiers_of(e.memory, op)
    values = e.values.packed(op.value)
    holder = e.threads.holds_canonical_copy(layout) if addresses.element.per_byte > 1 else _holder(e, layout, modifiers)
    for first in accesses(layout, vector).values():
        mask = e.b.all_of([holder, addresses.mask(first) if masked else None])
        _store_registers(e.b, addresses, first, values[first : first + vector], mask, modifiers)
    return []


def _holder(e: KernelEmitter, layout: LinearLayout | None, modifiers: Modifiers) -> Value | None:
    """Whether a thread stores elements of which there are copies (``layout`` None: a scalar); None where all threads may.

    Lanes that write the same bytes to one place take one transaction, and no predicate.
    """
    if e.copies_are_equal and "semantics" not in modifiers:
        return None
    return e.threads.is_first_thread if layout is None else e.threads.holds_canonical_copy(layout)


# ---- tiles of pointers ---------------------------------------------------------------------------
def emit_load(e: KernelEmitter, op: TableOp) -> None:
    if not isinstance(e.values[op.pointer], list):
        return _emit_scalar_load(e, op)
    layout, element, modifiers = layout_of(op.value), element_of(op.value.type), modifiers_of(e.memory, op)
    pointers = e.values.registers(op.pointer)
    masks = None if op.mask is None else e.values.registers(op.mask)
    others = None if op.other is None else e.values.registers(op.other)
    vector = vector_of(op, layout, pointer_order(op, layout.rank))
    registers: list[Value] = []
    for first in range(0, layout.num_registers, vector):
        mask = None if masks is None else is_mask_needed(masks[first])
        values = load_vector(e.b, element, vector, pointers[first], 0, mask, 0, modifiers)
        if others is not None and mask is not None:
            kept = others[first : first + vector]
            values = [_select_other(e.b, element, mask, value, other) for value, other in zip(values, kept)]
        registers += values
    e.values.set(op.value, registers)


def is_mask_needed(mask: Value | None) -> Value | None:
    """Drop a mask that is known to be true."""
    return None if mask == 1 else mask


def _select_other(b: InstructionBuilder, element: Element, mask: Value, value: Value, other: Value) -> Value:
    """Select ``other`` if masked out; masked loads already return zeros."""
    return value if other == zero_element(b, element) else b.select(mask, value, other, element.type)


def _emit_scalar_load(e: KernelEmitter, op: TableOp) -> None:
    element, mask = element_of(op.value.type), None if op.mask is None else is_mask_needed(e.values.scalar(op.mask))
    values = load_vector(e.b, element, 1, e.values.scalar(op.pointer), 0, mask, 0, modifiers_of(e.memory, op))
    if op.other is not None and mask is not None:
        values = [_select_other(e.b, element, mask, values[0], e.values.scalar(op.other))]
    e.values.set(op.value, values)


def emit_store(e: KernelEmitter, op: TableOp) -> None:
    element, modifiers = element_of(op.value.type), modifiers_of(e.memory, op)
    if not isinstance(e.values[op.value], list):
        wanted = None if op.mask is None else is_mask_needed(e.values.scalar(op.mask))
        mask = e.b.all_of([_holder(e, None, modifiers), wanted])
        return store_vector(e.b, element, [e.values.scalar(op.value)], e.values.scalar(op.pointer), 0, mask, modifiers)
    layout = layout_of(op.value)
    pointers, values = e.values.registers(op.pointer), e.values.registers(op.value)
    masks = None if op.mask is None else e.values.registers(op.mask)
    vector, holder = vector_of(op, layout, pointer_order(op, layout.rank)), _holder(e, layout, modifiers)
    for first in accesses(layout, vector).values():
        mask = e.b.all_of([holder, None if masks is None else is_mask_needed(masks[first])])
        store_vector(e.b, element, values[first : first + vector], pointers[first], 0, mask, modifiers)


HANDLERS: dict[str, Handler] = {
    "nv_tileas.tiled_load": ending_block(emit_tiled_load),
    "nv_tileas.tiled_store": emit_tiled_store,
    "nv_tileas.load": ending_block(emit_load),
    "nv_tileas.store": emit_store,
}
