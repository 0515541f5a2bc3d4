"""Operations made from rows: operand groups, their text form, and what does not fit a row."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr, i1, i32
from xdsl.dialects.test import Test, TestOp
from xdsl.ir import Dialect, Region
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tileiras_build.ir.dialects.attribute_kinds import FLAG, I32, TEXT
from tileiras_build.ir.dialects.op_definition import define

MARK, SYMBOL = {"key": FLAG}, {"sym_name": TEXT.optional()}
KEY = {"key": TEXT.optional()}
Plain = define("row.plain", "lhs rhs", "result", "two operands", attributes=KEY)
Single = define("row.single", "values*", "", "one group")
Mixed = define(
    "row.mixed", "first others* last mask? token?", "value after?", "all kinds of groups", pure=False, attributes=MARK
)
Nested = define("row.nested", "start initial*", "results*", "a region", pure=False, regions=1, attributes=MARK | SYMBOL)
Leaf = define("row.leaf", "", "", "nothing at all", pure=False, attributes={"key": I32.optional()})
End = define("row.end", "", "", "the end of a region", terminator=True)
Row = Dialect("row", [Plain, Single, Mixed, Nested, Leaf, End], [])


def context():
    result = Context()
    for dialect in (Builtin, Test, Row):
        result.load_dialect(dialect)
    return result


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def round_trip(text: str) -> str:
    printed = str(parse(text))
    assert str(parse(printed)) == printed
    return printed


HEAD = '%a, %b, %c = "test.op"() : () -> (i32, i32, i1)\n'


@pytest.mark.parametrize(
    "line",
    [
        "%r = row.plain %a, %b : i32",
        "%r = row.plain %a, %c : (i32, i1) -> i32",
        '%r = row.plain %a, %b {key = "x", loc = 1 : i32} : i32',
        "row.single",
        "row.single %a, %b, %c : (i32, i32, i1) -> ()",
        "%v, %t = row.mixed %a, %b : (i32, i32) -> (i32, i1)",
        "%v = row.mixed %a, %b others(%b, %b) mask(%c) : (i32, i32, i32, i32, i1) -> i32",
        "%v = row.mixed %a, %b token(%c) {key} : (i32, i32, i1) -> i32",
        "row.leaf",
        "row.leaf {key = 1 : i32}",
        "row.nested %a : (i32) -> () {\n  }",
        "row.nested %a initial(%b) attributes {key} : (i32, i32) -> () {\n    row.leaf\n    row.end\n  }",
    ],
)
def test_line_reads_and_prints(line):
    assert f"\n  {line}\n" in round_trip(HEAD + line)


def test_operation_without_operands_is_followed_by_results():
    """The next line's results are not taken for operands."""
    assert "row.leaf\n  %r = row.plain" in round_trip(HEAD + "row.leaf\n%r = row.plain %a, %b : i32")


def test_groups_are_read_in_the_order_of_the_row():
    module = parse(HEAD + "%v = row.mixed %a, %b others(%a) token(%c) : (i32, i32, i32, i1) -> i32")
    source, op = module.body.block.ops
    a, b, c = source.results
    assert (op.first, op.others, op.last, op.mask, op.token) == (a, (a,), b, None, c)
    assert op.properties["operandSegmentSizes"].get_values() == (1, 1, 1, 0, 1)


def test_symbol_names_follow_the_operation():
    op = Nested.make([TestOp(result_types=[i32]).results[0], []], [], {"sym_name": StringAttr("k")}, [Region()])
    assert str(op).startswith("row.nested @k %")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("%r = row.plain %a : i32", "row.plain takes 2 operands here, got 1"),
        ("%r = row.plain %a, %b", "before the types of operands and results"),
        ("%r = row.plain %a, %b : i1", "operand is used with type i1"),
        ("%r = row.plain %a, %b : (i32) -> i32", "expected 1 operand types but had 2"),
        ("row.nested %a : (i32) -> ()", "Expected region"),
        ("%v = row.mixed %a, %b others %a : i32", "\\("),
    ],
)
def test_wrong_text_is_refused(line, reason):
    with pytest.raises(ParseError, match=reason):
        parse(HEAD + line)


def test_rows_count_operands_and_regions():
    value = TestOp(result_types=[i1]).results[0]
    with pytest.raises(VerifyException, match="row.plain needs 2 operands, got 1"):
        Plain.create(operands=[value], result_types=[i32]).verify()
    with pytest.raises(VerifyException, match="row.nested needs 1 regions, got 0"):
        Nested.make([value, []], []).verify()
    with pytest.raises(VerifyException, match="row.mixed needs operandSegmentSizes"):
        Mixed.create(operands=[value, value], result_types=[i32]).verify()
