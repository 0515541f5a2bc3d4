"""Each lane combines and stores a part of the results that go to shared memory."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.arith.reduction_kernels import SHAPE

KERNELS = Path(__file__).with_name("reduction_kernels.py")
# Along the axis lie 4 lanes, and each has 16 results.
SHUFFLES = 8 + 4


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_totals(sm):
    x = np.random.default_rng(0).integers(-8, 8, SHAPE).astype(np.float16)
    found = run(KERNELS, "middle_total", sm, [x, np.zeros((SHAPE[0], SHAPE[2]), np.float32)])[1]
    np.testing.assert_array_equal(found, x.astype(np.float32).sum(axis=1))


def test_each_step_halves_the_results():
    assert compiled(KERNELS, "middle_total", "sm_90").ptx.count("shfl.sync") == SHUFFLES


def test_each_lane_has_all_results_of_16_bits():
    """So that it stores vectors."""
    assert compiled(KERNELS, "middle_max", "sm_90").ptx.count("shfl.sync") == 2 * 16


def test_operands_of_other_combinations_keep_their_order():
    """An argmax compares pairs; each lane has all of its 16 results in both steps, each a value and a place."""
    assert compiled(KERNELS, "middle_argmax", "sm_90").ptx.count("shfl.sync") == 2 * 16 * 2


def test_an_operation_on_one_of_the_elements_depends_on_their_order():
    assert compiled(KERNELS, "middle_doubles", "sm_90").ptx.count("shfl.sync") == 2 * 16
