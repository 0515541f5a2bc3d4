"""Dots issued together: where they are issued, and correct results without a race."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("state_dots.py")
SHOWN = ("async.umma", "tmem_load", "tmem_store", "local_store", "barrier")


def events(name: str) -> list[str]:
    """What the loop of a kernel does with operands and accumulators, in order."""
    text = compiled(KERNELS, name, "sm_100").tileas
    loop = text[text.rindex("nv_tileas.for ") : text.rindex("nv_tileas.continue")]
    names = [line.strip().partition("nv_tileas.")[2].split(" ")[0] for line in loop.splitlines()]
    return [name for name in names if name in SHOWN]


def test_the_update_of_the_state_is_issued_with_the_scores():
    """The state's left operand is written before the wait for the scores; no barrier stands before the third dot's."""
    assert events("linear_attention") == [
        *("barrier", "async.umma", "async.umma", "local_store", "tmem_load", "tmem_store", "barrier"),
        *("async.umma", "async.umma", "tmem_load", "tmem_load"),
    ]


def test_a_dot_of_the_result_stays_behind_it():
    found = events("of_results")
    assert found.index("local_store") < found.index("tmem_load")
    last = len(found) - 1 - found[::-1].index("async.umma")
    assert found[last - 2 : last] == ["local_store", "barrier"]
    assert found[:last].count("tmem_load") == 2


def linear_attention(q, k, v):
    state, out = np.zeros((q.shape[1], v.shape[1])), []
    for rows in range(0, len(q), 64):
        a, b, c = (array[rows : rows + 64].astype(np.float64) for array in (q, k, v))
        out.append(np.tril(a @ b.T) @ c + a @ state)
        state += b.T @ c
    return np.concatenate(out)


def of_results(q, k, v):
    state, out = np.zeros((q.shape[1], v.shape[1])), []
    for rows in range(0, len(q), 64):
        a, b, c = (array[rows : rows + 64].astype(np.float64) for array in (q, k, v))
        out.append(a @ b.T @ c + a @ state)
        state += a.T @ (out[-1] / 8)
    return np.concatenate(out)


@pytest.mark.parametrize("reference", [linear_attention, of_results])
@pytest.mark.parametrize("chunks", [1, 4])
def test_results(reference, chunks):
    check_results(reference, chunks, "sm_100")


def check_results(reference, chunks, sm):
    rng = np.random.default_rng(chunks)
    q, k, v = (rng.integers(-1, 2, (64 * chunks, 64)).astype(np.float16) / 8 for _ in range(3))
    out = np.full((64 * chunks, 64), np.nan, np.float32)
    found = run(KERNELS, reference.__name__, sm, [q, k, v, out], (1, 1, 1))[3]
    np.testing.assert_allclose(found, reference(q, k, v), rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["linear_attention", "of_results"])
def test_verifier_of_pipelines(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) > 0
