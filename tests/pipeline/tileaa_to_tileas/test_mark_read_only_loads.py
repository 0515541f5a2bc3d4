"""Loads ahead of stores that no token orders before them: which, and correct results without a race."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run
from tileiras_build.target import sass_listing

KERNELS = Path(__file__).with_name("read_only_loads.py")
# Of memory that does not change, and others. Long rows that wait for a reduction would only cost registers.
LOADS = {"doubled": (1, 0), "summed": (1, 1), "short_rows": (1, 0), "long_rows": (0, 1)}


@pytest.mark.parametrize(("name", "loads"), LOADS.items())
def test_which_loads_are_read_only(name, loads):
    found = compiled(KERNELS, name, "sm_90", strategy="none").tileas
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


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
def test_maxima_of_rows(sm):
    x = np.random.default_rng(2).integers(-99, 100, (6, 64), np.int32)
    np.testing.assert_array_equal(run(KERNELS, "short_rows", sm, [x, np.zeros(6, np.int32)])[1], x.max(axis=1))


def test_ptxas_loads_ahead():
    """Several loads before the first store of an unrolled loop; where each waits for a store they alternate."""
    listing = sass_listing.disassemble(assembled(KERNELS, "doubled", "sm_90", strategy="none").cubin)
    accesses = re.findall(r"\b(LDG|STG)\b", listing)
    assert "LDG LDG LDG LDG STG" in " ".join(accesses)
