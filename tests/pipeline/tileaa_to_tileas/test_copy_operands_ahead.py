"""Operands that threads copy to shared memory ahead of their MMAs: numbers with races, and what the verifiers refuse."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("copied_operands.py")
ASYNC = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma"}
SMS = ["sm_80", *ASYNC, "sm_120"]
# The columns of the right operand: a multiple of what its strides are promised to be.
COLUMNS = {
    "by_4_bytes": 70,
    "right_by_2_bytes": 65,
    "by_2_bytes": 67,
    "left_by_tma": 68,
    "without_tma": 72,
    "gathered": 72,
    "gathered_whole": 128,
}
# On sm_100 threads do not wait for MMAs: fewer instructions copy through registers than by cp.async of less than 16 bytes.
THROUGH_REGISTERS = {
    "sm_90": ("by_2_bytes", "gathered"),  # whose masks have ends at any column
    "sm_100": ("by_2_bytes", "by_4_bytes", "right_by_2_bytes", "left_by_tma", "batched", "gathered"),
}
DEPTHS = [8, 72, 456]  # one iteration, fewer than are copied ahead, more


def integers(*shape):
    return np.random.default_rng(5).integers(-3, 4, shape).astype(np.float16)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


# Each GPU sees all depths, and each way to copy.
RESULTS = [(*case, depth) for case, depth in zip(alternate(COLUMNS, SMS), itertools.cycle(DEPTHS))]


@pytest.mark.parametrize(("name", "sm", "depth"), RESULTS)
def test_results(name, sm, depth):
    rows, columns = 128 if name.startswith("gathered") else 130, COLUMNS[name]
    a = integers(rows, depth)
    b = integers(columns, depth).T if name == "without_tma" else integers(depth, columns)
    out = np.zeros((rows, -(-columns // 4) * 4), np.float32)
    given = np.ascontiguousarray(b.T) if name == "without_tma" else b
    [*_, found] = run(KERNELS, name, sm, [a, given, out], (-(-rows // 128), 2, 1))
    left = a[np.arange(rows) ^ 1] if name.startswith("gathered") else a
    np.testing.assert_array_equal(found[:, :columns], expected(left, b))


@pytest.mark.parametrize("sm", SMS)
def test_gathers_along_rows_and_along_columns(sm):
    a, b, out = integers(128, 256), integers(128, 256), np.zeros((128, 128), np.float32)
    [*_, found] = run(KERNELS, "gathered_both", sm, [a, b, out])
    swapped = np.arange(128) ^ 1
    np.testing.assert_array_equal(found, expected(a[swapped], b[swapped].T))


@pytest.mark.parametrize("sm", SMS[1:3])
def test_both_gathers_copy_vectors(sm):
    ptx = compiled(KERNELS, "gathered_both", sm).ptx
    assert "cp.async.cg.shared.global" in ptx and not re.search(r"st\.shared\.[bu]16", ptx)


def test_threads_convert_what_tma_does_not_load():
    a, b, out = integers(130, 72).astype(np.float32), integers(72, 72), np.zeros((130, 72), np.float32)
    np.testing.assert_array_equal(run(KERNELS, "converted", "sm_100", [a, b, out], (2, 2, 1))[2], expected(a, b))
    assert ASYNC["sm_100"] in str(compiled(KERNELS, "converted", "sm_100").ptx)


@pytest.mark.parametrize("sm", SMS[1:3])
def test_the_buffers_are_filled_again_for_each_matrix(sm):
    a, b, out = integers(3, 200, 128), integers(3, 200, 64), np.zeros((3, 128, 64), np.float32)
    [*_, found] = run(KERNELS, "batched", sm, [a, b, out])
    np.testing.assert_array_equal(found, expected(a.transpose(0, 2, 1), b))


@pytest.mark.parametrize("sm", SMS[1:3])
def test_batches_of_small_matrices_have_no_fast_instruction(sm):
    a, b, out = integers(12, 16, 40), integers(12, 40, 16), np.zeros((12, 16, 16), np.float32)
    [*_, found] = run(KERNELS, "small_matrices", sm, [a, b, out], (2, 1, 1))
    np.testing.assert_array_equal(found, expected(a, b))
    assert "mma.sync" in compiled(KERNELS, "small_matrices", sm).ptx


@pytest.mark.parametrize("sm", ASYNC)
def test_pixels_of_a_convolution_are_copied_by_16_bytes(sm):
    """Places follow from quotients and remainders by the channels, which vectors do not cross."""
    x, taps, out = integers(2, 12, 12, 16), integers(144, 64), np.zeros((288, 64), np.float32)
    [*_, found] = run(KERNELS, "convolved", sm, [x, taps, out], (3, 1, 1))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    around = [padded[:, down : down + 12, right : right + 12] for down in range(3) for right in range(3)]
    np.testing.assert_array_equal(found, expected(np.concatenate(around, axis=3).reshape(288, 144), taps))
    assert "cp.async.cg.shared.global" in compiled(KERNELS, "convolved", sm).ptx


@pytest.mark.parametrize("sm", SMS)
def test_results_of_one_dot_are_multiplied_by_copied_rows(sm):
    """Sequences of no rows, of fewer than a tile has, of one tile and a rest, and of more tiles than are copied ahead."""
    check_sequences("of_a_sequence", sm, np.array([0, 0, 5, 45, 245], np.int32), 64)


@pytest.mark.parametrize("sm", ASYNC)
def test_a_thread_knows_the_rows_of_the_next_expert_before_the_product_of_this_one(sm):
    sizes = np.array([5, 0, 64, 400, 91], np.int32)
    ends = [0, *np.cumsum(sizes)]
    x, y = integers(ends[-1], 128), integers(ends[-1], 64)
    [*_, found] = run(KERNELS, "of_experts", sm, [x, y, sizes, np.zeros((5 * 128, 64), np.float32)], (1, 1, 1))
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        np.testing.assert_array_equal(found[128 * i : 128 * i + 128], expected(x[start:end].T, y[start:end]))
    operations = list(scheduled_case(KERNELS, "of_experts", sm).walk())
    loops = [place for place, op in enumerate(operations) if op.name == "nv_tileas.for"]
    lengths = [place for place, op in enumerate(operations) if op.name == "nv_tileas.tiled_load"]
    assert len(lengths) == 2 and lengths[0] < loops[0] < lengths[1] < loops[1]


@pytest.mark.parametrize("sm", ASYNC)
def test_loops_after_one_another_share_accumulators(sm):
    check_sequences("in_two_loops", sm, np.array([0, 7, 320], np.int32), 128)
    assert "mma.sync" not in compiled(KERNELS, "in_two_loops", sm).ptx


def check_sequences(name, sm, ends, width):
    blocks = len(ends) - 1
    q, k, v = integers(blocks * 128, width) % 2, integers(ends[-1], width), integers(ends[-1], width)
    given = [q, k, v, ends, np.zeros((blocks * 128, width), np.float32)]
    [*_, found] = run(KERNELS, name, sm, given, (blocks, 1, 1))
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        rows, keys = slice(128 * i, 128 * i + 128), slice(start, end)
        scores = expected(q[rows], k[keys].T).astype(np.float16)
        np.testing.assert_array_equal(found[rows], expected(scores, v[keys]))


@pytest.mark.parametrize("sm", SMS)
def test_operands_are_copied_between_atomic_additions(sm):
    a, b = integers(128, 18 * 64), integers(18 * 64, 64)
    [*_, found] = run(KERNELS, "split", sm, [a, b, np.zeros((128, 64), np.float32)], (2, 1, 1))
    np.testing.assert_array_equal(found, expected(a, b))


@pytest.mark.parametrize("sm", ASYNC)
def test_accumulators_keep_their_layout_beside_gathers_of_the_same_rows(sm):
    a, b = integers(136, 200), integers(72, 200)
    scales = np.random.default_rng(1).integers(-2, 3, (136, 4)).astype(np.float32)
    [*_, found] = run(KERNELS, "scaled", sm, [a, b, scales, np.zeros((136, 72), np.float32)], (2, 2, 1))
    parts = (scales[:, [k]] * expected(a[:, 64 * k : 64 * k + 64], b[:, 64 * k : 64 * k + 64].T) for k in range(4))
    np.testing.assert_array_equal(found, sum(parts))
    loop = compiled(KERNELS, "scaled", sm).tileas.rpartition("nv_tileas.for")[2].partition("nv_tileas.continue")[0]
    assert ASYNC[sm] in compiled(KERNELS, "scaled", sm).ptx
    assert not re.search(r"convert_layout .*-> !tile_128x64xf32", loop)


@pytest.mark.parametrize("sm", SMS[::2])
def test_pages_that_a_table_names_are_gathered(sm):
    table = np.array([4, 0, 3, 1, 2, 2, 5, 4, 1, 0, 5, 3], np.int32)
    q, k, v = integers(16, 64) % 2, integers(6, 32, 64), integers(6, 32, 64)
    [*_, found] = run(KERNELS, "of_pages", sm, [q, k, v, table, np.zeros((64, 16), np.float32)])
    keys, values = (pages[table].reshape(-1, 64) for pages in (k, v))
    np.testing.assert_array_equal(found, expected(values.T, expected(keys, q.T).astype(np.float16)))
    if sm in ASYNC:
        assert "mma.sync" not in compiled(KERNELS, "of_pages", sm).ptx


@pytest.mark.parametrize("sm", SMS[1::2])
def test_rows_that_a_table_names_are_gathered(sm):
    table = np.random.default_rng(5).permutation(96).astype(np.int32)
    q, k, v = integers(128, 64) % 2, integers(96, 64), integers(96, 64)
    [*_, found] = run(KERNELS, "of_rows", sm, [q, k, v, table, np.zeros((128, 64), np.float32)])
    scores = expected(q, k[table].T).astype(np.float16)
    np.testing.assert_array_equal(found, expected(scores, v[table]))
    if sm in ASYNC:
        assert "mma.sync" not in compiled(KERNELS, "of_rows", sm).ptx


@pytest.mark.parametrize("sm", ASYNC)
def test_a_loop_that_results_end_has_no_producer(sm):
    a, b = np.ones((128, 128), np.float16), np.ones((128, 64), np.float16)
    [*_, found] = run(KERNELS, "until_large", sm, [a, b, np.zeros((128, 64), np.float32)])
    assert (found == 384).all()
    assert "cp.async.bulk.tensor.2d.shared" not in compiled(KERNELS, "until_large", sm).ptx


@pytest.mark.parametrize("sm", ASYNC)
def test_threads_write_what_they_round_where_no_producer_follows(sm):
    a, b = integers(120, 100).astype(np.float32), integers(100, 60).astype(np.float32)
    a[0], b[:, 0] = 2, 2
    [*_, found] = run(KERNELS, "rounded_until_large", sm, [a, b, np.zeros((120, 60), np.float32)])
    np.testing.assert_array_equal(found, expected(a, b))
    assert ASYNC[sm] in compiled(KERNELS, "rounded_until_large", sm).ptx


@pytest.mark.parametrize("sm", ASYNC)
@pytest.mark.parametrize("name", [*COLUMNS, "batched", "convolved", "of_a_sequence", "until_large", "split"])
def test_the_fast_instructions_multiply(name, sm):
    ptx, module = compiled(KERNELS, name, sm).ptx, scheduled_case(KERNELS, name, sm)
    assert ASYNC[sm] in ptx and "mma.sync" not in ptx
    assert ("cp.async.cg" in ptx or "cp.async.ca" in ptx) == (name not in THROUGH_REGISTERS[sm])
    assert verify_cp_async_buffers(module) and verify_pipelines(module)


def changed(name, sm, operation, attribute, by):
    """A case in which an attribute of all operations of a kind in the loop is another one."""
    module = scheduled_case(KERNELS, name, sm)
    for op in [op for op in module.walk() if op.name == operation and "for_mma" in op.attributes]:
        op.attributes[attribute] = IntegerAttr(op.attributes[attribute].value.data + by, i32)
    return module


COPIED_AHEAD = [
    ("by_4_bytes", "sm_90"),
    ("left_by_tma", "sm_90"),
    ("without_tma", "sm_100"),
    ("gathered_whole", "sm_100"),
]


@pytest.mark.parametrize(("name", "sm"), COPIED_AHEAD)
def test_a_wait_for_fewer_copies_is_refused(name, sm):
    with pytest.raises(InternalError, match="multiplied before every thread's copies"):
        verify_cp_async_buffers(changed(name, sm, "nv_tileas.async_wait", "pending", 1))


@pytest.mark.parametrize(("name", "sm"), COPIED_AHEAD[1:])
def test_a_copy_over_what_an_mma_may_read_is_refused(name, sm):
    """Without the waits for the pipeline nothing says that an MMA is complete."""
    module = scheduled_case(KERNELS, name, sm)
    [switch] = [op for op in module.walk() if op.name == "nv_tileas.agent_switch"]
    waits = ("nv_tileas.async.pipeline.consumer_wait", "nv_tileas.async.pipeline.producer_acquire")
    for op in [op for op in switch.regions[-1].walk() if op.name in waits]:
        op.detach()
    with pytest.raises(InternalError, match="is copied to while it may still be read"):
        verify_cp_async_buffers(module)
