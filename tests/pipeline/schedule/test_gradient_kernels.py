"""Warps and CTAs per SM of kernels with several dots, by the tiles that are live at once (``analysis/peak_registers.py``)."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("gradient_kernels.py")
BLOCKS, ROWS, COLUMNS, WIDTH = 2, 256, 64, 64


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_two_warpgroups_share_what_exceeds_the_registers_of_one(sm):
    assert scheduled_kernel(KERNELS, "gradients", sm).num_warps == 8


def test_no_second_cta_takes_registers_of_live_tiles():
    assert schedule_of(scheduled_kernel(KERNELS, "shared_sm", "sm_100")).occupancy == 1


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_nothing_is_spilled_to_local_memory(sm):
    [kernel] = assembled(KERNELS, "gradients", sm).manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results(sm):
    random = np.random.default_rng(3)
    shapes = (ROWS, BLOCKS * COLUMNS, BLOCKS * COLUMNS, ROWS)
    q, k, v, d_out = ((random.normal(size=(rows, WIDTH)) / 8).astype(np.float16) for rows in shapes)
    zeros = np.zeros((BLOCKS * COLUMNS, WIDTH), np.float32)
    *_, d_k, d_v = run(KERNELS, "gradients", sm, [q, k, v, d_out, zeros, zeros.copy()], grid=(BLOCKS, 1, 1))
    wide_q, wide_k, wide_v, wide_out = (operand.astype(np.float64) for operand in (q, k, v, d_out))
    powers = np.exp2(wide_q @ wide_k.T)
    np.testing.assert_allclose(d_v, powers.T @ wide_out, rtol=2e-3, atol=2e-2)
    np.testing.assert_allclose(d_k, (powers * (wide_out @ wide_v.T)).T @ wide_q, rtol=2e-3, atol=2e-2)
