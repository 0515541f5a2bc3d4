"""print and assert on the device: ``gpu.printf`` and ``cf.assert``.

One thread prints a scalar; a tile is printed element by element, each by the thread that holds it.
"""

from __future__ import annotations

from contextlib import nullcontext

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.cf import AssertOp

from ....dialects.cuda_tile.location import LOC, location_attr
from ....dialects.definition import TableOperation
from ....dialects.gpu_ext import PrintfOp
from ....errors import Unsupported
from ...shared.accessors import string_of
from ...shared.element_types import Element
from ...shared.llvm_types import I1
from ..emission.kernel_emitter import Handler, KernelEmitter, layout_of
from ..emission.thread_code import Value


def emit_print(e: KernelEmitter, op: TableOperation) -> None:
    if op.result_token is not None:
        e.values[op.result_token] = None
    text = string_of(op, "format")
    if any(isinstance(e.values[value], list) for value in op.values):
        return _print_tiles(e, op, text)
    _print(e, e.first_thread, text, [(e.element(v), e.scalar(v)) for v in op.values])


def _print_tiles(e: KernelEmitter, op: TableOperation, text: str) -> None:
    """Each element on its own; the operands share one shape and so one layout."""
    tiles = [value for value in op.values if isinstance(e.values[value], list)]
    layout = layout_of(tiles[0])
    if any(tuple(tile.type.get_shape()) != layout.shape for tile in tiles):
        raise Unsupported("print-shapes", "print of tiles of different shapes", remedy="print them one by one")
    columns = [
        (e.element(v), e.registers_as(v, layout) if v in tiles else [e.scalar(v)] * layout.num_registers)
        for v in op.values
    ]
    done: set[int] = set()
    for register, offset in enumerate(layout.register_offsets):
        if offset not in done:
            done.add(offset)
            row = [(element, column[register]) for element, column in columns]
            _print(e, e.holder(layout), text, row)


def _print(e: KernelEmitter, condition: Value | None, text: str, arguments: list[tuple[Element, Value]]) -> None:
    """Where a condition holds; None where every thread prints."""
    with nullcontext() if condition is None else e.b.when(condition):
        values = tuple(e.b.of(value, element.type) for element, value in arguments)
        e.b.operation(PrintfOp, values, (), {"format": StringAttr(text)})


def emit_assert(e: KernelEmitter, op: TableOperation) -> None:
    """Every element is true."""
    first, *others = dict.fromkeys(e.registers(op.condition))
    holds = e.b.every(first, *others)
    made = e.b.operation(AssertOp, (e.b.of(holds, I1),), (), {"msg": op.attributes["message"]})
    if (location := location_attr(op)) is not None:
        made.attributes[LOC] = location


HANDLERS: dict[str, Handler] = {"nv_tileas.print": emit_print, "nv_tileas.assert": emit_assert}
