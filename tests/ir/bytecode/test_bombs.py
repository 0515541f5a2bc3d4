"""Short files that expand to something huge: refused at a byte offset, in time proportional to the file."""

import re
import struct

import pytest
from sample_modules import S, build, e, tile

from tests.counted import calls_of
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.byte_cursor import Cursor
from tileiras_build.ir.bytecode.reader import Reader

HEADER = b"\x7fTileIR\x00" + bytes([13, 4, 0, 0])
TYPES, DEBUG, STRINGS = 5, 3, 1
I32, FUNCTION, TILE, POINTER, TENSOR_VIEW, PARTITION = 3, 16, 13, 12, 14, 15
CALLS_PER_BYTE, CALLS_AT_LEAST = 60, 5_000


def varint(number: int) -> bytes:
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


def table(number: int, width: int, entries: list[bytes], start: int) -> bytes:
    """A section that is a table, at offset ``start`` of the file."""
    count = varint(len(entries))
    body = count + bytes(-len(count) % width)
    offset = 0
    for entry in entries:
        body += offset.to_bytes(width, "little")
        offset += len(entry)
    body += b"".join(entries)
    head = bytes([number | 0x80]) + varint(len(body)) + bytes([width])
    return head + b"\xcb" * (-(start + len(head)) % width) + body


def with_types(entries: list[bytes]) -> bytes:
    data = HEADER + table(STRINGS, 4, [b"k"], len(HEADER))
    return data + table(TYPES, 4, entries, len(data)) + b"\0"


def refusal(data: bytes, read=read_module) -> InvalidInput:
    def attempt():
        with pytest.raises(InvalidInput) as caught:
            read(data)
        return caught.value

    error, _ = calls_of(attempt, max(CALLS_AT_LEAST, CALLS_PER_BYTE * len(data)))
    assert error.location.offset is not None and len(error.message) < 500
    return error


def functions(count: int, refer) -> list[bytes]:
    """i32, and functions of two parameters that are types ``refer(index)`` each."""
    return [bytes([I32]), *(bytes([FUNCTION, 2]) + varint(refer(n)) * 2 + b"\0" for n in range(1, count))]


def dims(*sizes: int) -> bytes:
    return varint(len(sizes)) + b"".join(struct.pack("<q", size) for size in sizes)


def chain(count: int) -> list[bytes]:
    """Pointers to pointers to …: each entry names the next."""
    return [*(bytes([POINTER, 0]) + varint(n + 1) for n in range(count)), bytes([I32])]


BOMBS = {
    "doubling": (functions(40, lambda n: n - 1), "a parameter type cannot be a function type"),
    "long-doubling": (functions(3000, lambda n: n - 1), "a parameter type cannot be a function type"),
    "doubling-forward": (functions(40, lambda n: min(n + 1, 39)), "cannot be a function type|contains itself|nested"),
    "chain": (chain(5000), "types are nested more than 8 deep"),
    "result": (
        [bytes([I32]), bytes([FUNCTION, 0, 0]), bytes([FUNCTION, 0, 1, 1])],
        "a result type cannot be a function",
    ),
    "rank": ([bytes([I32]), bytes([TILE, 0]) + dims(*[1] * 65)], "at most 64 dimensions, got 65"),
    "huge-rank": ([bytes([I32]), bytes([TILE, 0]) + dims(*[1] * 4000)], "at most 64 dimensions, got 4000"),
    "view-rank": (
        [bytes([I32]), bytes([TENSOR_VIEW, 0, 0]) + dims(*[1] * 65) + dims(*[1] * 65)],
        "at most 64 dimensions",
    ),
    "negative": ([bytes([I32]), bytes([TILE, 0]) + dims(-(1 << 63))], "positive constants"),
}


@pytest.mark.parametrize("entries, message", BOMBS.values(), ids=BOMBS)
def test_types_that_expand(entries, message):
    assert re.search(message, refusal(with_types(entries)).message)


def test_many_parameters_are_no_bomb():
    entries = [bytes([I32]), bytes([TILE, 0, 0]), bytes([FUNCTION]) + varint(5000) + b"\1" * 5000 + b"\0"]
    assert "function section is missing" in refusal(with_types(entries)).message


