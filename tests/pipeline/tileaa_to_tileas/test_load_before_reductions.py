"""Loads that stand before a reduction, and what kernels with them compute."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).parents[1] / "schedule" / "row_kernels.py"


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_weights_are_loaded_beside_their_row(sm):
    """No thread waits for a second load after its part of the maximum."""
    before, *after = re.split("shfl|redux", compiled(KERNELS, "short_weighted", sm).ptx)
    assert before.count("ld.global") == 2 and after and not any("ld.global" in text for text in after)
    x, weights = (np.random.default_rng(8).integers(1, 5, shape).astype(np.float16) for shape in ((2, 240), 240))
    x[:, 7] = 4
    out = run(KERNELS, "short_weighted", sm, [x, weights, np.zeros_like(x)], (2, 1, 1))[2]
    np.testing.assert_array_equal(out, x / np.float16(4) * weights)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_labels_and_their_elements_are_loaded_before_the_total(sm):
    before, *after = re.split("shfl|redux", compiled(KERNELS, "labeled", sm).ptx)
    assert before.count("ld.global") == 3 and after and not any("ld.global" in text for text in after)
    x = np.random.default_rng(8).integers(1, 5, (3, 240)).astype(np.float16)
    labels = np.array([7, -100, 239], np.int32)
    out = run(KERNELS, "labeled", sm, [x, labels, np.zeros(3, np.float32)], (3, 1, 1))[2]
    np.testing.assert_array_equal(out, x.sum(axis=1, dtype=np.float32) - [x[0, 7], 0, x[2, 239]])
