"""Libraries are as they were loaded, until their contents change: an installer that links a file changes its times only."""

import os
import time

import pytest

from tests.build.input_edits import in_place, renamed
from tileiras_build.core.tracing.dependency_record import ReadsChanged
from tileiras_build.core.tracing.dependency_state import Probe
from tileiras_build.core.tracing.portable_paths import PortablePaths
from tileiras_build.core.tracing.read_tracer import ReadTracer

ROOT = PortablePaths("/", "/")


@pytest.fixture(params=["changed long ago", "just changed"])
def loaded(request, tmp_path) -> ReadTracer:
    """It has loaded a file of a library."""
    file = tmp_path / "library.py"
    file.write_text("VALUE = 1\n")
    if request.param == "changed long ago":
        time.sleep(0.06)
    tracer = ReadTracer()
    tracer.load()
    tracer.note("contents", str(file))
    tracer.active = tracer.is_loading = False
    return tracer


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
