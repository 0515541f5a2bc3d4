"""Powers of two by polynomials: how far off, what is zero or NaN, and how many there are."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).parents[2] / "tileaa_to_tileas" / "rotated_dots.py"
HALF, POLYNOMIAL = 2.0**-11, 8.6e-5


def powers(exponents, share):
    """2 ** (x + n / 64), rounded to f16, of 128 exponents x and n from 0 to 63."""
    q, k = np.zeros((128, 64), np.float16), np.zeros((64, 64), np.float16)
    q[:, 0], k[:, 0] = exponents, 1
    q[:, 1], k[:, 1] = 1, np.arange(64) / 64
    out = np.zeros((128, 64), np.float32)
    return run(KERNELS, "powered", "sm_100", [q, k, np.eye(64, dtype=np.float16), out], exp2_polynomial=share)[3]


@pytest.mark.parametrize("share", [0, 6])
def test_results_are_as_accurate_as_halves(share):
    exponents = np.linspace(-14, 14, 128).astype(np.float16)
    expected = np.exp2(exponents.astype(np.float64)[:, None] + np.arange(64) / 64)
    error = np.abs(powers(exponents, share) / expected - 1).max()
    assert error <= HALF + (POLYNOMIAL if share else 0)


def test_what_is_small_is_zero():
    exponents = np.repeat(np.float16([-np.inf, -60000, -200, -127]), 32)
    np.testing.assert_array_equal(powers(exponents, 6), 0)


def test_shares():
    """Each of them is computed once: of 64 powers of a row so many of 16 are no instruction of their own."""
    texts = [compiled(KERNELS, "powered", "sm_100", exp2_polynomial=share).ptx for share in (0, 2, 4, 6)]
    assert [text.count("ex2.approx.ftz") for text in texts] == [64, 56, 48, 40]


def test_other_kernels_have_none():
    kernels = KERNELS.with_name("dots_of_loaded_tiles.py")
    assert compiled(kernels, "chained", "sm_100", exp2_polynomial=6).ptx == compiled(kernels, "chained", "sm_100").ptx
