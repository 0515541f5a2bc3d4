"""Artifacts that a build replaces: with the earlier options or sources they come back, whole and unchanged, or not at all."""

import os
from pathlib import Path

import pytest

from tests.build.test_build_session import Project, copy_of_built
from tileiras_build.build import replaced_artifacts
from tileiras_build.build.replaced_artifacts import FOLDER, ReplacedArtifacts


@pytest.fixture
def built(tmp_path):
    return copy_of_built(tmp_path)


def contents(project: Project) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.folder.glob("build/sm_90/*")}


def restored(done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.partition(" of ")[0] for line in done.stdout.splitlines() if line.startswith("restored")]


def stored(project: Project) -> list[Path]:
    return [path for path in (project.folder / "build" / FOLDER).glob("*") if path.name != "size"]


def test_earlier_options_bring_their_artifacts_back(built):
    first = contents(built)
    assert restored(built.run("opt=2")) == [] and len(stored(built)) == 12
    assert contents(built) != first
    second = contents(built)
    assert restored(built.run()) == ["restored 12 artifacts"] and contents(built) == first
    assert "up to date" in built.run().stdout
    assert restored(built.run("opt=2")) == ["restored 12 artifacts"] and contents(built) == second


def test_an_edit_that_is_undone_brings_its_artifacts_back(built):
    source = (built.folder / "a.tilebc").read_text()
    built.write("a.tilebc", "kernel a\nedited\n")
    built.run()
    edited = contents(built)
    built.write("a.tilebc", source)
    assert restored(built.run()) == ["restored 6 artifacts"] and contents(built) != edited


def test_a_changed_input_is_not_mistaken_for_the_earlier_one(built):
    built.run("opt=2")
    built.write("a.tilebc", "kernel a\nedited\n")
    assert restored(built.run()) == ["restored 6 artifacts"]  # of the other kernel
    assert b"edited" in contents(built)["a.cubin"]


def test_damaged_artifacts_are_made_again(built):
    first = contents(built)
    built.run("opt=2")
    for path in stored(built):
        path.write_bytes(b"damaged")
    assert restored(built.run()) == [] and contents(built) == first


def test_files_that_steps_did_not_make_are_not_stored(built):
    (built.folder / "build/sm_90/a.cubin").write_bytes(b"someone's")
    built.run("opt=2")
    assert b"someone's" not in [path.read_bytes() for path in stored(built)]


def test_a_dry_run_moves_nothing(built):
    first = contents(built)
    built.run("-n", "opt=2")
    assert contents(built) == first and not stored(built)


@pytest.mark.parametrize("argument", ["prune=1", "-c"])
def test_pruning_and_cleaning_remove_them(built, argument):
    built.run("opt=2")
    built.run(argument)
    assert not (built.folder / "build" / FOLDER).exists()


def test_with_a_cache_nothing_is_stored(built):
    built.run("opt=2", f"cache={built.folder / 'cache'}")
    assert not stored(built)


def test_the_oldest_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(replaced_artifacts, "LIMIT", 40)
    monkeypatch.setattr(replaced_artifacts, "_TRIMMED", 30)
    store = ReplacedArtifacts(tmp_path)
    store.folder.mkdir()
    for number in range(5):
        (store.folder / f"{number}.0").write_bytes(bytes(10))
        store._kept += 10
        while os.stat(store.folder / f"{number}.0").st_ctime_ns == _now(tmp_path):
            pass  # two files of one clock tick have no order
    store.close(keep=True)
    assert sorted(os.listdir(store.folder)) == ["2.0", "3.0", "4.0", "size"]


def _now(folder: Path) -> int:
    path = folder / "clock"
    path.write_bytes(b"")
    return path.stat().st_ctime_ns
