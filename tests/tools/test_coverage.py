"""docs/coverage.md says what compiles: every operation has a row, and rows agree with trials."""

import re

import pytest

from tileiras_build.bytecode.opcodes import OPCODES
from tileiras_build.errors import TileirasError
from tools import coverage

PAGE = coverage.PAGE.read_text()
ROWS = {match[1]: (match[2], match[3]) for match in re.finditer(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|$", PAGE, re.M)}
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
    elements = ["i32"] if supported == "yes" else supported.split(", ")
    for element in {elements[0], elements[-1]}:
        assert coverage.outcome(name, element, TARGET) == ""
    unnamed = [element for element in coverage.TYPES if element not in elements and element not in refused]
    if supported != "yes" and unnamed:
        assert coverage.outcome(name, unnamed[0], TARGET) is None


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
    assert coverage.operation_row("addf", (TARGET,)) == "| `addf` | none | f16, bf16, f32, f64: `some-id` |"