@pytest.mark.parametrize("opening", [bytes([6, 1]), bytes([10, 1, 0])], ids=["arrays", "dictionaries"])
def test_attributes_in_attributes_are_counted(opening):
    reader = Reader(build(lambda *parts: None), "k.tilebc")
    with pytest.raises(InvalidInput, match="attributes are nested more than 64 deep") as caught:
        reader.tagged(Cursor(opening * 500 + bytes([3, 1]), "k.tilebc"))
    assert caught.value.location.offset == 65 * len(opening)


def named_often(count: int, size: int) -> bytes:
    """A constant of ``size`` words that ``count`` operations name."""

    def fill(_, types, code, values):
        words = b"".join(struct.pack("<i", n) for n in range(size))
        for _ in range(count):
            e.encode_ConstantOp(code, tile(types, S.I32, size), words)

    return build(fill)


def test_text_is_in_proportion_to_the_file():
    data = named_often(2000, 1024)
    assert len(data) < 30_000
    error = refusal(data, disassemble)
    assert error.id == "text-size" and "longer than" in error.message and error.location.offset > 100


def test_ordinary_repetition_is_printed():
    assert disassemble(named_often(200, 1024)).count("constant <i32:") == 200


def boolean_constants(count: int) -> bytes:
    def fill(_, types, code, values):
        for number in range(count):
            e.encode_ConstantOp(code, tile(types, S.I1, 1 << 24), b"\xff" if number % 2 else b"\0")

    return build(fill)


def test_splats_are_not_expanded(monkeypatch):
    """What a splat stands for is 16 MB; nothing may look at its elements one by one."""
    from tileiras_build.ir.dialects.cuda_tile.attrs import DenseConstantAttr

    def refuse(self):
        raise AssertionError("expanded")

    monkeypatch.setattr(DenseConstantAttr, "as_array", refuse)
    assert disassemble(boolean_constants(50)).count("%true") >= 1


def test_a_boolean_constant_compares_no_more_bytes_than_it_has(monkeypatch):
    from tileiras_build.ir.dialects.cuda_tile import attrs

    monkeypatch.setattr(attrs, "_packed_ones", lambda count: pytest.fail("made the bits of all elements"))
    tile_type = attrs.TileType((1 << 24,), attrs.i1)
    assert attrs.DenseConstantAttr(tile_type, b"\xff").is_splat


def call_chain(length: int, ops: int) -> bytes:
    """Operations that share a location inlined ``length`` deep, or that each have one of their own."""

    def where(table):
        source = table.file("k.py", "/src")
        function = table.subprogram(source, 1, "k", "k", table.compile_unit(source), 1)
        own = loc = table.loc(function, "/src/k.py", 1, 1)
        for line in range(length):
            loc = table.call_site(table.loc(function, "/src/k.py", line, 1), loc)
        return own, loc

    def fill(_, types, code, values):
        for _ in range(ops):
            e.encode_ConstantOp(code, tile(types, S.I32), bytes(4))

    return build(fill, debug=where)


def test_long_call_chains_are_counted_together():
    """Each link names all before it: 650 of them are a million parts, and allowed; the file says so in 12 kB."""
    read_module(call_chain(400, 3))
    assert "more than 4096 parts" in refusal(call_chain(1200, 3)).message


def test_a_location_is_written_once(monkeypatch):
    from tileiras_build.ir.bytecode import printer

    written = []
    original = printer.location_text
    monkeypatch.setattr(printer, "location_text", lambda loc: written.append(loc) or original(loc))
    assert disassemble(call_chain(50, 40), locations=True).count("callsite") > 40 * 50
    assert len(written) <= 3


def test_debug_attributes_have_one_budget(monkeypatch):
    from tileiras_build.ir.bytecode import debug_info

    monkeypatch.setattr(debug_info, "MAX_TOTAL", 1000)
    monkeypatch.setattr(debug_info, "MAX_NODES_PER_BYTE", 1)
    read_module(call_chain(10, 1))
    assert "expand to far more parts" in refusal(call_chain(400, 1)).message


def test_constants_inside_attributes_have_one_budget(monkeypatch):
    from tileiras_build.ir.bytecode import attribute_reader

    monkeypatch.setattr(attribute_reader, "MAX_EXPANSION", 0)
    one = Reader(build(lambda *parts: None), None)
    cursor = one.file.sub_cursor(0, 0)
    monkeypatch.setattr(one, "constant", lambda *parts: type("Constant", (), {"raw": b"1234"}))
    monkeypatch.setattr(one.types, "read", lambda *parts: None)
    with pytest.raises(InvalidInput, match="attributes name constants of more than"):
        one.nested_constant(cursor)
