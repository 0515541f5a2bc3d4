"""Lower pointers, views and storage: offsets in elements become addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.cute import types as cute
from ....ir.dialects.llvm_ext import AddrSpaceCastOp, make_global
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import cute_algebra as algebra
from ....ir.layouts.cute_algebra import Layout
from ...common.llvm_type_constructors import array
from ...rewriting.dialect_conversion import RuleTable
from ..convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import convert_type, pointer_to
from .converted_values import ConvertedValue, Converter, DescIter, Leaf, Tree, View
from .layouts import checked

REWRITES = RuleTable(dialect="cute")
rewrite = REWRITES.rule
ALIGNMENT = 16  # bytes, of storage: that of the widest access
I8 = IntegerType(8)


def element_type(type: Attribute) -> Attribute:
    """The LLVM type of an element of a pointer or view."""
    return convert_type(cast(cute.Elements, type).element)


def advanced_pointer(cv: Converter, pointer: SSAValue, offset: Leaf, element: Attribute) -> SSAValue:
    """The address ``offset`` elements further."""
    return cv.offset(pointer, offset, element)


# ---- pointers ----------------------------------------------------------------------------------------
@rewrite("make_view")
def make_view(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A view is its pointer and its layout."""
    return [View(cv.plain(op.pointer), cv.layout(op.layout))]


