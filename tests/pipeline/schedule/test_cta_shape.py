"""Warps of a CTA: as many as divide the results of all dots. CTAs per SM, and stages, of short programs."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_kernel
from tests.pairwise import alternate
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of

KERNELS = Path(__file__).with_name("decode_dots.py")
SCORES_OF_TWO_DOTS = Path(__file__).with_name("scores_of_two_dots.py")
KERNELS_WITHOUT_LOOPS = Path(__file__).with_name("dots_without_loops.py")
LOOP_LEFT_EARLY = Path(__file__).with_name("loop_left_early.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
INSTRUCTION = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma.cta_group"}
STEPS, HEADS, D = 3, 8, 64


@pytest.mark.parametrize(("keys", "sm"), alternate([256, 128], SMS))
def test_a_decoder_of_eight_heads(keys, sm):
    rng = np.random.default_rng(keys)
    q, k, v = (rng.integers(-1, 2, (rows, D)).astype(np.float16) for rows in (HEADS, STEPS * keys, STEPS * keys))
    out = np.full((D, HEADS), -1, np.float32)
    found = run(KERNELS, f"keys_{keys}", sm, [q, k, v, out])[3]
    scores = (k.astype(np.float32) @ q.T.astype(np.float32) + 1).astype(np.float16)
    np.testing.assert_array_equal(found, v.T.astype(np.float32) @ scores.astype(np.float32))


@pytest.mark.parametrize("sm", INSTRUCTION)
def test_both_dots_keep_the_fastest_family(sm):
    """The result of the second one has rows of a single warpgroup."""
    ptx = compiled(KERNELS, "keys_256", sm).ptx
    assert INSTRUCTION[sm] in ptx
    assert "\tmma.sync" not in ptx


@pytest.mark.parametrize(
    "name, sm, ctas",
    [
        ("both_sides", "sm_90", 2),
        ("both_sides", "sm_100", 2),
        ("both_sides", "sm_80", 1),
        ("both_sides_16", "sm_100", 1),
    ],
)
def test_ctas_overlap_where_a_program_has_no_loop(name, sm, ctas):
    """A launch with producer warps has all registers of an SM unless several CTAs are asked for."""
    schedule = schedule_of(scheduled_kernel(KERNELS_WITHOUT_LOOPS, name, sm))
    assert (schedule.occupancy or 1) == ctas


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_of_dots_without_loops(sm):
    rng = np.random.default_rng(0)
    x, h = (rng.integers(-1, 2, (64, 64)).astype(np.float16) for _ in range(2))
    found = run(KERNELS_WITHOUT_LOOPS, "both_sides", sm, [x, h, np.full((64, 64), np.nan, np.float32)])[2]
    np.testing.assert_array_equal(found, h.T.astype(np.float32) @ (x.astype(np.float32) @ h.astype(np.float32)))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_loop_has_no_more_stages_than_trips(sm):
    assert schedule_of(scheduled_kernel(KERNELS_WITHOUT_LOOPS, "two_trips", sm)).num_stages == 2


@pytest.mark.parametrize("rows, sm, ctas", [(64, "sm_90", 2), (128, "sm_90", 1), (64, "sm_120", 1)])
def test_one_warpgroup_computes_scores_while_another_multiplies(rows, sm, ctas):
    schedule = schedule_of(scheduled_kernel(SCORES_OF_TWO_DOTS, f"rows_{rows}", sm))
    assert (schedule.occupancy or 1) == ctas


def test_scores_of_two_dots_in_tensor_memory():
    """Two warpgroups hold what is live at once of 256 rows, and tensor memory the columns of all dots."""
    schedule = schedule_of(scheduled_kernel(SCORES_OF_TWO_DOTS, "halves", "sm_100"))
    assert (schedule.num_warps, schedule.tile_slices) == (8, None)
    assert "mma.sync" not in compiled(SCORES_OF_TWO_DOTS, "halves", "sm_100").ptx


@pytest.mark.parametrize(
    ("name", "sm", "rows", "keys", "dtype"),
    [("halves", "sm_100", 256, 256, np.float16), ("rows_64", "sm_90", 64, 128, ml_dtypes.float8_e4m3fn)],
)
def test_results_of_scores_of_two_dots(name, sm, rows, keys, dtype):
    rng = np.random.default_rng(0)
    shapes = [(rows, 64)] * 2 + [(keys, 64)] * 2 + [(64, keys)]
    q, p, k, r, v = (rng.choice([-1, 0, 0, 0, 1], shape).astype(dtype) for shape in shapes)
    found = run(SCORES_OF_TWO_DOTS, name, sm, [q, p, k, r, v, np.full((rows, 64), np.nan, np.float32)])[5]
    q32, p32, k32, r32, v32 = (one.astype(np.float32) for one in (q, p, k, r, v))
    scores = (q32 @ k32.T + p32 @ r32.T).astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(found, scores @ v32.T)


def test_ctas_have_registers_for_a_loop_that_a_condition_ends():
    """Of the eight that the hint asks for, as many as hold the accumulators of the asynchronous dot."""
    assert schedule_of(scheduled_kernel(LOOP_LEFT_EARLY, "until", "sm_90")).occupancy == 6
    ptx = compiled(LOOP_LEFT_EARLY, "until", "sm_90").ptx
    assert INSTRUCTION["sm_90"] in ptx
    assert "\tmma.sync" not in ptx


@pytest.mark.parametrize("sm", SMS)
def test_results_of_a_loop_that_a_condition_ends(sm):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-2, 3, (64, 192)).astype(np.float16), rng.integers(-2, 3, (192, 64)).astype(np.float16)
    found = run(LOOP_LEFT_EARLY, "until", sm, [a, b, np.full((64, 64), np.nan, np.float32), 2])[2]
    np.testing.assert_array_equal(found, a[:, :128].astype(np.float32) @ b[:128].astype(np.float32))
