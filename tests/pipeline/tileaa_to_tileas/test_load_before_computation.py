"""Loads that stand before all computation, in a basic block of their own, and what such kernels compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("computed_tiles.py")


def test_all_loads_are_in_a_block_before_the_computation():
    text = compiled(KERNELS, "gradients", "sm_100").ptx
    assert text.rindex("ld.global") < text.index("bra") < text.index("ex2")


@pytest.mark.parametrize("name", ["gradients_in_parts", "long_gradients", "added", "looked_up"])
def test_other_blocks_stay_whole(name):
    """Of loops, of threads without registers for what they load, with little computation, or with addresses that are loaded."""
    assert "ends_block" not in compiled(KERNELS, name, "sm_100").tileas


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_results(sm):
    dy, x, scale = np.random.default_rng(6).normal(size=(3, 2, 200)).astype(np.float16)
    *_, dx, dscale = run(KERNELS, "gradients", sm, [dy, x, scale, 0 * x, 0 * x], grid=(2, 1, 1))
    d, g, by = (one.astype(np.float32) for one in (dy, x, scale))
    s = 1 / (1 + np.exp(-g))
    np.testing.assert_allclose(dscale, d * g * s, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(dx, d * by * (s + g * s * (1 - s)), rtol=2e-3, atol=1e-3)
