"""The record of a build: written and read, and changed by a run of some kernels as a run of all would write it."""

import hashlib
from dataclasses import replace

import pytest

from tileiras_build.build.incremental import build_record
from tileiras_build.build.incremental.build_record import ABSENT, FullGraph, read, record_of, write
from tileiras_build.core.tracing.dependency_state import stamp

WHOLE = FullGraph({"a.py": ["a"], "b.py": ["b"], "c.py": ["c", "c_wide"]}, 4)
SCRIPT = {"SConstruct": None}
FILES = SCRIPT | dict.fromkeys(("a.py", "b.py", "c.py", "shapes.py", "a.cubin", "b.cubin", "old.py"))
OWNERS = {name: {f"{name[0]}.py"} for name in ("a.py", "b.py", "c.py", "a.cubin", "b.cubin")} | {
    "shapes.py": {"a.py", "b.py"},
    "old.py": {"a.py"},
}


def states(files, start: int = 0) -> dict:
    return {path: (start + number, 2, 3, 4, 5) for number, path in enumerate(files)}


def seen(record) -> dict:
    """Of each path its state, and whose it is: [""] of all kernels."""
    found, at = {}, 0
    for source, count in record.groups.items():
        for place in range(at, at + count):
            state = tuple(record.states[5 * place : 5 * place + 5])
            found.setdefault(record.paths[place], (state, []))[1].append(source)
        at += count
    assert at == len(record.paths) == len(record.states) // 5
    return found


@pytest.fixture
def before():
    return record_of({"key": "k"}, states(FILES), OWNERS, WHOLE)


def test_what_is_read_was_written(before, tmp_path):
    write(tmp_path / "record", before)
    assert read(tmp_path / "record") == before
    whole = (tmp_path / "record").read_bytes()
    for damaged in (whole[:-1], b"", whole[:32], hashlib.sha256(whole[32:]).digest() + whole[32:]):
        (tmp_path / "record").write_bytes(damaged)
        assert read(tmp_path / "record") is None


def test_what_is_changed_is_written_and_read(before, tmp_path):
    now = states(["a.py", "\udcff.py"], 100)
    after = before.with_subset(frozenset(["a.py"]), {"key": "n"}, now, {path: {"a.py"} for path in now})
    write(tmp_path / "record", after)
    assert read(tmp_path / "record") == after


def test_a_record_of_nothing_is_read(tmp_path):
    empty = record_of({"key": "k"}, {}, {}, None)
    write(tmp_path / "record", empty)
    assert read(tmp_path / "record") == empty


def test_a_part_is_looked_at_anew_and_the_rest_stands(before):
    now = states(["SConstruct", "a.py", "a.cubin", "new.py"], 100)
    owners = {"a.py": {"a.py"}, "a.cubin": {"a.py"}, "new.py": {"a.py"}}
    after = before.with_subset(frozenset(["a.py"]), {"key": "n"}, now, owners)
    expected = seen(record_of({}, states(FILES) | now, OWNERS | owners | {"shapes.py": {"b.py"}}, WHOLE))
    del expected["old.py"]
    assert after.head == {"key": "n"} and seen(after) == expected
    assert seen(before) == seen(record_of({}, states(FILES), OWNERS, WHOLE))


def test_a_file_that_another_source_reads_too_is_shared(before):
    now = {"b.cubin": ABSENT, "shapes.py": (1, 1, 1, 1, 1)}
    after = before.with_subset(frozenset(["c.py"]), {}, now, {"b.cubin": {"c.py"}, "shapes.py": {"c.py"}})
    found = seen(after)
    assert found["b.cubin"][1] == ["b.py", "c.py"] and found["shapes.py"][1] == ["a.py", "b.py", "c.py"]
    assert "c.py" not in found and after.present({"a.cubin", "b.py", "none"}) == {"a.cubin", "b.py"}


def test_what_has_been_everybodys_stays_so(monkeypatch):
    """A file of more sources than are named must not become that of the one that is built next."""
    monkeypatch.setattr(build_record, "_MAX_SHARERS", 1)
    before = record_of({}, states(FILES), OWNERS, WHOLE)
    now = states(["a.py", "shapes.py", "SConstruct"], 100)
    after = before.with_subset(frozenset(["a.py"]), {}, now, OWNERS | {"SConstruct": {"a.py"}})
    for path in ("shapes.py", "SConstruct"):
        assert seen(after)[path] == (now[path], [""])


@pytest.fixture
def on_disk(tmp_path):
    """A record of files that are there, and of one that is not."""
    for name in FILES:
        (tmp_path / name).write_text(name)
    paths = {name: str(tmp_path / name) for name in (*FILES, "missing")}
    graph = FullGraph({paths[name]: [name] for name in ("a.py", "b.py", "c.py")}, 3)
    owners = {paths[name]: {paths[owner] for owner in mine} for name, mine in OWNERS.items()}
    return paths, record_of({}, {path: stamp(path) for path in paths.values()}, owners, graph)


CHANGES = {
    "nothing": ((), set()),
    "a source": (("b.py",), {"b.py"}),
    "an artifact and a source": (("a.cubin", "c.py"), {"a.py", "c.py"}),
    "a file of two sources": (("shapes.py",), {"a.py", "b.py"}),
    "a file of all": (("SConstruct", "a.py"), None),
    "a file that was not there": (("missing",), None),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_sources_of_what_has_changed_are_found(on_disk, tmp_path, what):
    changed, sources = CHANGES[what]
    paths, record = on_disk
    for name in changed:
        (tmp_path / name).write_text("changed")
    assert record.changed_sources() == (None if sources is None else {paths[name] for name in sources})
    if sources:
        assert replace(record, full_graph=None).changed_sources() is None


@pytest.mark.parametrize(("name", "sources"), [("a.cubin", {"a.py"}), ("old.py", {"a.py"}), ("a.py", None)])
def test_a_source_that_is_removed_may_matter_to_all(on_disk, tmp_path, name, sources):
    paths, record = on_disk
    (tmp_path / name).unlink()
    assert record.changed_sources() == (None if sources is None else {paths[name] for name in sources})
