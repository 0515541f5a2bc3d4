"""A loop that loads nothing may have all columns of tensor memory for the accumulators of its dots."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileaa_to_tileas.newton_schulz import SIZE, STEPS

KERNELS = Path(__file__).with_name("newton_schulz.py")
TOLERANCE = 2e-3  # of f16 results up to 1


def _expected(x):
    tile = x.astype(np.float32)
    for _ in range(STEPS):
        gram = tile @ tile.T
        half = gram.astype(np.float16).astype(np.float32)
        series = (0.5 * (half @ half) - gram).astype(np.float16).astype(np.float32)
        tile = (tile + series @ tile).astype(np.float16).astype(np.float32)
    return tile


def test_three_accumulators_of_128_columns_are_in_tensor_memory():
    ptx = compiled(KERNELS, "orthogonalize", "sm_100").ptx
    assert "tcgen05.mma" in ptx and "mma.sync" not in ptx


def test_results():
    x = (np.random.default_rng(0).standard_normal((SIZE, SIZE)) / SIZE**0.5 / 4).astype(np.float16)
    found = run(KERNELS, "orthogonalize", "sm_100", [x, np.zeros_like(x)])[1]
    np.testing.assert_allclose(found, _expected(x), atol=TOLERANCE)
