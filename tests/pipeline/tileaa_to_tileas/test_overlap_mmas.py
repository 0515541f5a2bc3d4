"""Dots issued together: where they are issued, and correct results without a race."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS, SCALED = (Path(__file__).with_name(f"{name}.py") for name in ("state_dots", "dots_of_equal_scales"))
WITHOUT_MMA_WARP = '{"schedule": {"mma_warp": false}}'
SHOWN = ("async.umma", "tmem_load", "tmem_store", "local_store", "barrier")


def events(name: str) -> list[str]:
    """What the loop of a kernel does with operands and accumulators, in order, where its threads issue the MMAs."""
    text = compiled(KERNELS, name, "sm_100", schedule=WITHOUT_MMA_WARP).tileas
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


def test_what_threads_write_is_multiplied_before_they_wait():
    """The scores are issued with the first dot, the state's dot behind its right operand, and its update before the result is read."""
    found = events("delta_rule")
    reads = [index for index, name in enumerate(found) if name == "tmem_load"]
    issued = [index for index, name in enumerate(found) if name == "async.umma"]
    assert issued[2] < reads[0] and reads[1] < issued[3] < issued[4] < reads[2]


def test_a_tile_of_two_dots_is_written_once():
    """The state and the corrected values, each the right operand of two dots; the second one has no barrier of its own."""
    found = events("delta_rule")
    assert found.count("local_store") == 2
    assert found[:5] == ["local_store", "barrier", *3 * ["async.umma"]]


def test_computed_left_operands_leave_tensor_memory_to_a_second_cta():
    """Four accumulators have 256 columns, the half of an SM's: the scores are written to shared memory, as what else threads compute."""
    assert schedule_of(scheduled_kernel(KERNELS, "halved_queries", "sm_100")).occupancy == 2
    assert "tmem_store" not in events("halved_queries")


def test_dots_that_threads_need_later_are_issued_behind_barriers_of_others():
    """Scores of the next iteration behind the dot of these, and the gradient of the probabilities behind the last dot of the previous
    iteration; rows that the loop loads are read behind the same barriers.
    """
    assert events("gradients") == [
        *("tmem_store", "barrier", "async.umma", "async.umma", "tmem_load"),
        *("tmem_store", "barrier", "async.umma", "async.umma", "tmem_load"),
    ]


def test_rows_are_copied_ahead_where_tiles_have_several_stages():
    """Threads wait for a tile of one stage in each iteration, and have loaded the rows meanwhile."""
    for name in ("gradients_wide", "gradients"):
        assert schedule_of(scheduled_kernel(KERNELS, name, "sm_100")).num_stages > 1
        assert "async_tiled_load" in compiled(KERNELS, name, "sm_100").tileas


