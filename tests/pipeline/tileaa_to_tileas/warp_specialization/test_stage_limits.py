"""The stages of loops that run once or twice, and what such kernels compute, without a race."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_kernel
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("parts_of_sequences.py")
HEADS, ROWS, WIDTH, PART = 2, 8, 128, 256


def shared_memory(name: str) -> int:
    manifest = read_launch_manifest(compiled(KERNELS, name, "sm_100").manifest)
    return next(iter(manifest.kernels.values())).shared_memory.dynamic


def test_a_loop_that_runs_twice_has_one_stage_and_more_ctas():
    """Of a whole sequence, two stages of keys and values hide the latency of loads, with one CTA per SM."""
    assert schedule_of(scheduled_kernel(KERNELS, "part", "sm_100")).num_stages == 1
    assert schedule_of(scheduled_kernel(KERNELS, "whole", "sm_100")).num_stages >= 2
    assert 2 * shared_memory("part") <= 228 << 10 < 2 * shared_memory("whole")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("length", [60, 128, 200, 500])
def test_results(sm, length):
    rng = np.random.default_rng(length)
    q, k, v = (rng.uniform(-0.3, 0.3, (HEADS, rows, WIDTH)).astype(np.float16) for rows in (ROWS, 512, 512))
    parts = -(-length // PART)
    found = run(KERNELS, "part", sm, [q, k, v, np.zeros((HEADS, 2, ROWS, WIDTH), np.float32), length], (HEADS, 2, 1))[3]
    for place in range(parts):
        rows = slice(place * PART, min(length, (place + 1) * PART))
        weights = np.exp2(q.astype(np.float32) @ k[:, rows].astype(np.float32).swapaxes(1, 2))
        expected = weights @ v[:, rows].astype(np.float32) / weights.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(found[:, place], expected, rtol=2e-3, atol=2e-3)
    assert not found[:, parts:].any()
