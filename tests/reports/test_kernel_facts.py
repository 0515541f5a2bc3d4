"""What is found out about artifacts is kept by their contents, and what there is none of is a sentence."""

import pytest

from tests.estimated_kernel import write_vector_add
from tileiras_build.reports import sass
from tileiras_build.reports.facts import Inputs, find_facts, read_facts

NO_CUBIN = Inputs("sm_90", None, None, b"none")


@pytest.fixture
def inputs(tmp_path):
    return Inputs("sm_90", None, None, write_vector_add(tmp_path).read_bytes())


def test_facts_are_found_once(inputs, tmp_path, monkeypatch):
    first = read_facts([inputs], tmp_path / "facts", 2)
    assert "STG" in first[0].texts["sass"] and first[0].missing == {}
    monkeypatch.setattr(sass, "disassemble", lambda *_: pytest.fail("asked again"))
    assert read_facts([inputs], tmp_path / "facts") == first


def test_what_nobody_asks_for_goes_and_what_is_damaged_is_found_again(tmp_path):
    read_facts([NO_CUBIN], tmp_path)
    [kept] = tmp_path.iterdir()
    (tmp_path / "old.facts").write_bytes(b"")
    kept.write_bytes(b"damaged")
    assert read_facts([NO_CUBIN], tmp_path) == [find_facts(NO_CUBIN)]
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


def test_other_contents_are_other_facts():
    others = [
        NO_CUBIN, Inputs("sm_80", None, None, b"none"), Inputs("sm_90", b"", None, b"none"),
        Inputs("sm_90", None, b"", b"none"), Inputs("sm_90", None, None, b"another"),
    ]  # fmt: skip
    assert len({one.digest for one in others}) == len(others)


def test_what_cannot_be_read_is_a_sentence():
    found = find_facts(Inputs("sm_90", b"none", b"none", b"none"))
    assert found.texts == {} and found.remarks == []
    assert set(found.missing) == {"tilebc", "sass", "remarks"} and all(
        "error[" in one for one in found.missing.values()
    )
