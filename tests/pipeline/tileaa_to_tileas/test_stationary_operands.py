"""Left operands that MMAs read where TMA has put them once: correct results, no spills, and which stay in registers."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines

KERNELS = Path(__file__).with_name("rotated_dots.py")
IN_SHARED_MEMORY = ("weighted", "weighted_wide", "squared_persistent", "in_two_loops", "of_two_widths", "crowded_acc")


def tileas(name):
    return compiled(KERNELS, name, "sm_90").tileas


@pytest.mark.parametrize("length", [64, 130])
def test_results_of_wide_heads(length):
    rng = np.random.default_rng(length)
    q, k, v = ((rng.integers(-2, 3, (rows, 256)) / 8).astype(np.float16) for rows in (100, length, length))
    found = run(KERNELS, "weighted_wide", "sm_90", [q, k, v, np.full((100, 256), np.nan, np.float32)])[3]
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    want = powers @ v.astype(np.float64) / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, want, atol=2**-9 * np.abs(want).max())


def test_wide_heads_spill_no_registers_and_overlap():
    [kernel] = assembled(KERNELS, "weighted_wide", "sm_90").manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] + kernel["resources"]["spill_loads"] == 0
    assert "async.sequence.wait" in tileas("weighted_wide")


@pytest.mark.parametrize("name", IN_SHARED_MEMORY)
def test_both_operands_are_read_in_shared_memory(name):
    """Each first dot names the stage of its left operand, the only one that there is."""
    text = tileas(name)
    first = next(line for line in text[text.rindex("nv_tileas.for") :].splitlines() if "async.dot " in line)
    assert "lhs_stage" in first and "local_load" not in text
    assert verify_pipelines(parse(text.encode()))


def test_what_is_brought_anew_is_given_back_behind_its_loop():
    """So that the next one comes while this one's result leaves."""
    text = tileas("squared_persistent")
    partition = text[text.rindex("nv_tileas.for %", 0, text.rindex("nv_tileas.for")) :]
    ends = partition.rindex("nv_tileas.async.pipeline.consumer_release")
    assert partition.index("nv_tileas.async.dot_wait") < ends < partition.rindex("tiled_store")


def test_narrow_dots_keep_it_in_registers_where_there_are_enough():
    """Of 64 columns shared memory would have to load as many bytes as it can."""
    assert "lhs_stage" not in tileas("squared_short")


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_tile_that_dots_read_in_two_ways_stays_in_registers(sm):
    assert "lhs_stage" not in compiled(KERNELS, "of_itself_and_turned", sm).tileas


# ---- sm_100: operands whose columns in tensor memory would cost a CTA --------------------------------------------
def test_results_beside_another_cta():
    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=(rows, 64)).astype(np.float16) / 2 for rows in (128, 320, 320))
    out = np.full((128, 64), np.nan, np.float32)
    found = run(KERNELS, "weighted_short", "sm_100", [q, k, v, out], (2, 1, 1))[3]
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True) @ v, rtol=2**-8, atol=2**-9)


def test_results_of_one_cta_for_all_rows():
    """Each block's left operand replaces the last one, which no MMA reads any more."""
    rng = np.random.default_rng(4)
    q, k, v = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (192, 320, 320))
    out = np.full((192, 64), np.nan, np.float32)
    found = run(KERNELS, "squared_persistent_short", "sm_100", [q, k, v, out])[3]
    np.testing.assert_array_equal(found, (q.astype(np.float64) @ k.T) ** 2 @ v)


@pytest.mark.parametrize("name", ["weighted_short", "squared_persistent_short"])
def test_two_ctas_have_columns_and_registers(name):
    text = compiled(KERNELS, name, "sm_100").tileas
    assert "occupancy = 2 : i32" in text and "tmem<#builtin.int<256>>" in text
    assert re.search(r"async\.umma .*lhs_stage", text) and verify_pipelines(parse(text.encode()))
    resources = assembled(KERNELS, name, "sm_100").manifest["kernels"][name]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0 and resources["registers"] <= 168


def test_an_operand_whose_columns_cost_nothing_stays_in_tensor_memory():
    assert not re.search(r"async\.umma .*lhs_stage", compiled(KERNELS, "squared_short", "sm_100").tileas)
