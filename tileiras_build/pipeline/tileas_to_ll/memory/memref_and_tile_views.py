"""Memory references and tiled views: compile-time descriptors with a few scalars at run time.

Sizes count elements in ``index_type`` (i32, or i64 if any size is i64); strides count elements in i64.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import cast
from ....ir.dialects.nv_tileaa import MemRefType
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import I8, I16, I32, I64
from ..emission.compile_time_memrefs import MemRef, TiledView
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.value_map import ValueMap


def emit_make_memref(e: KernelEmitter, op: TableOp) -> None:
    type: MemRefType = op.result.type
    sizes, size_types = _merge(e.values, type.shape, op.sizes)
    strides, stride_types = _merge(e.values, type.strides, op.strides)
    wide = [
        e.b.widen(value) if kind == I32 else value  # known integers stay as they are
        for value, kind in zip(strides, stride_types)
    ]
    index_type = I64 if I64 in size_types else I32
    e.values[op.result] = MemRef(type, e.b.uniqued(e.values.scalar(op.base)), sizes, size_types, wide, index_type)


def _merge(
    values: ValueMap, static: tuple[int | None, ...], dynamic: Sequence[SSAValue]
) -> tuple[list[Value], list[Attribute]]:
    """Static extents with the dynamic ones filled in; narrow integers are extended to i32."""
    remaining = iter(dynamic)
    extents: list[Value] = []
    types: list[Attribute] = []
    for extent in static:
        if extent is not None:
            extents.append(extent)
            types.append(I32 if extent < 1 << 31 else I64)
            continue
        source = next(remaining)
        value, type = values.scalar(source), element_of(source.type).type
        if type in (I8, I16):
            value, type = values.b.cast("zext", value, I32, type), I32
        extents.append(value)
        types.append(type)
    return extents, types


def emit_block_tile(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = TiledView(op.result.type, e.values.memref(op.source))


def emit_dim_sizes(e: KernelEmitter, op: TableOp) -> None:
    memory = e.values.memref(op.source)
    for dim, result in enumerate(op.results):
        e.values[result] = _cast(e.b, memory.sizes[dim], memory.size_types[dim], element_of(result.type).type)


def emit_tile_counts(e: KernelEmitter, op: TableOp) -> None:
    """How many tiles cover each dimension: the extent divided by the step, rounded up."""
    view = e.values.view(op.source)
    for dim, result in enumerate(op.results):
        source = view.type.dim_map[dim]
        size, type, step = view.memory.sizes[source], view.memory.size_types[source], view.type.steps[dim]
        if isinstance(size, int):
            count: Value = -(-size // step)
        else:
            count = e.b.binary("udiv", e.b.add(size, step - 1, type), step, type)
        e.values[result] = _cast(e.b, count, type, element_of(result.type).type)


def _cast(b: InstructionBuilder, value: Value, source: Attribute, target: Attribute) -> Value:
    if isinstance(value, int) or source == target:
        return value
    return b.cast(
        "zext" if cast(IntegerType, target).bitwidth > cast(IntegerType, source).bitwidth else "trunc",
        value,
        target,
    )


HANDLERS: dict[str, Handler] = {
    "nv_tileas.make_memref": emit_make_memref,
    "nv_tileas.block_tile": emit_block_tile,
    "nv_tileas.get_dim_size": emit_dim_sizes,
    "nv_tileas.get_tile_count": emit_tile_counts,
}