@pytest.mark.parametrize("steps", [1, 6])
def test_results_of_gradients(steps):
    rng = np.random.default_rng(steps)
    q, do = (rng.integers(-1, 2, (64 * steps, 64)).astype(np.float16) / 8 for _ in range(2))
    k, v = (rng.integers(-1, 2, (128, 64)).astype(np.float16) / 8 for _ in range(2))
    rows, delta = (rng.integers(-2, 3, 64 * steps).astype(np.float32) for _ in range(2))
    outs = [np.full((128, 64), np.nan, np.float32) for _ in range(2)]
    *_, dk, dv = run(KERNELS, "gradients", "sm_100", [q, k, v, do, rows, delta, *outs], (1, 1, 1))
    wide_q, wide_k, wide_v, wide_do = (array.astype(np.float64) for array in (q, k, v, do))
    p = wide_k @ wide_q.T * rows
    np.testing.assert_allclose(dv, p @ wide_do, rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(dk, p * (wide_v @ wide_do.T - delta) @ wide_q, rtol=5e-3, atol=5e-3)


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


def halved_queries(q, k, v):
    return linear_attention(q / 2, k, v)


def halved_values(q, k, v):
    """The state is of v / 2, and q * 2 reads it."""
    return linear_attention(q, k, v)


def delta_rule(q, k, w, u):
    state, out = np.zeros((q.shape[1], u.shape[1])), []
    for rows in range(0, len(q), 64):
        a, b, c, d = (array[rows : rows + 64].astype(np.float64) for array in (q, k, w, u))
        new = d - c @ state
        out.append(np.tril(a @ b.T) @ new + a @ state)
        state += b.T @ new
    return np.concatenate(out)


@pytest.mark.parametrize("reference", [linear_attention, of_results, halved_queries, halved_values])
@pytest.mark.parametrize("chunks", [1, 4])
def test_results(reference, chunks):
    check_results(reference, chunks, "sm_100")


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_powers(sm):
    """All operands are computed: a tile that is both operands of a dot is written once, and to one stage, as threads wait for each dot."""
    a = np.tril(np.random.default_rng(0).integers(-1, 2, (128, 64)).reshape(2, 64, 64), -1) / 16
    out = np.full((128, 64), np.nan, np.float32)
    found = run(KERNELS, "inverse", sm, [a.reshape(128, 64).astype(np.float16), out], (2, 1, 1))[1]
    np.testing.assert_allclose(found.reshape(2, 64, 64), np.linalg.inv(np.eye(64) - a), rtol=5e-3, atol=5e-3)
    text = compiled(KERNELS, "inverse", sm).tileas
    assert text.count("nv_tileas.local_store") == text.count("= nv_tileas.alloc_tensor") == 3
    assert "nv_tileas.buffer<f16, #builtin.int<2>" not in text
    assert "mma.sync" not in compiled(KERNELS, "inverse", sm).ptx


@pytest.mark.parametrize("chunks, width", [(1, 64), (5, 64), (4, 128)])
def test_results_of_delta_rule(chunks, width):
    check_delta_rule(chunks, width, "sm_100")


def check_delta_rule(chunks, width, sm):
    rng = np.random.default_rng(chunks)
    q, k, w = (rng.integers(-1, 2, (64 * chunks, width)).astype(np.float16) / 16 for _ in range(3))
    u = rng.integers(-1, 2, (64 * chunks, 64)).astype(np.float16) / 8
    out = np.full((64 * chunks, 64), np.nan, np.float32)
    name = "delta_rule" if width == 64 else "delta_rule_wide"
    found = run(KERNELS, name, sm, [q, k, w, u, out], (1, 1, 1))[4]
    np.testing.assert_allclose(found, delta_rule(q, k, w, u), rtol=5e-3, atol=1e-3)


def check_results(reference, chunks, sm):
    rng = np.random.default_rng(chunks)
    q, k, v = (rng.integers(-1, 2, (64 * chunks, 64)).astype(np.float16) / 8 for _ in range(3))
    out = np.full((64 * chunks, 64), np.nan, np.float32)
    found = run(KERNELS, reference.__name__, sm, [q, k, v, out], (1, 1, 1))[3]
    np.testing.assert_allclose(found, reference(q, k, v), rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        "linear_attention",
        "of_results",
        "halved_queries",
        "halved_values",
        "delta_rule",
        "delta_rule_wide",
        "gradients",
        "inverse",
    ],
)
def test_verifier_of_pipelines(name):
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) > 0


@pytest.mark.parametrize("columns", [32, 128])
def test_scales_follow_the_wait_for_the_last_dot_of_their_columns(columns):
    """The first dot does not wait for the second one of an iteration before: scales that are known stay behind the wait for its operands."""
    name, random, k = f"of_{columns}", np.random.default_rng(columns), 128 * 9
    assert verify_pipelines(scheduled_case(SCALED, name, "sm_100")) > 0
    a, b = (random.integers(-2, 3, (rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (256, 2 * columns))
    scales = [
        np.exp2(random.integers(-1, 2, (rows, k // 32))).astype(ml_dtypes.float8_e8m0fnu) for rows in (128, 2 * columns)
    ]
    found = run(SCALED, name, "sm_100", [a, scales[0], b, scales[1], np.full((128, columns), np.nan, np.float32)])[4]
    x, y = (one.astype(np.float64).reshape(-1, k // 32, 32) for one in (a, b))
    x, y = x * np.tile(scales[0].astype(np.float64), (2, 1))[..., None], y * scales[1].astype(np.float64)[..., None]
    x, y = x.reshape(2, 128, k), y.reshape(2, columns, k)
    np.testing.assert_array_equal(found, x[0] @ y[0].T - x[1] @ y[1].T)
