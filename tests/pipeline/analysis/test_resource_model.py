"""The limits of an SM that passes use: registers that partitions divide, stages and CTAs that shared memory holds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.ir.dialects.fast_xdsl import walk
from tileiras_build.pipeline.analysis.resource_model import (
    ASYNC_MMA_REG_OVERHEAD,
    STAGES_SMEM_OVERHEAD,
    choose_stages,
    choose_warps,
    ctas_beside_own_stages,
    registers_allow_mma_warp,
    registers_fit,
    setmaxnreg_split,
    two_stages_fit,
)
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.target.sm_limits import SM_LIMITS
from tileiras_build.target.targets import find_target

FILE, UNIT, FETCHING_WARPS = 65536, 8, 4
HOPPER = find_target("sm_90")
JOB = Job(HOPPER)
KIB = 1024


@pytest.mark.parametrize("warps", [8, 12, 16])
def test_partitions_have_no_more_registers_than_the_kernel(warps):
    fetching, computing = setmaxnreg_split(warps, HOPPER)
    threads = 32 * (warps + FETCHING_WARPS)
    launched = FILE // threads // UNIT * UNIT
    taken = 32 * (FETCHING_WARPS * fetching + warps * computing)
    assert taken <= launched * threads < taken + 32 * warps * UNIT or computing == 240
    assert fetching < launched < computing and fetching % UNIT == computing % UNIT == 0


def test_two_warpgroups_that_compute_have_240():
    assert setmaxnreg_split(8, HOPPER) == [24, 240]


def test_the_register_file_is_the_targets(monkeypatch):
    """128 threads with a loading warp, two CTAs: three warps of a partition have 168 registers a thread, or half of that."""
    words = 140 * 128
    assert registers_fit(words, 4, 2, HOPPER)
    half = replace(SM_LIMITS[90], registers=FILE // 2)
    monkeypatch.setitem(SM_LIMITS, 90, half)
    assert not registers_fit(words, 4, 2, HOPPER)


@pytest.mark.parametrize(
    ("words", "fits"), [(168 - ASYNC_MMA_REG_OVERHEAD, True), (168 - ASYNC_MMA_REG_OVERHEAD + 1, False)]
)
@pytest.mark.parametrize("warps", [8, 9, 10, 11])
def test_nine_warps_start_with_the_registers_of_twelve(warps, words, fits):
    """A partition has three of them: ptxas, too, gives a thread of 288 no more than 168 registers."""
    assert registers_fit(words * 32 * warps, warps, 1, HOPPER) is fits


def test_without_tma_no_warp_loads():
    words = (224 - ASYNC_MMA_REG_OVERHEAD) * 32 * 8
    assert registers_fit(words, 8, 1, find_target("sm_80")) and not registers_fit(words, 8, 1, HOPPER)


@pytest.mark.parametrize(("ctas", "has"), [(2, True), (3, False)])
def test_another_warp_costs_registers_where_a_partition_gets_one_more(ctas, has):
    """Four warps and two that compute nothing: those of two CTAs lie three to a partition, of three CTAs five to some."""
    text = f"builtin.module {{ nv_tileaa.func @k attributes {{schedule = {{occupancy = {ctas} : i32}}}} {{ nv_tileaa.return }} }}"
    [kernel] = parse_module(text).body.block.ops
    assert registers_allow_mma_warp(100 * 128, kernel, JOB, 4) is has


def test_fewer_ctas_rather_than_one_stage():
    """227 KiB: three stages of 32 KiB in half of them; of 64 KiB only where one CTA has all."""
    assert choose_stages(32 * KIB, 0, 2, JOB) == (3, 2)
    assert choose_stages(64 * KIB, 0, 2, JOB) == (3, 1)


def test_the_system_keeps_a_part_for_each_cta():
    """228 KiB of an SM, 1 KiB of each CTA: stages that fill half of 227 KiB leave no space for the second one."""
    most = (228 // 2 - 1) * KIB
    assert choose_stages(most // 2, 0, 2, JOB) == (2, 2)
    assert choose_stages(most // 2 + 128, 0, 2, JOB) == (4, 1)


@pytest.mark.parametrize(("taken", "stages"), [(0, 1), (100 * KIB, 0), (300 * KIB, 0)])
def test_less_than_two_stages(taken, stages):
    assert choose_stages(128 * KIB, taken, 2, JOB) == (stages, 1)


def test_two_stages_leave_space_for_barriers():
    most = (HOPPER.max_shared_memory - STAGES_SMEM_OVERHEAD) // 2
    assert two_stages_fit(most, JOB) and not two_stages_fit(most + 1, JOB)
    assert two_stages_fit(2 * most, JOB, k_splits=2)


REDUCED = """
  %s = nv_tileas.reduce %x attributes {axis = 0 : i32} : (tensor<1024xi32>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
"""


@pytest.mark.parametrize(("reduction", "warps"), [("", 4), (REDUCED, 1)])
def test_a_row_that_is_reduced_has_fewer_warps(reduction, warps):
    body = f"%x = nv_tileas.make_range : tensor<1024xi32>\n{reduction}\nnv_tileaa.return"
    module = parse_module(f"builtin.module {{ nv_tileaa.func @k {{ {body} }} }}")
    [kernel] = module.body.block.ops
    assert choose_warps(kernel, JOB) == warps


@pytest.mark.parametrize(("elements", "warps"), [(64, 2), (128, 4), (1024, 8)])
def test_a_thread_has_one_element_that_an_atomic_updates(elements, warps):
    types = f"tensor<{elements}x!nv_tileaa.ptr<i32>>", f"tensor<{elements}xi32>"
    update = f"nv_tileas.atomic_rmw %p, %x {{mem_semantic = \"relaxed\", mem_scope = \"device\", mode = \"add\"}} : ({', '.join(types)})"
    body = f"^bb0(%p: {types[0]}, %x: {types[1]}):\n%o, %t = {update} -> ({types[1]}, !nv_tileaa.mem_token)\nnv_tileaa.return"
    [kernel] = parse_module(f"builtin.module {{ nv_tileaa.func @k {{ {body} }} }}").body.block.ops
    assert choose_warps(kernel, JOB) == warps


ROWS = Path(__file__).with_name("persistent_rows.py")
WARPS = {
    "gathered_float32_256": 1, "gathered_float32_1024": 8, "gathered_float32_4096": 8,
    "loaded_float32_256": 1, "loaded_float32_1024": 8, "loaded_float16_1024": 8,
    "one_row_float32_256": 1, "one_row_float32_1024": 1, "one_row_float32_4096": 4,
    "gathered_by_16_float32_1024": 4,
    "guarded_float32_1024": 8, "parts_of_a_row_float32_1024": 4,
}  # fmt: skip


@pytest.mark.parametrize(("name", "warps"), WARPS.items())
def test_a_loop_over_rows_has_more_warps(name, warps):
    """The launch has few CTAs; a hint says how many, which share the threads of an SM."""
    [kernel] = compiled(ROWS, name, "sm_90").manifest["kernels"].values()
    assert kernel["threads_per_cta"] == 32 * warps


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_more_warps_than_usual_leave_as_many_ctas(warps):
    """Parts of 1,024 elements usually have one warp."""
    [kernel] = scheduled_case(ROWS, "parts_of_a_row_float32_1024", "sm_90").body.block.ops
    kernel.num_warps = warps
    [loop] = (op for op in walk(kernel) if op.name == "nv_tileas.for")
    assert ctas_beside_own_stages(kernel, loop, JOB) == 32


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["gathered_float32_1024", "loaded_float16_1024", "guarded_float32_1024"])
def test_rows_of_a_loop(name, sm):
    dtype = np.float16 if "16_" in name else np.float32
    x = np.random.default_rng(3).normal(size=(5, 1024)).astype(dtype)
    found = run(ROWS, name, sm, [x, np.zeros_like(x)], grid=(2, 1, 1))[1]
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == np.float16 else 1e-5, atol=1e-6)
