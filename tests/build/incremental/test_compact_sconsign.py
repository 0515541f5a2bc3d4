"""Records as texts: the same objects are read back, lazily or not, and SCons' own code can read them."""

import pickle

import pytest
from SCons.Node.FS import FileBuildInfo, FileNodeInfo
from SCons.SConsign import SConsignEntry

from tileiras_build.build.incremental import compact_sconsign
from tileiras_build.build.incremental.compact_sconsign import Entries


def info(number: int) -> FileNodeInfo:
    made = FileNodeInfo()
    made.csig, made.timestamp, made.size = f"csig{number}", number + 0.5, number
    return made


def entry(number: int) -> SConsignEntry:
    made = SConsignEntry()
    made.binfo, made.ninfo = FileBuildInfo(), info(number)
    made.binfo.bsources, made.binfo.bsourcesigs = ["k.tileas"], [info(number + 1)]
    made.binfo.bdepends, made.binfo.bdependsigs = [], []
    made.binfo.bimplicit, made.binfo.bimplicitsigs = ["libdevice.bc"], [info(number + 2)]
    made.binfo.bact, made.binfo.bactsig = "the action", "its hash"
    return made


def source(complete: bool = True) -> SConsignEntry:
    """Of a file that nothing makes: SCons leaves some of it unset, or most."""
    made = SConsignEntry()
    made.binfo, made.ninfo = FileBuildInfo(), info(9)
    if complete:
        made.binfo.bsources, made.binfo.bdepends, made.binfo.bimplicit = [], [], []
    return made


def contents(thing):
    if isinstance(thing, list):
        return [contents(element) for element in thing]
    slots = [name for kind in type(thing).mro() for name in getattr(kind, "__slots__", ()) if name != "__weakref__"]
    if not slots:
        return thing
    return type(thing), {name: contents(getattr(thing, name)) for name in slots if hasattr(thing, name)}


@pytest.fixture(params=[False, True])
def lazy(request, monkeypatch):
    monkeypatch.setattr(compact_sconsign, "_lazy", request.param)
    return request.param


def copied(entries: dict) -> Entries:
    return pickle.loads(pickle.dumps(entries))


def test_objects_come_back_as_they_were(lazy):
    given = {"a.ll": entry(1), 'b"\n\t.ll': entry(5), "a.tilebc": source(), "c": source(complete=False)}
    read = copied(copied(Entries(given)))
    assert set(read) == (set() if lazy else set(given))
    assert sorted(read.names()) == sorted(given)
    assert {name: contents(read[name]) for name in given} == {name: contents(made) for name, made in given.items()}
    assert "a" not in read and read.get("c.ll") is None and read.peek("c.ll") is None
    with pytest.raises(KeyError):
        read["c.ll"]


def test_looking_keeps_nothing_and_asking_does(lazy):
    read = copied(Entries({"a.ll": entry(1)}))
    assert "a.ll" in read
    assert contents(read.peek("a.ll")) == contents(entry(1))
    read["a.ll"].ninfo.csig = "changed"
    assert read.peek("a.ll").ninfo.csig == "changed"
    assert copied(read)["a.ll"].ninfo.csig == "changed"


def test_entry_that_is_replaced_is_written(lazy):
    read = copied(Entries({"a.ll": entry(1), "b.ll": entry(2)}))
    read["a.ll"] = entry(7)
    again = copied(read)
    assert contents(again["a.ll"]) == contents(entry(7)) and contents(again["b.ll"]) == contents(entry(2))


def test_rows_of_another_layout_are_no_records(lazy, monkeypatch):
    """A later version may keep more of an artifact, or in another order."""
    written = pickle.dumps(Entries({"a.ll": entry(1)}))
    monkeypatch.setattr(compact_sconsign, "FORMAT", f"{compact_sconsign.FORMAT} more")
    read = pickle.loads(written)
    assert "a.ll" not in read and read.peek("a.ll") is None
    assert "a.ll" in copied(Entries({"a.ll": entry(1)}))


def test_damaged_rows_are_no_records(lazy):
    made, (rows, *rest) = Entries({f"{name}.ll": entry(number) for number, name in enumerate("abcd")}).__reduce__()
    a, b, c, d = rows
    damaged = {a: rows[a][:-3], b: "[]", c: rows[c].replace("0]", "9]"), d: rows[d]}
    read = made(damaged, *rest)
    assert [read.peek(name) is None for name in rows] == [True, True, True, False]
    assert [read.get(name) is None for name in rows] == [True, True, True, False]
    assert set(copied(read).names()) == {"d.ll"}
    assert made("the text of an earlier version", *rest).names() == []


def test_an_action_is_kept_once(lazy, monkeypatch):
    given = {f"{number}.ll": entry(number) for number in range(4)}
    given["3.ll"].binfo.bact = "another action"
    assert Entries(given).__reduce__()[1][2] == [("the action", "its hash"), ("another action", "its hash")]
    read = copied(copied(Entries(given)))
    assert {name: contents(read.peek(name)) for name in given} == {name: contents(given[name]) for name in given}
    # Actions of builds long ago go.
    monkeypatch.setattr(compact_sconsign, "_MAX_ACTIONS", 1)
    read["3.ll"] = entry(3)
    assert read.__reduce__()[1][2] == [("the action", "its hash")]
    assert contents(copied(read)["2.ll"]) == contents(entry(2))
