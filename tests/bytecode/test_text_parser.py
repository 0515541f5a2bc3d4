"""Reading the textual form: what is printed reads back, and errors point at line and column."""

from pathlib import Path

import pytest

from tests.fuzz.programs import SeededChoices, random_program
from tileiras_build.bytecode import disassemble, read_module
from tileiras_build.bytecode.printer import DIRECTIVES as PRINTED
from tileiras_build.bytecode.text_parser import DIRECTIVES, parse_text
from tileiras_build.bytecode.writer import write_module
from tileiras_build.dialects.cuda_tile.location import LOC
from tileiras_build.errors import InvalidInput

PREBUILT = sorted((Path(__file__).parents[2] / "examples" / "prebuilt").glob("*.tilebc"))


def without_locations(data: bytes):
    module = read_module(data)
    for op in module.walk():
        op.attributes.pop(LOC, None)
    return module


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_examples_read_back(path):
    data = path.read_bytes()
    assert parse_text(disassemble(data)).is_structurally_equivalent(without_locations(data))
    assert parse_text(disassemble(data, locations=True)).is_structurally_equivalent(without_locations(data))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_read_back(seed):
    data = random_program(SeededChoices(seed)).bytecode()
    text = disassemble(data)
    assert disassemble(write_module(parse_text(text))) == text


def test_whatever_is_printed_has_a_reader():
    assert DIRECTIVES.keys() == PRINTED.keys()


ENTRY = "entry @k(%p: tile<ptr<f32>>) {{\n  {}\n  return\n}}\n"


@pytest.mark.parametrize(("line", "message", "column"), [
    ("%0 = addf %p, %q : tile<f32>", "%q is not defined", 17),
    ("%0 = frob %p : tile<f32>", "unknown operation 'frob'", 8),
    ("%0 = constant <f32: 1.0> : tile<3xf32>", "powers of two", 30),
    ("%0 = constant <f32: 1.0> : tile<2xf64>", "expected a tile of f32", 30),
    ("%0 = constant <i32: 1.5> : tile<i32>", "1.5 is not an integer", 0),
    ("%0, %1 = iota : tile<4xi32>", "2 names for 1 results", 0),
    ("%0 = load_ptr_tko sometimes %p : tile<ptr<f32>> -> tile<f32>, token", "'sometimes' is not a memory_ordering", 21),
    ("%0 = negf %p tile<f32>", "expected ':'", 16),
])  # fmt: skip
def test_errors_name_the_place(line, message, column):
    with pytest.raises(InvalidInput, match=message) as caught:
        parse_text(ENTRY.format(line), "k.mlir")
    location = caught.value.location
    assert location.file == "k.mlir" and location.line in (2, 3)
    if column:
        assert (location.line, location.column) == (2, column)


def test_comments_and_a_module_around_the_entries():
    text = "// a kernel\ncuda_tile.module @kernels {\n" + ENTRY.format("%0 = make_token : token // nothing") + "}\n"
    plain = parse_text(ENTRY.format("%0 = make_token : token"))
    assert parse_text(text).is_structurally_equivalent(plain)


def test_wrong_types_do_not_verify():
    with pytest.raises(InvalidInput, match="does not verify|is of type"):
        parse_text(ENTRY.format("%0 = negf %p : tile<f32>"))
