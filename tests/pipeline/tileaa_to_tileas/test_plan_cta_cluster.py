"""Tiles divided over the CTAs of clusters: correct results and no race, whatever the shapes, and who gets no cluster."""

import re
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import bytecode, cases, compiled, run
from tests.pairwise import alternate, pairwise
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.target.targets import TARGETS

KERNELS = Path(__file__).with_name("cluster_kernels.py")
SMS, CTAS = ("sm_90", "sm_100", "sm_120"), (2, 4)
# For every target that has clusters, with either number of CTAs.
each = pytest.mark.parametrize(("sm", "ctas"), alternate(SMS, CTAS))


def integers(shape, dtype, low=-3, high=4):
    """Small ones, so that every result is exact in any order."""
    return np.random.default_rng(sum(shape)).integers(low, high, shape).astype(dtype)


def convolution(m, n, k):
    """The arguments of ``convolved``, and its result."""
    x, b = integers((4000,), np.float16), integers((k, n), np.float16)
    index = np.random.default_rng(m).integers(0, 3000, m).astype(np.int32)
    place = index[:, None] + np.arange(k)
    left = np.where(place % 3 != 0, x[place], 0).astype(np.float32)
    return x, index, b, (left @ b.astype(np.float32))[::-1].astype(np.float16)


def clusters(name, sm):
    """(CTAs of a cluster as the manifest says, the reason why not more)."""
    artifacts = compiled(KERNELS, name, sm)
    reason = re.search(r'num_ctas_declined = "([^"]*)"', artifacts.tileas)
    return artifacts.manifest["kernels"][name]["cluster"][0], reason and reason[1]


# ---- dots ------------------------------------------------------------------------------------
MATMULS = ["matmul", "matmul_columns", "matmul_tall", "matmul_wide", "matmul_f8"]


def check_matmul(name, sm, sizes, grid):
    m, n, k = sizes
    left, right, out = cases(KERNELS)[name].arguments[:3]
    a, b = integers((m, k), left.dtype), integers((k, n), right.dtype)
    b = b if right.unit_stride == -1 else np.asfortranarray(b)
    result = run(KERNELS, name, sm, [a, b, np.full((m, n), 9, out.dtype)], grid)[2]
    np.testing.assert_array_equal(result.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


# Each kernel twice, each GPU with either number of CTAs, and what alone has an instruction.
STICKING_OUT = [(name, *case) for name, case in zip(2 * MATMULS, cycle(product(SMS, CTAS)))]
STICKING_OUT += [("matmul", "sm_100", 4), ("matmul_tall", "sm_100", 4)]


@pytest.mark.parametrize(("name", "sm", "ctas"), STICKING_OUT)
def test_dots_of_tiles_that_stick_out_of_the_arrays(name, sm, ctas):
    name = f"{name}_{ctas}"
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    assert clusters(name, sm) == (ctas, None)
    check_matmul(name, sm, (m + 22, n + 16, 2 * k + 16), (2, 2, 1))


def test_a_part_beyond_the_registers_of_its_cta_is_multiplied_slice_by_slice():
    """256 x 256 accumulators of a CTA take all registers of an SM."""
    name = "matmul_sliced_2"
    assert clusters(name, "sm_90") == (2, None)
    artifacts = compiled(KERNELS, name, "sm_90")
    assert "wgmma.mma_async" in artifacts.ptx and "tile = [128, 256]" in artifacts.tileas
    check_matmul(name, "sm_90", (534, 272, 144), (2, 2, 1))


@pytest.mark.parametrize(("steps", "sm", "ctas"), pairwise([1, 2, 7], SMS, CTAS))
def test_loops_shorter_and_longer_than_the_ring(steps, sm, ctas):
    check_matmul(f"matmul_{ctas}", sm, (128, 64, 32 * steps), (1, 1, 1))


@each
def test_a_persistent_kernel_walks_the_grid_of_tile_programs(sm, ctas):
    check_matmul(f"persistent_{ctas}", sm, (3 * 128 + 5, 2 * 64 + 16, 64), (3, 1, 1))


@pytest.mark.parametrize("name", MATMULS)
@pytest.mark.parametrize("ctas", CTAS)
def test_parts_are_multiplied_by_the_targets_own_instruction(name, ctas):
    for sm, instruction in zip(SMS, ("wgmma.mma_async", "tcgen05.mma", "mma.sync")):
        ptx = compiled(KERNELS, f"{name}_{ctas}", sm).ptx
        assert instruction in ptx and "cp.async.bulk.tensor" in ptx


@pytest.mark.parametrize(
    ("name", "sm", "used"),
    [
        ("attention_2", "sm_90", 2),
        ("attention_4", "sm_90", 2),
        ("attention_2", "sm_120", 2),
        ("attention_4", "sm_120", 4),
        ("attention_tall_2", "sm_90", 2),
        ("attention_tall_2", "sm_100", 2),
    ],
)
def test_attention_by_rows(name, sm, used):
    length = 256 + 40
    rng = np.random.default_rng(5)
    q, k, v = (rng.uniform(-1, 1, (length, 64)).astype(np.float16) for _ in range(3))
    out = run(KERNELS, name, sm, [q, k, v, np.zeros((length, 64), np.float32)], (3, 1, 1))[3]
    scores = np.where(np.tri(length, dtype=bool), q.astype(np.float64) @ k.T.astype(np.float64), -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True) @ v, atol=2e-3)
    assert clusters(name, sm) == (used, None)


