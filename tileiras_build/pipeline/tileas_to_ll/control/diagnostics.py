"""print and assert on the device, by the driver's ``vprintf`` and ``__assertfail``.

One thread prints a scalar; a tile is printed element by element, each by the thread that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import SSAValue

from ....dialects.cuda_tile.location import source_location
from ....errors import Unsupported
from ...shared.element_types import Element
from ...shared.llvm_types import GLOBAL, I8, I32, I64, pointer
from ..emission.analyze_buffers import argument_places
from ..emission.thread_code import Value
from ..emission.kernel_emitter import Handler, KernelEmitter, layout_of


def emit_print(e: KernelEmitter, op: Any) -> None:
    if op.result_token is not None:
        e.values[op.result_token] = None
    text = op.attributes["format"].data
    if any(isinstance(e.values[value], list) for value in op.values):
        return _print_tiles(e, op, text)
    _guarded(e, e.first_thread, lambda: _print(e, text, [(e.element(v), e.scalar(v)) for v in op.values]))


def _print_tiles(e: KernelEmitter, op: Any, text: str) -> None:
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
            _guarded(e, e.holder(layout), lambda row=row: _print(e, text, row))


def _guarded(e: KernelEmitter, condition: Value | None, emit: Callable[[], None]) -> None:
    """Emit under a branch."""
    if condition is None:
        return emit()
    b = e.b
    then, merge = b.label(), b.label()
    b.branch_if(condition, then, merge)
    b.start(then)
    with b.scope():
        emit()
    b.branch(merge)
    b.start(merge)


def _print(e: KernelEmitter, text: str, arguments: list[tuple[Element, Value]]) -> None:
    buffer, b = e.print_buffer, e.b
    places, _ = argument_places([element.bytes for element, _ in arguments])
    for place, (element, value) in zip(places, arguments):
        b.store(value, b.offset(buffer, place, I8, I32), element.bytes, element.type)
    e.module.use_function("vprintf", I32, (pointer(), pointer()))
    b.call("vprintf", (_address(e, e.module.string_constant(text)), buffer), I32)


def _address(e: KernelEmitter, symbol: str) -> SSAValue:
    """The generic address of a string."""
    return e.b.cast("addrspacecast", e.b.address_of(symbol, GLOBAL), pointer())


def emit_assert(e: KernelEmitter, op: Any) -> None:
    """__assertfail(message, file, line, function, character size) where any element is false."""
    b = e.b
    location = source_location(op)
    names = [op.attributes["message"].data, (location and location.file) or "", e.name]
    symbols = [e.module.string_constant(name) for name in names]
    holds = b.all_of(list(dict.fromkeys(e.registers(op.condition))))
    e.module.use_function("__assertfail", None, (pointer(), pointer(), I32, pointer(), I64))
    line = location.line if location else 0
    _guarded(e, b.not_(holds), lambda: _fail(e, symbols, line))


def _fail(e: KernelEmitter, symbols: list[str], line: int) -> None:
    """``symbols``: of the message, the file and the function."""
    b = e.b
    message, file, function = (_address(e, symbol) for symbol in symbols)
    b.call("__assertfail", (message, file, b.constant(line, I32), function, b.constant(1, I64)))


HANDLERS: dict[str, Handler] = {"nv_tileas.print": emit_print, "nv_tileas.assert": emit_assert}
