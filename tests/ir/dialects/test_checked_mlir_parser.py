"""MLIR text from outside: strings and brackets that would take xDSL for ever are refused before it is asked."""

import pytest

from tests.counted import calls_of
from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.dialects import checked_mlir_parser
from tileiras_build.ir.dialects.checked_mlir_parser import MAX_BRACKETS, check_text
from tileiras_build.pipeline import opt, tile_ir_text_format

GOOD = (
    'builtin.module attributes {a = "b", c = "\\22\\n\\t\\\\ \\0A"} {}',
    '// "not a string\nbuiltin.module {} // { [ "',
    'builtin.module attributes {a = "//", b = "{{{"} {}',
    '"op"() : () -> ()',
)
STRINGS = {
    "open": 'builtin.module attributes {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa} {}',
    "line": 'builtin.module attributes {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"} {}',
    "escape": 'builtin.module attributes {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\q"} {}',
    "end": '"',
    "symbol": '@"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz',
    "after-backslash": 'a = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\\"',
}


@pytest.mark.parametrize("text", GOOD)
def test_good_text_passes(text):
    check_text(text)


@pytest.fixture
def no_parser(monkeypatch):
    """The parser itself may not be asked: it would not answer in a life time, and nothing counts what a pattern does."""

    def refuse(*arguments):
        pytest.fail("the parser was asked")

    monkeypatch.setattr(checked_mlir_parser, "Parser", refuse)
    monkeypatch.setattr(tile_ir_text_format, "Parser", refuse)
    monkeypatch.setattr(tile_ir_text_format, "StringParser", refuse)
    refuse.parse_module = None


@pytest.mark.parametrize("text", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize(
    "read", [lambda text: tile_ir_text_format.parse(text.encode(), "k"), lambda text: opt.parse_module(text, "k")]
)
def test_strings_without_an_end(no_parser, text, read):
    with pytest.raises(InvalidInput, match="a string does not end") as caught:
        read(text)
    where = caught.value.location
    assert (where.file, where.line, where.column) == ("k", 1, text.index('"') + 1)


@pytest.mark.parametrize("opening", list("<([{"))
def test_brackets_that_nest_too_deep(no_parser, opening):
    text = "x\n  " + opening * 5000
    with pytest.raises(InvalidInput, match=f"more than {MAX_BRACKETS} deep") as caught:
        tile_ir_text_format.parse(text.encode(), "k")
    assert (caught.value.location.line, caught.value.location.column) == (2, MAX_BRACKETS + 3)


def test_arrows_and_brackets_side_by_side_do_not_nest():
    check_text("() -> () " * 1000 + "{} [] <>" * 1000)


def test_work_is_linear():
    def work(count: int) -> int:
        text = '{a = "text \\22", b = [1, 2]} // comment\n' * count
        return calls_of(lambda: check_text(text))[1]

    assert work(2000) < 2.1 * work(1000)


DEEP = {
    "attributes": "builtin.module attributes {a = " + "[" * 100 + "]" * 100 + "} {}",
    "regions": "builtin.module {" * 50 + "}" * 50,
    "generic": '"builtin.module"() ({\n^bb0:\n' * 60 + '}) : () -> ()\n' * 60,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_the_limit_lets_through_is_parsed(text):
    """The limit is below where Python's stack ends."""
    tile_ir_text_format.parse(text.encode(), "k")


def fails_with(error):
    def read(parser):
        raise error

    return read


@pytest.mark.parametrize(
    "error", [KeyError("x"), ValueError("bad"), AssertionError(), RecursionError("deep"), OverflowError()]
)
def test_any_failure_of_a_parser_has_a_place(error):
    text = "\n  builtin.module {}"
    with pytest.raises(InvalidInput, match=f"cannot parse: {type(error).__name__}") as caught:
        checked_mlir_parser.parse_or_raise(
            lambda: checked_mlir_parser.Parser(tile_ir_text_format.context(), text), fails_with(error), text, "k.tileaa"
        )
    assert (caught.value.location.line, caught.value.location.column) == (2, 3)


def test_long_reasons_are_cut():
    assert len(checked_mlir_parser.error_reason("a" * 10_000)) == checked_mlir_parser.MAX_REASON