@pytest.mark.parametrize("ctas", CTAS)
def test_parts_of_dots_that_the_instruction_does_not_fit_stay_together(ctas):
    size, reason = clusters(f"attention_{ctas}", "sm_100")
    assert (size, reason) == (1, "shards of a dot are too small for tcgen05")


# ---- other tiles ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("rows", "sm", "ctas"), pairwise([64, 50], SMS, CTAS))
def test_reductions_along_another_dimension(rows, sm, ctas):
    x = integers((rows, 64), np.float32)
    name = f"rows_normalized_{ctas}"
    _, out, deviation = run(
        KERNELS, name, sm, [x, np.zeros((64, rows), np.float32), np.zeros(rows, np.float32)], (2, 1, 1)
    )
    centered = x - x.mean(axis=1, keepdims=True)
    spread = (centered**2).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(out, (centered / (1 + spread)).T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(deviation, spread[:, 0], rtol=1e-5)
    assert clusters(name, sm) == (ctas, None)


@each
def test_pointers_and_ranges(sm, ctas):
    x, index = integers((300,), np.int32, -99, 99), integers((500,), np.int32, 0, 300)
    out = run(KERNELS, f"gathered_{ctas}", sm, [x, index, np.zeros(500, np.int32)], (2, 1, 1))[2]
    np.testing.assert_array_equal(out, x[index] + 2 * np.arange(500))
    assert clusters(f"gathered_{ctas}", sm) == (ctas, None)


@each
def test_each_element_is_counted_once(sm, ctas):
    x = integers((512,), np.int32, 0, 9)
    counts = run(KERNELS, f"counted_{ctas}", sm, [x, np.zeros(9, np.int32)], (2, 1, 1))[1]
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=9))
    assert clusters(f"counted_{ctas}", sm) == (ctas, None)


@each
def test_what_is_written_where_it_was_read(sm, ctas):
    x = integers((40, 32), np.float32)
    np.testing.assert_array_equal(run(KERNELS, f"in_place_{ctas}", sm, [x], (3, 1, 1))[0], 4 * x + 3)
    assert clusters(f"in_place_{ctas}", sm) == (ctas, None)


@pytest.mark.parametrize(("size", "sm", "ctas"), pairwise([80, 96, 112, 128], SMS, CTAS))
def test_tiles_whose_last_parts_are_outside(size, sm, ctas):
    """Each extent is known to be a multiple of a part, and is none of the tile's."""
    x = integers((size,), np.int32)
    out = run(KERNELS, f"doubled_{ctas}", sm, [x, np.zeros(size, np.int32)], (2, 1, 1))[1]
    np.testing.assert_array_equal(out, 2 * x)
    assert clusters(f"doubled_{ctas}", sm) == (ctas, None)


@each
def test_programs_are_numbered_as_without_clusters(sm, ctas):
    out = run(KERNELS, f"block_numbers_{ctas}", sm, [np.zeros((48, 2), np.int32)], (3, 2, 1))[0]
    np.testing.assert_array_equal(out, np.repeat(300 + np.arange(3), 16)[:, None] + np.zeros((1, 2)))
    assert clusters(f"block_numbers_{ctas}", sm) == (ctas, None)


