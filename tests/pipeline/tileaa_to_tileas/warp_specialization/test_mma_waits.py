"""Loops that loads bound wait for each MMA at once, and compute the same."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import run, scheduled_kernel
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.nv_tileas.ops import AsyncDotOp

KERNELS = Path(__file__).with_name("few_stages.py")


def pending(case: str) -> list[int]:
    found = scheduled_kernel(KERNELS, case, "sm_90")
    return [op.pending for op in walk(found) if isinstance(op, AsyncDotOp)]


def test_a_loop_of_three_stages_waits_at_once():
    assert pending("shared") == [0]


def test_a_loop_that_mmas_bound_has_one_in_flight():
    assert pending("alone") == [1]


def test_results_of_a_loop_that_waits_at_once():
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((72, 520), (520, 80)))
    found = run(KERNELS, "shared", "sm_90", [a, b, np.zeros((72, 80), np.float16)], (2, 2, 1))[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))
