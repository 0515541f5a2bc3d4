"""Accumulators that are read again: right results, no spills, and one read where registers hold them."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run

KERNELS = Path(__file__).with_name("gated_gradients.py")


@pytest.mark.parametrize("name", ["gated", "gated_narrow"])
def test_gradients(name):
    rng = np.random.default_rng(5)
    x, gates, values = (rng.normal(0, 0.25, shape).astype(np.float16) for shape in ((128, 96), (96, 128), (96, 128)))
    dy, out = rng.normal(size=(128, 128)).astype(np.float16), np.full((128, 128), np.nan, np.float16)
    blocks = 1 if name == "gated" else 4
    *_, to_values, to_gates = run(KERNELS, name, "sm_100", [dy, x, gates, values, out, out], (1, blocks, 1))
    gate, value = (x.astype(np.float64) @ right.astype(np.float64) for right in (gates, values))
    sigmoid = 1 / (1 + np.exp(-gate))
    np.testing.assert_allclose(to_values, dy * gate * sigmoid, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(to_gates, dy * value * sigmoid * (1 + gate * (1 - sigmoid)), rtol=2e-3, atol=2e-3)


def test_reads_and_spills():
    assert compiled(KERNELS, "gated_narrow", "sm_100").tileas.count("nv_tileas.tmem_load ") == 2
    assert compiled(KERNELS, "gated", "sm_100").tileas.count("nv_tileas.tmem_load ") == 3
    resources = assembled(KERNELS, "gated", "sm_100").manifest["kernels"]["gated"]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0
