"""Dots issued one iteration ahead: correct results and no race for every loop length, and where they are issued."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("rotated_dots.py")


def events(name: str) -> list[str]:
    """What the loop of a kernel does with tensor memory, in order, where its threads issue the MMAs."""
    text = compiled(KERNELS, name, "sm_100", schedule='{"schedule": {"mma_warp": false}}').tileas
    loop = text[text.rindex("nv_tileas.for ") :]
    names = [line.strip().partition("nv_tileas.")[2].split(" ")[0] for line in loop.splitlines()]
    return [name for name in names if name in ("if", "async.umma", "tmem_load", "tmem_store", "reduce")]


@pytest.mark.parametrize(("steps", "sm"), [*((steps, "sm_100") for steps in (0, 1, 2, 7)), (0, "sm_90"), (3, "sm_90")])
def test_accumulators_that_each_iteration_reads(steps, sm):
    rng = np.random.default_rng(steps)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((200, 64 * 7), (64 * 7, 64)))
    length = max(64 * steps - 16, 0)
    a, b = a[:, :length], b[:length]
    out = np.full((200, 64), np.nan, np.float32)
    weights = 1 + np.arange(a.shape[1]) // 64
    found = run(KERNELS, "weighted_steps", sm, [a, b, out], (2, 1, 1))[2]
    np.testing.assert_array_equal(found, a.astype(np.float64) @ (b * weights[:, None]).astype(np.float64))


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_dots_that_add_to_one_accumulator(steps):
    rng = np.random.default_rng(steps)
    q, k, v = (
        rng.integers(-1, 2, (size, width)).astype(np.float16) for size, width in ((200, 64), (320, 64), (320, 32))
    )
    k, v = k[: 64 * steps], v[: 64 * steps]
    out = np.full((200, 32), np.nan, np.float32)
    found = run(KERNELS, "of_halves", "sm_100", [q, k, v, out], (2, 1, 1))[3]
    scores = np.square(q.astype(np.float64) @ k.T.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(found, scores.astype(np.float64) @ v.astype(np.float64))


def test_dots_of_one_accumulator_come_together_right_behind_its_reading():
    found = events("of_halves")
    place = found.index("if")
    assert found[place - 1 : place + 3] == ["tmem_load", "if", "async.umma", "async.umma"]


def test_the_next_dot_comes_right_behind_the_reading_of_the_last_accumulator():
    assert events("weighted_steps")[:3] == ["tmem_load", "if", "async.umma"]


def test_both_dots_of_attention_are_in_flight_while_threads_compute():
    """The later dot of the last iteration and the first of the next, before the mask and the softmax of this one."""
    found = events("weighted_wide")
    assert found[: found.index("reduce")] == ["tmem_store", "async.umma", "tmem_load", "if", "async.umma", "if"]


def test_operands_that_the_loop_computes_are_not_there_ahead():
    found = events("squared_and_numbered")
    assert found.count("if") == 1  # the first dot's; the second's left operand is stored in the loop


def test_no_dot_stays_where_another_leaves_with_the_barrier_of_both():
    """All three that overwrite their accumulators are issued ahead, each with a barrier of its own."""
    found = events("before_another")
    assert found.count("if") == 3 and found[:3] == ["tmem_load", "if", "async.umma"]


@pytest.mark.parametrize(
    "name", ["weighted_steps", "weighted_wide", "fed_back", "of_one_stage", "of_slices", "of_halves", "before_another"]
)
def test_verifier_of_pipelines(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) > 0
