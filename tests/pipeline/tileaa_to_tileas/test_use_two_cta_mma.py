"""Dots of pairs of CTAs in tensor memory: correct results and no race, and who makes none."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulated_kernels import cases, compiled, disassembled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.core.errors import InternalError
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse, render
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.target.targets import TARGETS

KERNELS = Path(__file__).with_name("cluster_kernels.py")
PAIRS = (
    "matmul", "matmul_wide", "matmul_tall", "pair_columns", "pair_wide", "pair_high", "pair_f8", "pair_narrow", "pair_tf32", "pair_tf32_columns",
    "pair_persistent", "pair_swapped", "pair_swapped_f8", "pair_swapped_persistent", "pair_beside", "pair_beside_columns",
)  # fmt: skip


def check(name, sizes, grid, sm="sm_100", **options):
    """Small integers, so that every result is exact in any order."""
    m, n, k = sizes
    left, right, out = cases(KERNELS)[name].arguments[:3]
    rng = np.random.default_rng(m * n + k)
    a, b = rng.integers(-3, 4, (m, k)).astype(left.dtype), rng.integers(-3, 4, (k, n)).astype(right.dtype)
    b = b if right.unit_stride == -1 else np.asfortranarray(b)
    result = run(KERNELS, name, sm, [a, b, np.full((m, n), 9, out.dtype)], grid, **options)[2]
    np.testing.assert_array_equal(result.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("name", PAIRS)
def test_tiles_that_stick_out_of_the_arrays(name):
    m, n, k = (argument for argument in cases(KERNELS)[f"{name}_2"].arguments if isinstance(argument, int))
    assert "tcgen05.mma.cta_group::2" in compiled(KERNELS, f"{name}_2", "sm_100").ptx
    check(f"{name}_2", (m + 22, n + 16, 2 * k + 16), (2, 2, 1))


@pytest.mark.parametrize(("name", "sm"), [("pair_tf32", "sm_90"), ("pair_persistent", "sm_120")])
def test_targets_without_pairs(name, sm):
    m, n, k = (argument for argument in cases(KERNELS)[f"{name}_2"].arguments if isinstance(argument, int))
    check(f"{name}_2", (m + 22, n + 16, 2 * k + 16), (2, 2, 1), sm)


@pytest.mark.parametrize(("name", "steps"), alternate(["matmul_tall", "pair_persistent"], [1, 2, 13, 7]))
def test_loops_shorter_and_longer_than_the_ring(name, steps):
    check(f"{name}_2", (256, 64, 64 * steps), (1, 1, 1))


@pytest.mark.parametrize(("steps", "blocks"), [(1, 1), (3, 1), (9, 2)])
def test_accumulators_that_are_made_again_and_again(steps, blocks):
    check("pair_persistent_2", (3 * 256 + 16, 2 * 64 + 16, 64 * steps), (blocks, 1, 1))


@pytest.mark.parametrize("blocks", [1, 2])
def test_accumulators_that_the_warps_of_both_ctas_release_to_a_thread_of_them(blocks):
    """Without an MMA warp the first CTA's threads would overwrite what the second one's still read."""
    options = {"schedule": '{"schedule": {"mma_warp": false}}'}
    check("pair_persistent_2", (3 * 256 + 16, 2 * 64 + 16, 3 * 64), (blocks, 1, 1), **options)


def test_batches_of_matrices_whose_tiles_have_four_dimensions():
    rng, name = np.random.default_rng(0), "pair_batched_2"
    a, b = (rng.integers(-3, 4, (1, 3, *shape)).astype(np.float16) for shape in ((144, 80), (80, 144)))
    assert "tcgen05.mma.cta_group::2" in compiled(KERNELS, name, "sm_100").ptx
    result = run(KERNELS, name, "sm_100", [a, b, np.full((1, 3, 144, 144), 9, np.float16)], (2, 1, 1))[2]
    np.testing.assert_array_equal(result, a @ b)


WRITTEN = ("convolved", "convolved_high", "summed", "pair_beside", "converted", "converted_both", "gathered_right")


@pytest.mark.parametrize("name", WRITTEN)
def test_operands_that_the_threads_of_both_ctas_write(name):
    """``test_plan_cta_cluster.py`` has their results."""
    module = scheduled_case(KERNELS, f"{name}_2", "sm_100")
    assert verify_pipelines(module) and verify_cp_async_buffers(module)
    [written] = {op.pipeline for op in module.walk() if op.name == "nv_tileas.async.pipeline.producer_commit"}
    assert written.owner.writers == 4 and written.owner.pair


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("convolved", "producer_commit", "0 is waited for before"),
        ("convolved", "producer_acquire", "operands are written to stage 0, which is not acquired"),
        ("summed", "consumer_wait", "items are acquired, 0 are waited for"),
    ],
)
def test_a_missing_step_between_the_threads_that_write_and_the_one_that_issues(name, kind, message):
    module = scheduled_case(KERNELS, f"{name}_2", "sm_100")
    [written] = {op.pipeline for op in module.walk() if op.name == "nv_tileas.async.pipeline.producer_commit"}
    [step] = [op for op in module.walk() if op.name == f"nv_tileas.async.pipeline.{kind}" and op.pipeline is written]
    step.detach()
    with pytest.raises(InternalError, match=message):
        verify_pipelines(module)


def test_threads_of_each_cta_wait_for_the_tiles_from_which_they_compute():
    """TMA loads them for the threads of their own CTA, and commits of the first CTA release them in both."""
    module = scheduled_case(KERNELS, "converted_2", "sm_100")
    loaded, written = (op for op in module.walk() if op.name == "nv_tileas.async.pipeline.create" and op.pair)
    assert loaded.in_each and not written.in_each and written.writers == 4
    waits = [op for op in module.walk() if op.name.endswith("consumer_wait") and op.pipeline is loaded.results[0]]
    assert [wait.by_issuer for wait in waits] == [False]
    ptx = compiled(KERNELS, "converted_2", "sm_100").ptx
    assert "shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::2" not in ptx


def tails_of(module):
    """The waits for the last arrivals: of the producer, and of the MMA issuer where accumulators are released."""
    return [op for op in module.walk() if op.name == "nv_tileas.async.pipeline.producer_tail"]


@pytest.mark.parametrize("name", ["matmul_tall_2", "pair_persistent_2"])
def test_each_cta_waits_for_the_last_arrivals_at_its_own_mbarriers(name, monkeypatch):
    """The commits of the first CTA arrive at the mbarriers of both, whenever; nothing else looks at the last ones."""
    check(name, (256, 64, 256), (1, 1, 1))
    artifacts = compiled(KERNELS, name, "sm_100")
    module = parse(artifacts.tileas.encode())
    tails_of(module)[0].detach()
    ptx = lower(render(module), "tileas", "ptx", Job(TARGETS["sm_100"]))[".ptx"].decode()
    changed = SimpleNamespace(ptx=ptx, manifest=artifacts.manifest)
    monkeypatch.setattr("tests.emulated_kernels.compiled", lambda *_: changed)
    with pytest.raises(EmulatorFault, match="a CTA exits before this arrives at its mbarrier.*multicast::cluster"):
        check(name, (256, 64, 256), (1, 1, 1))


@pytest.mark.parametrize(("name", "count"), [("matmul_tall_2", 1), ("pair_persistent_2", 2)])
def test_each_wait_for_the_last_arrivals_is_required(name, count):
    for number in range(count):
        module = parse(compiled(KERNELS, name, "sm_100").tileas.encode())
        tails = tails_of(module)
        assert len(tails) == count
        tails[number].detach()
        with pytest.raises(InternalError, match="no partition waits for the last of them"):
            verify_pipelines(module)


def test_only_the_issuing_cta_hears_of_read_accumulators():
    """Its second CTA issues nothing, and would exit before the last arrivals."""
    ptx = compiled(KERNELS, "pair_persistent_2", "sm_100").ptx
    ranks = re.findall(r"mapa.shared::cluster.u32\s+%r\d+, %r\d+, (\S+);", ptx)
    assert ranks and all(rank == "0" or re.search(rf"mov.b32\s+{rank}, 0;", ptx) for rank in ranks)


def test_the_machine_code_is_that_of_pairs():
    text = disassembled(KERNELS, "matmul_tall_2", "sm_100")
    assert all(name in text for name in ("UTCHMMA.2CTA", "UTMALDG.2D.2CTA", "UTCBAR.2CTA.MULTICAST"))
    assert "UTMALDG.2D.MULTICAST" not in text


def test_tensor_memory_is_freed_when_both_ctas_have_read_it():
    """PTX ISA 9.0, section 9.7.16.5, table 47: the cluster meets, then each CTA frees and exits."""
    ptx = compiled(KERNELS, "pair_persistent_2", "sm_100").ptx
    assert "barrier.cluster.arrive;" not in ptx  # a release is a fence of the whole GPU
    assert 0 < ptx.index("barrier.cluster.wait;") < ptx.index("tcgen05.dealloc.cta_group::2")


def test_a_stage_holds_half_of_the_right_operand_and_there_are_more_of_them():
    """128 x 64 elements of the left one and 64 x 128 of the right one, where each of two lone CTAs has 64 x 256."""
    pair, alone = (compiled(KERNELS, "pair_wide_2", sm).tileas for sm in ("sm_100", "sm_90"))
    assert "bytes = 32768 : i32, pair" in pair and "bytes = 49152 : i32, ctas = 2" in alone
    stages = [int(re.search(r"pipeline.create.*pipeline<#builtin.int<(\d+)>", text)[1]) for text in (pair, alone)]
    assert stages[0] > stages[1]


@pytest.mark.parametrize(("name", "grid"), [("matmul_tall_4", (2, 2, 1)), ("pair_persistent_4", (2, 1, 1))])
def test_two_pairs_in_a_cluster(name, grid):
    """Each pair has an issuer, whose commits and releases stay in the pair."""
    assert "tcgen05.mma.cta_group::2" in compiled(KERNELS, name, "sm_100").ptx
    check(name, (256 + 22, 64 + 16, 7 * 64 + 16), grid)


def test_ctas_of_fewer_rows_are_no_pair():
    ptx = compiled(KERNELS, "persistent_4", "sm_100").ptx
    assert "cta_group::1" in ptx and "cta_group::2" not in ptx
