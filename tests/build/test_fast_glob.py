"""A single scan of a folder gives the nodes that SCons creates with two queries per name."""

import os
from pathlib import Path

import pytest
from SCons.Node.FS import FS, Base, Dir

from tileiras_build.build.fast_glob import glob_folder, node_text

_scons = Dir._glob1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "kernels"
    (made / "deep.k").mkdir(parents=True)
    (made / "__pycache__").mkdir()
    for name in ("a.k", "b.k", ".hidden.k", "#odd.k", "new\nline.k", "$x.k", "a.txt", ".sconsign.dblite"):
        (made / name).touch()
    os.mkfifo(made / "pipe.k")
    for link, target in (("file.k", "a.k"), ("folder.k", "deep.k"), ("nothing.k", "absent")):
        (made / link).symlink_to(target)
    monkeypatch.chdir(tmp_path)
    return made


def found(glob, *asked, before=lambda fs: None, folder="kernels") -> list:
    """What a new file system object finds: class, name and path of each, and what it knows of them afterwards."""
    fs = FS()
    fs.set_SConstruct_dir(fs.Dir("."))
    before(fs)
    nodes = sorted(glob(fs.Dir(folder), *asked), key=str)
    known = sorted((name, type(node).__name__) for name, node in fs.Dir(folder).entries.items())
    return [(type(node).__name__, str(node), getattr(node, "_memo", None)) for node in nodes], known


BEFORE = {
    "nothing": lambda fs: None,
    "a file that a step makes": lambda fs: fs.File("kernels/made.k"),
    "entries that nobody has looked at": lambda fs: (fs.Entry("kernels/a.k"), fs.Entry("kernels/deep.k")),
    "a folder of variants": lambda fs: fs.VariantDir("kernels", "sources", duplicate=False),
    "a repository": lambda fs: fs.Repository("other"),
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=list(BEFORE))
@pytest.mark.parametrize("pattern", ["*.k", "[!a]*.k", "*", ".*", "a.k", "#*", "none*"])
def test_nodes_are_those_of_scons(folder, pattern, before):
    for path in ("sources", "other/kernels"):
        Path(path).mkdir(parents=True)
        Path(path, "c.k").touch()
    assert found(glob_folder, pattern, before=before) == found(_scons, pattern, before=before)


@pytest.mark.parametrize("asked", [("*.k", True, False, True), ("*.k", False)], ids=["names", "not on the disk"])
def test_what_else_can_be_asked(folder, asked):
    assert found(glob_folder, *asked) == found(_scons, *asked)


def test_a_folder_that_is_not_there(folder):
    assert found(glob_folder, "*", folder="absent") == found(_scons, "*", folder="absent")


@pytest.mark.parametrize("duplicate", [False, True])
def test_names_of_nodes_are_those_of_scons(folder, duplicate):
    fs = FS()
    fs.VariantDir("made", "kernels", duplicate=duplicate)
    Path("made").mkdir()
    Path("made/only_here.k").touch()
    names = ("a.k", "only_here.k", "nowhere.k", "deep.k/below.k")
    nodes = [fs.File(f"{folder}/{name}") for folder in ("kernels", "made") for name in names]
    assert [node_text(node) for node in nodes] == [Base._get_str(node) for node in nodes]
