"""tools/conformance_seeds.py: rows and marks are read strictly, and the page in docs/ is the one they make."""

import textwrap
from pathlib import Path

import pytest

from tools.conformance_seeds import (
    CLASSES,
    PAGE,
    TITLE,
    Mark,
    Quote,
    Row,
    by_row,
    misplaced,
    read_marks,
    read_quotes,
    read_reached,
    read_rows,
    read_statements,
    render,
    replaced,
    row_tables,
    unknown_marks,
)

DOCUMENTS = {
    "codegen-overview",
    "nvptx-bring-up",
    "lowering-overview",
    "nvgpu-gpu-to-nvvm",
    "target-and-debug-info",
}
TEXTS = Path(__file__).resolve().parents[3] / "shared/seeds"


def test_the_page_is_current():
    section = render(read_rows(), by_row(read_marks()), read_statements(), read_reached())
    assert section in PAGE.read_text(), "run: python tools/conformance_seeds.py"


def test_a_section_replaces_the_one_of_its_title():
    page = f"# A\n\n{TITLE}\n\nold\n\n## Next\n\nmore\n"
    assert replaced(page, f"{TITLE}\n\nnew\n") == page.replace("old\n", "new\n")
    assert replaced(f"# A\n\n{TITLE}\nold\n", f"{TITLE}\nnew\n") == f"# A\n\n{TITLE}\nnew\n"


def test_every_mark_names_a_row():
    assert unknown_marks(read_rows(), read_marks()) == []


def test_all_five_documents_have_rows_of_every_sort():
    rows = read_rows()
    assert {row.document for row in rows} == DOCUMENTS
    for document in DOCUMENTS:
        assert {row.kind for row in rows if row.document == document} >= {"row", "behavior", "invariant"}


def test_states():
    rows = [Row("d", "row", "a", "first"), Row("d", "row", "b", "a | b"), Row("d", "diagnostic", "c", "text", "why")]
    statements = {("d", 1): [("d", "a")], ("d", 2): [("d", "a"), ("d", "b")], ("e", 3): [("d", "a"), ("d", "c")]}
    data = rows, by_row([Mark("d", "a", "tests/test_x.py", "test_it")]), statements, {("d", "a"): "production"}
    page = render(*data) + row_tables(*data)
    assert "| d | c | not ours | why |" in page
    assert "| row | a | first | 1, 2, e 3 | shown | production | [it](../tests/test_x.py) |" in page
    assert "| row | b | a \\| b | 2 | open |  |  |" in page
    assert "| diagnostic | c | `text` | e 3 | not ours |  | why |" in page
    assert "| d | 3 | 1 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 0 | 2 | 1 |" in page
    assert "| all | 3 | 1 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 0 | 3 | 2 |" in page


def test_what_deviates_is_not_shown_and_what_llvm_does_is():
    rows = [Row("d", "row", "a", "first", deviates="it costs time"), Row("d", "row", "b", "second", by_llvm=True)]
    marks = [Mark("d", "a", "tests/test_x.py", "test_it"), Mark("d", "b", "tests/test_x.py", "test_it")]
    statements = {("d", 1): [("d", "a")], ("d", 2): [("d", "b")], ("d", 3): [("d", "a"), ("d", "b")]}
    data = rows, by_row(marks), statements, {}
    page = render(*data) + row_tables(*data)
    assert "| d | a | deviates by decision | it costs time |" in page
    assert "| row | a | first | 1, 3 | deviates by decision |  | it costs time; [it](../tests/test_x.py) |" in page
    assert "| row | b | second | 2, 3 | LLVM's |  | [it](../tests/test_x.py) |" in page
    assert "| d | 2 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 3 | 1 |" in page


STATEMENTS = {
    "codegen-overview": 62,
    "nvptx-bring-up": 79,
    "lowering-overview": 81,
    "nvgpu-gpu-to-nvvm": 119,
    "target-and-debug-info": 61,
}


