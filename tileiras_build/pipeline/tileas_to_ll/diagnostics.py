"""print and assert on the device, by the driver's ``vprintf`` and ``__assertfail``.

One thread prints a scalar; a tile is printed element by element, each by the thread that holds it.
"""

from __future__ import annotations

import re
from typing import Any

from ...dialects.cuda_tile.location import source_location
from ...errors import Unsupported
from ..shared.element_types import Element
from .builder import Value
from .kernel_emitter import Handler, KernelEmitter, layout_of

# vprintf takes C varargs: narrow integers as i32, floats as double (CUDA Programming Guide, "Formatted Output").
_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t)?([diouxXeEfFgGaAcsp%])")
FLOATS = {"half", "bfloat", "float", "double"}


def _promoted(e: KernelEmitter, element: Element, value: Value, conversion: str) -> tuple[str, Value]:
    """(LLVM type, value) of a vararg."""
    from .float_conversions import convert_float

    b = e.b
    if element.register == "double":
        return "double", value
    if element.is_float or element.name.startswith("f"):
        wide = convert_float(e, "f32" if element.name == "tf32" else element.name, "f32", "nearest_even")(value)
        return "double", b.pure(f"fpext float {wide} to double")
    if element.register == "i64":
        return "i64", value
    if "ptr" in element.register:
        return "i64", b.pure(f"ptrtoint {element.register} {value} to i64")
    if element.register == "i32":
        return "i32", value
    unsigned = conversion in "ouxX" or element.register == "i1"
    return "i32", b.pure(f"{'zext' if unsigned else 'sext'} {element.register} {value} to i32")


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
    conversions = [match[1] for match in _FORMAT.finditer(text) if match[1] != "%"]
    conversions += ["d"] * (len(arguments) - len(conversions))
    values = [_promoted(e, element, value, kind) for (element, value), kind in zip(arguments, conversions)]
    buffer, b = e.print_buffer, e.b
    offset = 0
    for type, value in values:
        size = 4 if type == "i32" else 8
        offset = -(-offset // size) * size
        place = b.pure(f"getelementptr i8, ptr {buffer}, i32 {offset}")
        b.line(f"store {type} {value}, ptr {place}, align {size}")
        offset += size
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
