"""Large matmuls are computed by pairs of CTAs without a hint, where the GPU has MMAs of pairs and nothing prevents it."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run

KERNELS = Path(__file__).with_name("unhinted_dots.py")
PAIRS = ("tall", "square")
OTHERS = ("narrow", "wide", "one_cta", "two_of_an_sm", "from_a_tile", "without_tma")
CLUSTER = ".blocksareclusters"


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_computes_a_large_tile(name):
    """Small integers, which float16 holds exactly, in arrays that end inside of tiles."""
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    assert "tcgen05.mma.cta_group::2" in compiled(KERNELS, name, "sm_100").ptx
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m + 16, k + 16), (k + 16, n + 16)))
    found = run(KERNELS, name, "sm_100", [a, b, np.full((m + 16, n + 16), 9, np.float16)], (2, 2, 1))[2]
    np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize("name", OTHERS)
def test_one_cta_computes_others(name):
    artifacts = compiled(KERNELS, name, "sm_100")
    assert CLUSTER not in artifacts.ptx and "num_ctas_declined" not in artifacts.tileas


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_gpus_without_pairs_use_one_cta(sm):
    assert CLUSTER not in compiled(KERNELS, "tall", sm).ptx


@pytest.mark.parametrize("schedule", ['{"schedule": {"num_ctas": 1}}', '{"schedule": {"two_cta_mma": false}}'])
def test_a_schedule_may_ask_for_one_cta(schedule):
    assert CLUSTER not in compiled(KERNELS, "tall", "sm_100", schedule=schedule).ptx
