"""Tiles that several dots read: right results without races, and one load by TMA."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, run, scheduled_case
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("tiles_of_two_dots.py")
KEYS, WIDTH = 256, 64


# Fewer tiles than stages, and more: mma.sync, which two GPUs have, and the instructions that read shared memory see both.
@pytest.mark.parametrize(("sm", "rows"), [("sm_80", 72), ("sm_120", 456), ("sm_90", 72), ("sm_100", 456)])
def test_results(sm, rows):
    check_gradients("gradients", sm, rows, 128)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_operands_that_threads_convert(sm):
    """All of them to shared memory, where the instructions read them along k alone."""
    check_gradients("gradients_tf32", sm, 200, 64)
    assert "mma.sync" not in compiled(KERNELS, "gradients_tf32", sm).ptx


# By cp.async on sm_90, and through registers on sm_100.
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_tiles_that_tma_cannot_load(sm):
    check_gradients("gradients_by_words", sm, 200, 64)
    assert "mma.sync" not in compiled(KERNELS, "gradients_by_words", sm).ptx


def check_gradients(name, sm, rows, keys_of_block):
    rng = np.random.default_rng(rows)
    q, k, v, o = (rng.integers(-1, 2, (count, WIDTH)).astype(np.float16) for count in (rows, KEYS, KEYS, rows))
    outs = [np.full((KEYS, WIDTH), np.nan, np.float32) for _ in range(2)]
    *_, dk, dv = run(KERNELS, name, sm, [q, k, v, o, *outs], (KEYS // keys_of_block, 1, 1))
    q, k, v, o = (one.astype(np.float64) for one in (q, k, v, o))
    np.testing.assert_array_equal(dv, (q @ k.T).T @ o)
    np.testing.assert_array_equal(dk, (o @ v.T + q @ k.T).T @ q)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_tma_loads_each_tile_once(sm):
    text = compiled(KERNELS, "gradients", sm).tileas
    assert text.count("async.tiled_tma_load") == 2
    assert len({line.split("pipeline(")[-1] for line in text.splitlines() if "producer_acquire" in line}) == 2


# A block for each tile, and one for all.
@pytest.mark.parametrize(
    ("sm", "blocks", "depth"),
    [("sm_80", 1, 456), ("sm_90", 1, 456), ("sm_100", 1, 456), ("sm_100", 2, 64), ("sm_120", 2, 64)],
)
def test_results_of_two_accumulators(sm, blocks, depth):
    rng = np.random.default_rng(depth)
    a, b, c = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((256, depth), (depth, 64), (depth, 64)))
    [*_, out] = run(KERNELS, "two_accumulators", sm, [a, b, c, np.zeros((256, 64), np.float32)], (blocks, 1, 1))
    a, b, c = (one.astype(np.float64) for one in (a, b, c))
    np.testing.assert_array_equal(out, (a @ b + 1) * (a @ c))


@pytest.mark.parametrize(("blocks", "depth"), [(2, 64), (1, 456)], ids=["a block for each tile", "one for all"])
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_dots_added_in_turn(sm, blocks, depth):
    rng = np.random.default_rng(depth)
    a, b, c, d = (rng.integers(-1, 2, shape).astype(np.float16) for shape in 2 * ((256, depth), (depth, 64)))
    [*_, out] = run(KERNELS, "accumulated_in_turn", sm, [a, b, c, d, np.zeros((256, 64), np.float32)], (blocks, 1, 1))
    a, b, c, d = (one.astype(np.float64) for one in (a, b, c, d))
    np.testing.assert_array_equal(out, a @ b + c @ d + 1)


@pytest.mark.parametrize("keys", [64, 456])
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_scores_added_in_turn(sm, keys):
    rng = np.random.default_rng(keys)
    q, r, k, p, v = (rng.integers(-1, 2, (n, 64)).astype(np.float16) for n in (128, 128, keys, keys, keys))
    [*_, out] = run(KERNELS, "scores_of_two", sm, [q, r, k, p, v, np.zeros((128, 64), np.float32)], (1, 1, 1))
    q, r, k, p, v = (one.astype(np.float64) for one in (q, r, k, p, v))
    scores = q @ k.T + r @ p.T
    padded = np.pad(scores, ((0, 0), (0, -keys % 64))).reshape(128, -1, 64)
    np.testing.assert_array_equal(out, scores @ v + padded.max(axis=2).sum(axis=1, keepdims=True))


def _reads_in_last_loop(name: str) -> int:
    """The reads of tensor memory in the last loop whose threads wait for MMAs."""
    loops = compiled(KERNELS, name, "sm_100").tileas.split("nv_tileas.for")[1:]
    bodies = [loop.partition("nv_tileas.continue")[0] for loop in loops]
    return next(body.count("tmem_load") for body in reversed(bodies) if "tmem_load" in body)


def test_dots_are_added_in_tensor_memory():
    assert "addf" not in compiled(KERNELS, "accumulated_in_turn", "sm_100").tileas
    assert _reads_in_last_loop("scores_of_two") == 1


def test_accumulators_stay_in_tensor_memory():
    loops = compiled(KERNELS, "two_accumulators", "sm_100").tileas.split("nv_tileas.for")
    assert "tmem_load" not in next(part for part in loops if "async.umma" in part).partition("nv_tileas.continue")[0]


def test_accumulators_stay_in_tensor_memory_beside_dots_that_are_read():
    assert _reads_in_last_loop("gradients") == 2


@pytest.mark.parametrize(
    ("name", "chunks"), [("decayed_state", 1), ("decayed_state", 4), ("decayed_state_by_words", 3)]
)
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_a_state_from_tiles_that_threads_read_too(sm, name, chunks):
    rng = np.random.default_rng(chunks)
    q, k, v = (rng.integers(-1, 2, (64 * chunks, 64)).astype(np.float16) / 8 for _ in range(3))
    factors, out = np.linspace(0, 1, 64, dtype=np.float32)[:, None], np.full((64 * chunks, 64), np.nan, np.float32)
    found = run(KERNELS, name, sm, [q, k, v, np.repeat(factors, 4, 1), out])[-1]
    assert "mma.sync" not in compiled(KERNELS, name, sm).ptx
    state, want = np.zeros((64, 64)), []
    for rows in range(0, len(q), 64):
        a, b, c = (array[rows : rows + 64].astype(np.float64) for array in (q, k, v))
        want.append(a @ b.T @ c + a @ state)
        state = state / 2 + (b * factors).T @ c
    np.testing.assert_allclose(found, np.concatenate(want), rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize(("sm", "blocks", "depth"), [("sm_90", 1, 456), ("sm_100", 2, 64), ("sm_100", 1, 456)])
def test_results_of_a_tile_that_threads_square(sm, blocks, depth):
    rng = np.random.default_rng(depth)
    a, b = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((256, depth), (depth, 64)))
    [*_, out] = run(KERNELS, "matmul_and_squares", sm, [a, b, np.zeros((256, 64), np.float32)], (blocks, 1, 1))
    a, b = (one.astype(np.float64) for one in (a, b))
    np.testing.assert_array_equal(out, a @ b + (a * a).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_chained_dots_and_a_tile_that_threads_square(sm):
    rng = np.random.default_rng(0)
    q, k, v = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (128, 456, 456))
    [*_, out] = run(KERNELS, "attention_and_squares", sm, [q, k, v, np.zeros((128, 64), np.float32)])
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    np.testing.assert_array_equal(out, q @ k.T @ v + (k * k).sum())


@pytest.mark.parametrize(
    ("sm", "name", "tiles", "stores"),
    [
        ("sm_90", "decayed_state", 3, 1),
        ("sm_100", "decayed_state", 3, 2),
        ("sm_90", "matmul_and_squares", 2, 0),
        ("sm_100", "matmul_and_squares", 2, 0),
    ],
)
def test_threads_read_the_stage_of_a_dot(sm, name, tiles, stores):
    """They write no tile as it is: the state, and in tensor memory the left operand that they compute from a tile."""
    text = compiled(KERNELS, name, sm).tileas
    assert text.count("async.tiled_tma_load") == tiles
    assert text.count("nv_tileas.local_load") == 1
    assert text.count("nv_tileas.local_store") == stores


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", sorted(cases(KERNELS)))
def test_no_stage_is_released_before_its_last_reader(name, sm):
    """Also where one of its readers is issued an iteration ahead."""
    assert verify_pipelines(scheduled_case(KERNELS, name, sm)) > 0
