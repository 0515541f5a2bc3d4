"""Loops one after the other with the same dots: correct results and no race for every division, and no memory of their own."""

import re
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pairwise import alternate
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("rotated_dots.py")
OTHER_ARRAYS = Path(__file__).with_name("loops_of_other_arrays.py")
SMS = ("sm_90", "sm_100", "sm_120")
WIDTHS = {"in_two_loops": 128, "in_two_loops_short": 64}  # keys of a step


# Each GPU sees both kernels and loops that are longer than the ring.
LENGTHS = [(sm, name, steps) for (steps, sm), name in zip(alternate([0, 9, 2, 1, 9, 3], SMS), cycle(WIDTHS))]


@pytest.mark.parametrize(("sm", "name", "steps"), LENGTHS)
def test_stages_that_two_loops_use_in_turn(sm, name, steps):
    width = WIDTHS[name]
    rng = np.random.default_rng(steps)
    length = width * steps - (steps > 0) * 5
    q, k, v = (
        (rng.integers(-2, 3, (count, 64)) / 4).astype(np.float16) for count in (100, max(length, 1), max(length, 1))
    )
    k, v = k[:length], v[:length]
    out = np.full((100, 64), np.nan, np.float32)
    found = run(KERNELS, name, sm, [q, k, v, out], (2, 1, 1))[3]
    factors = np.where(np.arange(length) < steps // 2 * width, 1, 2)
    q, k, v = (values.astype(np.float64) for values in (q, k, v))
    want = (factors * (q @ k.T) ** 2) @ v
    np.testing.assert_allclose(found, want, atol=2.0**-9 * np.abs(want).max(initial=0))


@pytest.mark.parametrize(("steps", "sm"), [(0, "sm_90"), (1, "sm_120"), (3, "sm_100"), (8, "sm_90"), (8, "sm_100")])
def test_accumulators_that_two_loops_inside_another_make(steps, sm):
    rng = np.random.default_rng(steps)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((300, 64 * 8), (64 * 8, 64)))
    a, b = a[:, : 64 * steps], b[: 64 * steps]
    out = np.full((300, 64), np.nan, np.float32)
    found = run(KERNELS, "results_of_two_loops", sm, [a, b, out])[2]
    np.testing.assert_array_equal(found, 3 * a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize(
    ("name", "rings", "buffers"), [("in_two_loops", 2, 2), ("in_two_loops_short", 2, 2), ("results_of_two_loops", 1, 2)]
)
def test_each_dot_has_its_memory_once(name, rings, buffers, sm):
    text = compiled(KERNELS, name, sm).tileas
    held = name == "in_two_loops" and sm in ("sm_90", "sm_100")  # the left operand, which both loops read
    assert text.count("= nv_tileas.alloc_tensor") == buffers + held
    assert text.count("= nv_tileas.make_tiled_tma_desc") <= buffers + held + 1  # and that of the result
    pipelines = [line for line in text.splitlines() if "async.pipeline.create" in line]
    assert sum("bytes = 0 " not in line for line in pipelines) == rings + held


@pytest.mark.parametrize(
    ("name", "steps", "sm"),
    [
        ("two_matmuls_added", (9, 2), "sm_90"),
        ("two_matmuls_added", (1, 8), "sm_100"),
        ("two_matmuls_added", (0, 3), "sm_120"),
        ("persistent_matmuls", (3, 0), "sm_90"),
        ("persistent_matmuls", (2, 5), "sm_100"),
        ("persistent_matmuls", (1, 2), "sm_120"),
    ],
)
def test_stages_of_tiles_of_other_arrays(name, steps, sm):
    rng = np.random.default_rng(sum(steps))
    shapes = ((200, 64 * 9), (64 * 9, 64)) * 2
    arrays = [rng.integers(-2, 3, shape).astype(np.float16) for shape in shapes]
    for place, count in enumerate(steps):
        arrays[2 * place], arrays[2 * place + 1] = (
            arrays[2 * place][:, : 64 * count],
            arrays[2 * place + 1][: 64 * count],
        )
    grid = (2, 1, 1) if name == "two_matmuls_added" else (1, 1, 1)
    out = np.full((200, 64), np.nan, np.float32)
    found = run(OTHER_ARRAYS, name, sm, [*arrays, out], grid)[4]
    a, b, c, d = (values.astype(np.float64) for values in arrays)
    np.testing.assert_array_equal(found, a @ b + c @ d)


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", ["two_matmuls_added", "persistent_matmuls"])
def test_tiles_of_other_arrays_have_the_same_stages(name, sm):
    text = compiled(OTHER_ARRAYS, name, sm).tileas
    assert text.count("= nv_tileas.alloc_tensor") == 2
    assert sum("bytes = 0 " not in line for line in text.splitlines() if "async.pipeline.create" in line) == 1
    assert text.count("= nv_tileas.make_tiled_tma_desc") == 4 + ("tma_store" in text)
    assert verify_pipelines(scheduled_case(OTHER_ARRAYS, name, sm)) > 0


@pytest.mark.parametrize("name", ["two_matmuls_added", "persistent_matmuls"])
def test_accumulators_stay_in_tensor_memory_between_loops(name):
    text = compiled(OTHER_ARRAYS, name, "sm_100").tileas
    assert (
        text.count("= nv_tileas.alloc_tmem")
        == text.count("= nv_tileas.tmem_load")
        == text.count("nv_tileas.tmem_store")
        == 1
    )


def test_no_other_dot_has_the_columns_of_an_accumulator_that_lives_on():
    rng = np.random.default_rng(5)
    a, b, c, d = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 64 * 3), (64 * 3, 64)) * 2)
    out = np.full((128, 64), np.nan, np.float32)
    found = run(OTHER_ARRAYS, "continued_beside_another", "sm_100", [a, b, c, d, out])[4]
    first, second = (left.astype(np.float64) @ right.astype(np.float64) for left, right in ((a, b), (c, d)))
    np.testing.assert_array_equal(found, (first + second) * first)


def test_columns_of_an_accumulator_that_lives_on_are_counted_once_for_both_loops():
    text = compiled(OTHER_ARRAYS, "gradients_in_two_loops", "sm_100").tileas
    assert re.findall(r"= nv_tileas.create_tmem .*builtin.int<(\d+)>", text) == ["512"]


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("name", ["in_two_loops", "results_of_two_loops"])
def test_verifiers_of_pipelines_and_scratch(name, sm):
    module = scheduled_case(KERNELS, name, sm)
    assert verify_pipelines(module) > 0
    assert verify_shared_memory_allocation(module) >= 0


def test_one_block_keeps_what_two_would_spill():
    text = compiled(KERNELS, "in_two_loops", "sm_90").tileas
    assert "occupancy = 1 : i32" in text
    assert "occupancy = 2 : i32" in compiled(KERNELS, "in_two_loops_short", "sm_90").tileas
