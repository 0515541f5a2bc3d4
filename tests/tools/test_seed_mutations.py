"""tools/seed_mutations.py: every row that is ours has a mutation, and each applies to the compiler as it is."""

from functools import cache
from pathlib import Path

import pytest

from tests.golden import split_file
from tools.conformance_seeds import read_marks, read_rows
from tools.seed_mutations import (
    KILLED,
    KINDS,
    ROOT,
    Mutation,
    find_file,
    read_mutations,
    showing_tests,
    table,
    words_of,
)


@cache
def mutations() -> list[Mutation]:
    """The table's, read where a test asks: it takes longer than the import of most test modules."""
    return read_mutations()


def test_every_row_that_is_ours_has_a_mutation():
    """Of what is done instead of what a document asks for there may be one."""
    rows = [row for row in read_rows() if not row.not_ours]
    ours, other = ({(row.document, row.id) for row in rows if bool(row.deviates) == told} for told in (False, True))
    mutated = {(mutation.document, mutation.row) for mutation in mutations() if not mutation.tests}
    assert ours - mutated == set()
    assert mutated - ours - other == set()


def test_rows_that_only_llvm_can_break_say_so():
    """A change of the text that LLVM gets or prints shows that a test looks there, not that ours does the work."""
    ours = {(one.document, one.row) for one in mutations() if not words_of(one)}
    rows = [row for row in read_rows() if not row.not_ours and not row.deviates]
    assert {row.id for row in rows if row.by_llvm} == {row.id for row in rows if (row.document, row.id) not in ours}


def test_each_mutation_applies_and_has_tests_that_must_notice():
    marks, texts = read_marks(), {}
    for mutation in mutations():
        text = texts.setdefault(mutation.file, (ROOT / mutation.file).read_text())
        assert mutation.apply(text) != text
        assert showing_tests(mutation, marks), f"no test shows {mutation.document} {mutation.row}"


def test_the_tests_that_a_mutation_names_are_there():
    for path, name in (test.split("::") for mutation in mutations() for test in mutation.tests):
        text = (ROOT / path).read_text()
        assert f"def {name.partition('[')[0]}(" in text or name in [case.title for case in split_file(text)[1]]


def test_wrong_code_is_noticed_by_a_golden_and_by_results():
    """A case of a golden, and a test that runs the code."""
    for mutation in (one for one in mutations() if len(one.tests) > 1):
        golden, numeric = (test.split("::") for test in mutation.tests)
        assert (Path(golden[0]).suffix, Path(numeric[0]).suffix) == (".mlir", ".py"), mutation.row


@pytest.mark.parametrize("text", ["none here", "ab ab", ""])
def test_a_mutation_must_apply_once(text):
    with pytest.raises(ValueError, match="times in f.py"):
        Mutation("d", "r", "f.py", "ab", "cd").apply(text)


@pytest.mark.parametrize(
    ("kind", "text", "changed"),
    [
        ("drop", "Row(1),", ""),
        ("skip", "f(x)", "pass"),
        ("never", "if a and b:", "if False:"),
        ("always", "elif not f(x):\n    return", "elif True:\n    return"),
        ("always", "return a == b", "return True"),
    ],
)
def test_kinds(kind, text, changed):
    assert KINDS[kind](text) == changed


def test_entries(tmp_path):
    path = tmp_path / "mutations.toml"
    path.write_text(
        '[d]\n"a b" = { file = "llvm_ir_checks.py", skip = "x" }\n'
        'c = [{ file = "llvm_ir_checks.py", swap = ["x", ", ", "y"] }, { printed = [".a", ".b"] }, { handed = ["a", ""] }]\n'
    )
    guard = "tileiras_build/pipeline/ll_to_ptx/llvm_ir_checks.py"
    first, second, third, printed, handed = read_mutations(path)
    assert (first, second) == tuple(Mutation("d", row, guard, "x", "pass") for row in "ab")
    assert third == Mutation("d", "c", guard, "x, y", "y, x")
    assert printed.new == f"{printed.old}.replace('.a', '.b')" and handed.new == f"{handed.old}.replace('a', '')"


def test_files_are_named_by_the_end_of_their_path():
    assert find_file("llvm_ir_checks.py") == "tileiras_build/pipeline/ll_to_ptx/llvm_ir_checks.py"
    for end in ("passes.py", "none.py"):
        with pytest.raises(ValueError, match="files of the package"):
            find_file(end)


def test_the_table():
    mutations = [Mutation(document, "r", "f.py", "a", "b") for document in "dde"]
    results = [(mutations[0], KILLED, ""), (mutations[1], "SURVIVED", "")]
    assert list(table(results, mutations))[2:] == [
        "| d | 1 | 2 | 1 | 1 | 0 |",
        "| e | 1 | 1 | 0 | 0 | 1 |",
        "| all | 2 | 3 | 1 | 1 | 1 |",
    ]
