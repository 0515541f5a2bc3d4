"""Details of artifacts are cached by the artifacts' contents, and missing ones are a sentence."""

import pytest

from tests.estimated_kernel import write_vector_add
from tileiras_build.reports.cached_disassembly import ArtifactContents, details_name, find_details, read_details
from tileiras_build.reports.report_cache import ReportCache
from tileiras_build.target import sass_listing

NO_CUBIN = ArtifactContents("sm_90", None, None, b"none")


@pytest.fixture
def inputs(tmp_path):
    return ArtifactContents("sm_90", None, None, write_vector_add(tmp_path).read_bytes())


def test_facts_are_found_once(inputs, tmp_path, monkeypatch):
    first = read_details([inputs, NO_CUBIN], ReportCache(tmp_path / "facts"), 2)
    assert "STG" in first[0].texts["sass"] and first[0].missing == {}
    monkeypatch.setattr(sass_listing, "disassemble", lambda *_: pytest.fail("asked again"))
    assert read_details([inputs], ReportCache(tmp_path / "facts")) == first[:1]


def test_what_nobody_asks_for_goes_and_what_is_damaged_is_found_again(tmp_path):
    kept = ReportCache(tmp_path)
    read_details([NO_CUBIN], kept)
    (tmp_path / details_name(NO_CUBIN)).write_bytes(b"damaged")
    kept.write("old.facts", b"{")
    again = ReportCache(tmp_path)
    assert read_details([NO_CUBIN], again) == [find_details(NO_CUBIN)]
    again.remove_unwanted()
    assert [path.name for path in tmp_path.iterdir()] == [details_name(NO_CUBIN)]


def test_other_contents_are_other_facts():
    others = [
        NO_CUBIN, ArtifactContents("sm_80", None, None, b"none"), ArtifactContents("sm_90", b"", None, b"none"),
        ArtifactContents("sm_90", None, b"", b"none"), ArtifactContents("sm_90", None, None, b"another"),
    ]  # fmt: skip
    assert len({one.digest for one in others}) == len(others)


def test_what_cannot_be_read_is_a_sentence():
    found = find_details(ArtifactContents("sm_90", b"none", b"none", b"none"))
    assert found.texts == {} and found.remarks == []
    assert set(found.missing) == {"tilebc", "sass", "remarks", "schedule"}
    assert all("error[" in one for one in found.missing.values())
