"""Records of what was read: text and back, and what each kind of change makes of them."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileiras_build.core.tracing.dependency_record import (
    Comparison,
    Dependency,
    DependencyRecord,
    describe,
    render_block,
)
from tileiras_build.core.tracing.dependency_state import PROBES, Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths

STAMPS = st.none() | st.tuples(*[st.integers(-(2**62), 2**62)] * 5)
# As ``st.text()``, which asks of each character whether it can be encoded: three seconds in a new clone.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
READS = st.lists(st.builds(Dependency, st.sampled_from(list(PROBES)), TEXT, TEXT, STAMPS), max_size=4)


@given(READS, READS, st.lists(TEXT, max_size=2))
def test_text_and_back(own, libraries, unfollowed):
    record = DependencyRecord(tuple(own), render_block(libraries), tuple(unfollowed))
    again = DependencyRecord.from_bytes(record.to_bytes())
    assert again == record and again.digest() == record.digest()
    assert list(again.all_reads()) == [*own, *libraries]


@given(st.binary(max_size=60) | st.just(b'{"version": 1, "unfollowed": [], "reads": [[1]]}\n[]\n'))
def test_what_is_no_record_is_none(data):
    assert DependencyRecord.from_bytes(data) is None


def test_stamps_are_not_what_was_read():
    old, new = (DependencyRecord((Dependency("contents", "#/a", "1", (n,) * 5),)) for n in (1, 2))
    assert old.digest() == new.digest()
    assert old.digest() != DependencyRecord((Dependency("contents", "#/a", "2"),)).digest()


def looked(folder, kind: str, name: str) -> Dependency:
    """What is seen now."""
    looking = Probe(PortablePaths(str(folder)))
    state = looking.state(kind, name)
    return Dependency(kind, name, state, looking.stamps.get(looking.paths.path(name)) if kind == "contents" else None)


def _write(name: str, text: str = ""):
    return lambda folder: (folder / name).write_text(text)


def _same_time(folder):
    path, found = folder / "a.txt", (folder / "a.txt").stat()
    path.write_text("2")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


CHANGES = {
    ("contents", "#/a.txt"): (_same_time, "a.txt changed"),
    ("contents", "#/new.txt"): (_write("new.txt"), "new.txt changed"),
    ("type", "#/new.txt"): (_write("new.txt"), "new.txt was created or deleted"),
    ("stat", "#/a.txt"): (lambda folder: os.utime(folder / "a.txt", (1, 1)), "a.txt changed (content or mtime)"),
    ("link", "#/l"): (lambda folder: (folder / "l").symlink_to("a.txt"), "link l has another target"),
    ("names", "#/"): (_write("new.txt"), "the files in . changed"),
    ("candidates", "#///sizes"): (_write("sizes.py"), "module sizes now resolves to another file"),
    ("shadows", "#/"): (_write("json.py"), "modules in . shadow standard ones"),
    ("distributions", "#/"): (lambda folder: (folder / "x-1.dist-info").mkdir(), "the packages in . changed"),
}


@pytest.mark.parametrize("row", CHANGES, ids=str)
def test_a_change_is_seen_and_said(tmp_path, row):
    (tmp_path / "a.txt").write_text("1")
    record = DependencyRecord((looked(tmp_path, *row),))
    assert Comparison(Probe(PortablePaths(str(tmp_path)))).first_change(record) is None
    change, words = CHANGES[row]
    change(tmp_path)
    assert Comparison(Probe(PortablePaths(str(tmp_path)))).first_change(record) == words


def test_a_file_of_the_same_contents_is_unchanged(tmp_path):
    (tmp_path / "a.txt").write_text("1")
    read = looked(tmp_path, "contents", "#/a.txt")
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").write_text("1")
    assert read.is_current(Probe(PortablePaths(str(tmp_path))))


@pytest.mark.parametrize(("kind", "name"), [("variable", "READS_TEST"), ("environment", "")])
def test_a_variable(tmp_path, monkeypatch, kind, name):
    record = DependencyRecord((), render_block([looked(tmp_path, kind, name)]))
    monkeypatch.setenv("READS_TEST", "1")
    change = Comparison(Probe(PortablePaths(str(tmp_path)))).first_change(record)
    assert change == describe(Dependency(kind, name, ""))
    assert "READS_TEST=1" not in str(looked(tmp_path, kind, name)), "some values are secrets"


def test_the_search_path(tmp_path, monkeypatch):
    record = DependencyRecord((looked(tmp_path, "path", ""),))
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    assert Comparison(Probe(PortablePaths(str(tmp_path)))).first_change(record) == "sys.path changed"


def test_what_cannot_be_followed_never_holds(tmp_path):
    record = DependencyRecord((), untraced_actions=("it runs a program",))
    change = Comparison(Probe(PortablePaths(str(tmp_path)))).first_change(record)
    assert change == "it runs a program, which cannot be traced"


def test_every_kind_has_its_words():
    assert all(describe(Dependency(kind, "#/x//y", "")) for kind in PROBES)
