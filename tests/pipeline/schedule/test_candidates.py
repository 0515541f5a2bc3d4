"""Matmuls whose whole schedule cost decides: pairs of CTAs, and fewer warps, where that is cheaper; and the same results."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.compiled_once import compiled as compiled_once
from tests.emulated_kernels import cases, compiled, run, scheduled_case
from tests.examples.example_library import bytecode_of, launch
from tileiras_build.driver import explain_schedule
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.choose import MIN_GAIN, WholeSchedule, cheapest
from tileiras_build.pipeline.schedule.cost import Cost
from tileiras_build.pipeline.schedule.kernel import Dot, Kernel
from tileiras_build.pipeline.schedule.schedule import Schedule
from tileiras_build.target.targets import find_target

F8 = ml_dtypes.float8_e4m3fn
KERNELS = Path(__file__).with_name("unhinted_dots.py")
# With so many warps: with four, two CTAs share an SM. The cost of the persistent one is higher in pairs, but not with the tail.
PAIRS = {"tall": 4, "square": 8, "wide": 4, "persistent": 8}
COPIED = Path(__file__).parents[1] / "tileaa_to_tileas" / "copied_operands.py"
BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "schedule_kernels.py"
FORMS = BENCHMARKS.with_name("operand_forms.py")
OTHERS = ("narrow", "one_cta", "two_of_an_sm", "from_a_tile", "without_tma", "converted")
CLUSTER = ".blocksareclusters"
WIDE = "matmul_f16_nt_wide"  # 128 x 128


# ---- pairs of CTAs -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_computes_a_large_tile(name):
    """Small integers, which float16 holds exactly, in arrays that end inside of tiles; ``wide`` on the transpose."""
    m, n, k = (argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int))
    artifacts = compiled(KERNELS, name, "sm_100")
    assert "tcgen05.mma.cta_group::2" in artifacts.ptx and f"num_warps = {PAIRS[name]} : i32" in artifacts.tileas
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m + 16, k + 16), (k + 16, n + 16)))
    found = run(KERNELS, name, "sm_100", [a, b, np.full((m + 16, n + 16), 9, np.float16)], (2, 2, 1))[2]
    np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize("name", OTHERS)
def test_one_cta_computes_others(name):
    artifacts = compiled(KERNELS, name, "sm_100")
    assert CLUSTER not in artifacts.ptx and "num_ctas_declined" not in artifacts.tileas


def test_no_pair_waits_for_threads_that_convert():
    """They write no operand for a pair, whose kernel would have no asynchronous MMA."""
    assert "tcgen05.mma.cta_group::1" in compiled(KERNELS, "converted", "sm_100").ptx


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_gpus_without_pairs_use_one_cta(sm):
    assert CLUSTER not in compiled(KERNELS, "tall", sm).ptx


@pytest.mark.parametrize("schedule", ['{"schedule": {"num_ctas": 1}}', '{"schedule": {"two_cta_mma": false}}'])
def test_a_schedule_may_ask_for_one_cta(schedule):
    assert CLUSTER not in compiled(KERNELS, "tall", "sm_100", schedule=schedule).ptx


# ---- warps ---------------------------------------------------------------------------------------
def warps(sm: str, **knobs) -> int:
    text = compiled_once(bytecode_of(WIDE), sm, schedule=json.dumps({"schedule": knobs}) if knobs else "").tileas
    return next(count for count in (1, 2, 4, 8, 16) if f"num_warps = {count} : i32" in text)


@pytest.mark.parametrize(
    ("sm", "count"),
    [
        ("sm_80", 4),  # warps of 64 x 64 read less of shared memory, and fragments ahead
        ("sm_90", 8),  # the rows say how many warps multiply
        ("sm_100", 4),  # registers for another CTA
        ("sm_120", 8),  # TMA copies, and one CTA fits
        ("sm_88", 8),  # no published rates: as large tiles always have
    ],
)
def test_cost_decides_where_it_says_something(sm, count):
    assert warps(sm) == count


@pytest.mark.parametrize("knobs", [{"num_warps": 8}, {"occupancy": 1}, {"strategy": "none"}])
def test_what_is_asked_for_is_kept(knobs):
    assert warps("sm_80", **knobs) == 8


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
def test_fewer_warps_compute_the_same(sm):
    few = launch(WIDE, compiled_once(bytecode_of(WIDE), sm))
    many = launch(WIDE, compiled_once(bytecode_of(WIDE), sm, schedule='{"schedule": {"num_warps": 8}}'))
    for name, value in few.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, many[name])


def explained(path: Path, name: str, sm: str, schedule: str = "") -> list[dict]:
    [code] = export_kernels(path, [name]).values()
    return explain_schedule(code, "tilebc", Job(find_target(sm), schedule=schedule))


def test_fewer_ctas_are_expected_rather_than_a_single_stage():
    """Two CTAs per SM would have one stage each of 64 KiB; with two stages in one CTA, eight warps take less time than four."""
    kernel = explained(BENCHMARKS, "matmul_f16_128x128x128", "sm_80")[0]
    assert {one.get("ctas", 1) for one in kernel["schedules"]} == {1}
    assert kernel["schedule"]["num_warps"] == 8


def test_tiles_beside_a_loop_take_registers_of_another_cta():
    """Threads hold the result and the tile that is added to it, as they store both together twice; a conversion takes no more registers."""
    twice, once = (explained(KERNELS, name, "sm_100")[-1] for name in ("stored_twice", "square_in_a_cta"))
    assert twice["schedule"]["num_warps"] == 8 and {one.get("ctas", 1) for one in twice["schedules"]} == {1}
    assert once["schedule"]["num_warps"] == 4 and max(one.get("ctas", 1) for one in once["schedules"]) == 2


def test_rows_of_scales_take_registers_of_another_cta():
    """Each thread has a row of the result in tensor memory, and copies of the scales of all columns."""
    kernel = explained(KERNELS, "scaled_columns", "sm_100")[-1]
    assert kernel["schedule"]["num_warps"] == 8 and {one.get("ctas", 1) for one in kernel["schedules"]} == {1}


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_row_scales_the_result(sm):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-2, 3, shape).astype(dtype) for shape, dtype in (((144, 144), np.float16), ((144, 144), F8)))
    scales = rng.integers(1, 4, (1, 144)).astype(np.float32)
    found = run(KERNELS, "scaled_columns", sm, [a, b, scales, np.full((144, 144), 9, np.float16)], (2, 2, 1))[3]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32) * scales)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_a_result_that_is_stored_twice(sm):
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((144, 144), (144, 144), (144, 144)))
    found = run(KERNELS, "stored_twice", sm, [a, b, c.copy(), np.full((144, 144), 9, np.float16)], (2, 2, 1))
    np.testing.assert_array_equal(found[2], a @ b + c)
    np.testing.assert_array_equal(found[3], (a @ b + c).T)


def test_stages_hold_operands_as_they_are_loaded():
    """Threads convert fp8 to f16 after its stages, so that two CTAs per SM have two of 32 KiB each."""
    kernel = explained(BENCHMARKS, "matmul_f8e4m3_128x128x128", "sm_80")[0]
    assert {one["schedule"]["occupancy"] for one in kernel["schedules"]} == {kernel["schedule"]["occupancy"]} == {2}


EXPECTED = ("num_stages", "cp_async_stages", "prefetch_fragments", "mma_warp", "two_cta_mma", "mma")


@pytest.mark.parametrize(
    ("path", "name", "sm"),
    [
        # Results beside the stages; fragments ahead only without TMA; cp.async, which copies no 2 bytes.
        *((BENCHMARKS, "matmul_f16_persistent_128x256x64", f"sm_{sm}") for sm in (80, 90, 100, 120)),
        *((BENCHMARKS, "matmul_f16_128x128x64", f"sm_{sm}") for sm in (80, 120)),
        *((KERNELS, "without_tma", f"sm_{sm}") for sm in (80, 90, 120)),
        # Operands that threads gather, beside another or both; fragments that are converted are not read ahead.
        *((COPIED, "gathered", f"sm_{sm}") for sm in (80, 90, 100)),
        (COPIED, "left_by_tma", "sm_90"),
        (BENCHMARKS, "matmul_f8e4m3_128x128x64", "sm_80"),
    ],
)
def test_the_schedule_that_is_priced_is_what_passes_make(path, name, sm):
    kernel = explained(path, name, sm)[-1]
    chosen = kernel["schedule"]
    which = ("num_warps", "num_ctas")
    [row] = (
        one["schedule"]
        for one in kernel["schedules"]
        if "refused" not in one and all(one["schedule"].get(knob) == chosen.get(knob) for knob in which)
    )
    assert {knob: row.get(knob) for knob in EXPECTED} == {knob: chosen.get(knob) for knob in EXPECTED}


def test_a_cta_that_computes_an_operand_gets_another_one_beside_it():
    """Weights that threads expand: the stages are those of bytes, of what is computed from them, and of the other operand."""
    kernel = explained(FORMS, "right_int8_scaled", "sm_90")[-1]
    two, one = (row for row in kernel["schedules"] if "refused" not in row)
    knobs = ("num_warps", "occupancy", "num_stages", "mma")
    made = [tuple(row["schedule"][knob] for knob in knobs) for row in (two, one)]
    assert two["chosen"] and made == [(8, 2, 2, ("wgmma",)), (8, 1, 5, ("wgmma",))]
    assert (two["ctas"], one["ctas"]) == (2, 1) and two["clocks"] < one["clocks"]


def test_an_explanation_chooses_as_the_compiler_does():
    [kernel] = explained(BENCHMARKS, "matmul_f16_256x256x64", "sm_90", '{"schedule": {}}')
    assert "num_ctas" not in kernel["schedule"]
    [pair] = (one for one in kernel["schedules"] if one["schedule"].get("num_ctas") == 2)
    assert pair["refused"] == "sm_90 has no MMAs of CTA pairs"


def test_a_file_that_asks_for_ctas_per_sm_gets_warps_whose_registers_allow_them():
    [kernel] = explained(BENCHMARKS, "matmul_f16_128x128x32", "sm_80", '{"schedule": {"occupancy": 3}}')
    assert (kernel["schedule"]["num_warps"], kernel["schedule"]["occupancy"]) == (4, 3)


# ---- block scales --------------------------------------------------------------------------------
def scaled(name: str, sm: str) -> list[dict]:
    [kernel] = explained(BENCHMARKS, name, sm)
    return [kernel["schedule"], *kernel.get("schedules", ())]


def test_scaled_fragments_wait_for_another_cta():
    """All warps wait for the scales of a step: two CTAs of half as many stages take less time."""
    chosen, *schedules = scaled("scaled_nvfp4_128x128x128", "sm_120")
    assert (chosen["num_warps"], chosen["occupancy"]) == (8, 2)
    refused = [one["schedule"] for one in schedules if "refused" in one]
    clocks = {(one["schedule"]["num_warps"], one["ctas"]): one["clocks"] for one in schedules if "clocks" in one}
    assert clocks[8, 2] < 0.97 * clocks[8, 1]
    assert (4, 2) in clocks.keys() | {(one["num_warps"], one["occupancy"]) for one in refused}


def test_shared_memory_holds_the_scales_too():
    chosen, *schedules = scaled("scaled_mxf8e4m3_128x128x128", "sm_120")
    assert "occupancy" not in chosen and chosen["num_warps"] == 8
    assert {one["refused"].split(":")[0] for one in schedules if one["schedule"].get("occupancy") == 2} == {
        "shared memory"
    }


def test_scales_in_tensor_memory_have_one_schedule():
    assert len(scaled("scaled_mxf8e4m3_128x128x128", "sm_100")) == 1


# ---- the choice ----------------------------------------------------------------------------------
def candidate(warps: int, clocks: float | None, refused: str | None = None, tail: float = 0.0) -> WholeSchedule:
    price = None if clocks is None else Cost(clocks, {}, 1, 1000.0, tail)
    return WholeSchedule(Schedule(num_warps=warps), refused, cost=price)


def test_the_cheapest_legal_candidate_wins_and_the_first_of_equal_ones():
    first, less, least = candidate(8, 100), candidate(4, 100 * (1 - MIN_GAIN / 2)), candidate(2, 50)
    assert cheapest([first, less]) is first
    assert cheapest([first, less, least]) is least
    assert cheapest([candidate(8, 104, tail=0.14), candidate(4, 106, tail=0.07)]).schedule.num_warps == 4
    assert cheapest([candidate(8, None, "registers"), less]) is less
    assert cheapest([candidate(8, None), least]).schedule.num_warps == 8  # a target without rates
    assert cheapest([candidate(8, None, "registers")]) is None


def test_a_pair_is_weighed_only_before_tiles_are_divided():
    """Later, a kernel has the CTAs that it has: the warps of a pair are for no kernel of one CTA."""
    [kernel] = explained(KERNELS, "wide", "sm_100", '{"schedule": {"num_ctas": 1}}')
    assert kernel["schedule"]["num_warps"] == 8
    assert {one["schedule"].get("num_ctas", 1) for one in kernel["schedules"]} == {1}
    [kernel] = explained(KERNELS, "narrow", "sm_100")
    [pair] = (one for one in kernel["schedules"] if one["schedule"].get("num_ctas") == 2)
    assert "a pair needs 256 rows or columns" in pair["refused"] and pair["remedy"] == "other tile sizes"


def test_a_kernel_is_transposed_divided_and_shrunk_as_passes_do():
    kernel = Kernel((Dot(128, 256, 64, "f16", "f8E4M3FN", "f32", 64.0, 16384, 16384),))
    [dot] = kernel.transposed().divided(2).dots
    assert (dot.m, dot.n, dot.a_type, dot.a_bytes, dot.b_bytes) == (128, 128, "f8E4M3FN", 8192, 16384)
    [short] = kernel.with_two_stages(32768).dots
    assert (short.k, short.trips, short.a_bytes) == (32, 128.0, 8192) and short.multiply_adds * 2 == kernel.dots[
        0
    ].multiply_adds
    assert kernel.with_two_stages(65536) is kernel


def test_operands_that_are_computed_keep_the_usual_warps():
    """Threads multiply them by their scales where no instruction does: the model does not know what that costs."""
    scaled = Path(__file__).parents[1] / "tileaa_to_tileas/block_scaled_dots.py"
    [func] = [op for op in scheduled_case(scaled, "e4m3", "sm_90").walk() if op.name == "nv_tileaa.func"]
    assert func.num_warps == 8
