"""Kernels of cuTile Python through enable(), on the emulator."""

import numpy as np
import pytest

import tileiras_build.cutile as hook

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
N, TILE = 256, 128


@ct.kernel
def scaled_add(x, y, z, factor, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, (i,), ct.load(x, (i,), (tile,)) + factor * ct.load(y, (i,), (tile,)))


def test_a_launch_computes_and_cutile_gets_its_function_back():
    own = ct.launch
    x, y, z = np.arange(N, dtype=np.float32), np.ones(N, np.float32), np.zeros(N, np.float32)
    with hook.enabled("sm_90", device="cpu"):
        assert hook.is_enabled() and ct.launch is not own
        ct.launch(0, (N // TILE,), scaled_add, (x, y, z, 2.0, TILE))
    assert not hook.is_enabled() and ct.launch is own
    np.testing.assert_array_equal(z, x + 2)
