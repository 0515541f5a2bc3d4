"""Reading the textual form: what is printed reads back, and errors point at line and column."""

from pathlib import Path

import pytest

from tests.fuzz.tile_program_builder import SeededChoices
from tests.fuzz.tile_programs import random_program
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.parse_text_directives import DIRECTIVES
from tileiras_build.ir.bytecode.printer import DIRECTIVES as PRINTED
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.dialects.cuda_tile.location import LOC

PREBUILT = sorted((Path(__file__).parents[3] / "examples" / "prebuilt").glob("*.tilebc"))


def without_locations(data: bytes):
    module = read_module(data)
    for op in module.walk():
        op.attributes.pop(LOC, None)
    return module


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_examples_read_back(path):
    data = path.read_bytes()
    assert parse_text(disassemble(data)).is_structurally_equivalent(without_locations(data))
    text = disassemble(data, locations=True)
    assert disassemble(write_module(parse_text(text)), locations=True) == text


@pytest.mark.parametrize("seed", range(16))
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
    ("%0, %1 = iota : tile<4xi32>", "there are more names than the 1 results", 0),
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


BAD = {
    "no-digits": ("%0 = constant <i32: > : tile<i32>", "a number of type i32"),
    "hex": ('%0 = constant <i32: "0xZZ"> : tile<4xi32>', "expected bytes such as"),
    "long-number": (f"%0 = constant <i32: {'1' * 5000}> : tile<i32>", "longer than any integer"),
    "count": ("%0:99999999999 = iota : tile<4xi32>", "1 to 65536 results"),
    "no-results": ("%0:0 = iota : tile<4xi32>", "1 to 65536 results"),
    "string": ('%0 = print_tko "abc', "expected a string"),
    "string-in-brackets": ('%0 = negf %p : tile<"abc', "a string has no end"),
    "escape": ('%0 = print_tko "\\FF" -> token', "not UTF-8"),
    "identity": (
        "%0 = constant <f32: 1.0> : tile<4xf32>\n %1 = reduce %0 dim=0 identities=[0.0 : tile<f32>] : tile<4xf32> -> tile<f32>",
        "0.0 cannot be of type !cuda_tile.tile<f32>",
    ),
    "rounding": ("%0 = constant <f32: 1.0> : tile<f32>\n %1 = sqrt %0 rounding<sideways> : tile<f32>", "'sideways' is not a rounding"),
    "brackets": ("%0 = negf %p : tile" + "<" * 5000, "brackets are nested more than 64 deep"),
    "strange-type": ("%0 = negf %p : " + "tile<" * 60, "balanced brackets"),
    "verify": ("%0 = iota : tile<4xf32>", "does not verify"),
}  # fmt: skip


@pytest.mark.parametrize("line, message", BAD.values(), ids=BAD)
def test_every_error_has_a_location(line, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        parse_text(ENTRY.format(line), "k.mlir")
    assert caught.value.location.line >= 2 and caught.value.location.column and len(str(caught.value)) < 400


def test_regions_nest_as_deep_as_in_bytecode():
    def nested(depth: int) -> str:
        yes = "%t = constant <i1: true> : tile<i1>\n"
        return "entry @k() {\n" + yes + "if %t {\n" * depth + "}\n" * depth + "return\n}"

    read_module(write_module(parse_text(nested(64))))
    for depth in (65, 5000):
        with pytest.raises(InvalidInput, match="regions are nested more than 64 deep") as caught:
            parse_text(nested(depth))
        assert caught.value.location.line == 67


def test_names_of_a_region_end_with_it():
    text = "%t = constant <i1: true> : tile<i1>\n if %t {{\n %a = make_token : token\n }}\n %b = join_tokens %a : token"
    with pytest.raises(InvalidInput, match="%a is not defined"):
        parse_text(ENTRY.format(text.format()))