@rewrite("get_iter")
def get_iter(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The pointer of a view."""
    return [cv.view(op.view).pointer]


@rewrite("add_offset")
@checked
def add_offset(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Advance a pointer by elements, or an iterator by an index, backwards if the attribute rewind is set."""
    held, offset = cv[op.source], cv.leaf(op.offset)
    if isinstance(held, DescIter):
        step = cv.sub if "rewind" in op.attributes else cv.add
        return [replace(held, index=step(held.index, offset))]
    if isinstance(held, View):
        if held.layout.swizzle is not None:
            raise ValueError("an offset does not commute with the view's swizzle")
        return [View(advanced_pointer(cv, held.pointer, offset, element_type(cv.type_of(op.source))), held.layout)]
    return [advanced_pointer(cv, cv.plain(op.source), offset, element_type(cv.type_of(op.source)))]


@rewrite("recast_iter", "inttoptr")
def recast(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The same address under another type; an integer becomes a pointer."""
    wanted = cast(llvm.LLVMPointerType, cv.types.convert(op.results[0].type))
    value = cv.value(cv.scalar(op.source))
    if not isinstance(value.type, llvm.LLVMPointerType):
        return [cv.pointer(value, wanted)]
    if value.type != wanted:
        return [cv.insert(AddrSpaceCastOp(value, wanted))]
    return [value]


@rewrite("ptrtoint")
def ptrtoint(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The address as an integer of the result's type."""
    return [cv.insert(llvm.PtrToIntOp(cv.plain(op.source), op.results[0].type))]


@rewrite("ptr.store")
def ptr_store(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Store one element."""
    cv.insert(llvm.StoreOp(op.value, cv.plain(op.pointer)))
    return []


@rewrite("make_desc_iter")
def make_desc_iter(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """An iterator at index 0."""
    return [DescIter(cv.plain(op.pointer), 0, cv.leaf(op.stride))]


@rewrite("deref_desc_iter")
def deref_desc_iter(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The pointer plus index times stride, in bytes."""
    held = cast(DescIter, cv[op.iterator])
    return [advanced_pointer(cv, held.pointer, cv.mul(held.index, held.stride), I8)]


# ---- storage -----------------------------------------------------------------------------------------
def _elements(type: cute.MemRefType, cv: Converter) -> int:
    layout = type.layout.data
    if not layout.is_static:
        raise cv.invalid("cute-storage", f"allocates {type}, which is not static")
    return algebra.cosize(layout)


@rewrite("memref.alloca", "make_fragment_like")
def alloca(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A stack object, which LLVM promotes to registers if its indices are constant."""
    type = type_as(op.results[0], cute.MemRefType)
    storage = array(_elements(type, cv), element_type(type))
    made = cv.insert(llvm.AllocaOp(cv.constant(1), storage, ALIGNMENT))
    wanted = cast(llvm.LLVMPointerType, cv.types.convert(cute.PtrType(type.space, type.element)))
    pointer = made if made.type == wanted else cv.insert(AddrSpaceCastOp(made, wanted))
    return [View(pointer, type.layout.data)]


@rewrite("memref.alloc_smem")
def alloc_smem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A variable in shared memory."""
    type = type_as(op.results[0], cute.MemRefType)
    storage = array(_elements(type, cv), element_type(type))
    return [View(shared_variable(cv, storage, op.attributes), type.layout.data)]


def shared_variable(cv: Converter, storage: Attribute, attributes: dict[str, Attribute]) -> SSAValue:
    """The address of a new variable in shared memory, aligned by the attribute alignment."""
    given = attributes.get("alignment")
    name = cv.fresh_symbol("cute_smem")
    space = cute.SPACES["smem"]
    alignment = given.value.data if isinstance(given, IntegerAttr) else ALIGNMENT
    cv.add_global(make_global(storage, name, "internal", space, alignment=alignment))
    return cv.insert(llvm.AddressOfOp(name, pointer_to(space)))


# ---- elements ----------------------------------------------------------------------------------------
def _address(view: View, coordinate: Tree, element: Attribute, cv: Converter) -> SSAValue:
    return advanced_pointer(cv, view.pointer, algebra.layout_offset(view.layout, coordinate, cv), element)


@rewrite("memref.load")
@checked
def load(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Load the element at a coordinate."""
    element = element_type(cv.type_of(op.view))
    return [cv.insert(llvm.LoadOp(_address(cv.view(op.view), cv.tree(op.coord), element, cv), element))]


@rewrite("memref.store")
@checked
def store(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Store the element at a coordinate."""
    place = _address(cv.view(op.view), cv.tree(op.coord), element_type(cv.type_of(op.view)), cv)
    cv.insert(llvm.StoreOp(op.value, place))
    return []


def require_dense(view: View, cv: Converter) -> SSAValue:
    """The pointer of a view whose elements are contiguous and in order; raises InvalidInput for any other view."""
    layout = algebra.coalesce(view.layout) if view.layout.is_static else None
    if layout is None or view.layout.swizzle is not None or isinstance(layout.shape, tuple) or layout.stride > 1:
        raise cv.invalid("cute-dense", f"needs contiguous elements in order, but the layout is {view.layout}")
    return view.pointer


@rewrite("memref.load_vec")
def load_vec(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Load all elements as a vector."""
    return [cv.insert(llvm.LoadOp(require_dense(cv.view(op.view), cv), op.results[0].type))]


@rewrite("memref.store_vec")
def store_vec(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Store all elements of a vector."""
    cv.insert(llvm.StoreOp(op.value, require_dense(cv.view(op.view), cv)))
    return []


def load_registers(view: View, count: int, cv: Converter, type: Attribute = i32) -> list[SSAValue]:
    """Load the first ``count`` registers of a dense fragment."""
    pointer = require_dense(view, cv)
    return [cv.insert(llvm.LoadOp(advanced_pointer(cv, pointer, index, type), type)) for index in range(count)]


def store_registers(view: View, values: Sequence[SSAValue], cv: Converter) -> None:
    """Store registers to a dense fragment."""
    pointer = require_dense(view, cv)
    for index, value in enumerate(values):
        cv.insert(llvm.StoreOp(value, advanced_pointer(cv, pointer, index, value.type)))


# ---- partitions --------------------------------------------------------------------------------------
@rewrite("local_tile")
@checked
def local_tile(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One tile: the layout within a tile, offset by the tile's coordinate in the layout of tiles."""
    view = cv.view(op.view)
    tiles, rests = algebra.divide(_plain(view), cv[op.tile], cv)
    rest = algebra.from_modes(rests)
    offset = algebra.crd2idx(cv.tree(op.coord), rest.shape, rest.stride, cv)
    return [
        View(advanced_pointer(cv, view.pointer, offset, element_type(cv.type_of(op.view))), algebra.from_modes(tiles))
    ]


@rewrite("local_partition")
@checked
def local_partition(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The elements of one thread: the layout of tiles, offset by the thread's coordinate within its tile."""
    view, threads = cv.view(op.view), cv.layout(op.threads)
    tile = tuple(algebra.product(mode.shape) for mode in threads.modes)
    tiles, rests = algebra.divide(_plain(view), tile if len(tile) > 1 else tile[0], cv)
    coordinate = _thread_coordinate(cv.leaf(op.index), threads, cv)
    place = algebra.from_modes(tiles)
    offset = algebra.crd2idx(coordinate if len(tile) > 1 else coordinate[0], place.shape, place.stride, cv)
    return [
        View(advanced_pointer(cv, view.pointer, offset, element_type(cv.type_of(op.view))), algebra.from_modes(rests))
    ]


def _thread_coordinate(index: Leaf, threads: Layout, cv: Converter) -> tuple[Leaf, ...]:
    """The coordinate of a thread: a quotient and a remainder of the thread index for each mode."""
    return tuple(
        _sum_of_offsets(
            cv, [(cv.rem(cv.div(index, step), extent), weight) for extent, step, weight in _mode_offset(mode)]
        )
        for mode in threads.modes
    )


def _mode_offset(mode: Layout) -> list[tuple[int, int, int]]:
    if not mode.is_static:
        raise ValueError("the layout of threads must be static")
    found, weight = [], 1
    for extent, step in zip(algebra.flatten(mode.shape), algebra.flatten(mode.stride)):
        found.append((extent, max(step, 1), weight))
        weight *= extent
    return found


def _sum_of_offsets(cv: Converter, places: list[tuple[Leaf, int]]) -> Leaf:
    total: Leaf = 0
    for place, weight in places:
        total = cv.add(total, cv.mul(place, weight))
    return total


def _plain(view: View) -> Layout:
    if view.layout.swizzle is not None:
        raise ValueError(f"cannot partition {view.layout}: the parts do not preserve the swizzle")
    return view.layout
