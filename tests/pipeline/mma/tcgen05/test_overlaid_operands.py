"""Left operands in the columns of the accumulator that they are computed from: where two CTAs then share an SM, or all tiles fit."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).parents[2] / "tileaa_to_tileas" / "state_dots.py"
SQUARE = Path(__file__).parents[2] / "schedule" / "gradient_kernels.py"


def first_columns(text: str) -> list[int]:
    """The first column of each tile in tensor memory."""
    return [int(column) for column in re.findall(r"alloc_tmem %\w+ {column = (\d+)", text)]


def test_both_computed_operands_of_gradients_overwrite_scores():
    """Four accumulators of 64 columns; the other left operands are in shared memory."""
    text = compiled(KERNELS, "gradients", "sm_100").tileas
    assert sorted(first_columns(text)) == [0, 0, 64, 128, 128, 192]
    assert "occupancy = 2" in text and "create_tmem {shared_offset" in text
    assert "!nv_tileas.tmem<#builtin.int<256>>" in text


def test_warps_that_share_lanes_overwrite_nothing():
    columns = first_columns(compiled(KERNELS, "gradients", "sm_100", schedule='{"schedule": {"num_warps": 8}}').tileas)
    assert len(set(columns)) == len(columns)


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_results_do_not_depend_on_columns(steps):
    rng = np.random.default_rng(steps)
    q, k, v, do = (rng.integers(-1, 2, (size, 64)).astype(np.float16) for size in (256, 128, 128, 256))
    q, do = q[: 64 * steps], do[: 64 * steps]
    rows, delta = (rng.integers(0, 3, 256).astype(np.float32) for _ in range(2))
    dk, dv = (np.full((128, 64), np.nan, np.float32) for _ in range(2))
    found = run(KERNELS, "gradients", "sm_100", [q, k, v, do, rows, delta, dk, dv])
    left, right, x, y = (one.astype(np.float64) for one in (k, v, q, do))
    p = (left @ x.T) * rows[: 64 * steps]
    np.testing.assert_array_equal(found[7], p @ y)
    np.testing.assert_array_equal(found[6], (p * (right @ y.T - delta[: 64 * steps])) @ x)


def test_operands_that_were_stored_remain_so_where_columns_do_not_suffice():
    """Tensor memory does not hold the results of all four dots of 128 columns, with left operands over none of them."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-1, 2, (256, 128)).astype(np.float16) for _ in range(3))
    found = run(KERNELS, "decayed_in_tf32", "sm_100", [q, k, v, np.full((256, 128), np.nan, np.float32)])[3]
    distances = np.subtract.outer(np.arange(128.0), np.arange(128.0))
    decay, rows = np.where(distances >= 0, np.exp2(-distances), 0), np.exp2(-np.arange(128.0))[:, None]
    state = np.zeros((128, 128))
    for start in (0, 128):
        x, y, z = (one[start : start + 128].astype(np.float64) for one in (q, k, v))
        expected = (x @ y.T * decay) @ z + x @ state * rows
        np.testing.assert_allclose(found[start : start + 128], expected, atol=0.25, rtol=2e-3)
        state = state * 0.5 + (y * rows).T @ z


def test_verifier_of_columns():
    assert verify_pipelines(scheduled_case(KERNELS, "gradients", "sm_100")) > 0


def test_warps_that_share_lanes_overwrite_parts_of_their_own():
    """Each of two warps has 32 of 64 columns of an operand at the start of its 64 columns of scores."""
    module = scheduled_case(SQUARE, "square_gradients", "sm_100", schedule='{"schedule": {"mma_warp": false}}')
    assert verify_pipelines(module) > 0
    for op in module.walk():
        op.attributes.pop("parts", None)
    with pytest.raises(InternalError, match="overwrites columns of another tile that other threads may still read"):
        verify_pipelines(module)


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize("schedule", [None, '{"schedule": {"mma_warp": false}}'])
def test_results_do_not_depend_on_parts_of_columns(trips, schedule):
    rng = np.random.default_rng(trips)
    # Powers are 1 and 2, and all results are exact.
    k, v = (rng.integers(0, 2, (128, 128)).astype(np.float16) for _ in range(2))
    q, outer = np.zeros((384, 128), np.float16), rng.integers(-1, 2, (384, 128)).astype(np.float16)
    q[np.arange(384), rng.integers(0, 128, 384)] = 1
    q, outer = q[: 128 * trips], outer[: 128 * trips]
    dk, dv = (np.full((128, 128), np.nan, np.float32) for _ in range(2))
    found = run(SQUARE, "square_gradients", "sm_100", [q, k, v, outer, dk, dv], schedule=schedule)
    left, right, x, y = (one.astype(np.float64) for one in (k, v, q, outer))
    powers = np.exp2(left @ x.T)
    np.testing.assert_array_equal(found[5], powers @ y)
    np.testing.assert_array_equal(found[4], (powers * (right @ y.T)) @ x)
