"""What every command and every build waits for: modules that start it import no library before they need it."""

import os
import subprocess
import sys

import pytest

from tileiras_build.pipeline.stages import PACKAGE

# Each takes as long to import as a tenth of a build that has nothing to do, or longer.
LIBRARIES = {
    "numpy",
    "ml_dtypes",
    "xdsl",
    "llvmlite",
    "distributed",
    "cuda.pathfinder",
    "cuda.tile",
    "importlib.metadata",
}
STARTS = ("cli", "tileiras_command", "scons_tool", "driver", "executor.worker", "bytecode.export")


@pytest.mark.parametrize("module", STARTS)
def test_libraries_are_imported_where_they_are_used(module):
    code = f"import sys, {PACKAGE.name}.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert LIBRARIES.intersection(done.stdout.split()) == set()


# What a launch needs, and who imports the runtime does not wait for.
OF_A_LAUNCH = {"msgspec", "numpy", "ctypes", "inspect", "dataclasses", f"{PACKAGE.name}.targets"}


def test_the_runtime_is_imported_without_what_a_launch_needs():
    code = f"import sys, {PACKAGE.name}.runtime; print(*sys.modules)"
    # -S: an editable install imports some of them itself.
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert OF_A_LAUNCH.intersection(done.stdout.split()) == set()


def test_a_kernel_of_single_numbers_is_compiled_without_arrays():
    code = f"""
import sys
from pathlib import Path
import {PACKAGE.name}
assert {PACKAGE.name}.compile(Path("examples/prebuilt/vector_add_f32.tilebc").read_bytes(), "sm_90", stop_at="ptx").ptx
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"numpy", "ml_dtypes", "cuda.pathfinder"}.intersection(done.stdout.split()) == set()
