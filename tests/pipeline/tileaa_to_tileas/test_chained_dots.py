"""Chained dots whose accumulators stay in tensor memory: correct results whether accumulators are scaled or not, and what they share."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("rotated_dots.py")
NAMES = ("weighted", "weighted_tall")
LENGTH = 320


def growing(rng, rows):
    """Scores whose maxima lie ever further along: each step scales the accumulator."""
    return rng.normal(size=rows) * np.linspace(0.1, 2, rows[0])[:, None]


def falling(rng, rows):
    """The first key is the one that every row likes best: no later step scales anything."""
    keys = rng.normal(size=rows) / 8
    keys[0] = 2
    return keys


def attention(q, k, v):
    scores = q @ k.T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True) @ v


def tileas(name, sm="sm_100"):
    return compiled(KERNELS, name, sm).tileas


def loop(name):
    """The last loop of a kernel, which computes."""
    text = tileas(name)
    return text[text.rindex("nv_tileas.for ") :].partition("nv_tileas.continue")[0]


@pytest.mark.parametrize("keys", [growing, falling])
@pytest.mark.parametrize("name", NAMES)
def test_results(name, keys):
    rng = np.random.default_rng(7)
    q, v = np.abs(rng.normal(size=(256, 64))) / 8, rng.normal(size=(LENGTH, 64))
    q, k, v = (array.astype(np.float16) for array in (q, keys(rng, (LENGTH, 64)), v))
    out = np.full((256, 64), np.nan, np.float32)
    found = run(KERNELS, name, "sm_100", [q, k, v, out], (1 if name.endswith("tall") else 2, 1, 1))[3]
    expected = attention(*(array.astype(np.float64) for array in (q, k, v)))
    np.testing.assert_allclose(found, expected, rtol=2**-8, atol=2**-10)


HINTS = ("weighted_hint_1", "weighted_hint_2", "weighted_hint_4")


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_has_the_schedule_that_none_has(name):
    """Two CTAs share an SM: the hint of one restricts nothing, and four have too few columns."""
    assert "occupancy = 2 : i32" in tileas(name)
    assert _code(name) == _code("weighted")


def _code(name):
    return re.sub(r"(\$|\.)?\w*weighted\w*", "", compiled(KERNELS, name, "sm_100").ptx)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_with_a_hint(sm):
    rng = np.random.default_rng(11)
    q, k, v = (rng.normal(size=(rows, 64)).astype(np.float16) / 2 for rows in (256, LENGTH, LENGTH))
    out = np.full((256, 64), np.nan, np.float32)
    found = run(KERNELS, "weighted_hint_2", sm, [q, k, v, out], (2, 1, 1))[3]
    expected = attention(*(array.astype(np.float64) for array in (q, k, v)))
    np.testing.assert_allclose(found, expected, rtol=2**-8, atol=2**-9)


@pytest.mark.parametrize("name", NAMES)
def test_left_operands_take_the_columns_of_the_scores_and_nothing_else_is_carried(name):
    columns = re.findall(r"alloc_tmem %\w+ \{column = (\d+)", tileas(name))
    assert columns == ["0", "0", columns[2]] and columns[2] != "0"
    assert [re.search(rf"nv_tileas\.{what}\b", loop(name)) is not None for what in ("tmem_scale", "tmem_load")] == [
        True
    ] * 2
    assert not re.search(r"nv_tileas\.(barrier|async\.umma)\b", loop(name))


@pytest.mark.parametrize("name", NAMES)
def test_left_operands_are_written_and_multiplied_in_parts(name):
    """What is not needed for them, as the sum of a row, is computed after the last part."""
    found = re.findall(r"nv_tileas\.(tmem_\w+|reduce)\b", loop(name))
    assert found == ["tmem_load", "reduce", "tmem_scale", "tmem_store", "tmem_store", "reduce"]
    issued = re.findall(r"async\.umma .*?(?:chunk = array<i64: (\d, \d)>|, loc)", tileas(name))
    assert issued == ["", "0, 2", "1, 2"]


@pytest.mark.parametrize("name", NAMES)
def test_no_keys(name):
    """Iterations without a dot: the next accumulator, of nothing, is not complete before the last one was read."""
    q = np.ones((256, 64), np.float16)
    keys = q[:0]
    out = np.full((256, 64), np.nan, np.float32)
    found = run(KERNELS, name, "sm_100", [q, keys, keys, out], (1 if name.endswith("tall") else 2, 1, 1))[3]
    np.testing.assert_array_equal(found, np.zeros((256, 64)))


def test_a_accumulator_may_start_from_a_tile():
    rng = np.random.default_rng(5)
    q, k, v = (rng.integers(-1, 2, (rows, 64)).astype(np.float16) for rows in (128, 192, 192))
    start = rng.integers(-9, 9, (128, 64)).astype(np.float32)
    assert tileas("continued").count("chunk = array") == 2
    found = run(KERNELS, "continued", "sm_100", [q, k, v, start.copy()], (1, 1, 1))[3]
    np.testing.assert_array_equal(found, (q.astype(np.float64) @ k.T) ** 2 @ v + start)


def test_jumps_keep_parts_from_being_computed_together():
    text = compiled(KERNELS, "weighted", "sm_100").ptx
    assert text.count("trap;") == 2


def test_a_rescaled_accumulator_is_in_one_basic_block_with_exponentials():
    """From its first load to the first store of the left operand no label starts another block, so that ptxas interleaves both."""
    loop = compiled(KERNELS, "weighted", "sm_100").ptx.partition("trap;")[0]
    block = re.search(r"tcgen05\.ld\S+x8\.b32(?:(?!\n\$|bra).)*tcgen05\.st\S+\.x32\.b32", loop, re.DOTALL)
    assert block and block[0].count("ex2.approx") >= 32 and "vote" not in loop


def test_ptxas_sees_that_one_thread_issues_dots():
    """It does not where a loop, here a wait, is the first thing that this thread does."""
    text = compiled(KERNELS, "weighted", "sm_100").ptx
    assert re.search(r"tcgen05\.fence::after_thread_sync;\n\$\w+:\n[^$]*mbarrier\.try_wait", text)


def test_two_ctas_find_space():
    """Shared memory with what the system keeps of it, and columns."""
    text, target = tileas("weighted"), find_target("sm_100")
    shared = int(re.search(r"shared_bytes = (\d+)", text)[1])
    assert "occupancy = 2" in text and 2 * (shared + 1024) <= target.sm_limits.shared_memory
    assert 2 * int(re.search(r"create_tmem .*tmem<#builtin.int<(\d+)>", text)[1]) <= 512


def test_others_keep_their_accumulators_in_registers():
    """64 rows do not fill the lanes; a step that adds to the scores reads the accumulator."""
    assert not any("tmem_scale" in tileas(name) for name in ("weighted_bf16", "fed_back"))
    assert "tmem_scale" not in tileas("weighted", "sm_90")


@pytest.mark.parametrize("name", NAMES)
def test_verifiers(name):
    module = parse(tileas(name).encode())
    assert verify_pipelines(module) > 0
    verify_shared_memory_allocation(module)
