"""tools/seed_mutations.py: every mutation still applies, and breaks a row that tests show."""

import pytest

from tools.conformance_seeds import read_marks
from tools.seed_mutations import ROOT, Mutation, read_mutations, showing_tests

MUTATIONS = read_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.row)
def test_mutations_apply_to_shown_rows(mutation):
    assert mutation.apply((ROOT / mutation.file).read_text())
    assert showing_tests(mutation, read_marks())


def test_every_document_is_mutated():
    assert len({mutation.document for mutation in MUTATIONS}) == 5 and len(MUTATIONS) >= 10


@pytest.mark.parametrize("text", ["none here", "ab ab", ""])
def test_a_mutation_must_apply_once(text):
    with pytest.raises(ValueError, match="times in f.py"):
        Mutation("d", "r", "f.py", "ab", "cd").apply(text)
