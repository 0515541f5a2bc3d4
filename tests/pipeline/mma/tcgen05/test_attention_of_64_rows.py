"""Left operands in shared memory, so that two CTAs have columns of tensor memory."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("attention_of_64_rows.py")
ROWS, KEYS = 64, 256
DEPTHS = {"in_two_loops": 128, "with_wide_scores": 64}


@pytest.mark.parametrize("name", DEPTHS)
def test_two_ctas_have_columns(name):
    text = compiled(KERNELS, name, "sm_100").tileas
    assert "!nv_tileas.tmem<#builtin.int<256>>" in text and "occupancy = 2" in text


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", DEPTHS)
def test_results(name, sm):
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-1, 2, (KEYS, DEPTHS[name])).astype(np.float16) for _ in range(3))
    out = np.full(q.shape, np.nan, np.float16)
    found = run(KERNELS, name, sm, [q, k, v, out], grid=(KEYS // ROWS, 1, 1))[3]
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    if name == "in_two_loops":
        scores[np.triu_indices(KEYS, 1)] = -np.inf
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, weights @ v / weights.sum(axis=1, keepdims=True), atol=2e-3)
