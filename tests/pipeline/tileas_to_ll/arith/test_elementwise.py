"""Elements that are computed where they leave few registers in use: bit for bit those of NumPy."""

from itertools import groupby
from pathlib import Path

import ml_dtypes
import numpy as np

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("epilogue_division_kernels.py")
WHOLE = np.random.default_rng(0).integers(-2, 3, (3, 256, 64)).astype(np.float16) / 4


def _silu(x):
    return x / (1 + np.exp(-x, dtype=np.float32))


def test_an_epilogue_divides_some_elements_before_the_exponentials_of_others():
    text = compiled(KERNELS, "to_bytes", "sm_100").ptx
    kinds = [line.split()[0] for line in text.splitlines() if line.strip().startswith(("ex2.", "div.rn."))]
    assert max(len([*group]) for _, group in groupby(kinds)) == 4


def test_gated_halves():
    a, gates, ups = WHOLE[0], WHOLE[1, :128].T.copy(), WHOLE[2, :128].T.copy()
    outs = [np.zeros((256, 128), np.float16)] * 2
    *_, rounded, actual = run(KERNELS, "gated", "sm_100", [a, gates, ups, *outs], grid=(1, 1, 1))
    wide = [a.astype(np.float32) @ b.astype(np.float32) for b in (gates, ups)]
    np.testing.assert_array_equal(rounded, wide[0].astype(np.float16))
    expected = _silu(wide[0]).astype(np.float16) * wide[1].astype(np.float16)
    np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32), rtol=2e-3, atol=1e-6)


def test_bytes_beside_the_values_that_they_are_rounded_from():
    a, b = WHOLE[0, :128], WHOLE[1, :128].T.copy()
    outs = np.zeros((128, 128), ml_dtypes.float8_e4m3fn), np.zeros((128, 1), np.float32)
    *_, actual, maxima = run(KERNELS, "to_bytes", "sm_100", [a, b, *outs], grid=(1, 1, 1))
    expected = _silu(a.astype(np.float32) @ b.astype(np.float32))
    np.testing.assert_allclose(maxima[:, 0], np.abs(expected).max(axis=1), rtol=1e-6)
    rounded = expected.astype(actual.dtype).astype(np.float32)
    np.testing.assert_allclose(actual.astype(np.float32), rounded, rtol=0.07, atol=2**-9)