def test_every_statement_has_rows():
    """All 402, each shown or, with a reason, not ours; what deviates has tests of what is done instead."""
    statements = read_statements()
    assert list(statements) == [(name, number + 1) for name, count in STATEMENTS.items() for number in range(count)]
    shown = {(mark.document, mark.id) for mark in read_marks()}
    rows = {(row.document, row.id): row for row in read_rows()}
    for place, keys in statements.items():
        assert keys and all(key in rows for key in keys), place
        assert all(key in shown or rows[key].not_ours or rows[key].deviates for key in keys), place


def test_every_statement_is_quoted_by_the_words_that_it_begins_with():
    quotes = read_quotes()
    assert list(quotes) == list(read_statements())
    for place, quote in quotes.items():
        assert quote.words == quote.words.strip() and 2 < len(quote.words) <= 64, place


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the documents are not beside the project")
def test_every_quote_stands_in_its_document():
    assert list(misplaced(read_quotes(), TEXTS)) == []


def test_a_quote_stands_behind_the_one_before_or_says_that_it_does_not(tmp_path):
    (tmp_path / "d.txt").write_text("First this. Then that, and more.\n")
    right = {("d", 1): Quote("Then that"), ("d", 3): Quote("Then that, and"), ("d", 4): Quote("First this", back=True)}
    assert list(misplaced(right, tmp_path)) == []
    wrong = {("d", 1): Quote("Then that"), ("d", 2): Quote("First this"), ("d", 3): Quote("more", back=True)}
    assert list(misplaced(wrong, tmp_path)) == [
        "d 2: 'First this' does not stand behind the statement before",
        "d 3: 'more' does not stand before the statement before",
    ]


def test_every_row_of_ours_says_what_runs_it():
    reached = read_reached()
    assert set(reached) == {(row.document, row.id) for row in read_rows() if not row.not_ours and not row.deviates}
    assert set(reached.values()) <= set(CLASSES), "run: python tools/uncalled_functions.py --rows"


def test_marks_are_found_on_functions_and_parameters(tmp_path):
    (tmp_path / "test_x.py").write_text(
        textwrap.dedent("""
            @pytest.mark.seed("d", "a", "b")
            @pytest.mark.parametrize("v", [1, pytest.param(2, marks=pytest.mark.seed("d", "c"))])
            def test_one(v): pass

            def test_none(): pass
        """)
    )
    marks = read_marks(tmp_path, tmp_path)
    assert [(mark.id, mark.test) for mark in marks] == [("a", "test_one"), ("b", "test_one"), ("c", "test_one")]


def test_documents_may_be_named_and_golden_tests_count(tmp_path):
    (tmp_path / "test_x.py").write_text("DOCUMENT = 'd'\n@pytest.mark.seed(DOCUMENT, 'a')\ndef test_one(): pass\n")
    (tmp_path / "x.mlir").write_text("// run: p sm_90\n// ---- first\n// seed: d b c\n// ---- second\n// seed: d b\n")
    assert read_marks(tmp_path, tmp_path) == [
        Mark("d", "a", "test_x.py", "test_one"),
        Mark("d", "b", "x.mlir", "first"),
        Mark("d", "b", "x.mlir", "second"),
        Mark("d", "c", "x.mlir", "first"),
    ]


def test_marks_must_be_written_out(tmp_path):
    (tmp_path / "test_x.py").write_text("@pytest.mark.seed('d', NAME)\ndef test_one(): pass\n")
    with pytest.raises(ValueError, match="test_x.py:1"):
        read_marks(tmp_path, tmp_path)


@pytest.mark.parametrize(
    "text, message", [("[d.rows]\na='x'", "kinds are"), ("[d.row]\na='x'\n[d.behavior]\na='y'", "twice")]
)
def test_bad_rows(tmp_path, text, message):
    path = tmp_path / "rows.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_rows(path)
