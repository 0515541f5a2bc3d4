"""Operands that stay in shared memory beside one stage of the others: results, and neither copies in registers nor spills."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run

KERNELS = Path(__file__).with_name("resident_operands.py")
SMS = ("sm_90", "sm_100")


def matrix(rows, columns, seed):
    return np.random.default_rng(seed).integers(-2, 3, (rows, columns)).astype(np.float16)


@pytest.mark.parametrize("sm", SMS)
def test_left_operands(sm):
    """The rows end within the first box of the right operand's 512, or in its second one."""
    x, w = matrix(72, 472, 1), matrix(472, 304, 2)
    found = run(KERNELS, "left_stays", sm, [x, w, np.full((72, 1), np.nan, np.float32)], (2, 1, 1))[2]
    want = np.square(x.astype(np.float64) @ w.astype(np.float64)).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("sm", SMS)
def test_right_operands(sm):
    x, w = matrix(152, 512, 3), matrix(512, 144, 4)
    found = run(KERNELS, "right_stays", sm, [x, w, np.full((64, 144), np.nan, np.float32)], (2, 1, 1))[2]
    first_dots = (x.astype(np.float64) @ w.astype(np.float64) / 4).astype(np.float16).astype(np.float64)
    np.testing.assert_array_equal(found, x[:, :64].T.astype(np.float64) @ first_dots)


@pytest.mark.parametrize("name", ["left_stays", "right_stays"])
@pytest.mark.parametrize("sm", SMS)
def test_one_stage_is_enough(sm, name):
    assert "num_stages = 1 : i32" in compiled(KERNELS, name, sm).tileas
    resources = assembled(KERNELS, name, sm).manifest["kernels"][name]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0
