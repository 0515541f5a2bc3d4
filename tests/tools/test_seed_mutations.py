"""tools/seed_mutations.py: every mutation still applies, and breaks a row that tests show."""

from pathlib import Path

import pytest

from tests.golden import split_file
from tools.conformance_seeds import read_marks
from tools.seed_mutations import ROOT, Mutation, read_mutations, showing_tests

MUTATIONS = read_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.row)
def test_mutations_apply_to_shown_rows(mutation):
    assert mutation.apply((ROOT / mutation.file).read_text())
    assert showing_tests(mutation, read_marks())


def test_every_document_is_mutated():
    shown = [mutation for mutation in MUTATIONS if not mutation.tests]
    assert len({mutation.document for mutation in shown}) == 5 and len(shown) >= 10


@pytest.mark.parametrize("mutation", [one for one in MUTATIONS if one.tests], ids=lambda mutation: mutation.row)
def test_wrong_code_is_noticed_by_a_golden_of_the_file_and_by_numbers(mutation):
    """The tests that it names are there: a case of the golden named after the file, and one that runs the code."""
    golden, numeric = (test.split("::") for test in mutation.tests)
    assert Path(golden[0]).stem == Path(mutation.file).stem and Path(golden[0]).suffix == ".mlir"
    assert golden[1] in [case.title for case in split_file((ROOT / golden[0]).read_text())[1]]
    assert f"def {numeric[1].partition('[')[0]}(" in (ROOT / numeric[0]).read_text()


@pytest.mark.parametrize("text", ["none here", "ab ab", ""])
def test_a_mutation_must_apply_once(text):
    with pytest.raises(ValueError, match="times in f.py"):
        Mutation("d", "r", "f.py", "ab", "cd").apply(text)
