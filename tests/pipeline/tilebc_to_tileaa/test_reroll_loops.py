"""Loops in place of dots in a row."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("unrolled_kernels.py")
SIZE, TRIPS, COLUMNS = 64, 6, 2


def matmul(a, b):
    return sum(a[step] @ b[step] for step in range(1, 2 * TRIPS, 2))


def scaled(a, b):
    return sum(a[step] @ b[step] * a[step][:, :1] for step in range(TRIPS))


def of_two(a, b):
    return sum(a[step] @ b[step] + a[step] @ b[step].T for step in range(TRIPS))


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("reference", [matmul, scaled, of_two])
def test_matmuls(reference, sm):
    a, b, found = _results(reference.__name__, sm)
    expected = [reference(a, b[:, column]) for column in range(COLUMNS)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_attention(sm):
    a, b, found = _results("attention", sm)
    keys = np.concatenate(a[:TRIPS]).astype(np.float64)
    for column, result in enumerate(found):
        scores = b[column, 0] @ keys.T
        weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(result, weights @ keys / weights.sum(axis=1, keepdims=True), atol=2e-3)


@pytest.mark.parametrize("name", ["matmul", "scaled", "of_two", "attention"])
def test_mmas_stand_once(name):
    mmas = compiled(KERNELS, name, "sm_100").ptx.count("tcgen05.mma.cta_group")
    assert 0 < mmas < TRIPS * SIZE // 16


def _results(name, sm):
    """Tiles of a, by column of tiles; tiles of b, by row and column; the tiles that a kernel leaves."""
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (SIZE, 2 * TRIPS * SIZE)).astype(np.float16)
    b = rng.integers(-2, 3, (2 * TRIPS * SIZE, COLUMNS * SIZE)).astype(np.float16)
    out = np.full((SIZE, COLUMNS * SIZE), np.nan, np.float32)
    out = run(KERNELS, name, sm, [a, b, out], grid=(COLUMNS, 1, 1))[2]
    a, b = a.astype(np.float32), b.astype(np.float32)
    tiles = b.reshape(2 * TRIPS, SIZE, COLUMNS, SIZE).swapaxes(1, 2)
    return np.split(a, 2 * TRIPS, axis=1), tiles, np.split(out, COLUMNS, axis=1)
