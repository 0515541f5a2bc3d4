"""Constants in Tile IR text: ``<f32: [[1.0, 2.0], [3.0, 4.0]]> : tile<2x2xf32>``, checked against their types.

One literal without brackets is a splat; brackets must have the shape of the tile. Booleans are for i1,
decimal integers for integers, and bits in hexadecimal fit the type.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from tileiras_build.ir.bytecode.float_bits import float_bits
from tileiras_build.ir.bytecode.text_scanner import NUMBER, Scanner, shortened
from tileiras_build.ir.dialects.cuda_tile.attrs import DenseConstantAttr, storage_bytes
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS, F8E8M0, FNV8, is_float
from tileiras_build.ir.dialects.cuda_tile.types import MAX_RANK, TileType

UNSIGNED_FLOATS = (F8E8M0, FNV8)

Shape = tuple[int, ...]
BYTES = re.compile(r"0x(?:[0-9A-Fa-f]{2})+")


def dense(scan: Scanner) -> DenseConstantAttr:
    """A constant, from ``<`` to its type."""
    scan.expect("<")
    scan.skip()
    start = scan.position
    element_type = scan.type()
    if element_type not in BITS:
        scan.fail(f"a constant is numeric, not of type {element_type}", start)
    scan.expect(":")
    raw = _bytes(scan) if scan.at('"') else None
    words, shape = ([], None) if raw is not None else _elements(scan, element_type)
    scan.expect("> :")
    type = _tile(scan, element_type, shape)
    return DenseConstantAttr(type, _pack(words, type) if raw is None else raw)


def dense_elements(scan: Scanner, type: Attribute) -> DenseConstantAttr:
    """``<elements>`` of a known type."""
    scan.skip()
    start = scan.position
    if not isinstance(type, TileType) or type.element_type not in BITS:
        scan.fail(f"expected a constant of a numeric tile, got {type}", start)
    scan.expect("<")
    if scan.at('"'):
        return DenseConstantAttr(type, _bytes(scan))
    words, shape = _elements(scan, type.element_type)
    scan.expect(">")
    if shape not in (None, type.shape):
        scan.fail(f"the elements are of shape {list(shape)}, the type is of shape {list(type.shape)}", start)
    return DenseConstantAttr(type, _pack(words, type))


def _tile(scan: Scanner, element_type: Attribute, shape: Shape | None) -> TileType:
    scan.skip()
    start = scan.position
    type = scan.type()
    if not isinstance(type, TileType) or type.element_type != element_type:
        scan.fail(f"expected a tile of {element_type}, got {type}", start)
    if shape is not None and shape != type.shape:
        scan.fail(f"the elements are of shape {list(shape)}, the type is of shape {list(type.shape)}", start)
    return type


def _bytes(scan: Scanner) -> bytes:
    scan.skip()
    start = scan.position
    text = scan.string()
    if BYTES.fullmatch(text) is None:
        scan.fail(f'expected bytes such as "0x00FF", got {shortened(text)!r}', start)
    return bytes.fromhex(text[2:])


def _elements(scan: Scanner, type: Attribute) -> tuple[list[int], Shape | None]:
    """The bits of the elements in order, and their shape; None for a splat."""
    if not scan.at("["):
        return [literal_bits(scan, type)], None
    words: list[int] = []
    return words, _brackets(scan, type, words, 1)


def _brackets(scan: Scanner, type: Attribute, element_bits: list[int], depth: int) -> Shape:
    """The shape of a list; its elements are added to ``element_bits``."""
    if depth > MAX_RANK:
        scan.fail(f"a constant has at most {MAX_RANK} dimensions")
    scan.expect("[")
    count, inner = 0, None
    while count == 0 or scan.accept(","):
        scan.skip()
        start = scan.position
        if scan.at("["):
            shape = _brackets(scan, type, element_bits, depth + 1)
        else:
            shape = ()
            element_bits.append(literal_bits(scan, type))
        if inner is not None and shape != inner:
            scan.fail(f"an element of shape {list(shape)} is in a list with one of shape {list(inner)}", start)
        count, inner = count + 1, shape
    scan.expect("]")
    return (count, *(inner or ()))


def literal_bits(scan: Scanner, type: Attribute) -> int:
    """The bit pattern of a literal of an element type."""
    scan.skip()
    start = scan.position
    return bits_of(scan, scan.match(NUMBER, f"a number of type {type}"), type, start)


def bits_of(scan: Scanner, text: str, type: Attribute, start: int) -> int:
    """The bit pattern of a literal, already read."""
    if text in ("true", "false"):
        if type != i1:
            scan.fail(f"{text} is of type i1, not {type}", start)
        return int(text == "true")
    if is_float(type) and "0x" not in text:
        if re.fullmatch(r"-?\d+", text):
            scan.fail(f"{shortened(text)} is an integer; a number of type {type} has a point", start)
        if text.startswith("-") and type in UNSIGNED_FLOATS:
            scan.fail(f"{shortened(text)} does not fit in {type}, which has no sign", start)
        return float_bits(float(text), type)
    if not re.fullmatch(r"-?\d+|-?0x[0-9A-Fa-f]+", text):
        scan.fail(f"{shortened(text)} is not an integer", start)
    number, width = scan.float_literal(text, start), BITS[type]
    if not -(1 << width - 1) <= number < 1 << width or (number < 0 and is_float(type)):
        scan.fail(f"{shortened(text)} does not fit in {type}", start)
    return number & (1 << width) - 1


def _pack(element_bits: list[int], type: TileType) -> bytes:
    size = storage_bytes(type.element_type)
    if type.element_type == i1:
        if len(element_bits) == 1:
            return b"\xff" if element_bits[0] else b"\x00"
        bits = sum(bit << index for index, bit in enumerate(element_bits))
        return bits.to_bytes((len(element_bits) + 7) // 8, "little")
    return b"".join(word.to_bytes(size, "little") for word in element_bits)
