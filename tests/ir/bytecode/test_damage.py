"""Damaged and hostile files: one clear sentence with an offset, never anything else, in bounded time."""

import shlex
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_modules import SAMPLES, V13_4, V13_5, S, build, e, f32, i32, one_pointer, sample, tile
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i1

from tileiras_build.core.errors import InvalidInput, Unsupported
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.writer import write_module

MAGIC = b"\x7fTileIR\x00"
HEADER = MAGIC + bytes([13, 4, 0, 0])
VALID = sample("control")


def refusal(data: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read_module(data, "k.tilebc")
    return caught.value


HEADERS = {
    "empty": (b"", "bytecode-empty", "the file is empty", 0),
    "text": (b"module {}", "bytecode-magic", "input does not correspond to Tile IR bytecode", 0),
    "mlir": (b"ML\xefR\x0d", "bytecode-mlir", "failed to parse IR bytecode (it looks like MLIR bytecode instead)", 0),
    "magic-cut": (MAGIC[:5], "bytecode-truncated", "the magic number", 5),
    "version-cut": (HEADER[:9], "bytecode-truncated", "the version", 9),
    "no-sections": (HEADER, "bytecode-truncated", "a section header", 12),
    "only-end": (HEADER + b"\0", "bytecode-damaged", "the string section is missing", 13),
    "unknown-section": (HEADER + b"\x7f\x01\x00", "bytecode-damaged", "unknown section 127", 12),
    "huge-section": (HEADER + b"\x02\xff\xff\xff\x7f\x00", "bytecode-truncated", "bytes, but only", 12),
    "twice": (HEADER + b"\x07\x00\x07\x00\x00", "bytecode-damaged", "the producer section occurs twice", 14),
    "after-end": (HEADER + b"\x00\x01", "bytecode-damaged", "follow the end section", 13),
    "unaligned": (HEADER + b"\x01\x00\x00", "bytecode-damaged", "must be aligned to 4 bytes", 12),
    "odd-alignment": (HEADER + b"\x81\x00\x03", "bytecode-damaged", "not a power of two", 12),
    "aligned-end": (HEADER + b"\x80", "bytecode-damaged", "the end section has an alignment", 12),
    "long-varint": (HEADER + b"\x07" + b"\xff" * 11, "bytecode-damaged", "longer than 64 bits", 13),
}


@pytest.mark.parametrize("data, id, message, offset", HEADERS.values(), ids=HEADERS)
def test_bad_files(data, id, message, offset):
    error = refusal(data)
    assert error.id == id and message in error.message
    assert (error.location.file, error.location.offset) == ("k.tilebc", offset)
    assert str(error).startswith(f"k.tilebc: byte {offset:#x}: error[{id}]: ")


@pytest.mark.parametrize("name", ["my kernels.py", "k.cu"])
def test_a_file_of_kernels_is_to_be_exported_first(name):
    with pytest.raises(InvalidInput, match=f"tileiras-build export {shlex.quote(name)}$"):
        read_module(b"import cuda.tile as ct", name)


@pytest.mark.parametrize(
    "version, found, age",
    [
        (bytes([13, 9, 0, 0]), "13.9", "newer than"),
        (bytes([18, 0, 0, 0]), "18.0", "newer than"),
        (bytes([13, 5, 2, 0]), "13.5.2", "newer than"),
        (bytes([13, 4, 1, 0]), "13.4.1", "not one of"),
        (bytes([12, 9, 0, 0]), "12.9", "not one of"),
    ],
)
def test_unknown_versions_name_both(version, found, age):
    error = refusal(MAGIC + version + VALID[12:])
    assert error.id == "bytecode-version"
    assert f"bytecode {found}, {age} the versions that this compiler supports (13.1 to 13.5)" in error.message
    assert "13.5 or older" in error.remedy


def test_the_next_version_is_refused_by_name():
    error = refusal(MAGIC + bytes([13, 6, 0, 0]) + sample("control")[12:])
    assert error.id == "bytecode-version" and "bytecode 13.6, newer than" in error.message


def test_preview_content_is_refused_by_name():
    error = refusal(MAGIC + bytes([13, 5, 1, 0]) + sample("control")[12:])
    assert (error.id, error.location.offset) == ("bytecode-version", 8)
    assert "bytecode 13.5 with preview content" in error.message


FUNCTION = sample("memory")  # one pointer
ATTRIBUTES = FUNCTION.index(b"\x02\x01\x0b\x00\x06\x00")  # flags, location, no hints, no attributes


# byte from ATTRIBUTES, value -> message
FUNCTIONS = {
    "hints-flag": (0, 6, "unknown flags 0x6"),
    "form": (0, 0x0A, "unknown flags 0xa"),
    "private": (0, 3, "is private"),
    "not-an-entry": (0, 0, "is not an entry"),
    "hints": (2, 6, "expected optimization hints"),
    "attributes": (4, 0x0B, "expected an array of dictionaries"),
}


@pytest.mark.parametrize("place, value, message", FUNCTIONS.values(), ids=FUNCTIONS)
def test_damaged_attributes_of_a_function(place, value, message):
    data = bytearray(FUNCTION)
    data[ATTRIBUTES + place] = value
    error = refusal(bytes(data))
    assert message in error.message and error.location.offset
    assert not place or error.location.offset == ATTRIBUTES + place


ONE = IntegerAttr(1, i1)


@pytest.mark.parametrize(
    "attributes, message",
    [
        ([ONE], "expected an array of dictionaries, the attributes of parameters"),
        ([DictionaryAttr({})] * 2, "2 dictionaries of attributes for 1 parameters"),
        ([DictionaryAttr({"bare": ONE})], "the attribute 'bare' of a parameter is not one of a dialect"),
    ],
)
def test_wrong_attributes_of_parameters(attributes, message):
    module = read_module(FUNCTION)
    entry = module.body.block.first_op.body.block.first_op
    entry.properties["arg_attrs"] = ArrayAttr(attributes)
    data = write_module(module, version=(13, 5))
    error = refusal(data)
    assert message in error.message and error.location.offset == data.index(b"\x02\x00\x0b\x00\x06") + 4


def pointers(number: int, version) -> bytes:
    attribute = type("Numbered", (), {"_value_": bytes([number])})
    return build(lambda *_: None, lambda types: [types.tile(types.pointer(types.F32, attribute), ())], version)


@pytest.mark.parametrize(
    "number, version, message",
    [
        (1, V13_4, "the pointer attribute 'unicast' needs bytecode 13.5, the file is 13.4"),
        (2, V13_4, "the pointer attribute 'multicast' needs bytecode 13.5, the file is 13.4"),
        (3, V13_5, "unknown pointer attribute 3"),
    ],
)
def test_wrong_pointer_attributes(number, version, message):
    error = refusal(pointers(number, version))
    assert message in error.message and error.location.offset


def test_unknown_flags_of_a_subprogram():
    def where(table):
        source = table.file("k.py", "/src")
        function = table.subprogram(source, 1, "k", "k", table.compile_unit(source), 1)
        return table.loc(function, "/src/k.py", 7, 3)

    data = bytearray(build(lambda *_: None, debug=where))
    place = data.rindex(b"\x01\x00\x04") + 1  # the last line and the flags of the subprogram, then the location
    data[place] = 1
    read_module(bytes(data))
    data[place] = 2
    error = refusal(bytes(data))
    assert "unknown flags 0x2 of a subprogram" in error.message and error.location.offset == place


def test_an_operation_newer_than_its_file():
    data = bytearray(sample("since_13_4"))
    data[9] = 1
    assert refusal(bytes(data)).id in ("bytecode-opcode", "bytecode-type", "bytecode-damaged")


def damaged_code(fill) -> InvalidInput:
    """The refusal of an entry whose body ``fill`` damages."""
    return refusal(build(fill, one_pointer))


def raw(*data):
    """A body of these bytes."""
    return lambda _, types, code, values: code.buf.extend(bytes(data))


def operand_out_of_bounds(_, types, code, values):
    a = f32(types, code)
    a.value_id = 77
    e.encode_AbsFOp(code, tile(types, S.F32), a)


def type_out_of_bounds(_, types, code, values):
    code.buf.extend(b"\x44\x70")
    code.new_op()


def wrong_region_count(_, types, code, values):
    a = i32(types, code)
    code.buf.extend(bytes([0x29, 0, 0, 3, *[a.value_id] * 3, 2]))
    code.new_op()


CODE = {
    "unknown-opcode": (raw(0x7F), "unknown opcode 0x7f"),
    "entry-in-body": (raw(0x16), "(entry in a function body)"),
    "operand": (operand_out_of_bounds, "operand index 77 is out of bounds"),
    "type": (type_out_of_bounds, "type index 112 is out of bounds"),
    "regions": (wrong_region_count, "for has 1 regions, not 2"),
}


@pytest.mark.parametrize("fill, message", CODE.values(), ids=CODE)
def test_damaged_operations(fill, message):
    error = damaged_code(fill)
    assert message in error.message and error.location.offset


def test_a_wrong_program_points_to_its_source():
    def where(table):
        source = table.file("k.py", "/src")
        function = table.subprogram(source, 1, "k", "k", table.compile_unit(source), 1)
        return table.loc(function, "/src/k.py", 7, 3)

    def fill(_, types, code, values):
        e.encode_AddFOp(code, tile(types, S.F16), *[f32(types, code)] * 2, e.RoundingMode.ZERO, False)

    error = refusal(build(fill, debug=where))
    assert error.id == "ir-invalid"
    assert str(error).startswith("/src/k.py:7:3: error[ir-invalid]: the bytecode does not verify: cuda_tile.addf: ")


def nested(depth: int):
    def fill(_, types, code, values):
        condition = e.encode_ConstantOp(code, tile(types, S.I1), b"\xff")

        def level(left: int):
            branch = e.encode_IfOp(code, [], condition)
            with branch.new_block([]):
                if left:
                    level(left - 1)
                e.encode_YieldOp(code, [])
            with branch.new_block([]):
                e.encode_YieldOp(code, [])
            branch.done()

        level(depth - 1)

    return build(fill)


def test_nesting_is_limited():
    assert disassemble(nested(60)).count("if %true") == 60
    assert "nested more than 64 deep" in refusal(nested(70)).message


@pytest.mark.parametrize("name", SAMPLES)
def test_every_truncation_is_refused(name):
    data = sample(name)
    for size in range(len(data)):
        error = refusal(data[:size])
        assert error.location.offset <= size


def accepts_or_refuses(data: bytes) -> None:
    start = time.process_time()
    try:
        disassemble(data)
    except (InvalidInput, Unsupported) as error:
        assert "\n" not in str(error)
    assert time.process_time() - start < 5


edits = st.lists(
    st.tuples(st.integers(12, 4000), st.integers(0, 255), st.sampled_from(["set", "insert", "delete"])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=120)
@given(st.sampled_from(list(SAMPLES)), edits)
def test_mutations_are_read_or_refused(name, changes):
    data = bytearray(sample(name))
    for position, value, how in changes:
        position %= len(data)
        if how == "set":
            data[position] = value
        elif how == "insert":
            data.insert(position, value)
        elif len(data) > 1:
            del data[position]
    accepts_or_refuses(bytes(data))


@settings(max_examples=40)
@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(InvalidInput):
        read_module(noise)
    accepts_or_refuses(HEADER + noise)


def table(number: int, alignment: int, width: int, entries: list[bytes], start: int) -> bytes:
    """A section that is a table, at offset ``start`` of the file."""
    body = bytes([len(entries)]) + bytes(-1 % width)
    offset = 0
    for entry in entries:
        body += offset.to_bytes(width, "little")
        offset += len(entry)
    body += b"".join(entries)
    head = bytes([number | 0x80, len(body), alignment])
    return head + b"\xcb" * (-(start + len(head)) % alignment) + body


def test_a_type_that_contains_itself():
    data = HEADER
    data += table(1, 4, 4, [b"k"], len(data))
    data += table(5, 4, 4, [bytes([16, 1, 0, 0])], len(data))
    assert "contains itself" in refusal(data + b"\0").message


I32 = bytes([3])
TYPES = {
    "itself": ([bytes([14, 0, 0])], "contains itself"),
    "tag": ([bytes([99])], "unknown type tag 99"),
    "index": ([bytes([13, 7])], "type index 7 is out of bounds"),
    "shape": ([I32, bytes([13, 0, 1, *(3).to_bytes(8, "little")])], "all dimensions must be powers of two, got 3"),
    "size": ([I32, bytes([13, 0, 2, *(1 << 20).to_bytes(8, "little") * 2])], "exceed the maximum of 16777216 elements"),
    "count": ([I32, bytes([13, 0, 100, 1])], "100 dimensions cannot fit"),
    "cut": ([I32, bytes([15, 0])], "the number of tile dimensions goes past the end"),
    "flags": ([I32, bytes([12, 2, 0])], "unknown type flags 0x2"),
    "pointee": ([I32, bytes([12, 0, 0]), bytes([12, 0, 1])], "a pointer cannot point to"),
    "view": ([I32, bytes([15, 0, 0, 0])], "expected a tensor view, got i32"),
    "padding": ([I32, bytes([14, 0, 0, 0, 0]), bytes([20, 1, 0, 1, 0, 9])], "unknown padding value 9"),
    "rank": ([I32, bytes([14, 0, 0, 0, 0]), bytes([20, 0, 0, 1, 0])], "0-dimension tile shape is not supported"),
}


@pytest.mark.parametrize("entries, message", TYPES.values(), ids=TYPES)
def test_damaged_types(entries, message):
    data = HEADER
    data += table(1, 4, 4, [b"k"], len(data))
    data += table(5, 4, 4, entries, len(data))
    error = refusal(data + b"\0")
    assert message in error.message and error.location.offset


def test_types_and_operations_of_a_newer_version():
    old = HEADER.replace(b"\x0d\x04", b"\x0d\x01")
    data = old + table(1, 4, 4, [b"k"], len(old))
    data += table(5, 4, 4, [bytes([18])], len(data))
    error = refusal(data + b"\0")
    assert error.id == "bytecode-type" and "type tag 18 needs bytecode 13.2, the file is 13.1" in error.message
