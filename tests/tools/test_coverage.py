"""docs/coverage.md says what compiles: every operation has a row, and rows agree with trials."""

import re

import pytest

from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode.opcodes import OPCODES
from tileiras_build.pipeline.tilebc_to_tileaa.convert_cudatile_to_tileaa import RULES
from tools import coverage

PAGE = coverage.PAGE.read_text()
LINE = re.compile(r"^\| `(\w+)` \| (13\.\d) \| (.*?) \| (.*?) ?\|$", re.MULTILINE)
ROWS = {match[1]: (match[3], match[4]) for match in LINE.finditer(PAGE)}
# Not one of those for which LLVM generates code too: that takes longer.
TARGET = "sm_90"


def test_every_operation_has_a_trial_and_a_row():
    names = {row.name for row in (OPCODES.values() if hasattr(OPCODES, "values") else OPCODES)}
    assert names <= ROWS.keys()
    assert names == coverage.TRIALS.keys() | coverage.TERMINATORS.keys()


@pytest.mark.parametrize("name", coverage.TRIALS)
def test_row_agrees_with_a_trial(name):
    """The first and the last element type of the row compile; a type that it does not mention is no Tile IR."""
    supported, refused = ROWS[name]
    elements = {"yes": ["i32"], "none": []}.get(supported, supported.split(", "))
    for element in {*elements[:1], *elements[-1:]}:
        assert coverage.outcome(name, element, TARGET) == ""
    unnamed = [element for element in coverage.TYPES if element not in elements and element not in refused]
    if supported != "yes" and unnamed:
        assert coverage.outcome(name, unnamed[0], TARGET) is None


def test_an_operation_without_a_lowering_shows_the_id_of_its_refusal(monkeypatch):
    monkeypatch.delitem(RULES, "cuda_tile.atan2")
    assert coverage.operation_row("atan2", [TARGET]) == (
        "| `atan2` | 13.2 | none | f16, bf16, f32, f64: `operation-unsupported` |"
    )


def test_an_operation_that_some_gpus_lack_names_them():
    supported, refused = ROWS["multimem_store_view_tko"]
    assert "f32" in supported and refused.endswith("on sm_80, sm_86, sm_87, sm_88, sm_89: `multimem-target`")
    assert coverage.outcome("multimem_store_view_tko", "f32", "sm_89") == "multimem-target"


def test_each_row_says_since_when():
    assert {match[1]: match[2] for match in LINE.finditer(PAGE)} == {
        row.name: ".".join(map(str, row.since)) for row in OPCODES.values()
    }


def test_a_version_that_is_not_read_back_is_not_called_read(monkeypatch):
    assert "| read, verified | yes | yes | yes | yes | yes |" in coverage.version_table()
    monkeypatch.setattr(coverage, "read_module", lambda data: coverage.parse_text("entry @k() {\n  return\n}"))
    assert "| read, verified | no | no | no | no | no |" in coverage.version_table()


def test_types_that_a_gpu_has_no_instruction_for_are_computed():
    """bf16 is added to memory in one instruction since sm_90, in a loop before."""
    assert ROWS["atomic_rmw_tko"] == ("i32, i64, f16, bf16, f32, f64", "")
    assert coverage.outcome("atomic_rmw_tko", "bf16", "sm_80") == ""
    assert coverage.outcome("atomic_rmw_tko", "bf16", "sm_90") == ""


def test_forms_that_no_row_tries_are_on_the_page():
    assert all(coverage.form_line(*row) in PAGE for row in coverage.FORMS)
    assert coverage.outcome("alloca", "f32", TARGET, coverage.FORMS[0][-1]) == ""
    assert "supported" in coverage.form_line(*coverage.FORMS[0])


def test_tables_made_from_the_source_are_current():
    assert PAGE.endswith(coverage.tables()), "python tools/coverage.py --tables brings them up to date"


def test_what_cannot_be_lowered_shows_its_id(monkeypatch):
    """A trial that the compiler refuses is not called supported."""

    def refuse(*arguments):
        raise TileirasError("some-id", "no")

    monkeypatch.setattr(coverage, "run_passes", refuse)
    assert coverage.outcome("addf", "f32", TARGET) == "some-id"
    assert coverage.form_line(*coverage.FORMS[0]).endswith(": `some-id`")
    assert coverage.operation_row("addf", (TARGET,)) == "| `addf` | 13.1 | none | f16, bf16, f32, f64: `some-id` |"
