"""Tiles of tensor memory that threads add to others, and bounds of loops beside producer warps with few registers."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, run

KERNELS = Path(__file__).parents[2] / "schedule/score_kernels.py"
QUERIES, LENGTH = 128, 256


def test_columns_that_are_added_are_read_in_small_parts():
    ptx = assembled(KERNELS, "wide", "sm_100").ptx
    sizes = re.findall(r"tcgen05\.ld\.sync\.aligned\.32x32b\.x(\d+)", ptx)
    assert {"8", "32"} == set(sizes)  # the accumulator, and the scores, which are added to nothing


def test_an_accumulator_of_256_columns_stays_in_registers():
    """ptxas keeps eight addresses of the epilogue in local memory over the loop."""
    [kernel] = assembled(KERNELS, "wide", "sm_100").manifest["kernels"].values()
    assert kernel["resources"]["spill_loads"] <= 8 * 4


def test_compute_warps_have_copies_of_bounds():
    _, _, computed = assembled(KERNELS, "in_columns", "sm_100").ptx.partition("setmaxnreg.inc")
    assert "shfl.sync.idx" in computed.partition("tcgen05.ld")[0]


@pytest.mark.parametrize(("name", "width"), [("wide", 256), ("in_columns", 128)])
def test_results(name, width):
    random = np.random.default_rng(7)
    q, k, v = (random.normal(size=(rows, width)).astype(np.float16) / 4 for rows in (QUERIES, LENGTH, LENGTH))
    actual = run(KERNELS, name, "sm_100", [q, k, v, np.zeros_like(q)], grid=(1, 1, 1))[3]
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
    expected = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(actual, expected, rtol=1e-2, atol=2e-3)
