"""Libraries are as they were loaded, until their contents change: an installer that links a file changes its times only."""

import os
import time
from pathlib import Path

import pytest

from tests.build.input_edits import in_place, renamed
from tileiras_build.core.tracing import dependency_state
from tileiras_build.core.tracing.dependency_record import DependencyRecord, ReadsChanged
from tileiras_build.core.tracing.dependency_state import Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths
from tileiras_build.core.tracing.read_tracer import ReadTracer

ROOT = PortablePaths("/", "/")


def loaded_by(tracer: ReadTracer, folder: Path, *, defers: bool) -> ReadTracer:
    tracer.defers_digests = defers
    tracer.load()
    tracer.note("contents", str(folder / "library.py"))
    tracer.active = tracer.is_loading = False
    return tracer


@pytest.fixture(params=["changed long ago", "just changed"])
def loaded(request, tmp_path) -> ReadTracer:
    """It has loaded a file of a library."""
    file = tmp_path / "library.py"
    file.write_text("VALUE = 1\n")
    if request.param == "changed long ago":
        time.sleep(0.06)
    return loaded_by(ReadTracer(), tmp_path, defers=False)


@pytest.mark.parametrize("is_prepared", [False, True])
def test_one_more_name_of_a_file_is_no_change(loaded, tmp_path, is_prepared):
    if is_prepared:
        loaded.prepare(ROOT)
    for number in range(2):
        os.link(tmp_path / "library.py", tmp_path / f"{number}.py")
        loaded.check(Probe(ROOT))
    loaded.prepare(ROOT)


@pytest.mark.parametrize("change", [in_place, renamed])
@pytest.mark.parametrize("is_prepared", [False, True])
def test_other_contents_of_the_same_size_and_time_are_a_change(loaded, tmp_path, is_prepared, change):
    if is_prepared:
        loaded.prepare(ROOT)
    os.link(tmp_path / "library.py", tmp_path / "1.py")
    loaded.check(Probe(ROOT))
    change("library.py", "VALUE = 2\n")(tmp_path)
    with pytest.raises(ReadsChanged, match="library.py changed"):
        loaded.check(Probe(ROOT))


@pytest.fixture
def deferring(tmp_path) -> ReadTracer:
    """It has loaded a file of a library, and not read its contents."""
    (tmp_path / "library.py").write_text("VALUE = 1\n")
    time.sleep(0.06)
    return loaded_by(ReadTracer(), tmp_path, defers=True)


def test_contents_may_be_read_when_a_step_needs_them(request, tmp_path, monkeypatch):
    read, digest_of = [], dependency_state._digest_of
    monkeypatch.setattr(dependency_state, "_digest_of", lambda path, mode: read.append(path) or digest_of(path, mode))
    deferring = request.getfixturevalue("deferring")
    deferring.check(Probe(ROOT))
    assert read == []
    for _ in range(2):
        deferring.prepare(ROOT)
    assert read == [str(tmp_path / "library.py")]
    eager = loaded_by(ReadTracer(), tmp_path, defers=False)
    assert deferring._block(Probe(ROOT), ROOT) == eager._block(Probe(ROOT), ROOT)


@pytest.mark.parametrize("change", [in_place, renamed])
def test_what_has_changed_before_its_contents_were_read_is_no_library_that_was_loaded(deferring, tmp_path, change):
    change("library.py", "VALUE = 2\n")(tmp_path)
    with pytest.raises(ReadsChanged, match="library.py changed"):
        deferring.prepare(ROOT)


def test_a_file_that_changed_just_now_is_read_at_once(tmp_path):
    """Its next change may leave it the same times."""
    (tmp_path / "library.py").write_text("VALUE = 1\n")
    tracer = loaded_by(ReadTracer(), tmp_path, defers=True)
    (tmp_path / "library.py").write_text("VALUE = 2\n")
    with pytest.raises(ReadsChanged, match="library.py changed"):
        tracer.prepare(ROOT)


def adopting(folder: Path, earlier: ReadTracer) -> ReadTracer:
    """It has taken the digests of an earlier process's record, and then loaded the library."""
    libraries = earlier._block(Probe(ROOT), ROOT)
    tracer = ReadTracer()
    tracer.adopt_digests(DependencyRecord((), libraries), ROOT)
    return loaded_by(tracer, folder, defers=False)


def test_the_record_of_an_earlier_export_has_the_digests_of_unchanged_libraries(loaded, tmp_path, monkeypatch):
    time.sleep(0.06)
    loaded.prepare(ROOT)
    monkeypatch.setattr(dependency_state, "_digest_of", lambda path, mode: pytest.fail(f"reads {path}"))
    tracer = adopting(tmp_path, loaded)
    tracer.prepare(ROOT)
    assert tracer._block(Probe(ROOT), ROOT) == loaded._block(Probe(ROOT), ROOT)


@pytest.mark.parametrize("change", [in_place, renamed])
def test_a_library_that_has_changed_since_an_earlier_export_is_read(loaded, tmp_path, change):
    loaded.prepare(ROOT)
    change("library.py", "VALUE = 2\n")(tmp_path)
    time.sleep(0.06)
    tracer = adopting(tmp_path, loaded)
    tracer.prepare(ROOT)
    fresh = loaded_by(ReadTracer(), tmp_path, defers=False)
    assert tracer._block(Probe(ROOT), ROOT) == fresh._block(Probe(ROOT), ROOT)
    assert tracer._block(Probe(ROOT), ROOT) != loaded._block(Probe(ROOT), ROOT)
