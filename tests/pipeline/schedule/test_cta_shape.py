"""Warps of a CTA: as many as divide the results of all dots."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pairwise import alternate

KERNELS = Path(__file__).with_name("decode_dots.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
INSTRUCTION = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma.cta_group"}
STEPS, HEADS, D = 3, 8, 64


@pytest.mark.parametrize(("keys", "sm"), alternate([256, 128], SMS))
def test_a_decoder_of_eight_heads(keys, sm):
    rng = np.random.default_rng(keys)
    q, k, v = (rng.integers(-1, 2, (rows, D)).astype(np.float16) for rows in (HEADS, STEPS * keys, STEPS * keys))
    out = np.full((D, HEADS), -1, np.float32)
    found = run(KERNELS, f"keys_{keys}", sm, [q, k, v, out])[3]
    scores = (k.astype(np.float32) @ q.T.astype(np.float32) + 1).astype(np.float16)
    np.testing.assert_array_equal(found, v.T.astype(np.float32) @ scores.astype(np.float32))


@pytest.mark.parametrize("sm", INSTRUCTION)
def test_both_dots_keep_the_fastest_family(sm):
    """The result of the second one has rows of a single warpgroup."""
    ptx = compiled(KERNELS, "keys_256", sm).ptx
    assert INSTRUCTION[sm] in ptx
    assert "\tmma.sync" not in ptx
