"""One ring of stages for the tiles of several loops: correct results and no race, and further ahead with the same bytes."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("united_rings.py")
SMS = ("sm_90", "sm_100", "sm_120")
WIDTH, KEYS, STEPS = 128, 64, 4
STEP = 3  # steps of values_of_scores


@pytest.mark.parametrize(("tiles", "sm"), alternate([0, 3, 1, 2], SMS))
def test_factors_of_two_loops(tiles, sm):
    rng = np.random.default_rng(tiles)
    count = max(KEYS * tiles - 16, 16)
    q, k, v = (
        rng.integers(-2, 3, shape).astype(np.float16)
        for shape in ((140, WIDTH * STEPS), (count, WIDTH * STEPS), (WIDTH * STEPS, count))
    )
    k, v = (k, v) if tiles else (k[:0], v[:, :0])
    out = np.full((140, KEYS), np.nan, np.float32)
    found = run(KERNELS, "scores_and_values", sm, [q, k, v, out], (2, 1, 1))[3]
    q, k, v = (values.astype(np.float64) for values in (q, k, v))
    want = np.zeros((140, KEYS * max(tiles, 1)))
    want[:, : len(k)] = (q @ k.T) * (q @ v)
    np.testing.assert_array_equal(found, want.reshape(140, -1, KEYS).sum(axis=1))


@pytest.mark.parametrize(("tiles", "sm"), [(0, "sm_90"), (3, "sm_90"), (1, "sm_100"), (3, "sm_100")])
def test_a_stage_of_two_tiles_or_of_one(tiles, sm):
    rng = np.random.default_rng(tiles)
    q, k, v = (
        rng.integers(-1, 2, (max(count, 1), width)).astype(np.float16)[:count]
        for count, width in ((128, 128 * STEP), (128 * tiles, 128 * STEP), (128 * tiles * STEP, 128))
    )
    out = np.full((128, 128), np.nan, np.float32)
    found = run(KERNELS, "values_of_scores", sm, [q, k, v, out])[3]
    q, k, v = (values.astype(np.float64) for values in (q, k, v))
    values = v.reshape(tiles, STEP, 128, 128).sum(axis=1).reshape(-1, 128)
    np.testing.assert_array_equal(found, q @ k.T @ values)


def rings_of(text):
    """The stages of each pipeline whose tiles TMA loads."""
    return [
        int(re.findall(r"pipeline<#builtin.int<(\d+)>>$", line)[0])
        for line in text.splitlines()
        if "async.pipeline.create" in line and "bytes = 0 " not in line
    ]


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("name", "stages", "buffers"),
    [("scores_and_values", 4, 2), ("values_of_scores", 3, 1), ("scores_and_values_of_three", 7, 2)],
)
def test_loops_with_few_stages_each_have_one_ring(name, stages, buffers, sm):
    text = compiled(KERNELS, name, sm).tileas
    assert rings_of(text) == [stages]
    assert text.count("= nv_tileas.alloc_tensor %") == buffers
    module = scheduled_case(KERNELS, name, sm)
    assert verify_pipelines(module) > 0 and verify_shared_memory_allocation(module) >= 0


def test_an_mbarrier_expects_the_bytes_of_the_tiles_that_come():
    text = compiled(KERNELS, "values_of_scores", "sm_90").tileas
    assert "bytes = 65536 : i32" in text  # of keys and queries
    acquired = [line for line in text.splitlines() if "producer_acquire" in line]
    assert ["bytes = 32768" in line for line in acquired] == [False, True]


def test_rings_of_many_stages_stay_apart():
    assert len(rings_of(compiled(KERNELS, "scores_and_values_short", "sm_100").tileas)) == 2
