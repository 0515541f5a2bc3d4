"""print and assert on the device, by the driver's ``vprintf`` and ``__assertfail``.

One thread prints a scalar; a tile is printed element by element, each by the thread that holds it.
"""

from __future__ import annotations

from typing import Any

from ...dialects.cuda_tile.location import source_location
from ...errors import Unsupported
from ..shared.element_types import Element
from .analyze_buffers import argument_places
from .builder import Value
from .kernel_emitter import Handler, KernelEmitter, layout_of


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


def _guarded(e: KernelEmitter, condition: Value | None, emit: Any) -> None:
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
        address = b.pure(f"getelementptr i8, ptr {buffer}, i32 {place}")
        b.line(f"store {element.register} {value}, ptr {address}, align {element.bytes}")
    format = e.module.string_constant(text)
    e.module.use_function("i32 @vprintf(ptr, ptr)")
    e.b.value(f"call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @{format} to ptr), ptr {buffer})")


def emit_assert(e: KernelEmitter, op: Any) -> None:
    """__assertfail(message, file, line, function, character size) where any element is false."""
    b = e.b
    location = source_location(op)
    names = [op.attributes["message"].data, (location and location.file) or "", e.name]
    strings = [f"ptr addrspacecast (ptr addrspace(1) @{e.module.string_constant(name)} to ptr)" for name in names]
    holds: Value | None = b.all_of([_spelled(value) for value in dict.fromkeys(e.registers(op.condition))])
    e.module.use_function("void @__assertfail(ptr, ptr, i32, ptr, i64)")
    line = location.line if location else 0
    arguments = f"{strings[0]}, {strings[1]}, i32 {line}, {strings[2]}, i64 1"
    fails = b.pure(f"xor i1 {holds}, true")
    _guarded(e, fails, lambda: b.line(f"call void @__assertfail({arguments})"))


def _spelled(value: Value) -> Value:
    return value if isinstance(value, str) else ("true" if value else "false")


HANDLERS: dict[str, Handler] = {"nv_tileas.print": emit_print, "nv_tileas.assert": emit_assert}
