"""Desugar tuples, layouts and layout algebra to integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase

from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.cute import types as cute
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import cute_algebra as algebra
from ....ir.layouts.cute_algebra import Layout, flatten, print_tuple, rebuild, zip_leaves
from ...rewriting.dialect_conversion import RuleTable
from .converted_values import ConvertedValue, Converter, Leaf, Rewrite, Tree, View, int_parameter

REWRITES = RuleTable(dialect="cute")
rewrite = REWRITES.rule
Mode = TypeVar("Mode")


def checked(function: Rewrite) -> Rewrite:
    """A rewrite that reports a ValueError of the algebra as InvalidInput about its operands."""

    def run(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
        try:
            return function(cv, op)
        except ValueError as error:
            raise cv.invalid("cute-algebra", str(error)) from error

    return run


# ---- tuples ------------------------------------------------------------------------------------------
@rewrite("make_int_tuple", "make_shape", "make_stride", "make_coord", "make_tile", "make_tuple")
def make_tuple(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One operand for each leaf that the type does not determine; or for each top-level mode."""
    static_info, operands = type_as(op.results[0], cute.TupleType).data, [cv[value] for value in op.leaves]
    unknown = [leaf for leaf in flatten(static_info) if leaf is None]
    if len(unknown) == len(operands) and not any(isinstance(value, tuple) for value in operands):
        rest = iter([cv.leaf(value) for value in op.leaves])
        return [rebuild(static_info, iter([next(rest) if leaf is None else leaf for leaf in flatten(static_info)]))]
    members = tuple(value if isinstance(value, (tuple, int)) else cv.leaf(v) for value, v in zip(operands, op.leaves))
    return [members if len(members) != 1 or isinstance(static_info, tuple) else members[0]]


