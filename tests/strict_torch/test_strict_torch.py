"""PyTorch on the strict driver: its memory in C, and a program whose launches, streams and graph are the driver's."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.compiled_once import once, shared_folder
from tests.launch.runtime.fake_libcuda import compiler, run
from tests.strict_driver.server import FLAGS, MEMORY_BASE, StrictDriver
from tests.strict_torch.build import LIBRARY, build, environment

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")
HERE, SIZE = Path(__file__).parent, 1 << 28
_PYTORCH = """
#include <stdlib.h>
unsigned long long take(size_t size) {{ void *made = 0; return posix_memalign(&made, 64, size) ? 0 : (unsigned long long)made; }}
void give(unsigned long long at) {{ free((void *)at); }}
"""


@pytest.fixture(scope="module")
def driver():
    return Path(once(("strict torch", "folder"), lambda: str(build(shared_folder()))))


def test_blocks_are_the_driver_s(driver, tmp_path):
    source, library = tmp_path / "own.c", tmp_path / "libc10.so"
    source.write_text(_PYTORCH.format())
    run([compiler("cc"), *FLAGS, "-o", library, source])
    with StrictDriver(driver, "sm_90", SIZE) as gpu:
        program = [sys.executable, HERE / "segments_client.py", library, MEMORY_BASE, SIZE]
        done = gpu.run(["env", f"LD_PRELOAD={driver / LIBRARY}", *program])
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
        assert gpu.refusals() == []


def test_timed_launches_can_be_ended(driver, tmp_path):
    """What cuTile's search asks for with a limit: the launch has a process of its own, which opens the arrays' memory."""
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    own = os.environ | environment(driver, "sm_90", tmp_path)
    done = subprocess.run(
        [sys.executable, HERE / "timed_client.py"], env=own, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "strict driver" not in done.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_program_in_pytorch(driver, tmp_path):
    own = os.environ | environment(driver, "sm_90", tmp_path)
    done = subprocess.run(
        [sys.executable, HERE / "torch_client.py"], env=own, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "strict driver" not in done.stderr
