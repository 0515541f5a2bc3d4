"""benchmarks/recorded_launches.py and record_launches.py: the launches of a test suite, and parity.py's reading of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.test_variants import compiled
from tileiras_build.manifest.launch_manifest import read_launch_manifest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SUITE = '''
import cuda.tile as ct
import numpy as np


@ct.kernel
def scale(x, rows, y, factor, WIDTH: ct.Constant[int]):
    row = ct.gather(rows, ct.bid(0))
    ct.store(y, index=(ct.bid(0), 0), tile=ct.load(x, index=(row, 0), shape=(1, WIDTH)) * factor)


def test_scale():
    x, y = np.ones((8, 64), np.float32)[:, :32], np.zeros((4, 32), np.float32)
    rows = np.array([3, 1, 2, 0], np.int32)
    ct.launch(0, (4, 1, 1), scale, (x, rows, y, 2.0, 32))
    assert y.sum() == 0


@ct.kernel
def reverse(rows):
    row = ct.bid(0)
    ct.scatter(rows, row, ct.num_blocks(0) - 1 - row)


def test_rows_of_another_kernel():
    x, y = np.ones((4, 32), np.float32), np.zeros((4, 32), np.float32)
    rows = np.zeros(4, np.int32)
    ct.launch(0, (4, 1, 1), reverse, (rows,))
    ct.launch(0, (4, 1, 1), scale, (x, rows, y, 2.0, 32))
'''


@pytest.fixture
def recorded_launches(monkeypatch):
    """The module as its folder's scripts see it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import recorded_launches

    yield recorded_launches
    sys.modules.pop("recorded_launches", None)


def test_arguments_become_settings_by_name(recorded_launches, tmp_path):
    made = compiled("matmul", "sm_90", stop_at="cubin")
    manifest = read_launch_manifest(made.manifest).kernels["matmul"]
    array = recorded_launches.RecordedArray
    arrays = [array([256, 64], [128, 1], []), array([64, 512], [512, 1], []), array([256, 512], [512, 1], [7, 8])]
    launch = recorded_launches.RecordedLaunch("matmul", (2, 4, 1), arrays)
    launch.write(tmp_path / "matmul.tilebc")
    assert recorded_launches.RecordedLaunch.of(tmp_path / "matmul.tilebc") == launch
    assert recorded_launches.RecordedLaunch.of(tmp_path / "other.tilebc") is None
    settings = launch.settings(manifest)
    names = [one.name for one in manifest.arguments]
    assert settings[names[0]] == "256x64" and settings[names[2]] == "256x512:7,8"
    assert "128" in settings.values()
    with pytest.raises(ValueError):
        recorded_launches.RecordedLaunch("matmul", (2, 4, 1), arrays[:2]).settings(manifest)


def record(folder, test, **environment):
    """The folder of the launches that a test of ``SUITE`` makes."""
    (folder / "test_scale.py").write_text(SUITE)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "record_launches",
         "-p", "tileiras_build.cutile.pytest", "--tile-device", "cpu", "--tile-sm", "100", f"test_scale.py::{test}"],
        cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(FOLDER), "RECORD_TO": str(folder / "made")} | environment,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    return folder / "made"


def test_a_suite_is_recorded_without_running(recorded_launches, tmp_path):
    [file] = record(tmp_path, "test_scale").glob("scale-*.tilebc")
    launch = recorded_launches.RecordedLaunch.of(file)
    array = recorded_launches.RecordedArray
    assert launch.grid == (4, 1, 1)
    assert launch.arguments == [
        array([8, 32], [64, 1], []), array([4], [1], [3, 1, 2, 0]), array([4, 32], [32, 1], []), 2.0,
    ]  # fmt: skip


@pytest.mark.parametrize("pattern, rows", [("reverse", [3, 2, 1, 0]), ("", [0, 0, 0, 0])])
def test_kernels_that_write_indices_run_by_name(recorded_launches, tmp_path, pattern, rows):
    made = record(tmp_path, "test_rows_of_another_kernel", RECORD_AND_RUN=pattern)
    [file] = made.glob("scale-*.tilebc")
    assert recorded_launches.RecordedLaunch.of(file).arguments[1] == recorded_launches.RecordedArray([4], [1], rows)
