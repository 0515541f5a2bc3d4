"""Attention in branches: right results without races, on the same path as without."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run
from tests.pairwise import alternate

KERNELS = Path(__file__).with_name("attention_in_branches.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
NAMES = ("in_a_branch", "behind_a_return", "queries_before")
KEYS, WIDTH = 64, 64
BEFORE = 9  # what the result holds before


def attention(q, k, v):
    scores = q @ k.T
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    return weights @ v / weights.sum(1, keepdims=True)


@pytest.mark.parametrize(("name", "sm"), [*alternate(NAMES, SMS), ("queries_before_tall", "sm_100")])
def test_only_sequences_with_keys_attend(name, sm):
    lengths, height = [2, 0, 3], 256 if name.endswith("tall") else 128
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.normal(0, 0.25, (rows, WIDTH)).astype(np.float16) for rows in (len(lengths) * height, 3 * KEYS, 3 * KEYS)
    )
    out = np.full((len(q), WIDTH), BEFORE, np.float32)
    blocks = 2 if name.startswith("queries_before") else len(lengths)
    found = run(KERNELS, name, sm, [q, k, v, np.array(lengths, np.int32), out], (blocks, 1, 1))[4]
    for block, length in enumerate(lengths):
        rows, keys = slice(block * height, (block + 1) * height), slice(length * KEYS)
        operands = [array.astype(np.float32) for array in (q[rows], k[keys], v[keys])]
        expected = attention(*operands) if length else BEFORE
        np.testing.assert_allclose(found[rows], expected, rtol=0, atol=2e-3)


@pytest.mark.parametrize(("sm", "path"), [("sm_90", "wgmma"), ("sm_100", "tcgen05.mma")])
@pytest.mark.parametrize("name", NAMES)
def test_both_dots_are_asynchronous(name, sm, path):
    ptx = compiled(KERNELS, name, sm).ptx
    assert path in ptx and "mma.sync" not in ptx


@pytest.mark.parametrize("sm", SMS)
def test_windows_of_two_tiles(sm):
    rng, length, width = np.random.default_rng(1), 128, 128
    q, k, v = (rng.normal(0, 0.25, (length, width)).astype(np.float16) for _ in range(3))
    out = np.full((length, width), np.nan, np.float32)
    found = run(KERNELS, "in_a_window", sm, [q, k, v, np.zeros(1, np.int32), out], (2, 1, 1))[4]
    distance = np.arange(length)[:, None] - np.arange(length)
    scores = np.where((distance >= 0) & (distance < KEYS), q.astype(np.float64) @ k.T.astype(np.float64), -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(found, weights @ v / weights.sum(1, keepdims=True), rtol=0, atol=2e-3)


def test_queries_stay_in_shared_memory_where_two_ctas_have_no_registers_for_them():
    """Beside the accumulator of the loop there is that of each tile of keys."""
    assert "lhs_stage" in compiled(KERNELS, "in_a_window", "sm_90").tileas
    resources = assembled(KERNELS, "in_a_window", "sm_90").manifest["kernels"]["in_a_window"]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0 and resources["registers"] <= 168
