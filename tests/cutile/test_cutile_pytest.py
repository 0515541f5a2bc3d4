"""The pytest plugin, in a pytest of its own."""

import subprocess
import sys

import pytest

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

CONFTEST = "from cuda.tile._cext import get_compute_capability\nCAPABILITY = get_compute_capability()\n"
SUITE = """
import json, os
import numpy as np, pytest
import cuda.tile as ct
from conftest import CAPABILITY

@ct.kernel
def filled(x, value):
    ct.store(x, (0,), ct.full((16,), value, x.dtype))

@pytest.mark.parametrize("value", [1, 2, 3])
def test_filled(value):
    x = np.zeros(16, np.int32)
    ct.launch(0, (1,), filled, (x, value))
    assert (x == value).all() and CAPABILITY == (8, 0)
    assert json.loads(os.environ["TILEIRAS_CUTILE_INHERITED"])["jobs"] == 2
"""


def test_a_suite_runs_on_the_emulator_from_its_conftest_on(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    options = [
        "-p",
        "tileiras_build.cutile.pytest",
        "--tile-device",
        "cpu",
        "--tile-sm",
        "80",
        "--tile-keep",
        "2",
        "--tile-jobs",
        "2",
        "-k",
        "not [1]",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "2 passed, 1 deselected" in done.stdout, done.stdout + done.stderr


FAILING = """
import numpy as np
import cuda.tile as ct

@ct.kernel
def asserting(x):
    ct.assert_(ct.load(x, (0,), (16,)) > 0, "is positive")

def test_failing():
    ct.launch(0, (1,), asserting, (np.zeros(16, np.int32),))
"""


def test_a_failing_kernel_is_reported_at_the_test_s_own_line_without_frames_of_ours(tmp_path):
    (tmp_path / "test_suite.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tileiras_build.cutile.pytest", "--tile-device", "cpu"]
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ">       ct.launch(0, (1,), asserting" in done.stdout and "error[kernel-assertion]" in done.stdout
    assert "tileiras_build/" not in done.stdout and "def launch" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tile-sm", "12"], "error[unknown-target]"),
        (["--tile-jobs", "0"], "expected a positive number, got '0'"),
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
    ],
)
def test_a_wrong_command_line_is_an_error_of_usage_and_no_more(tmp_path, words, message):
    options = ["-p", "tileiras_build.cutile.pytest", "--tile-device", "cpu", *words]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4 and message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
