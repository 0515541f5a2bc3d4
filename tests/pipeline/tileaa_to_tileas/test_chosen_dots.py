"""Dots in branches whose operands threads write before: no thread still waits for an empty stage when an MMA releases it."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run, scheduled_case
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("chosen_dots.py")


@pytest.mark.parametrize("sm", ["sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_results(steps, sm):
    rng = np.random.default_rng(steps)
    shapes = (256, 32), (32, 32 * steps), (32 * steps, 128)
    q, k, v = (rng.integers(-1, 2, shape).astype(np.float16) for shape in shapes)
    [*_, found] = run(KERNELS, "chosen", sm, [q, k, v, np.full((256, 128), np.nan, np.float32)])
    scores = np.maximum(q.astype(np.float32) @ k, 0)
    scores[:, 32:64] = 0
    np.testing.assert_array_equal(found, scores @ v)


def test_a_missing_barrier():
    module = scheduled_case(KERNELS, "chosen", "sm_100")
    assert verify_pipelines(module) > 0
    acquire = next(op for op in module.walk() if "by_readers" in op.attributes)
    while acquire.name != "nv_tileas.barrier":
        acquire = acquire.next_op
    acquire.detach()
    with pytest.raises(InternalError, match="item 0 may be released while other threads wait for its stage"):
        verify_pipelines(module)
