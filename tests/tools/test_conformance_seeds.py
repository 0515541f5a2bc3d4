"""tools/conformance_seeds.py: rows and marks are read strictly, and the page in docs/ is the one they make."""

import textwrap

import pytest

from tools.conformance_seeds import PAGE, Mark, Row, read_marks, read_rows, render, unknown_marks

DOCUMENTS = {
    "codegen-overview",
    "nvptx-bring-up",
    "lowering-overview",
    "nvgpu-gpu-to-nvvm",
    "target-and-debug-info",
}


def test_the_page_is_current():
    assert PAGE.read_text() == render(read_rows(), read_marks()), "run: python tools/conformance_seeds.py"


def test_every_mark_names_a_row():
    assert unknown_marks(read_rows(), read_marks()) == []


def test_all_five_documents_have_rows_of_every_sort():
    rows = read_rows()
    assert {row.document for row in rows} == DOCUMENTS
    for document in DOCUMENTS:
        assert {row.kind for row in rows if row.document == document} >= {"row", "behavior", "invariant"}


def test_states():
    rows = [Row("d", "row", "a", "first"), Row("d", "row", "b", "a | b"), Row("d", "diagnostic", "c", "text", "why")]
    page = render(rows, [Mark("d", "a", "tests/test_x.py", "test_it")])
    assert "| row | a | first | shown | [it](../tests/test_x.py) |" in page
    assert "| row | b | a \\| b | open |  |" in page
    assert "| diagnostic | c | `text` | not ours | why |" in page
    assert "| d | 3 | 1 | 1 | 1 |" in page and "| all | 3 | 1 | 1 | 1 |" in page


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
