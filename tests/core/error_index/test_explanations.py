"""The index of errors has a row for every id in the code, and no other row."""

import re

from tests.core.error_index.raised_ids import ids
from tests.meta.import_graph import module_files
from tileiras_build.core.error_index.explanations import KINDS, explanations
from tileiras_build.core.warning_classes import CLASS_OF_REMARK, WARNINGS
from tileiras_build.simulate.emulator.sanitizers.finding_severities import FINDINGS

ROWS = explanations()
# Parts of remarks' names that are chosen where the remark is made.
ACCESSES = {"{what}": ("Load", "Store"), "{what.capitalize()}": ("Load", "Store")}


def remarks() -> set[str]:
    """The names of optimization remarks in the code."""
    source = module_files()["tileiras_build.reports.optimization_remarks"].read_text()
    names = set(re.findall(r'"(Remark[\w{}.()]+)"', source)) - {"RemarkId"}
    return {name.replace(part, word) for name in names for part, word in _choices(name)}


def _choices(name: str):
    return [(part, word) for part, words in ACCESSES.items() if part in name for word in words] or [("", "")]


def test_every_id_has_a_row_and_every_row_an_id():
    assert {*ids(), *remarks(), *FINDINGS} ^ {*ROWS} == set()


def test_warnings_are_classes_of_remarks():
    assert CLASS_OF_REMARK.keys() <= remarks()
    assert {name for name, row in ROWS.items() if row.kind == "warning"} == WARNINGS.keys()


def test_kinds_are_those_of_the_code():
    of = {
        "InternalError": "internal",
        "Unsupported": "unsupported",
        "InvalidInput": "error",
        "CompilerWarning": "warning",
    }
    found = {id: {of[name] for name in made if name in of} for id, made in ids().items()}
    assert {id: ROWS[id].kind for id, kinds in found.items() if kinds and ROWS[id].kind not in kinds} == {}
    assert {row.kind for row in ROWS.values()} == {*KINDS}


def test_rows_are_short_sentences():
    texts = [(row.id, text) for row in ROWS.values() for text in (row.what, row.why, row.fix) if text]
    assert [row for row, text in texts if text[-1] not in ".)" or "\n" in text] == []
    assert [row for row, text in texts for sentence in text.split(". ") if len(sentence.split()) > 40] == []


def test_a_class_and_a_helper_are_found():
    assert ids()["worker-died"] >= {"InternalError"} and "fail" in ids()["bytecode-opcode"]
    assert "no-such-id" not in ids()
