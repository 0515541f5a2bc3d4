"""Slices of accumulators that are read from tensor memory: right results, no exchange between threads, no spills."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run

KERNELS = Path(__file__).with_name("sliced_results.py")
SHAPES = {"halves": (128, 128), "quarters": (256, 128), "narrow": (64, 64), "rows": (256, 64)}


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", SHAPES)
def test_results(name, sm):
    """Two tiles of rows, two of columns, by two blocks if they are persistent."""
    rng, (m, n) = np.random.default_rng(3), SHAPES[name]
    a, b, c = (rng.normal(size=shape).astype(np.float16) for shape in ((2 * m, 96), (96, 2 * n), (2 * m, 2 * n)))
    out, exact = np.full((2 * m, 2 * n), np.nan, np.float32), a.astype(np.float64) @ b.astype(np.float64)
    if name == "rows":
        found = run(KERNELS, name, sm, [a, b, out], (2, 2, 1))[-1]
    else:
        found, exact = run(KERNELS, name, sm, [a, b, c, out], (2, 1, 1))[-1], exact + 2 * c.astype(np.float64)
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("name", "reads"), [("halves", 2), ("quarters", 4), ("narrow", 2), ("rows", 2)])
def test_reads(name, reads):
    scheduled = compiled(KERNELS, name, "sm_100").tileas
    assert scheduled.count("nv_tileas.tmem_load ") == reads
    assert "extract_slice" not in scheduled


def test_local_memory():
    resources = assembled(KERNELS, "quarters", "sm_100").manifest["kernels"]["quarters"]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0
