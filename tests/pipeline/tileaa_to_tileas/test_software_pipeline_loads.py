"""Loads of dots through rings: correct results and no race for every loop length, also where a loop runs again."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers

KERNEL = Path(__file__).with_name("k_loop_dot.py")


@pytest.mark.parametrize(("steps", "sm"), alternate([1, 2, 3, 4, 5, 9], ["sm_80", "sm_90", "sm_120"]))
def test_nested_dots_share_a_ring(steps, sm):
    rng = np.random.default_rng(steps)
    a, b = rng.standard_normal((192, 32 * steps)), rng.standard_normal((32 * steps, 64))
    a, b = a.astype(np.float16), b.astype(np.float16)
    _, _, out = run(KERNEL, "nested_matmul", sm, [a, b, np.full((192, 64), np.nan, np.float32)])
    np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


def test_ring_of_a_nested_loop_is_proved():
    text = compiled(KERNEL, "nested_matmul", "sm_80").tileas
    assert verify_cp_async_buffers(parse(text.encode())) == 2


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_scales_are_copied_ahead_where_threads_wait_for_each_dot(steps):
    """Beside an MMA that is issued ahead, nothing hides their latency; the last rows have none."""
    rng = np.random.default_rng(steps)
    a, b = (rng.integers(-2, 3, (128, 64 * steps)).astype(np.float16) for _ in range(2))
    scales = [rng.integers(1, 5, (rows, steps)).astype(np.float32) for rows in (120, 1)]
    *_, out = run(KERNEL, "scaled_steps", "sm_100", [a, b, *scales, np.full((128, 128), np.nan, np.float32)])
    left, right = (array.astype(np.float64).reshape(128, steps, 64) for array in (a, b))
    expected = np.einsum("mst,nst,ms->mn", left[:120], right, scales[0] * scales[1])
    np.testing.assert_array_equal(out, np.pad(expected, ((0, 8), (0, 0))))
    text = compiled(KERNEL, "scaled_steps", "sm_100").tileas
    assert verify_cp_async_buffers(parse(text.encode())) == 4  # two of them are those of TMA


# ---- how many stages
HINTED = KERNEL.with_name("hinted_dot.py")
# A stage of both operands takes 8 KB, one of 128 x 128 x 64 32 KB; sm_80 has 163 KB, sm_89 99 KB.
STAGES = {
    ("latency_1", "sm_80"): 2,
    ("latency_5", "sm_80"): 6,
    ("latency_10", "sm_80"): 10,
    ("latency_10", "sm_89"): 6,
    ("latency_10_of_three", "sm_80"): 6,
    ("latency_10_of_three", "sm_89"): 4,
    ("wide_of_three", "sm_80"): 2,
}


def rings(path, name, sm):
    module = scheduled_case(path, name, sm)
    assert verify_cp_async_buffers(module) == 2
    return [op for op in module.walk() if op.name == "nv_tileas.alloc_tensor"]


@pytest.mark.parametrize(("name", "sm"), STAGES)
def test_stages_follow_latency_and_occupancy(name, sm):
    assert {ring.result.type.stages.data for ring in rings(HINTED, name, sm)} == {STAGES[name, sm]}


FAST_PATH = Path(__file__).parents[3] / "benchmarks" / "key_kernels.py"


@pytest.mark.parametrize(("sm", "stages"), [("sm_80", 2), ("sm_89", 1)])
def test_two_dots_alternate_where_two_stages_do_not_fit(sm, stages):
    found = rings(FAST_PATH, "attention_f16_128x128_causal", sm)
    assert {ring.result.type.stages.data for ring in found} == {stages}


EIGHT_WARPS = '{"schedule": {"num_warps": 8}}'


def test_ctas_for_which_stages_were_chosen_have_registers():
    """Two stages for each of two CTAs: options of ptxas leave both their registers. f64 takes two for an element."""
    assert ".maxnreg 128" in compiled(FAST_PATH, "matmul_f16_128x128x64_persistent", "sm_80", schedule=EIGHT_WARPS).ptx
    assert ".maxnreg 255" in compiled(FAST_PATH, "matmul_f16_128x128x64_persistent", "sm_80").ptx
    assert ".maxnreg" not in compiled(FAST_PATH, "matmul_f16_128x256x64_persistent", "sm_80").ptx
    assert ".maxnreg" not in compiled(HINTED, "of_f64", "sm_80").ptx


@pytest.mark.parametrize(("name", "is_first"), [("128x128", True), ("128x256", False)])
def test_copies_follow_the_dot_where_they_have_time(name, is_first):
    """Of two stages the one that is copied is the next one to be read; of three it has an iteration more."""
    scheduled = compiled(FAST_PATH, f"matmul_f16_{name}x64_persistent", "sm_80", schedule=EIGHT_WARPS).tileas
    dot = next(op for op in parse(scheduled.encode()).walk() if op.name == "nv_tileas.dot")
    order = [op.name for op in dot.parent.ops]
    assert (order.index("nv_tileas.async_tiled_load") < order.index("nv_tileas.dot")) == is_first
