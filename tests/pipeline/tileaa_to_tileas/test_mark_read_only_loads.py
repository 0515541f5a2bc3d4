"""Loads ahead of stores that no token orders before them: which, and correct results without a race."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, disassembled, run

KERNELS = Path(__file__).with_name("read_only_loads.py")
LOADS = {"doubled": (1, 0), "summed": (1, 1)}  # of memory that does not change, and others


@pytest.mark.parametrize(("name", "loads"), LOADS.items())
def test_arrays_that_the_kernel_writes_are_not_read_only(name, loads):
    found = compiled(KERNELS, name, "sm_90").tileas
    marked = [" read_only" in line or "{read_only" in line for line in found.splitlines() if ".tiled_load " in line]
    assert (any(marked), not all(marked)) == tuple(map(bool, loads))


@pytest.mark.parametrize(("name", "sm"), [("doubled", "sm_80"), ("doubled", "sm_100"), ("summed", "sm_90")])
@pytest.mark.parametrize("length", [1, 13])
def test_results(name, sm, length):
    x = np.arange(length, dtype=np.int32) * 3 + 1
    out = np.full(length, 7, np.int32)
    found = run(KERNELS, name, sm, [x, out])[1]
    want = 2 * x if name == "doubled" else np.cumsum(np.concatenate([out[:1], x[1:]]))
    np.testing.assert_array_equal(found, want)


def test_ptxas_loads_ahead():
    """Several loads before the first store of an unrolled loop; where each waits for a store they alternate."""
    accesses = re.findall(r"\b(LDG|STG)\b", disassembled(KERNELS, "doubled", "sm_90"))
    assert "LDG LDG LDG LDG STG" in " ".join(accesses)
