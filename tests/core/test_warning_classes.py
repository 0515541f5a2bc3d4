"""Selections of classes of warnings, and the table of the document."""

import re
from pathlib import Path

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.warning_classes import WARNINGS, WarningOptions, parse_warnings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "build-reference.md"


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", ()),
        ("tma, spill", ("spill", "tma")),
        ("all,no-tma,no-bounds", ("spill", "mma", "vector", "request", "shared")),
        ("all,none,mma", ("mma",)),
        ("tma,no-all", ()),
    ],
)
def test_a_list_is_read_from_left_to_right(text, selected):
    assert parse_warnings(text) == selected


def test_an_unknown_class_is_refused():
    with pytest.raises(
        InvalidInput, match=r"option-value\]: warnings=no-tme names no class of warnings; did you mean tma\?"
    ):
        parse_warnings("no-tme")


def test_each_class_is_read_from_one_place():
    options = WarningOptions(tuple(WARNINGS))
    assert options.of_manifest == ("spill",)
    assert {*options.of_remarks, *options.of_manifest} == WARNINGS.keys()


def test_the_document_has_the_table():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (.*) \|$", PAGE.read_text().partition("## Warnings")[2], re.MULTILINE)
    rows = rows[: len(WARNINGS)]
    assert [(name, what) for name, what, _ in rows] == [(row.name, row.help) for row in WARNINGS.values()]
    assert [set(re.findall(r"`(Remark\w+)`", of)) for *_, of in rows] == [row.remarks for row in WARNINGS.values()]
