"""Which results have rows that four threads share: those that are combined with loaded rows, and not reduced."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

FOLDER = Path(__file__).parents[2] / "tileaa_to_tileas"
GRADIENTS, SOFTMAX = FOLDER / "state_dots.py", FOLDER / "rotated_dots.py"


@pytest.mark.parametrize("warps", [4, 8])
def test_gradients_with_a_row_of_each_step(warps):
    """The rows of ``gradients`` are shifts and factors of 64 columns."""
    rng = np.random.default_rng(warps)
    q, k, v, do = (rng.integers(-1, 2, (size, 64)).astype(np.float16) for size in (192, 128, 128, 192))
    rows, delta = (rng.integers(0, 3, 192).astype(np.float32) for _ in range(2))
    dk, dv = (np.full((128, 64), np.nan, np.float32) for _ in range(2))
    schedule = f'{{"schedule": {{"num_warps": {warps}}}}}'
    found = run(GRADIENTS, "gradients", "sm_100", [q, k, v, do, rows, delta, dk, dv], schedule=schedule)
    left, right, x, y = (one.astype(np.float64) for one in (k, v, q, do))
    p = (left @ x.T) * rows
    ds = p * (right @ y.T - delta)
    np.testing.assert_array_equal(found[7], p @ y)
    np.testing.assert_array_equal(found[6], ds @ x)


def test_rows_are_shared_where_loaded_rows_are_combined_with_results():
    text = compiled(GRADIENTS, "gradients", "sm_100").ptx
    assert "tcgen05.ld.sync.aligned.16x256b" in text and "tcgen05.ld.sync.aligned.32x32b" not in text


def test_rows_are_whole_where_results_are_reduced():
    assert "tcgen05.ld.sync.aligned.16x256b" not in compiled(SOFTMAX, "weighted_wide", "sm_100").ptx
