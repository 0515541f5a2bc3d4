"""Tiles that threads load before they wait for the result that these are combined with: correct results without races."""

from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_kernel
from tileiras_build.ir.casting import parent_block
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_counted_loop

KERNELS, STATES = (Path(__file__).with_name(f"{name}.py") for name in ("biased_scores", "state_dots"))


def events(name: str) -> list[str]:
    """What threads that read tensor memory load and wait for in the last loop, in order."""
    text = compiled(KERNELS, name, "sm_100").tileas
    loop = text[text.rindex("nv_tileas.for ") :]
    names = [line.strip().partition("nv_tileas.")[2].split(" ")[0] for line in loop.splitlines()]
    return [name for name in names if name in ("tiled_load", "async.pipeline.consumer_wait", "tmem_load")]


@pytest.mark.parametrize("name", ["biased", "biased_short"])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_bias_of_scores(name, steps):
    rng = np.random.default_rng(steps)
    q, k, v = (rng.integers(-1, 2, (size, 64)).astype(np.float16) for size in (200, 64 * 3, 64 * 3))
    k, v = k[: 64 * steps], v[: 64 * steps]
    bias = rng.integers(-2, 3, (200, 64 * 3)).astype(np.float16)
    out = np.full((200, 64), np.nan, np.float32)
    grid = (4 if name == "biased_short" else 2, 1, 1)
    found = run(KERNELS, name, "sm_100", [q, k, v, bias, out], grid)[4]
    scores = np.square(q.astype(np.float64) @ k.T.astype(np.float64) + bias[:, : 64 * steps]).astype(np.float16)
    np.testing.assert_array_equal(found, scores.astype(np.float64) @ v.astype(np.float64))


@pytest.mark.parametrize("name", ["biased", "biased_short"])
def test_the_load_comes_before_the_wait(name):
    found = events(name)
    assert found[: found.index("tmem_load")][-2:] == ["tiled_load", "async.pipeline.consumer_wait"]


def test_the_loads_of_the_second_iteration_come_before_the_waits_of_the_first():
    [switch] = filter(is_agent_switch, walk(scheduled_kernel(STATES, "gradients", "sm_100")))
    [loop] = [op for op in walk(switch.regions[-1]) if is_counted_loop(op)]
    before = [op.name for op in takewhile(lambda op: op is not loop, parent_block(loop).ops)]
    loads = [place for place, name in enumerate(before) if name == "nv_tileas.tiled_load"]
    assert len(loads) == 2 and max(loads) < before.index("nv_tileas.async.pipeline.consumer_wait")


def test_a_load_that_a_token_orders_behind_a_store_is_right():
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-1, 2, (size, 64)).astype(np.float16) for size in (128, 128, 64))
    out = np.zeros((128, 64 * 3), np.float32)
    found = run(KERNELS, "of_itself", "sm_100", [q, k, v, v, out])[4]
    expected = (q.astype(np.float64) @ k.T.astype(np.float64)).reshape(128, 2, 64).cumsum(axis=1)
    np.testing.assert_array_equal(found[:, 64:].reshape(128, 2, 64), expected)
