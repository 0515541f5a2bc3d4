"""Waits for MMAs an iteration later: where they stand, and correct results without races."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.ir import Operation

from tests.emulated_kernels import run, scheduled_case
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.ir.dialects.op_traits import is_agent_switch, is_loop
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

FOLDER = Path(__file__).parent
ROTATED, GRADIENTS = (FOLDER / f"{name}.py" for name in ("rotated_dots", "tiles_of_two_dots"))
TRANSPOSED = FOLDER.parent / "schedule" / "gradient_kernels.py"
WAIT, STORE, LOAD = "nv_tileas.async.pipeline.consumer_wait", "nv_tileas.tmem_store", "nv_tileas.tmem_load"


def consumer_loop(module: Operation) -> Operation:
    [switch] = filter(is_agent_switch, walk(module))
    [loop] = [op for op in walk(as_op(switch).regions[-1]) if is_loop(op)]
    return loop


def names_in(ops) -> list[str]:
    return [inner.name for op in ops for inner in walk(op)]


def test_threads_wait_where_they_overwrite_an_operand():
    """Not at the end of an iteration, where ptxas would compute behind the wait what the next iteration stores."""
    loop = consumer_loop(scheduled_case(ROTATED, "of_two", "sm_100"))
    ops = list(loop.regions[0].blocks[0].ops)
    [store] = [op for op in ops if op.name == STORE]
    guarded = ops[ops.index(store) - 1]
    assert WAIT in names_in([guarded]) and guarded.name == "nv_tileas.if"
    assert WAIT in names_in([loop.next_op])


def test_a_wait_behind_the_loop_takes_the_place_of_one_before_it():
    loop = consumer_loop(scheduled_case(GRADIENTS, "gradients", "sm_100"))
    assert loop.next_op.name == WAIT
    pipeline = as_op(loop.next_op).pipeline
    before = [op for op in loop.parent.ops if op.name == WAIT and op.is_before_in_block(loop)]
    assert before and pipeline not in [as_op(op).pipeline for op in before]


def test_each_wait_stands_before_the_store_that_needs_it():
    """The store of the last left operand does not make that of the first one wait for the last MMA."""
    loop = consumer_loop(scheduled_case(TRANSPOSED, "transposed_gradients", "sm_100"))
    ops = [op for op in loop.regions[0].blocks[0].ops if WAIT in names_in([op]) or op.name in (STORE, LOAD)]
    events = [op.name if op.name in (STORE, LOAD) else WAIT for op in ops]
    assert events == [WAIT, LOAD, WAIT, STORE, WAIT, LOAD, WAIT, STORE]


@pytest.mark.parametrize(
    ("path", "name"),
    [(ROTATED, "of_two"), (ROTATED, "of_halves"), (GRADIENTS, "gradients"), (TRANSPOSED, "transposed_gradients")],
)
def test_verifier_of_pipelines(path, name):
    assert verify_pipelines(scheduled_case(path, name, "sm_100")) > 0


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_gradients_of_several_steps(steps):
    rng = np.random.default_rng(steps)
    q, o = (rng.integers(-1, 2, (64 * steps, 64)).astype(np.float16) for _ in range(2))
    k, v = (rng.integers(-1, 2, (128, 64)).astype(np.float16) for _ in range(2))
    scores = q.astype(np.float64) @ k.T
    wanted = (o @ v.T.astype(np.float64) + scores).T @ q, scores.T @ o
    outputs = [np.full((128, 64), np.nan, np.float32) for _ in range(2)]
    found = run(GRADIENTS, "gradients", "sm_100", [q, k, v, o, *outputs], (1, 1, 1))
    for array, want in zip(found[-2:], wanted):
        np.testing.assert_array_equal(array, want)
