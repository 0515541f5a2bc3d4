"""Attention in branches: right results without races, on the same path as without."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
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
