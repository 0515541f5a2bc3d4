"""The picture of README: which lines it shows, and that the drawn one is whole."""

from xml.etree import ElementTree

from tileiras_build.reports.stage_source_lines import Line
from tools.report_picture import CHOSEN, PICTURE, ROOT, SOURCE, picture, sass_rows, source_rows

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_rows_are_escaped_and_the_marked_one_has_a_box():
    svg = picture([("a", [("1", "x < y & z", True)]), ("b", [("", "HGMMA", False)])])
    assert texts(svg) == ["a", "1", "x < y & z", "b", "", "HGMMA"]
    assert len(list(ElementTree.fromstring(svg).iter(f"{NAMESPACE}rect"))) == 1


def test_machine_code_begins_before_the_first_matrix_instruction():
    lines = [Line(f"{n:04x}  NOP", (("k.py", 1),)) for n in range(9)] + [
        Line("0090  HGMMA", (("k.py", 4),)),
        Line("00a0  EXIT"),
    ]
    shown = [("1", f"{n:04x} NOP", False) for n in range(6, 9)] + [("4", "0090 HGMMA", True)]
    assert sass_rows(lines, 4, 4) == shown


def test_the_picture_shows_the_source_as_it_is():
    rows, chosen = source_rows((ROOT / SOURCE).read_text().splitlines())
    drawn = texts(PICTURE.read_text())
    assert [text for _, text, _ in rows if text[:70] not in " ".join(drawn)] == []
    assert CHOSEN in next(text for number, text, _ in rows if number == str(chosen))
    assert any("HGMMA" in text for text in drawn) and len(PICTURE.read_bytes()) < 10_000
