"""Preconditions of operations before they become per-thread code: one row for each kind.

A violation is a bug of an earlier pass. Undetected, it would cause wrong code or an error without the operation's name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation

from ....core.errors import InternalError
from ....ir.casting import int_attr, str_attr
from ....ir.dialects.nv_tileas.scheduling_attributes import LD_SHARED, ST_SHARED
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_mma
from ....ir.layouts import separate_warps
from ....target.targets import Target
from ...analysis.op_queries import is_own
from ..type_converter import LLVMTypeConverter
from .buffer_offsets import Buffers

# A row accepts the class of its operation.
Check = Callable[[Any, Buffers, Target], None]


def check_operation(op: Operation, buffers: Buffers, target: Target) -> None:
    """Raise InternalError[copy-buffer, copy-shape, atom-unknown, wait-pending, cast-survives]."""
    if (check := CHECKS.get(op.name)) is not None:
        check(op, buffers, target)
    elif is_mma(op):
        _check_known(op, "mma", _mma_rows(target), target)


def _check_load(op: TableOp, buffers: Buffers, target: Target) -> None:
    if op.buffer not in buffers.places:
        raise InternalError("copy-buffer", f"{op.name} copies to a buffer that has no offset in shared memory")
    given = op.view.type.tile
    if "layout" in op.attributes:
        given = (separate_warps(op.layout) if is_own(op.buffer) else op.layout).shape
    _check_shapes(op, given, tuple(op.buffer.type.placement.data.shape))


def _check_store(op: TableOp, buffers: Buffers, target: Target) -> None:
    _check_copy(op, buffers, target)
    _check_shapes(op, tuple(op.view.type.tile), tuple(op.placement.shape))


def _check_shapes(op: Operation, actual: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if expected != actual:
        raise InternalError("copy-shape", f"{op.name} copies a tile of shape {actual} to a buffer of shape {expected}")


def _check_copy(op: TableOp, buffers: Buffers, target: Target) -> None:
    _check_known(op, "copy_atom", {LD_SHARED, ST_SHARED, *target.copy_atoms}, target)


def _check_known(op: TableOp, key: str, known: Collection[str], target: Target) -> None:
    if key in op.attributes and (atom := str_attr(op, key)) not in known:
        raise InternalError("atom-unknown", f"{op.name} uses {atom}, which {target.name} does not have")


@cache
def _mma_rows(target: Target) -> frozenset[str]:
    """The matrix instructions of a GPU."""
    return frozenset(row.name for row in target.mma_rows)


def _check_wait(op: TableOp, buffers: Buffers, target: Target) -> None:
    pending = int_attr(op, "pending", 0)
    rings = [buffer.type.stages.data for buffer in buffers.places if hasattr(buffer.type, "stages")]
    if pending < 0 or (rings and pending >= max(rings) * buffers.steps):
        raise InternalError(
            "wait-pending", f"{op.name} leaves {pending} groups pending, more than any buffer has stages"
        )


def _check_cast(op: Operation, buffers: Buffers, target: Target) -> None:
    converter = LLVMTypeConverter()
    before, after = ([converter.convert(value.type) for value in values] for values in (op.operands, op.results))
    if before != after:
        types = [", ".join(str(value.type) for value in values) for values in (op.operands, op.results)]
        raise InternalError("cast-survives", f"a cast from {types[0]} to {types[1]} remains after the conversion")


CHECKS: dict[str, Check] = {
    "nv_tileas.async_tiled_load": _check_load,
    "nv_tileas.async.tiled_tma_load": _check_load,
    "nv_tileas.async.tiled_tma_store": _check_store,
    "nv_tileas.local_load": _check_copy,
    "nv_tileas.async_wait": _check_wait,
    UnrealizedConversionCastOp.name: _check_cast,
}