@rewrite("unpack_tuple")
def unpack_tuple(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One result per leaf."""
    found = [cv.value(leaf) for leaf in flatten(cv.tree(op.tuple))]
    if len(found) != len(op.results):
        raise cv.invalid("cute-leaves", f"has {len(op.results)} results for {len(found)} leaves")
    return found


@rewrite("static")
def static(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The value is determined by its type."""
    type = op.results[0].type
    held = type.data if isinstance(type, cute.LayoutType) else cast(cute.TupleType, type).data
    known = held.is_static if isinstance(held, Layout) else None not in list(flatten(held))
    if not known:
        raise cv.invalid("cute-static", f"has a result of type {op.results[0].type}, which is not static")
    return [held]


def _leafwise(function: Callable[[Converter], Callable[[Leaf, Leaf], Leaf]]) -> Rewrite:
    return checked(lambda cv, op: [zip_leaves(function(cv), cv.tree(op.lhs), cv.tree(op.rhs))])


REWRITES.add(
    {
        "cute.tuple_add": _leafwise(lambda cv: cv.add),
        "cute.tuple_sub": _leafwise(lambda cv: cv.sub),
        "cute.tuple_mul": _leafwise(lambda cv: cv.mul),
        "cute.tuple_div": _leafwise(lambda cv: cv.div),
        "cute.tuple_mod": _leafwise(lambda cv: cv.rem),
        "cute.ceil_div": _leafwise(lambda cv: cv.ceil_div),
        "cute.shape_div": _leafwise(lambda cv: cv.ceil_div),
    }
)


# ---- layouts -----------------------------------------------------------------------------------------
@rewrite("make_layout")
@checked
def make_layout(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Shape and stride; without a stride the first mode is dense and the fastest."""
    shape = cv.tree(op.shape)
    stride = cv.tree(op.stride) if op.stride is not None else algebra.compact(shape, cv)
    if not algebra.congruent(shape, stride):
        raise ValueError(f"{print_tuple(shape)} and {print_tuple(stride)} do not have the same form")
    return [Layout(shape, stride)]


@rewrite("make_composed_layout")
def make_composed_layout(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The swizzle is part of the type."""
    static_info = type_as(op.results[0], cute.LayoutType).data
    return [replace(cv.layout(op.layout), swizzle=static_info.swizzle, offset=static_info.offset)]


@rewrite("get_shape")
def get_shape(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The shape of a layout or view."""
    return [cv.layout(op.source).shape]


@rewrite("get_stride")
def get_stride(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The strides of a layout or view."""
    return [cv.layout(op.source).stride]


@rewrite("get_layout")
def get_layout(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The layout of a view."""
    return [cv.layout(op.view)]


@rewrite("size")
def size(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The product of all extents."""
    return [algebra.product(cv.layout(op.source).shape, cv)]


@rewrite("cosize")
def cosize(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One more than the largest offset."""
    return [algebra.cosize(cv.layout(op.source), cv)]


@rewrite("crd2idx")
@checked
def crd2idx(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The dot product of coordinate and stride leaves, swizzled."""
    return [algebra.layout_offset(cv.layout(op.layout), cv.tree(op.coord), cv)]


@rewrite("idx2crd")
@checked
def idx2crd(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Quotients and remainders."""
    return [algebra.idx2crd(cv.leaf(op.index), cv.tree(op.shape), cv)]


def _members(tree: Tree) -> list[Tree]:
    return list(tree) if isinstance(tree, tuple) else [tree]


@rewrite("select")
@checked
def select(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Select modes by index."""
    held = cv[op.source]
    if isinstance(held, Layout):
        return [algebra.from_modes(_selected(op, held.modes))]
    members = _selected(op, _members(cv.tree(op.source)))
    return [tuple(members) if len(members) > 1 else members[0]]


def _selected(op: TableOp, modes: Sequence[Mode]) -> list[Mode]:
    wanted = op.attributes.get("mode")
    if not isinstance(wanted, DenseArrayBase) or not all(0 <= mode < len(modes) for mode in wanted.get_values()):
        raise ValueError(f"the attribute mode must be an array of modes below {len(modes)}")
    return [modes[mode] for mode in wanted.get_values()]


@rewrite("group_modes")
@checked
def group_modes(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Group consecutive modes to one."""
    held = cv[op.source]
    if isinstance(held, Layout):
        return [algebra.from_modes_of(_grouped(op, held.modes, algebra.from_modes_of))]
    return [tuple(_grouped(op, _members(cv.tree(op.source)), tuple))]


def _grouped(op: TableOp, modes: list[Mode], join: Callable[[list[Mode]], Mode]) -> list[Mode]:
    begin, end = int_parameter(op, "begin"), int_parameter(op, "end", len(modes))
    if not 0 <= begin < end <= len(modes):
        raise ValueError(f"begin {begin} and end {end} are no range of {len(modes)} modes")
    return [*modes[:begin], join(modes[begin:end]), *modes[end:]]


def _of_layout(function: Callable[[Layout], Layout]) -> Rewrite:
    return checked(lambda cv, op: [function(cv.layout(op.layout))])


REWRITES.add(
    {
        "cute.coalesce": _of_layout(algebra.coalesce),
        "cute.filter_zeros": _of_layout(algebra.filter_zeros),
        "cute.right_inverse": _of_layout(algebra.right_inverse),
    }
)


@rewrite("complement")
@checked
def complement(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The offsets below a size that a layout skips; the default size is the layout's cosize."""
    layout = cv.layout(op.layout)
    size = cv.tree(op.size) if op.size is not None else algebra.cosize(layout, cv)
    return [algebra.complement(layout, algebra.product(size, cv))]


@rewrite("composition", "compose")
@checked
def composition(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Compose two layouts; a tiler is composed mode by mode."""
    first, second = cv.layout(op.lhs), cv[op.rhs]
    if isinstance(second, tuple):
        pairs = zip(first.modes, second, strict=True)
        return [algebra.from_modes_of([algebra.composition(a, Layout(b, algebra.compact(b)), cv) for a, b in pairs])]
    inner = replace(first, swizzle=None, offset=0)
    second = second if isinstance(second, Layout) else Layout(second, 1)
    return [replace(algebra.composition(inner, second, cv), swizzle=first.swizzle, offset=first.offset)]


@rewrite("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
@checked
def divide(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Divide each mode into tiles."""
    held = cv[op.source]
    layout = cv.layout(op.source)
    tiles, tile_layouts = algebra.divide(replace(layout, swizzle=None, offset=0), cv[op.tile], cv)
    made = algebra.DIVISIONS[op.name.removeprefix("cute.")](tiles, tile_layouts)
    made = replace(made, swizzle=layout.swizzle, offset=layout.offset)
    return [View(held.pointer, made) if isinstance(held, View) else made]


@rewrite("logical_product")
@checked
def logical_product(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Repeat a static layout."""
    return [algebra.logical_product(cv.layout(op.layout), cv.layout(op.tiler))]


@rewrite("derefine")
def derefine(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The same leaves under a type with fewer static leaves."""
    return [cv[op.source]]
