"""Dots of chunks: how many CTAs share an SM in short loops, and what their columns, stages and registers hold; right results."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("chunk_kernels.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
ASYNC = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma.cta_group"}
T, D, CHUNKS = 64, 128, 2


def random(*shapes):
    rng = np.random.default_rng(len(shapes))
    return [rng.integers(-1, 2, shape).astype(np.float16) for shape in shapes]


def blocks(array):
    return array.astype(np.float64).reshape(CHUNKS, T, -1)


def launch(name, sm, arrays, outs=1):
    arrays = [*arrays, *(np.full((CHUNKS * T, D), np.nan, np.float32) for _ in range(outs))]
    return run(KERNELS, name, sm, arrays, (1 if name == "state_gradients" else CHUNKS, 1, 1))[-outs:]


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", ["outputs", "outputs_of_two_trips"])
def test_outputs(name, sm):
    q, k, v, state, gate = random(*3 * [(CHUNKS * T, D)], (D, D), (CHUNKS * T,))
    (found,) = launch(name, sm, [q, k, v, state, gate.astype(np.float32)])
    scores = np.tril(blocks(q) @ blocks(k).transpose(0, 2, 1))
    want = blocks(gate) * (blocks(q) @ state.astype(np.float64)) + scores @ blocks(v)
    np.testing.assert_array_equal(found, want.reshape(found.shape))


@pytest.mark.parametrize("sm", SMS)
def test_gated_outputs(sm):
    q, v, gate, state, scores = random(*3 * [(CHUNKS * T, D)], (D, D), (CHUNKS * T, T))
    (found,) = launch("gated_outputs", sm, [q, v, state, gate, scores])
    want = blocks(q) * blocks(gate) @ state.astype(np.float64) + np.tril(blocks(scores)) @ blocks(v)
    np.testing.assert_array_equal(found, want.reshape(found.shape))


@pytest.mark.parametrize("name, ctas", [("outputs", 2), ("outputs_of_two_trips", 2), ("outputs_of_eight_trips", 1)])
def test_ctas_of_short_loops(name, ctas):
    """A loop of eight trips overlaps its loads itself."""
    assert (schedule_of(scheduled_kernel(KERNELS, name, "sm_100")).occupancy or 1) == ctas


def test_accumulators_share_columns_where_another_cta_has_half_of_them():
    """The dots have 352 columns in all, of which two CTAs per SM would have 256 each."""
    found = re.search(r"create_tmem .*builtin\.int<(\d+)>", compiled(KERNELS, "outputs", "sm_100").tileas)
    assert found is not None and int(found[1]) == 256


def test_short_loops_have_few_stages_where_two_ctas_share_an_sm():
    """Tiles that come once have one."""
    kernel = scheduled_kernel(KERNELS, "gated_outputs", "sm_100")
    assert (schedule_of(kernel).occupancy, schedule_of(kernel).num_stages) == (2, 2)
    assert kernel.shared_bytes <= 113 * 1024


@pytest.mark.parametrize("sm", SMS)
def test_dots_without_loops_that_read_one_tile(sm):
    factors, k, v, beta = random((CHUNKS * T, T), *2 * [(CHUNKS * T, D)], (CHUNKS * T,))
    found = launch("corrections", sm, [factors, k, v, beta], outs=2)
    for result, tiles in zip(found, (k, v), strict=True):
        np.testing.assert_array_equal(result, (blocks(factors) @ (blocks(tiles) * blocks(beta))).reshape(result.shape))
    if sm in ASYNC:
        ptx = compiled(KERNELS, "corrections", sm).ptx
        assert ASYNC[sm] in ptx and "mma.sync" not in ptx


@pytest.mark.parametrize("sm", SMS)
def test_gradients_of_states(sm):
    q, k, w, do, dv = (array / np.float16(8) for array in random(*5 * [(CHUNKS * T, D)]))
    (found,) = launch("state_gradients", sm, [q, k, w, do, dv])
    state, want = np.zeros((D, D)), np.zeros((CHUNKS, T, D))
    for step in reversed(range(CHUNKS)):
        want[step] = blocks(k)[step] @ state.astype(np.float16) + blocks(dv)[step]
        state = state / 2 + blocks(q)[step].T @ blocks(do)[step]
        state -= blocks(w)[step].T @ want[step].astype(np.float16)
    np.testing.assert_allclose(found, want.reshape(found.shape), rtol=1e-2, atol=1e-3)


def test_results_that_are_read_from_tensor_memory_in_turn_need_no_slices():
    """Two warpgroups hold the state beside one result."""
    schedule = schedule_of(scheduled_kernel(KERNELS, "state_gradients", "sm_100"))
    assert (schedule.num_warps, schedule.tile_slices) == (8, None)
