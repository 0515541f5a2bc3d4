"""Loads that stand before all computation, in a basic block of their own, and what such kernels compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("computed_tiles.py")


@pytest.mark.parametrize("name", ["gradients", "chosen_gradients"])
def test_all_loads_are_in_a_block_before_the_computation(name):
    """A branch may compute where they load."""
    text = compiled(KERNELS, name, "sm_100").ptx
    assert text.rindex("ld.global") < text.index("bra", text.rindex("ld.global")) < text.index("ex2")


def test_loads_behind_stores_come_first():
    """Also where registers suffice for all loads of a thread."""
    assert schedule_of(scheduled_kernel(KERNELS, "rotated", "sm_100")).occupancy is not None
    text = str(compiled(KERNELS, "rotated", "sm_100").ptx)
    assert text.rindex("ld.global") < text.index("st.global")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_results_in_place(sm):
    q, k = np.random.default_rng(10).integers(-9, 10, (2, 2, 512)).astype(np.float32)
    found = run(KERNELS, "rotated", sm, [q, k], grid=(2, 1, 1))
    for old, new in zip((q, k), found, strict=True):
        a, b = np.split(old, 2, axis=1)
        np.testing.assert_array_equal(new, np.concatenate([a + 2 * b, b - 2 * a], axis=1))


@pytest.mark.parametrize("name", ["gradients_in_parts", "long_gradients", "added", "looked_up"])
def test_other_blocks_stay_whole(name):
    """Of loops, of threads without registers for what they load, with little computation, or with addresses that are loaded."""
    assert "ends_block" not in compiled(KERNELS, name, "sm_100").tileas


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("rows", [1, 2])
def test_results_at_a_chosen_row(rows, sm):
    dy, x = np.random.default_rng(8).normal(size=(2, 2, 200)).astype(np.float16)
    scale = np.random.default_rng(9).normal(size=(rows, 200)).astype(np.float16)
    *_, dx, dscale = run(KERNELS, "chosen_gradients", sm, [dy, x, scale, 0 * x, 0 * x], grid=(2, 1, 1))
    _check_gradients(dy, x, scale, dx, dscale)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_results(sm):
    dy, x, scale = np.random.default_rng(6).normal(size=(3, 2, 200)).astype(np.float16)
    *_, dx, dscale = run(KERNELS, "gradients", sm, [dy, x, scale, 0 * x, 0 * x], grid=(2, 1, 1))
    _check_gradients(dy, x, scale, dx, dscale)


def _check_gradients(dy, x, scale, dx, dscale):
    d, g, by = (one.astype(np.float32) for one in (dy, x, scale))
    s = 1 / (1 + np.exp(-g))
    np.testing.assert_allclose(dscale, d * g * s, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(dx, d * by * (s + g * s * (1 - s)), rtol=2e-3, atol=1e-3)
