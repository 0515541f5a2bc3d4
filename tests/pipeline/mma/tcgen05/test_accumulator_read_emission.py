"""Accumulators that threads read a few columns at a time: right results, no spills, and one read of all where registers hold it."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run

KERNELS = Path(__file__).with_name("large_epilogues.py")


def _reads_between_stores(name: str) -> int:
    """The reads of accumulators behind the first store of a result to shared memory."""
    lines = compiled(KERNELS, name, "sm_100").ptx.splitlines()
    first = next(place for place, line in enumerate(lines) if "st.shared.v4" in line)
    return sum("tcgen05.ld." in line for line in lines[first:])


@pytest.mark.parametrize("name", ["gated", "with_rest", "in_turn"])
def test_elements_are_read_at_their_use(name):
    assert _reads_between_stores(name) > 1
    resources = assembled(KERNELS, name, "sm_100").manifest["kernels"][name]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0


def test_all_are_read_at_once_where_registers_hold_them():
    assert _reads_between_stores("gated_narrow") == 0


def test_results():
    rng = np.random.default_rng(3)
    a, b, c = (rng.normal(0, 0.25, shape).astype(np.float16) for shape in ((100, 96), (96, 256), (96, 256)))
    found = run(KERNELS, "gated", "sm_100", [a, b, c, np.full((100, 256), np.nan, np.float16)])[3]
    gate, value = (a.astype(np.float64) @ right.astype(np.float64) for right in (b, c))
    np.testing.assert_allclose(found, gate / (1 + np.exp(-gate)) * value, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "dtype", "rows"), [("with_rest", np.float16, 256), ("with_rest_f32", np.float32, 128)]
)
def test_results_beside_loaded_tiles(name, dtype, rows):
    """What is loaded behind the loop is converted behind the wait for its MMAs, which read the same shared memory."""
    rng = np.random.default_rng(3)
    a, b, c = (rng.normal(0, 0.25, shape).astype(np.float16) for shape in ((rows, 96), (96, 208), (rows, 208)))
    found = run(KERNELS, name, "sm_100", [a, b, c.astype(dtype), np.full((rows, 208), np.nan, dtype)])[3]
    np.testing.assert_allclose(found, 0.5 * (a.astype(np.float64) @ b.astype(np.float64)) + c, rtol=2e-3, atol=2e-3)


def test_tiles_one_after_the_other():
    """Threads wait for one another behind their reads, before an MMA of the next tile writes the accumulator."""
    rng = np.random.default_rng(3)
    a, b, c = (rng.normal(0, 0.25, shape).astype(np.float16) for shape in ((720, 96), (96, 64), (720, 64)))
    found = run(KERNELS, "in_turn", "sm_100", [a, b, c, np.full((720, 64), np.nan, np.float16)])[3]
    np.testing.assert_allclose(found, 0.5 * (a.astype(np.float64) @ b.astype(np.float64)) + c, rtol=2e-3, atol=2e-3)
