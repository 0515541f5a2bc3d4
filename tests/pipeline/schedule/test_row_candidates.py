"""Warps of kernels that reduce rows: the cheapest legal number, which computes the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import bytecode, compiled, run
from tileiras_build.driver import explain_schedule, lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.choose import listening
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("row_kernels.py")
NORMS = Path(__file__).parents[3] / "benchmarks" / "norm_kernels.py"


def explained(name: str, sm: str, schedule: str = "") -> dict:
    [kernel] = explain_schedule(bytecode(KERNELS, name), "tilebc", Job(find_target(sm), schedule=schedule))
    return kernel


def by_warps(kernel: dict) -> dict[int, dict]:
    return {one["schedule"]["num_warps"]: one for one in kernel["schedules"]}


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
def test_each_number_of_warps_is_priced_or_refused(sm):
    rows = by_warps(explained("eight_rows", sm))
    assert set(rows) == {1, 2, 4, 8, 16}
    assert "a thread needs 296" in rows[4]["refused"] and rows[4]["remedy"] == "more num_warps"
    assert rows[8]["clocks"] <= rows[16]["clocks"]


def test_small_rows_leave_no_thread_idle():
    assert "the largest tile 64 elements" in by_warps(explained("small", "sm_90"))[4]["refused"]


def test_cost_decides():
    """More warps load more of the weights at once, of which each thread has too many registers on sm_100."""
    kernel = explained("long", "sm_100")
    rows = by_warps(kernel)
    assert rows[16]["clocks"] < 0.97 * rows[8]["clocks"] and kernel["schedule"]["num_warps"] == 16
    assert explained("long", "sm_90")["schedule"]["num_warps"] == 8  # DRAM takes as long either way


def test_of_equal_costs_a_cta_alone_decides():
    """By `estimate`, a launch of 264 CTAs takes 0.75 of the clocks of two warps, the usual number, and one of 4,096 as many: DRAM binds it."""
    kernel = explained("odd", "sm_120")
    rows = by_warps(kernel)
    assert rows[8]["clocks"] == rows[2]["clocks"] and kernel["schedule"]["num_warps"] == 8


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_single_elements_that_are_loaded_late_have_registers(sm):
    """Without alignment, a thread of one warp would load 64 weights one after the other."""
    kernel = explained("unaligned", sm)
    assert "64 single elements" in by_warps(kernel)[1]["refused"] and kernel["schedule"]["num_warps"] == 4
    assert kernel["schedule"]["occupancy"] <= 65536 // (64 * (32 + 32 + 40))
    x, weights = (np.random.default_rng(9).integers(1, 5, shape).astype(np.float16) for shape in ((1, 2001), 2001))
    x[0, 7] = 4
    out = run(KERNELS, "unaligned", sm, [x, weights, np.zeros_like(x)], (1, 1, 1))[2]
    np.testing.assert_array_equal(out, x / np.float16(4) * weights)


def test_what_is_live_at_once_has_registers():
    """Two warps hold the rows that wait for maxima, and not what they compute from these."""
    kernel = explained("divergences", "sm_90")
    assert "a thread needs" in by_warps(kernel)[2]["refused"] and kernel["schedule"]["num_warps"] == 4
    rng = np.random.default_rng(3)
    x, y = (np.log(rng.uniform(0.1, 1, (2, 5000))).astype(np.float32) for _ in range(2))
    found = run(KERNELS, "divergences", "sm_90", [x, y, np.zeros_like(x)], (2, 1, 1))[2]
    p, q = np.exp(x) / 2, np.exp(y) / 2
    np.testing.assert_allclose(found, p * x + q * y - (p + q) * np.log(p + q), atol=1e-6)


def test_rows_by_pointers_are_counted_as_their_elements():
    """Weights are the same for all programs, pointers are not stored, and a row that registers hold is loaded once."""
    with listening() as heard:
        lower(bytecode(KERNELS, "parts"), ".tilebc", "tileas", Job(find_target("sm_90")))
    [kernel], row = heard.kernels.values(), 4 * 4096
    assert (kernel.loaded, kernel.reused, kernel.stored, kernel.row_words) == (2 * row, row, row, 4096)


def test_a_row_of_parts_has_more_warps_than_a_part():
    """One warp, as parts of 1,024 elements have, does not hold four of them."""
    rows = by_warps(explained("parts", "sm_90"))
    assert "registers" in rows[1]["refused"]
    assert " .reqntid 32" not in (ptx := compiled(KERNELS, "parts", "sm_90").ptx) and ".reqntid" in ptx


def test_the_schedule_of_rows_that_spill_may_be_given_back():
    """Shared memory has what registers do not."""
    name, sm = "softmax_f16_32768", "sm_90"
    [found] = explain_schedule(bytecode(NORMS, name), "tilebc", Job(find_target(sm)))
    assert found["schedule"]["spill"] and found["schedule"]["occupancy"] == 2
    assert compiled(NORMS, name, sm, schedule=json.dumps(found)).ptx == compiled(NORMS, name, sm).ptx


@pytest.mark.parametrize(("sm", "bytes"), [("sm_90", 16384), ("sm_120", 8192)])
def test_conversions_leave_the_ctas_their_shared_memory(sm, bytes):
    """Weights have wider vectors than rows of odd lengths: they are converted in one region, and in chunks where that is too large."""
    two_warps = '{"schedule": {"num_warps": 2}}'
    found = explained("odd", sm, two_warps)
    assert found["schedule"]["occupancy"] == 8
    kernel = compiled(KERNELS, "odd", sm, schedule=two_warps)
    assert f"shared_bytes = {bytes} : i32" in kernel.tileas
    assert compiled(KERNELS, "odd", sm, schedule=json.dumps(found)).ptx == kernel.ptx
    x, weights = (np.random.default_rng(3).integers(1, 5, shape).astype(np.float16) for shape in ((1, 4096), 4096))
    x[0, 7] = 4
    out = run(KERNELS, "odd", sm, [x, weights, weights, np.zeros_like(x)], (1, 1, 1))[3]
    np.testing.assert_array_equal(out, x / np.float16(4) * weights + weights)


def test_a_loop_over_rows_keeps_its_warps():
    assert list(by_warps(explained("looped", "sm_100"))) == [8]


@pytest.mark.parametrize("warps", [2, 8])
def test_a_requested_number_is_kept(warps):
    kernel = explained("one_row", "sm_100", f'{{"schedule": {{"num_warps": {warps}}}}}')
    assert kernel["schedule"]["num_warps"] == warps and list(by_warps(kernel)) == [warps]


def test_the_chosen_warps_compute_the_same():
    rng = np.random.default_rng(8)
    x, weights = (rng.integers(1, 5, shape).astype(np.float16) for shape in ((1, 16384), 16384))
    x[0, 7] = 4
    found = run(KERNELS, "long", "sm_100", [x, weights, weights, np.zeros_like(x)], (1, 1, 1))[3]
    np.testing.assert_array_equal(found, x / np.float16(4) * weights + weights)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_what_a_loop_carries_needs_registers(sm):
    """Two totals over rows and the weights wait for each reduction beside its row: two warps of the usual number would spill."""
    kernel = explained("gradients", sm)
    rows = by_warps(kernel)
    assert "registers" in rows[2]["refused"] and kernel["schedule"]["num_warps"] == 4


def test_gradients_are_right():
    rng = np.random.default_rng(4)
    x, y, weights = (rng.standard_normal(shape).astype(np.float16) for shape in ((3, 4096), (3, 4096), (4096,)))
    empty = np.zeros((3, 4096), np.float16), np.zeros((1, 4096), np.float32), np.zeros((1, 4096), np.float32)
    *_, out, by_weight, by_shift = run(KERNELS, "gradients", "sm_90", [x, y, weights, *empty], (1, 1, 1))
    row, gradient = x.astype(np.float32), y.astype(np.float32)
    scaled = gradient * weights.astype(np.float32)
    expected = scaled - row * (row * scaled).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(out.astype(np.float32), expected, rtol=2**-9, atol=2**-9)
    np.testing.assert_allclose(by_weight[0], (gradient * row).sum(axis=0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(by_shift[0], gradient.sum(axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("sm", "blocks"), [("sm_80", 3), ("sm_90", 8)])
def test_a_loop_over_rows_loads_the_next_one(sm, blocks):
    """The four elements of a thread before the loop and in it, none past the last row; blocks without a row load nothing."""
    assert compiled(KERNELS, "looped_gathers", sm).ptx.count("ld.global") == 2 * 4
    x = np.random.default_rng(5).integers(-1000, 1000, (7, 100), np.int32)
    _, out = run(KERNELS, "looped_gathers", sm, [x, np.zeros_like(x)], (blocks, 1, 1))
    np.testing.assert_array_equal(out, x - (x.sum(axis=1, keepdims=True, dtype=np.int32) + 28 * 7))


@pytest.mark.parametrize(("sm", "blocks"), [("sm_90", 3), ("sm_100", 8)])
def test_a_loop_over_rows_of_a_view_loads_the_next_one(sm, blocks):
    """One access of a thread before the loop and one in it, without branches."""
    assert compiled(KERNELS, "looped_short", sm, strategy="none").ptx.count("ld.global") == 2
    x = np.random.default_rng(6).integers(-1000, 1000, (7, 240)).astype(np.float16)
    _, out = run(KERNELS, "looped_short", sm, [x, np.zeros_like(x)], (blocks, 1, 1))
    np.testing.assert_array_equal(out, x - np.maximum(x.max(axis=1, keepdims=True), 0))


def test_a_loop_that_waits_for_another_row_loads_none_ahead():
    """That of the array to which it stores: one access to each in the loop, and none before."""
    assert compiled(KERNELS, "looped_in_place", "sm_100").ptx.count("ld.global") == 2
    x, before = np.random.default_rng(7).integers(-100, 100, (2, 7, 256)).astype(np.float16)
    _, out = run(KERNELS, "looped_in_place", "sm_100", [x, before.copy()], (3, 1, 1))
    np.testing.assert_array_equal(out, x + before - (x + before).max(axis=1, keepdims=True))
