"""The page on schedules has the rows of the table of knobs."""

from pathlib import Path

from tileiras_build.pipeline.schedule.schedule import KNOBS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedules.md"


def test_the_page_has_each_knob_with_its_help():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and line.count("|") == 4]
    assert rows == [f"| `{row.name}` | {row.help} | {row.needs} |" for row in KNOBS]
