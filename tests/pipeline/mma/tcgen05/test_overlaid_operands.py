"""Left operands in the columns of the accumulator that they are computed from: where two CTAs then share an SM."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).parents[2] / "tileaa_to_tileas" / "state_dots.py"


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


def test_verifier_of_columns():
    assert verify_pipelines(scheduled_case(KERNELS, "gradients", "sm_100")) > 0
