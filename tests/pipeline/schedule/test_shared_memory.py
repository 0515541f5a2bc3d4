"""What does not fit into shared memory goes in parts: the same results, and a remark on what it costs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.examples.example_library import CASES, bytecode_of, inputs_of, launch
from tests.pairwise import alternate
from tileiras_build import driver
from tileiras_build.core.errors import Unsupported
from tileiras_build.ir.casting import as_op
from tileiras_build.pipeline.analysis.shared_memory_plan import plan_shared_memory, scratch_users
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.reports.optimization_remarks import collect
from tileiras_build.target.targets import TARGETS, Target
from tileiras_build.verify import find_faults

KERNELS = Path(__file__).with_name("large_tiles.py")
SMS = ("sm_90", "sm_120")
KIB = 1024
CHUNKS = {kib: f"layout conversions go through shared memory in chunks of {kib} KiB" for kib in (8, 2)}
NO_TMA = "no producer warp loads tiles by TMA (no warp specialization)"


def smaller(sm: str, bytes: int) -> Target:
    """A GPU that has less shared memory than any."""
    target = replace(TARGETS[sm])
    object.__setattr__(target, "max_shared_memory", bytes)
    return target


def compile_for(target: Target, data: bytes, monkeypatch, **options):
    monkeypatch.setattr(driver, "find_target", lambda _: target)
    return driver.compile(data, target.name, stop_at="ptx", **options)


def saved(artifacts) -> str | None:
    (func,) = (op for op in parse(artifacts.tileas.encode()).body.block.ops if op.name == "nv_tileaa.func")
    text = func.attributes.get("shared_memory_fallback")
    return text and text.data


# ---- tiles larger than any shared memory ---------------------------------------------------------
def values(rows: int, columns: int, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(rows + columns).integers(-99, 100, (rows, columns)).astype(dtype)


def empty(rows: int, columns: int, dtype=np.float32) -> np.ndarray:
    return np.full((rows, columns), np.nan, dtype)


@pytest.mark.parametrize(
    "name, dtype, shape, sm",
    [("transpose_f32", "f4", (256, 256), "sm_90"), ("transpose_f64", "f8", (128, 256), "sm_120")],
)
def test_a_transpose_goes_through_a_layout_between(name, dtype, shape, sm):
    x = values(*shape, dtype)
    _, out = run(KERNELS, name, sm, [x, empty(*shape[::-1], dtype)])
    assert np.array_equal(out, x.T)
    assert saved(compiled(KERNELS, name, sm)) == CHUNKS[8]


@pytest.mark.parametrize(
    ("name", "size", "number", "sm"),  # parts of 8 KiB: several tiny slices to one
    [
        ("part_tiny", 16, 5, "sm_90"),
        ("part_small", 64, 3, "sm_120"),
        ("part_large", 128, 0, "sm_90"),
        ("part_large", 128, 1, "sm_90"),
    ],
)
def test_a_slice_is_taken_in_parts(name, size, number, sm):
    x = values(256, 256)
    out = run(KERNELS, name, sm, [x, empty(size, size), number])[1]
    place = slice(number * size, (number + 1) * size)
    assert np.array_equal(out, x[place, place])


@pytest.mark.parametrize(
    ("name", "shape", "number", "sm"),
    [(*one, sm) for one, sm in alternate([("replaced_small", (32, 64), 2), ("replaced_large", (128, 128), 1)], SMS)],
)
def test_a_slice_is_put_in_in_parts(name, shape, number, sm):
    x, y, expected = values(256, 256), values(*shape), values(256, 256)
    expected[number * shape[0] : (number + 1) * shape[0], number * shape[1] : (number + 1) * shape[1]] = y
    out = run(KERNELS, name, sm, [x, y, empty(256, 256), number])[2]
    assert np.array_equal(out, expected)


def test_a_matmul_is_taken_in_parts_along_k():
    x, y = values(64, 512), values(512, 64)
    out = run(KERNELS, "matmul_f32", "sm_90", [x, y, empty(64, 64)])[2]
    assert np.array_equal(out, x @ y)
    made = compiled(KERNELS, "matmul_f32", "sm_90")
    assert "nv_tileas.for " in made.tileas and saved(made) is None


# ---- GPUs with less of it ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name, sm, kib, given_up",
    [
        ("matmul_f16_nt_wide", "sm_80", 7, CHUNKS[2]),
        ("matmul_f8e4m3_nn", "sm_90", 16, CHUNKS[8]),
        ("attention_f16_causal", "sm_90", 16, CHUNKS[2]),
        ("attention_bf16_causal", "sm_100", 9, NO_TMA),
        ("matmul_f16_nt_odd", "sm_90", 6, CHUNKS[2]),
    ],
)
def test_kernels_give_up_what_they_must(name, sm, kib, given_up, monkeypatch):
    artifacts = compile_for(smaller(sm, kib * KIB), bytecode_of(name), monkeypatch)
    assert (saved(artifacts) or "").startswith(given_up)
    assert ('strategy = "unspecialize"' in artifacts.tileas) == (given_up is NO_TMA or sm == "sm_80")
    assert not find_faults(CASES[name], inputs_of(name), launch(name, artifacts))


def test_a_kernel_that_fits_gives_up_nothing():
    assert saved(driver.compile(bytecode_of("matmul_f16_nt"), "sm_90", stop_at="tileas")) is None


def test_where_nothing_helps_it_is_refused(monkeypatch):
    with pytest.raises(
        Unsupported,
        match=r"the kernel needs \d+ bytes of shared memory, sm_90 has 512; of these \d+ for .*; use smaller",
    ):
        compile_for(smaller("sm_90", 512), bytecode_of("attention_f16"), monkeypatch)


@pytest.mark.parametrize(
    "options", [{"strategy": "warp-specialize"}, {"schedule": '{"schedule": {"strategy": "warp-specialize"}}'}]
)
def test_a_strategy_that_was_asked_for_stays(options, monkeypatch):
    with pytest.raises(Unsupported, match=r"the kernel needs \d+ bytes of shared memory, sm_90 has 1024"):
        compile_for(smaller("sm_90", KIB), bytecode_of("attention_f16_causal"), monkeypatch, **options)


def test_chunks_that_were_asked_for_stay(monkeypatch):
    schedule = '{"schedule": {"conversion_chunk_bytes": 8192}}'
    artifacts = compile_for(TARGETS["sm_90"], bytecode_of("matmul_f16_nt"), monkeypatch, schedule=schedule)
    assert "conversion_chunk_bytes = 8192" in artifacts.tileas and saved(artifacts) is None


def test_what_is_planned_is_what_is_allocated():
    """One function places scratch, stages and storage; chunks are limited by its total."""
    module = scheduled_case(KERNELS, "transpose_f32", "sm_90")
    (func,) = (op for op in module.body.block.ops if op.name == "nv_tileaa.func")
    job = Job(TARGETS["sm_90"])
    plan = plan_shared_memory(func, scratch_users(func, job), job)
    assert plan.total == as_op(func).shared_bytes <= job.target.max_shared_memory
    unlimited = {op: 256 * KIB for op in plan.scratch}
    assert plan_shared_memory(func, unlimited, job).total > job.target.max_shared_memory


def test_a_remark_says_what_it_costs():
    module = scheduled_case(KERNELS, "transpose_f32", "sm_90")
    (remark,) = [one for one in collect(module, TARGETS["sm_90"]) if one.name == "RemarkMemoryShared"]
    assert remark.message == "Tiles exceed shared memory; fallback used"
    assert remark.reasons == ("layout conversions go through shared memory in chunks of 8 KiB",)
