"""print and assert on the device: ``gpu.printf`` and ``cf.assert``.

One thread prints scalars, and tiles as nested lists. Larger tiles (``GATHERED_OPS``) are printed element by element by
the threads that hold them, with a format string for each element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.cf import AssertOp
from xdsl.ir import SSAValue

from ....core.errors import Unsupported
from ....ir.casting import str_attr
from ....ir.dialects.cuda_tile.location import LOC, location_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.gpu_ext import PrintfOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I1
from ..decompose_prints import format_pieces_of
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.value_map import ValueMap

# Arguments of one call: further ones are ignored (CUDA C++ Programming Guide, "Formatted Output").
MAX_PRINTF_ARGUMENTS = 32
Argument = tuple[Element, Value]
Piece = tuple[str, Argument | None]


def emit_print(e: KernelEmitter, op: TableOp) -> None:
    if op.result_token is not None:
        e.values[op.result_token] = None
    text = str_attr(op, "format")
    if not all(map(_is_whole, _tiles(e.values, op))):
        return _print_elements(e, op, text)
    with e.b.if_then(e.threads.is_first_thread):
        for part, arguments in _calls(_format_pieces(e, op, text)):
            _print(e.b, part, arguments)


def _tiles(values: ValueMap, op: TableOp) -> list[SSAValue]:
    return [value for value in op.values if isinstance(values[value], list)]


def _is_whole(tile: SSAValue) -> bool:
    """Whether each thread holds all of a tile, in order."""
    layout = layout_of(tile)
    return layout == LinearLayout.replicated(layout.shape, layout.num_warps)


def _format_pieces(e: KernelEmitter, op: TableOp, text: str) -> Iterator[Piece]:
    """The printed pieces, one conversion each."""
    values = iter(op.values)
    for before, conversion in format_pieces_of(text):
        yield before, None
        if not conversion or (value := next(values, None)) is None:
            yield conversion, None
            continue
        shape = layout_of(value).shape if isinstance(e.values[value], list) else ()
        elements = e.values.registers(value) if shape else [e.values.scalar(value)]
        yield from _formatted_elements(
            conversion, shape, iter([(element_of(value.type), element) for element in elements])
        )


def _formatted_elements(conversion: str, shape: tuple[int, ...], elements: Iterator[Argument]) -> Iterator[Piece]:
    """Nested lists of a tile's elements, which come in row-major order."""
    if not shape:
        yield conversion, next(elements)
        return
    for index in range(shape[0]):
        yield ", " if index else "[", None
        yield from _formatted_elements(conversion, shape[1:], elements)
    yield "]", None


def _calls(pieces: Iterable[Piece]) -> Iterator[tuple[str, list[Argument]]]:
    """The formats and arguments of the calls that print pieces one after another."""
    text, arguments = "", list[Argument]()
    for fragment, argument in pieces:
        if argument is not None:
            if len(arguments) == MAX_PRINTF_ARGUMENTS:
                yield text, arguments
                text, arguments = "", []
            arguments.append(argument)
        text += fragment
    yield text, arguments


def _print_elements(e: KernelEmitter, op: TableOp, text: str) -> None:
    """Print each element by its own call; the tiles share one shape and so one layout."""
    tiles = _tiles(e.values, op)
    layout = layout_of(tiles[0])
    if any(layout_of(tile).shape != layout.shape for tile in tiles):
        raise Unsupported("print-shapes", "print of large tiles of different shapes", remedy="print them one by one")
    columns = [
        (
            element_of(v.type),
            e.values.registers_as(v, layout) if v in tiles else [e.values.scalar(v)] * layout.num_registers,
        )
        for v in op.values
    ]
    condition, done = e.threads.holds_canonical_copy(layout), set[int]()
    for register, offset in enumerate(layout.register_offsets):
        if offset not in done:
            done.add(offset)
            with nullcontext() if condition is None else e.b.if_then(condition):
                _print(e.b, text, [(element, column[register]) for element, column in columns])


def _print(b: InstructionBuilder, text: str, arguments: list[Argument]) -> None:
    values = tuple(b.of(value, element.type) for element, value in arguments)
    b.operation(PrintfOp, values, (), {"format": StringAttr(text)})


def emit_assert(e: KernelEmitter, op: TableOp) -> None:
    """Assert that every element is true."""
    first, *others = dict.fromkeys(e.values.registers(op.condition))
    holds = e.b.all_lanes(first, *others)
    made = e.b.operation(AssertOp, (e.b.of(holds, I1),), (), {"msg": op.attributes["message"]})
    if (location := location_attr(op)) is not None:
        made.attributes[LOC] = location


HANDLERS: dict[str, Handler] = {"nv_tileas.print": emit_print, "nv_tileas.assert": emit_assert}
