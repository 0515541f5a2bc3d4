"""Deep tiles are taken in shorter steps where two do not fit: the same results, and copies that run ahead."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, cases, compiled, run
from tests.pairwise import alternate
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("deep_k_dots.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
# Shared memory of sm_120 holds 99 KiB, of sm_80 163 KiB, of the others 227 KiB. What reads its loop's index elsewhere
# keeps its steps. In a loop over tiles two must fit beside what results pass through, where TMA loads them.
DEPTHS = {
    "wide": (64, 128, 128, 64),
    "even": (64, 128, 128, 64),
    "square_tf32": (64, 64, 64, 32),
    "long": (128, 256, 256, 128),
    "counted": (128, 128, 128, 128),
    "turning": (128, 128, 128, 128),
    "looped": (64, 64, 64, 32),
    "whole": (256, 256, 256, 128),
    "overwritten": (512, 512, 512, 512),
    "shallow": (32, 32, 32, 32),
}


def operands(name, m, n, k):
    """Small integers, whose results are exact in any order."""
    rng = np.random.default_rng(m + n + k)
    dtype = cases(KERNELS)[name].arguments[0].dtype
    a, b = rng.integers(-3, 4, (m, k)).astype(dtype), rng.integers(-3, 4, (k, n)).astype(dtype)
    return a, b, np.full((m, n), np.nan, np.float32)


def sizes(name):
    return [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]


@pytest.mark.parametrize("name", DEPTHS)
def test_steps_are_as_deep_as_two_of_them_fit(name):
    k = sizes(name)[2]
    for sm, depth in zip(SMS, DEPTHS[name]):
        text = compiled(KERNELS, name, sm).tileas
        tile = [1, sizes(name)[0], depth] if name == "long" else [sizes(name)[0], depth]
        assert (sm, f"tile = {tile}" in text) == (sm, True)
        if depth < k:
            assert "async.tiled_tma_load" in text or "async_tiled_load" in text


ENDS = [(*case, more) for case, more in zip(alternate(SMS, ["wide", "square_tf32"]), (0, 48, 112, 48))]
ENDS += [("sm_120", "square_tf32", 112), ("sm_100", "square_tf32", 0)]


@pytest.mark.parametrize(("sm", "name", "more"), ENDS)
def test_the_last_step_ends_anywhere(sm, name, more):
    """In its first part, so that the others lie outside the arrays, or in its last."""
    m, n, k = sizes(name)
    a, b, out = operands(name, m - 8, n + 16, k + more)
    found = run(KERNELS, name, sm, [a, b, out], (1, 2, 1))[2]
    np.testing.assert_array_equal(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(("name", "sm"), [*(("whole", sm) for sm in SMS), ("overwritten", "sm_90")])
def test_a_dot_outside_of_loops(name, sm):
    m, n, k = sizes(name)
    a, b, out = operands(name, m, n, k - 48)
    found = run(KERNELS, name, sm, [a, b, out])[2]
    np.testing.assert_array_equal(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


def test_tiles_that_come_while_results_leave():
    m, n, k = sizes("looped")
    a, b, out = operands("looped", 2 * m, n, k + 32)
    found = run(KERNELS, "looped", "sm_120", [a, b, out])[2]
    np.testing.assert_array_equal(found.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(("steps", "sm"), [(2, "sm_80"), (3, "sm_90"), (5, "sm_100"), (3, "sm_120")])
def test_views_and_turned_tiles(steps, sm):
    m, n, k = sizes("long")
    a, b, out = operands("long", m, n, steps * k - 96)
    stack = [np.stack([value * 0, value]) for value in (a, np.ascontiguousarray(b.T))]
    want = a[:, 2 * k :].astype(np.float64) @ b[2 * k :].astype(np.float64)
    np.testing.assert_array_equal(run(KERNELS, "long", sm, [*stack, out])[2].astype(np.float64), want)


@pytest.mark.parametrize("sm", ["sm_80", "sm_120"])
def test_loops_whose_number_of_steps_matters(sm):
    m, n, k = sizes("counted")
    a, b, out = operands("counted", m, n, 3 * k)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(run(KERNELS, "counted", sm, [a, b, out])[2].astype(np.float64), want + 3)
    again = sum(a[:, part : part + k].astype(np.float64) @ b[:k].astype(np.float64) for part in range(0, 3 * k, k))
    np.testing.assert_array_equal(run(KERNELS, "turning", sm, [a, b, out])[2].astype(np.float64), again)


# ---- dots as loops of their own
@pytest.mark.parametrize(
    ("name", "length", "sm"),
    [*(("attending", 140, sm) for sm in SMS), ("attending", 0, "sm_90"), ("attending_twice", 129, "sm_100")],
)  # fmt: skip
def test_dots_of_whole_rows(name, length, sm):
    """Not even one tile of k and v fits: their dots are loops, q is loaded in each step, or sliced where it is computed."""
    rng = np.random.default_rng(length)
    q, k, v = (rng.integers(-1, 2, (rows + 1, 512)).astype(np.float16)[:rows] for rows in (16, length, length))
    found = run(KERNELS, name, sm, [q, k, v, np.full((512, 16), np.nan, np.float32)])[3]
    want = np.zeros((512, 16))
    for first in range(0, length, 128):
        scores = (
            k[first : first + 128].astype(np.float64) @ q.T.astype(np.float64) / 4 * (1 + (name == "attending_twice"))
        )
        want = want / 2 + v[first : first + 128].T.astype(np.float64) @ (scores**2).astype(np.float16).astype(
            np.float64
        )
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("sm", SMS)
def test_whole_rows_fit_into_registers_and_shared_memory(sm):
    artifacts = assembled(KERNELS, "attending", sm)
    resources = artifacts.manifest["kernels"]["attending"]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0
    module = parse(artifacts.tileas.encode())
    assert verify_shared_memory_allocation(module)
    assert verify_pipelines(module) if sm in ("sm_90", "sm_100", "sm_120") else verify_cp_async_buffers(module)


@pytest.mark.parametrize("sm", SMS)
def test_rows_that_fit_stay_whole(sm):
    assert "extract_slice" in compiled(KERNELS, "attending", sm).tileas
    assert "extract_slice" not in compiled(KERNELS, "attending_small", sm).tileas
