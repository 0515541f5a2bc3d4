"""Schedules that a person edits: other code with the same results, or a refusal that says why."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.compiled_once import compiled
from tests.emulated_kernels import bytecode
from tests.examples.example_library import bytecode_of, launch
from tests.pairwise import alternate
from tileiras_build import driver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.explain import render_text
from tileiras_build.target.targets import find_target

MATMUL, ATTENTION, ROWS = "matmul_f16_nt", "attention_f16", "softmax_f16"
WIDE = "matmul_f16_nt_wide"
UNHINTED = Path(__file__).with_name("unhinted_dots.py")
BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "schedule_kernels.py"
ROTATED = Path(__file__).parents[1] / "tileaa_to_tileas" / "rotated_dots.py"
SCORES = Path(__file__).with_name("score_kernels.py")
COPIED = Path(__file__).parents[1] / "tileaa_to_tileas" / "copied_operands.py"
SHARED_TILES = Path(__file__).parents[1] / "tileaa_to_tileas" / "tiles_of_two_dots.py"


def request(**knobs) -> str:
    return json.dumps({"schedule": knobs})


def explained(name: str, sm: str, schedule: str = "") -> dict:
    [found] = driver.explain_schedule(bytecode_of(name), ".tilebc", Job(find_target(sm), schedule=schedule))
    return found


def refused(name: str, sm: str, **knobs) -> str:
    with pytest.raises(InvalidInput) as error:
        assert compiled(bytecode_of(name), sm, schedule=request(**knobs)).ptx
    assert error.value.id == "schedule-refused"
    assert error.value.location is not None and error.value.location.line == 1
    return str(error.value)


@pytest.mark.parametrize(("name", "sm"), alternate([MATMUL, ATTENTION, ROWS], ["sm_80", "sm_90", "sm_120", "sm_100"]))
def test_the_printed_schedule_given_back_makes_the_same_code(name, sm):
    printed = json.dumps(explained(name, sm))
    assert compiled(bytecode_of(name), sm, schedule=printed).ptx == compiled(bytecode_of(name), sm).ptx


@pytest.mark.parametrize(
    ("path", "name", "sm"),
    [
        # Left operands in shared memory, so that tensor memory has columns for two CTAs, whose registers hold not all live tiles.
        (ROTATED, "weighted_short", "sm_100"),
        (ROTATED, "weighted_bf16", "sm_100"),
        # Hints of two CTAs per SM, whose registers suffice, but not shared memory.
        (ROTATED, "crowded", "sm_80"),
        (ROTATED, "crowded_acc", "sm_100"),
        (SCORES, "few_queries", "sm_90"),
        # Operands that threads gather, and block scales.
        (COPIED, "gathered", "sm_90"),
        (COPIED, "gathered", "sm_100"),
        (BENCHMARKS, "scaled_mxf8e4m3_128x128x128", "sm_100"),
    ],
)
def test_printed_schedules_of_other_kernels_make_the_same_code(path, name, sm):
    data = bytecode(path, name)
    [printed] = driver.explain_schedule(data, ".tilebc", Job(find_target(sm)))
    assert compiled(data, sm, schedule=json.dumps(printed)).ptx == compiled(data, sm).ptx


@pytest.mark.parametrize(
    ("path", "name"),
    [(BENCHMARKS, "attention_f16_128x128x64"), (SHARED_TILES, "attention_and_squares"), (ROTATED, "weighted_tall")],
)
def test_ctas_of_attention_in_tensor_memory_may_be_given_back(path, name):
    """Its registers do not hold the accumulators of two CTAs per SM, and need not. Halves of tiles may run one after the other."""
    [found] = driver.explain_schedule(bytecode(path, name), ".tilebc", Job(find_target("sm_100")))
    assert found["schedule"]["occupancy"] == 2 and found["schedule"]["tmem_accumulators"]
    again = driver.compile(bytecode(path, name), "sm_100", stop_at="ptx", schedule=json.dumps(found))
    assert again.ptx == driver.compile(bytecode(path, name), "sm_100", stop_at="ptx").ptx


EDITED = [
    (MATMUL, "sm_80", {"cp_async_stages": [2], "num_warps": 8}),
    (MATMUL, "sm_80", {"cp_async_stages": [0], "prefetch_fragments": False}),
    (MATMUL, "sm_90", {"num_stages": 2, "num_warps": 8, "occupancy": 2}),
    (MATMUL, "sm_90", {"mma": ["mma_sync"], "num_stages": 3}),
    (MATMUL, "sm_90", {"strategy": "none", "occupancy": 3}),
    (MATMUL, "sm_100", {"num_stages": 1, "num_warps": 8}),
    (MATMUL, "sm_100", {"strategy": "unspecialize", "cp_async_stages": [5]}),
    (ATTENTION, "sm_90", {"rotate": False, "num_stages": 3, "tma_stores": False}),
    (ATTENTION, "sm_100", {"issue_ahead": False, "occupancy": 2}),
    (WIDE, "sm_90", {"tile_slices": 2}),
    (ROWS, "sm_80", {"num_warps": 8}),
    ("transpose_f32", "sm_80", {"conversion_chunk_bytes": 2048, "strategy": "none"}),
]


@pytest.mark.parametrize(("name", "sm", "knobs"), EDITED)
def test_an_edited_schedule_is_followed_and_gives_the_same_results(name, sm, knobs):
    data, text = bytecode_of(name), request(**knobs)
    edited, usual = compiled(data, sm, schedule=text), compiled(data, sm)
    assert edited.ptx != usual.ptx
    found = explained(name, sm, text)["schedule"]
    assert {
        knob: list(value) if isinstance(value, tuple) else value for knob, value in found.items() if knob in knobs
    } == knobs
    before, after = launch(name, usual), launch(name, edited)
    for key, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(after[key].astype(np.float64), value.astype(np.float64), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "sm", "knobs", "reason"),
    [
        (
            MATMUL,
            "sm_80",
            {"strategy": "warp-specialize"},
            "sm_80 does not support the pipeline strategy warp-specialize",
        ),
        (MATMUL, "sm_90", {"strategy": "fast"}, "'fast' is not a pipeline strategy; use one of auto, none"),
        (MATMUL, "sm_90", {"num_stages": 99}, "shared memory: 99 stages of "),
        (ROWS, "sm_90", {"num_stages": 2}, "it needs operands in shared memory that TMA or threads copy ahead"),
        (MATMUL, "sm_80", {"cp_async_stages": [99]}, "shared memory: 99 stages of "),
        (MATMUL, "sm_80", {"cp_async_stages": [2, 2]}, "it needs one value for each loop"),
        (MATMUL, "sm_80", {"cp_async_stages": [1]}, "legal here: 4, "),
        (MATMUL, "sm_90", {"occupancy": 32}, "registers: a thread needs "),
        (ROWS, "sm_90", {"occupancy": 32, "num_warps": 16}, "threads: an SM has 2048"),
        (MATMUL, "sm_80", {"mma": ["wgmma"]}, 'mma = "wgmma" is refused'),
        (MATMUL, "sm_90", {"mma": ["fma"]}, "mma_sync computes the same in less time"),
        (MATMUL, "sm_90", {"mma": ["wgmma", "wgmma"]}, "it has 2 values, and the kernel 1 dots"),
        (
            MATMUL,
            "sm_90",
            {"strategy": "none", "mma": ["wgmma"]},
            "strategy none has no TMA loads; strategy warp-specialize",
        ),
        (MATMUL, "sm_80", {"num_ctas": 2}, "num_ctas = 2 is refused"),
        (
            ATTENTION,
            "sm_90",
            {"tile_slices": 8},
            "slices of its tiles need something of each other, or a warp would have too few",
        ),
        (MATMUL, "sm_90", {"accumulator_buffers": 2}, "it needs a dot that accumulates in tensor memory"),
        (MATMUL, "sm_100", {"accumulator_buffers": 2}, "legal here: 1"),
        (MATMUL, "sm_90", {"setmaxnreg": True}, "it follows from num_warps and occupancy of an attention kernel"),
        *(
            (MATMUL, "sm_90", {knob: True}, "it needs ")
            for knob in ("swap_operands", "tmem_accumulators", "mma_warp", "two_cta_mma", "multicast", "rotate")
        ),
        *(
            (ROWS, "sm_90", {knob: True}, "it needs ")
            for knob in ("issue_ahead", "ping_pong", "prefetch_fragments", "tma_stores")
        ),
        ("vector_add_f32", "sm_90", {"spill": True}, "it needs a kernel with reductions"),
    ],
)
def test_what_a_kernel_cannot_have_is_refused_with_the_reason(name, sm, knobs, reason):
    assert reason in refused(name, sm, **knobs)


def test_an_explanation_says_what_binds_each_candidate():
    text = render_text([explained(MATMUL, "sm_90")])
    assert text.startswith(f"{MATMUL} on sm_90: modelled ") and "bound by " in text.splitlines()[0]
    assert "not used, as it needs:" in text
    assert "not warp-specialize: sm_80 has no tma" in render_text([explained(MATMUL, "sm_80")])
    assert "not 15: shared memory: 15 stages of 8192 bytes" in render_text([explained(MATMUL, "sm_90")])


def test_clusters_are_explained():
    def refusals(name: str, sm: str, knob: str, schedule: str = "") -> list[str | None]:
        return [row.get("refused") for row in explained(name, sm, schedule)["candidates"][knob]]

    assert refusals(MATMUL, "sm_90", "num_ctas") == [None, None, None]
    assert refusals(MATMUL, "sm_90", "grid_cluster") == [None, None]
    assert refusals(ATTENTION, "sm_90", "num_ctas") == 3 * ["shards of a dot are too small for wgmma"]
    assert refusals(MATMUL, "sm_90", "num_ctas", request(grid_cluster=2)) == 3 * ["another cluster is asked for"]
    assert "not 2, 4: sm_80 by nvptx has no clusters" in render_text([explained(MATMUL, "sm_80")])


def test_ctas_that_shared_memory_does_not_hold_are_refused_in_the_explanation_too():
    """What a finished kernel uses counts, not only the registers that were known before."""
    found = explained(WIDE, "sm_80")
    [row] = (row for row in found["candidates"]["occupancy"] if row["value"] == 3)
    assert row["refused"].startswith("shared memory: a CTA uses ")


def test_ctas_that_shared_memory_holds_with_other_knobs_are_explained_as_legal():
    """Three have too few registers for a warp that issues MMAs during the epilogue: its scratch may then overlap the stages."""
    data = bytecode(BENCHMARKS, "scaled_mxf8e4m3_128x128x128")
    [found] = driver.explain_schedule(data, ".tilebc", Job(find_target("sm_100")))
    refused = {row["value"]: row.get("refused") for row in found["candidates"]["occupancy"]}
    assert refused[3] is None and refused[4].startswith("shared memory: a CTA uses ")
    assert "mma_warp" in found["schedule"]
    [asked] = driver.explain_schedule(data, ".tilebc", Job(find_target("sm_100"), schedule=request(occupancy=3)))
    assert asked["schedule"]["occupancy"] == 3 and "mma_warp" not in asked["schedule"]


def test_a_promise_that_is_missing_is_named():
    """In a cluster, TMA loads the tiles from which threads compute an operand."""
    data, missing = bytecode(UNHINTED, "doubled_unaligned"), "is known to be a multiple of 2 bytes only; TMA needs 16"
    [found] = driver.explain_schedule(data, ".tilebc", Job(find_target("sm_90")))
    assert f"operand B: the stride of dimension 0 {missing}" in render_text([found])
    with pytest.raises(InvalidInput, match=f"{missing}; promise Array.*alignment=16, stride_divisible_by=8"):
        assert compiled(data, "sm_90", schedule=request(mma=["wgmma"])).ptx


def test_an_explanation_prices_each_candidate():
    found = explained(MATMUL, "sm_90")
    clocks = {row["value"]: row["clocks"] for row in found["candidates"]["num_stages"]}
    assert clocks[found["schedule"]["num_stages"]] == found["cost"]["clocks"] < clocks[1]
    assert found["cost"]["bound"] == next(iter(found["cost"]["pipes"])) == "L2"
    assert "[0] legal too: mma_sync (+" in render_text([found])
    assert "on sm_88\n" in render_text([explained(MATMUL, "sm_88")])  # no rates are published


def test_the_schedule_is_in_the_text_of_the_scheduled_module():
    text = compiled(bytecode_of(MATMUL), "sm_90").tileas
    assert (
        'schedule = {strategy = "warp-specialize", num_warps = 4 : i32, mma = ["wgmma"], num_stages = 14 : i32}' in text
    )
    again = driver.lower(text.encode(), ".tileas", "ptx", Job(find_target("sm_90")))[".ptx"].decode()
    assert again == compiled(bytecode_of(MATMUL), "sm_90").ptx
