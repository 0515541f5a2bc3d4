"""MLIR text artifacts: they parse back, and damage is named with line and column."""

import io

import pytest
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, i1, i32
from xdsl.printer import Printer

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline.text_encoding import decode, encode
from tileiras_build.pipeline.tile_ir_text_format import parse, render

TEXT = """builtin.module {
  %one = arith.constant 1 : i32
  %two = arith.addi %one, %one : i32
}
"""


def test_text_is_the_same_after_a_round_trip():
    assert render(parse(TEXT.encode())).decode() == TEXT


@pytest.mark.parametrize(
    ("old", "new", "where", "reason"),
    [
        ("arith.addi", "arith.absent", "k.tileaa:3:", "arith.absent"),
        ("%one, %one :", "%one, %one", "k.tileaa:3:", "Expected"),
        ("arith.addi", "madeup.addi", "k.tileaa:3:", "madeup.addi"),
        ("1 : i32", "1 : madeup", "k.tileaa:2:", ""),
    ],
)
def test_damage_is_named_with_its_line(old, new, where, reason):
    assert old in TEXT
    with pytest.raises(InvalidInput) as caught:
        parse(TEXT.replace(old, new).encode(), "k.tileaa")
    message = str(caught.value)
    assert message.startswith(where) and "error[parse-failed]: cannot parse: " in message and reason in message
    assert "\n" not in message


@pytest.mark.parametrize("length", [0, 1, 15, 40, len(TEXT) // 2])
def test_truncated_text_is_refused(length):
    with pytest.raises(InvalidInput):
        parse(TEXT.encode()[:length], "k.tileaa")


def test_module_that_does_not_verify_is_refused():
    text = '"builtin.module"() ({\n  %0 = "arith.constant"() {value = 1 : i64} : () -> i32\n}) : () -> ()\n'
    with pytest.raises(InvalidInput, match="k.tileaa: error.ir-invalid.: the module does not verify: "):
        parse(text.encode(), "k.tileaa")


def test_ir_that_does_not_verify_is_not_written():
    """xDSL prints this comparison without its result type, and would read it back as a comparison of scalars."""
    tile = TensorType(i32, [4])
    operand = test.TestOp(result_types=[tile])
    compare = arith.CmpiOp.create(
        operands=[operand.res[0]] * 2,
        result_types=[TensorType(i1, [4])],
        properties={"predicate": IntegerAttr(0, 64)},
    )
    with pytest.raises(InternalError, match="cannot write IR that does not verify"):
        render(ModuleOp([operand, compare]))


LOCATED = """#file0 = #cuda_tile.di_file<"k.py", ".">
#unit0 = #cuda_tile.di_compile_unit<#file0>
#subprogram0 = #cuda_tile.di_subprogram<#file0, 1, "k", "k", #unit0, 1>
#loc0 = #cuda_tile.di_loc<"k.py", 3, 4, #subprogram0>
builtin.module {
  %0 = arith.constant {loc = #loc0} 1 : i32
  %1 = arith.addi %0, %0 {loc = #loc0} : i32
}
"""


def test_locations_are_defined_once_and_named():
    assert render(parse(LOCATED.encode())).decode() == LOCATED


def test_text_files_are_utf8():
    assert decode(encode("größe")) == "größe"
    with pytest.raises(InvalidInput, match="k.ll: byte 0x2: error.not-text."):
        decode(b"ab\xff", "k.ll")


@pytest.mark.parametrize("text", ["", "plain [a]~", 'a"b', "a\\b", "tab\t", "line\n", "\x7f", "größe"])
def test_strings_are_quoted_as_xdsl_quotes_them(text):
    module = ModuleOp([], {"note": StringAttr(text)})
    quoted = io.StringIO()
    Printer(quoted).print_string_literal(text)
    written = render(module)
    assert f"note = {quoted.getvalue()}" in written.decode()
    assert parse(written).attributes["note"] == StringAttr(text)


def test_an_attribute_that_is_printed_twice_is_the_same():
    integers = ArrayAttr([IntegerAttr(value, i32) for value in range(3)])
    text = render(ModuleOp([], {"a": integers, "b": ArrayAttr([integers, integers])})).decode()
    assert text.count("[0 : i32, 1 : i32, 2 : i32]") == 3
