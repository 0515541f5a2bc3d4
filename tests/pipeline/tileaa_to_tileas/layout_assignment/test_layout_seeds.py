"""Gathered scales of which each thread would hold many are gathered once, and converted."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("gathered_scales.py")
SMS = ("sm_90", "sm_100")


@pytest.mark.parametrize("sm", SMS)
def test_a_thread_gathers_few_scales(sm):
    loads = [compiled(KERNELS, name, sm).tileas for name in ("swapped", "direct")]
    converted = [bool(re.search(r"convert_layout %\d+ .*: \(!tile_64xf32\)", text)) for text in loads]
    assert converted == [True, False]


@pytest.mark.parametrize("sm", SMS)
def test_scales_of_columns(sm):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-3, 4, (rows, 192)).astype(np.float16) for rows in (48, 128))
    scales = rng.integers(1, 4, (48, 3)).astype(np.float32)
    found = run(KERNELS, "swapped", sm, [a, b, scales, np.full((48, 128), np.nan, np.float32)])[3]
    steps = [slice(64 * k, 64 * k + 64) for k in range(3)]
    want = sum(
        scales[:, [k]] * (a[:, s].astype(np.float32) @ b[:, s].T.astype(np.float32)) for k, s in enumerate(steps)
    )
    np.testing.assert_array_equal(found, want)
