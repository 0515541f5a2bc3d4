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


@pytest.mark.parametrize("latest", [0, 1, 40, 1 << 16])
def test_rows_are_found_wherever_they_are(latest, monkeypatch):
    """The end is looked at first, where the rows of the last runs are; it may begin in the middle of one."""
    monkeypatch.setattr(compact_sconsign, "_TAIL_SIZE", latest)
    lines = compact_sconsign.Lines.of({name: f"[{name}]" for name in ("k", "kk", "k.ll", "last")})
    assert [lines.get(name) for name in ("k", "kk", "k.ll", "last", "ast")] == ["[k]", "[kk]", "[k.ll]", "[last]", None]
    lines.drop("k")
    assert compact_sconsign.Lines(lines.joined({"k": "[new]"})).get("k") == "[new]" and lines.get("k") is None


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


@pytest.mark.parametrize("few", [0, 64])
def test_damaged_rows_are_no_records(lazy, few, monkeypatch):
    monkeypatch.setattr(compact_sconsign, "_MAX_SCANS", few)
    made, (text, *rest) = Entries({f"{name}.ll": entry(number) for number, name in enumerate("abcd")}).__reduce__()
    lines = [line for line in text.split("\n") if line]
    damaged = [lines[0][:-3], lines[1].partition("\t")[0] + "\t[]", lines[2].replace("0]", "9]"), lines[3]]
    read = made("\n".join(["", *damaged, ""]), *rest)
    assert [read.peek(f"{name}.ll") is None for name in "abcd"] == [True, True, True, False]
    assert [read.get(f"{name}.ll") is None for name in "abcd"] == [True, True, True, False]
    assert set(copied(read).names()) == {"d.ll"}
    # A text that ends within a line.
    assert made(text[:-1], *rest).names() == []


@pytest.mark.parametrize("few", [0, 64])
def test_few_lines_are_replaced_as_many_are(few, monkeypatch):
    monkeypatch.setattr(compact_sconsign, "_lazy", True)
    monkeypatch.setattr(compact_sconsign, "_MAX_SCANS", few)
    names = [f"{number}.ll" for number in range(9)]
    read = copied(Entries({name: entry(number) for number, name in enumerate(names)}))
    for name in (names[0], names[4], names[5], names[8]):
        read[name] = entry(100)
    read["new.ll"] = entry(7)
    again = copied(read)
    assert sorted(again.names()) == sorted([*names, "new.ll"])
    assert [again.peek(name).ninfo.csig for name in names[:6]] == [f"csig{n}" for n in (100, 1, 2, 3, 100, 100)]


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
