"""Golden files: a difference fails and says how to accept it; accepting writes only what came out."""

import pytest

from tests.golden import GoldenItem, bless, execute, split_file

FILE = """// What it is about.
// run: cse sm_90

// ---- one_becomes_another
nv_tileaa.func @k {
^bb0(%x: i32):
  %a = arith.addi %x, %x : i32
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%x: i32):
  nv_tileaa.return
}

// ---- refusal
// run: cse sm_80
nv_tileaa.func @k {
  madeup.op
}
// ==>
// refusal:4:
"""


@pytest.fixture
def golden(tmp_path):
    path = tmp_path / "example.mlir"
    path.write_text(FILE)
    return path


def test_cases_are_split(golden):
    head, cases = split_file(golden.read_text())
    assert head.startswith("// What") and [case.title for case in cases] == ["one_becomes_another", "refusal"]
    assert [case.target for case in cases] == ["sm_90", "sm_80"]


def test_what_comes_out_is_compared(golden):
    first, second = split_file(golden.read_text())[1]
    assert execute(first) == first.expected
    assert execute(second).startswith("// refusal:4:") and "madeup.op" in execute(second)


def test_accepting_rewrites_the_expectations_only(golden):
    golden.write_text(FILE.replace("  nv_tileaa.return\n}\n\n", "}\n\n"))
    bless(golden)
    _, cases = split_file(golden.read_text())
    assert [execute(case) for case in cases] == [case.expected for case in cases]
    assert golden.read_text().startswith(FILE.partition("// ==>")[0])
    before = golden.read_text()
    bless(golden)
    assert golden.read_text() == before


def test_case_without_a_run_line_is_an_error():
    with pytest.raises(ValueError, match="golden test x has no line '// run: <passes> <target>'"):
        split_file("// ---- x\nbuiltin.module {\n}\n// ==>\n")


def test_failure_shows_the_difference_and_the_remedy(golden, request):
    case = split_file(golden.read_text().replace("  nv_tileaa.return\n}\n\n", "  wrong\n}\n\n"))[1][0]
    item = GoldenItem.from_parent(request.node.parent, name=case.title, case=case)
    with pytest.raises(AssertionError, match="TILEIRAS_BLESS=1 pytest tests/pipeline accepts the change") as caught:
        item.runtest()
    text = item.repr_failure(pytest.ExceptionInfo.from_exc_info((AssertionError, caught.value, None)))
    assert "-  wrong" in text and "+  nv_tileaa.return" in text
