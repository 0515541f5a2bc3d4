"""The record of a build: written and read, and changed by a run of some kernels as a run of all would write it."""

import hashlib

import pytest

from tileiras_build.build.incremental import build_record
from tileiras_build.build.incremental.build_record import ABSENT, FullGraph, read, record_of, write

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
    """Of each path its state, and whose it is: None of everybody."""
    found = {}
    for place, path in enumerate(record.paths):
        owner = record.owners[place]
        whose = (
            record.shared.get(path)
            if owner == build_record.SEVERAL_OR_NONE
            else [list(record.full_graph.sources)[owner]]
        )
        found[path] = (tuple(record.states[5 * place : 5 * place + 5]), whose)
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


@pytest.mark.parametrize("new", [(), ("new.py", "\udcff.py")], ids=["the same files", "others, too"])
def test_what_is_changed_after_it_was_read_is_written_as_it_is(before, new, tmp_path):
    """The paths are written as they were read where a run has seen no others, and made anew where it has."""
    write(tmp_path / "record", before)
    seen_now = states(["a.py", "a.cubin", *(new or ("old.py", "shapes.py"))], 100)
    part = (frozenset(["a.py"]), {"key": "n"}, seen_now, {path: {"a.py"} for path in seen_now})
    after = read(tmp_path / "record").with_subset(*part)
    write(tmp_path / "record", after)
    assert read(tmp_path / "record") == after == before.with_subset(*part)
    assert (after.paths == before.paths) is not bool(new)


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
    assert found["b.cubin"] == (ABSENT, ["b.py", "c.py"]) and found["shapes.py"][1] == ["a.py", "b.py", "c.py"]
    assert "c.py" not in found and after.present({"b.cubin", "b.py", "none"}) == {"b.py"}


def test_what_has_been_everybodys_stays_so(monkeypatch):
    """A file of more sources than are named must not become that of the one that is built next."""
    monkeypatch.setattr(build_record, "_MAX_SHARERS", 1)
    before = record_of({}, states(FILES), OWNERS, WHOLE)
    after = before.with_subset(
        frozenset(["a.py"]), {}, states(["a.py", "shapes.py", "SConstruct"]), OWNERS | {"SConstruct": {"a.py"}}
    )
    assert seen(after)["shapes.py"][1] is None and seen(after)["SConstruct"][1] is None
    assert after.sources_of({after.paths.index("shapes.py"): True}) is None
    assert after.sources_of({after.paths.index("a.py"): True}) == {"a.py"}
