"""Products of loops one after the other that are alike: they can use the same shared memory and tensor memory in turn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from xdsl.ir import Operation

from ...ir.casting import given, parent, tile_type
from ...ir.dialects.fast_xdsl import text_of
from ...ir.dialects.op_definition import TableOperation
from .view_chains import is_inside, loops_around, only_accumulates, source_load

# What says how a product is made.
MARKS = ("warpgroup", "tensor_memory", "scattered_rows", "signedness_lhs", "signedness_rhs")


def ring_keys(products: Iterable[tuple[TableOperation, Iterable[int]]]) -> list[Hashable]:
    """A key for each of the (product, operands that are fetched) of a kernel, in program order.

    Products with one key are alike in what they fetch and multiply, and stand in loops of one block, each in its own: the
    n-th such product of one loop has the key of the n-th of another.
    """
    keys: list[tuple[Hashable, Operation, int]] = []
    for product, fetched in products:
        alike, loop = _alike(product, fetched), given(loops_around(product))[-1]
        before = sum(key[:2] == (alike, loop) for key in keys)
        keys.append((alike, loop, before))
    return [(alike, loop.parent, before) for alike, loop, before in keys]


def _alike(product: TableOperation, fetched: Iterable[int]) -> Hashable:
    values = (product.lhs, product.rhs, product.result)
    types = tuple((text_of(value.type.element_type), tuple(value.type.get_shape())) for value in values)
    tiles = tuple((index, *_tile(product, index)) for index in sorted(fetched))
    marks = tuple(text_of(product.attributes.get(mark)) for mark in MARKS)
    return types, tiles, marks, only_accumulates(product), is_computed_inside(product), _scales(product)


def _scales(product: TableOperation) -> Hashable:
    """What a product's scales take of tensor memory."""
    if product.lhs_scale is None:
        return None
    types = (tile_type(value) for value in (product.lhs_scale, product.rhs_scale))
    return product.scale_steps, *((text_of(type.element_type), tuple(type.get_shape())) for type in types)


def _tile(product: TableOperation, index: int) -> tuple[Hashable, ...]:
    """What is fetched for an operand, and what becomes of it."""
    load, chain = given(source_load(product, index))
    links = tuple((link.name, *_shape(link)) for link in chain if link.name != "nv_tileas.convert_layout")
    return load.view.owner.operands[0], text_of(load.view.type), links


def _shape(link: Operation) -> tuple[Hashable, ...]:
    permutation = text_of(link.attributes.get("permutation"))
    type = tile_type(link.results[0])
    return text_of(type.element_type), tuple(type.get_shape()), permutation


def is_computed_inside(product: TableOperation) -> bool:
    """Whether the innermost loop makes the left operand."""
    return is_inside(product.lhs, parent(product))