@each
def test_a_tile_that_every_cta_has_is_written_by_the_first(sm, ctas):
    out, total = run(KERNELS, f"beside_{ctas}", sm, [np.zeros(64, np.int32), np.zeros(1, np.int32)])
    np.testing.assert_array_equal(out, np.arange(64))
    assert total.tolist() == [64 * 63 // 2] and clusters(f"beside_{ctas}", sm) == (ctas, None)


# ---- order across CTAs -----------------------------------------------------------------------------
@each
def test_what_a_cta_reads_and_another_writes(sm, ctas):
    x = integers((256,), np.int32)
    out = run(KERNELS, f"shifted_{ctas}", sm, [x])[0]
    np.testing.assert_array_equal(out, np.concatenate([x[128:], x[:128]]))
    assert clusters(f"shifted_{ctas}", sm) == (ctas, None)


@each
def test_what_the_first_cta_writes_over_the_part_of_another(sm, ctas):
    """All CTAs take part in the barrier before it."""
    out = run(KERNELS, f"overwritten_{ctas}", sm, [np.zeros(64, np.int32)])[0]
    np.testing.assert_array_equal(out, [*range(0, 126, 2), 63 * 64 // 2])
    assert clusters(f"overwritten_{ctas}", sm) == (ctas, None)


@each
def test_what_ctas_exchange_through_memory_again_and_again(sm, ctas):
    """The hardware's barrier of the cluster: all threads compute."""
    x = integers((32, 16), np.int32)
    want = x
    for _ in range(3):
        want = want[::-1, ::-1] * 2 + 1
    np.testing.assert_array_equal(run(KERNELS, f"turned_{ctas}", sm, [x])[0], want)
    artifacts = compiled(KERNELS, f"turned_{ctas}", sm)
    assert clusters(f"turned_{ctas}", sm) == (ctas, None) and "barrier.cluster.arrive.aligned" in artifacts.ptx


@pytest.mark.parametrize(("sm", "ctas"), [("sm_90", 2), ("sm_90", 4), ("sm_100", 2), ("sm_120", 4)])
def test_stores_of_one_tile_after_another_beside_a_producer(sm, ctas):
    """Compute warps alone wait for those of other CTAs."""
    x, index, b, want = convolution(226, 112, 168)
    out = run(KERNELS, f"convolved_{ctas}", sm, [x, index, b, np.zeros_like(want)], (3, 1, 1))[3]
    np.testing.assert_array_equal(out, want)
    artifacts = compiled(KERNELS, f"convolved_{ctas}", sm)
    assert clusters(f"convolved_{ctas}", sm) == (ctas, None)
    assert "mbarrier.try_wait.acquire.cluster" in artifacts.ptx and "cluster_barriers" in artifacts.tileas
    assert ("tcgen05.mma.cta_group::2" in artifacts.ptx) == (sm == "sm_100")


def test_pairs_of_tiles_with_256_rows_that_threads_gather():
    x, index, b, want = convolution(290, 80, 80)
    out = run(KERNELS, "convolved_high_2", "sm_100", [x, index, b, np.zeros_like(want)])[3]
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(("sm", "ctas"), [("sm_90", 2), ("sm_100", 2), ("sm_120", 4)])
def test_atomics_that_synchronize_with_other_blocks(sm, ctas):
    a, b = integers((256, 128), np.float16), integers((128, 256), np.float16)
    out = run(KERNELS, f"summed_{ctas}", sm, [a, b, np.zeros((256, 256), np.float32)], (3, 1, 1))[2]
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
    assert clusters(f"summed_{ctas}", sm) == (ctas, None)


@pytest.mark.parametrize(("sm", "ctas"), [("sm_90", 2), ("sm_100", 2), ("sm_100", 4)])
def test_a_barrier_of_the_cluster_that_comes_again_at_once(sm, ctas):
    """A warp that passes it arrives at the same mbarrier of another CTA again while other warps of its CTA may be behind."""
    a, b = integers((16, 256), np.float16), integers((256, 64), np.float16)
    out = run(KERNELS, f"stored_at_each_step_{ctas}", sm, [a, b, np.zeros((16, 64), np.float32)])[2]
    np.testing.assert_array_equal(out, (a.astype(np.float32) @ b.astype(np.float32))[::-1])
    assert clusters(f"stored_at_each_step_{ctas}", sm) == (ctas, None)


# ---- kernels that stay whole ---------------------------------------------------------------------
WHOLE = {
    "row_reduction": "no tile that the kernel writes can be sharded",
    "said": "nv_tileas.print would execute in each CTA",
    "counted_once": "nv_tileas.atomic_rmw would execute in each CTA",
}
PAIR, ONE, REGISTERS = "tcgen05.mma.cta_group::2", "tcgen05.mma.cta_group::1", "mma.sync"
CONVERTED = [
    ("converted_2", "sm_100", PAIR), ("converted_2", "sm_120", REGISTERS),
    ("converted_4", "sm_100", PAIR), ("converted_wide_2", "sm_100", ONE), ("converted_turned_2", "sm_100", PAIR),
    ("converted_both_2", "sm_90", "wgmma.mma_async"), ("converted_both_2", "sm_100", PAIR),
    ("gathered_right_2", "sm_90", "wgmma.mma_async"), ("gathered_right_2", "sm_100", PAIR),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reason"), WHOLE.items())
@pytest.mark.parametrize("ctas", CTAS)
def test_who_gets_no_cluster_and_why(name, reason, ctas):
    assert clusters(f"{name}_{ctas}", "sm_90") == (1, reason)


def test_one_cta_converts_a_right_operand_where_each_of_a_cluster_would_convert_all_of_it():
    assert clusters("converted_2", "sm_90") == (
        1,
        "threads of a cluster would each compute a whole right operand for wgmma",
    )
    assert "wgmma.mma_async" in compiled(KERNELS, "converted_2", "sm_90").ptx
    check_matmul("converted_2", "sm_90", (278, 80, 144), (2, 2, 1))


@pytest.mark.parametrize(("name", "sm", "instruction"), CONVERTED)
def test_threads_of_a_cluster_write_right_operands(name, sm, instruction):
    """Those of a pair of CTAs half of the columns each."""
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    assert clusters(name, sm) == (int(name[-1]), None)
    assert instruction in compiled(KERNELS, name, sm).ptx
    check_matmul(name, sm, (m + 22, n + 16, 3 * k + 16), (2, 2, 1))


@pytest.mark.parametrize(("sm", "ctas"), [("sm_90", 2), ("sm_90", 4), ("sm_100", 2), ("sm_120", 2)])
def test_the_dots_of_a_loop_read_one_stage_of_a_tile(sm, ctas):
    a, b, c = (integers(shape, np.float16) for shape in ((278, 208), (208, 80), (208, 80)))
    out = run(KERNELS, f"gated_{ctas}", sm, [a, b, c, np.full((278, 80), 9, np.float32)], (2, 2, 1))[3]
    a, b, c = (array.astype(np.float32) for array in (a, b, c))
    np.testing.assert_array_equal(out, a @ b + 3 * (a @ c))
    if sm != "sm_120":
        assert compiled(KERNELS, f"gated_{ctas}", sm).tileas.count("async.tiled_tma_load ") == 3


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_the_dots_of_a_loop_read_what_threads_wrote_once(sm):
    b, c, a = (integers(shape, np.float16) for shape in ((150, 208), (150, 208), (208, 80)))
    out = run(KERNELS, "gated_left_2", sm, [a, b, c, np.full((150, 80), 9, np.float32)], (2, 2, 1))[3]
    a, b, c = (array.astype(np.float32) for array in (a, b, c))
    np.testing.assert_array_equal(out, b @ a + 3 * (c @ a))


@pytest.mark.parametrize(("sm", "ctas"), [("sm_90", 2), ("sm_90", 4), ("sm_100", 2), ("sm_100", 4)])
def test_tiles_that_are_left_and_right_operands(sm, ctas):
    a = integers((160, 208), np.float16)
    out = run(KERNELS, f"crossed_{ctas}", sm, [a, np.full((160, 160), 9, np.float32)], (2, 2, 1))[1]
    a = a.astype(np.float32)
    np.testing.assert_array_equal(out, 4 * (a @ a.T))


def test_targets_without_clusters_ignore_the_hint():
    assert clusters("matmul_2", "sm_80") == (1, None)
    check_matmul("matmul_2", "sm_80", (150, 80, 80), (2, 2, 1))


def test_libnvvm_gets_one_cta():
    job = Job(TARGETS["sm_90"], serializer="libnvvm", strategy="unspecialize")
    module = parse(lower(bytecode(KERNELS, "matmul_2"), "tilebc", "tileas", job)[".tileas"])
    [func] = module.body.block.ops
    assert (
        func.attributes["num_ctas_declined"].data == "libnvvm does not support clusters"
        and "num_ctas" not in func.attributes
    )
