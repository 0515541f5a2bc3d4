"""Tiles of loops without dots that each thread copies ahead, and what kernels with them compute, for any number of iterations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case, scheduled_kernel
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import as_op
from tileiras_build.ir.dialects.nv_tileas.scheduling_attributes import LDMATRIX
from tileiras_build.ir.dialects.op_definition import TableOp
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers

KERNELS = Path(__file__).with_name("rows_copied_ahead.py")
TARGETS = ("sm_80", "sm_90", "sm_100")


def _values(*shape: int, type: type = np.float32) -> np.ndarray:
    return np.random.default_rng(7).integers(1, 9, shape).astype(type)


def _is_copied(name: str, sm: str) -> bool:
    return "cp.async" in compiled(KERNELS, name, sm).ptx


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("rows", [1, 40, 300])
def test_columns(sm, rows):
    """Of fewer tiles than the stages hold, and of more, the last of which ends inside."""
    assert _is_copied("columns_f16", sm)
    x = _values(rows, 40, type=np.float16)
    found = run(KERNELS, "columns_f16", sm, [x, np.zeros(40, np.float32)], (2, 1, 1))[1]
    np.testing.assert_array_equal(found, x.astype(np.float32).sum(axis=0))


def test_columns_of_words():
    x = _values(100, 64)
    found = run(KERNELS, "columns_f32", "sm_120", [x, np.zeros(64, np.float32)], (1, 1, 1))[1]
    np.testing.assert_array_equal(found, x.sum(axis=0))


@pytest.mark.parametrize("sm", TARGETS)
def test_rows_that_a_loop_stores(sm):
    """Loads run ahead of stores to another array, beside barriers of reductions."""
    assert _is_copied("shares", sm)
    x = _values(11, 512, type=np.float16)
    found = run(KERNELS, "shares", sm, [x, np.zeros(x.shape, np.float32)], (2, 1, 1))[1]
    values = x.astype(np.float32)
    np.testing.assert_allclose(found, values / values.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("size", [100, 256 * 13])
def test_tiles_by_pointers(size):
    assert _is_copied("by_pointers", "sm_90")
    x, y = _values(size), _values(size) + 1
    found = run(KERNELS, "by_pointers", "sm_90", [x, y, np.zeros(2, np.float32)], (2, 1, 1))[2]
    assert found.sum() == (x * y).sum()


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize(("name", "type", "rows"), [("weighted_f16", np.float16, 32), ("weighted_f32", np.float32, 64)])
@pytest.mark.parametrize("tiles", [1, 9])
def test_tiles_that_threads_share(name, type, rows, tiles, sm):
    """Each warp has its own copy of what several need, which lanes read for which others copied it."""
    assert _is_copied(name, sm)
    x, weights, scale = _values(rows * tiles, 64, type=type), _values(rows * tiles, type=type), _values(tiles)
    found = run(KERNELS, name, sm, [x, weights, scale, np.zeros((1, 64), np.float32)], (1, 1, 1))[3]
    expected = (x.astype(np.float32).T * weights.astype(np.float32) * np.repeat(scale, rows)).sum(axis=1)
    np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize(("name", "type"), [("maxima", np.float16), ("maxima_by_pointers", np.float32)])
def test_what_is_past_the_end_is_the_padding_value(name, type, sm):
    """Threads write it where they copy nothing."""
    assert _is_copied(name, sm)
    x = -_values(3, 1400, type=type)
    found = run(KERNELS, name, sm, [x, np.zeros(3, np.float32)], (3, 1, 1))[1]
    np.testing.assert_array_equal(found, x.max(axis=1))


def test_no_load_runs_ahead_of_a_store_that_it_follows():
    assert not _is_copied("running", "sm_90")
    x = _values(9, 128)
    expected = x.copy()
    for row in range(1, 9):
        expected[row] = expected[row - 1] + expected[row] * 0.5
    np.testing.assert_array_equal(run(KERNELS, "running", "sm_90", [x], (1, 1, 1))[0], expected)


@pytest.mark.parametrize("name", ["narrow", "four_parts"])
def test_no_copies_that_cost_more_than_registers(name):
    """Of single words of a row, and of what few iterations load in all."""
    assert not _is_copied(name, "sm_90")


@pytest.mark.parametrize("sm", TARGETS)
def test_a_loop_that_starts_again(sm):
    """No copy of one row is in flight when the next one starts."""
    assert _is_copied("parts", sm)
    x = _values(5, 1000)
    found = run(KERNELS, "parts", sm, [x, np.zeros(5, np.float32)], (2, 1, 1))[1]
    np.testing.assert_array_equal(found, x.sum(axis=1))


@pytest.mark.parametrize("sm", TARGETS)
def test_loops_one_after_another_share_bytes(sm):
    """The emulator sees a copy of one loop to bytes that another warp still reads in the other loop."""
    kernel = scheduled_kernel(KERNELS, "two_totals", sm)
    rings = [as_op(op) for op in kernel.walk() if op.name == "nv_tileas.alloc_tensor"]
    assert len(rings) == 2 and len({ring.shared_offset for ring in rings}) == 1
    x, y = _values(5, 4096, type=np.float16), _values(5, 3072)
    found = run(KERNELS, "two_totals", sm, [x, y, np.zeros((5, 1024), np.float32)], (2, 1, 1))[2]
    totals = [values.astype(np.float32).reshape(5, -1, 1024).sum(axis=1) for values in (x, y)]
    np.testing.assert_array_equal(found, totals[0] - totals[1])


def test_stages_leave_shared_memory_for_other_ctas():
    """Of 16 warps; where the loop reduces, of 32, which hide its latency better than more stages."""
    stages = {
        (name, sm): schedule_of(scheduled_kernel(KERNELS, name, sm)).cp_async_stages
        for name, sm in [("wide_parts", "sm_100"), ("wide_parts", "sm_120"), ("columns_f32", "sm_100")]
    }
    assert list(stages.values()) == [(8,), (5,), (3,)]


def test_two_stages_suffice_where_an_iteration_takes_as_long_as_a_load():
    """Three would leave two CTAs per SM."""
    assert schedule_of(scheduled_kernel(KERNELS, "scores", "sm_100")).cp_async_stages == (2,)
    keys, values = _values(192, 128, type=np.float16) / 8, _values(192, 128, type=np.float16)
    found = run(KERNELS, "scores", "sm_100", [keys, values, np.zeros((1, 128), np.float32)], (1, 1, 1))[2]
    score = keys.astype(np.float32).sum(axis=1, keepdims=True)
    expected = (np.exp(score - score.max()) * values).sum(axis=0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)


def test_stages_of_rows_leave_shared_memory_for_all_threads():
    """Of 8 CTAs of 8 warps, whose threads have registers for their part of a row."""
    kernel = scheduled_kernel(KERNELS, "row_by_pointers", "sm_100")
    assert (kernel.num_warps, schedule_of(kernel).cp_async_stages) == (8, (6,))


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("steps", [1, 5])
def test_steps_that_take_as_long_as_a_load(sm, steps):
    """Threads load the few elements of the next step to registers."""
    assert not _is_copied("recurrence", sm)
    [loop] = [as_op(op) for op in scheduled_kernel(KERNELS, "recurrence", sm).walk() if op.name == "nv_tileas.for"]
    assert len(loop.initial) == 4  # the state, and what the next step needs
    keys, values = _values(steps, 128, type=np.float16) / 64, _values(steps, 128, type=np.float16)
    weights, state = _values(steps) / 10, np.zeros((128, 128), np.float32)
    found = run(KERNELS, "recurrence", sm, [keys, values, weights, np.zeros((steps, 128), np.float32)], (1, 1, 1))[3]
    for step in range(steps):
        key, value = keys[step].astype(np.float32)[:, None], values[step].astype(np.float32)
        state = state * weights[step]
        state = state + key * (value - (state * key).sum(axis=0))
        np.testing.assert_allclose(found[step], (state * key).sum(axis=0), rtol=1e-4, atol=1e-4)


# ---- the verifier
def _refused(op: str, change: Callable[[TableOp], None], name: str = "columns_f16") -> None:
    """Whether the verifier refuses a kernel with one operation changed."""
    module = scheduled_case(KERNELS, name, "sm_90")
    assert verify_cp_async_buffers(module) > 0
    change(next(as_op(found) for found in module.walk() if found.name == op))
    with pytest.raises(InternalError, match="cp-async-verifier"):
        verify_cp_async_buffers(module)


def test_no_thread_reads_what_another_one_copied():
    def give_lanes_other_elements(copy: TableOp) -> None:
        copy.layout = replace(copy.layout, lanes=copy.layout.lanes[::-1])

    _refused("nv_tileas.async_tiled_load", give_lanes_other_elements)


def test_no_lane_reads_for_others():
    def read_matrices(load: TableOp) -> None:
        load.copy_atom = LDMATRIX

    _refused("nv_tileas.local_load", read_matrices)


def test_a_thread_waits_for_its_own_copies():
    def wait_for_fewer(wait: TableOp) -> None:
        wait.pending += 1

    _refused("nv_tileas.async_wait", wait_for_fewer)


def test_a_warp_waits_for_its_lanes():
    def wait_alone(wait: TableOp) -> None:
        wait.of_warp = False

    _refused("nv_tileas.async_wait", wait_alone, "weighted_f16")


def test_no_warp_reads_what_another_one_copied():
    def give_warps_other_elements(copy: TableOp) -> None:
        copy.layout = replace(copy.layout, warps=(0,) * len(copy.layout.warps))

    _refused("nv_tileas.async_tiled_load", give_warps_other_elements, "weighted_f16")
