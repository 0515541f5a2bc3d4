"""Tiles that are more than registers hold are computed part after part: correct results, verifiers, and no spills."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import assembled, compiled, run
from tests.pairwise import alternate
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("tall_dots.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
HALF = "tile = [128, 128]"
ONE_QUERY_TILE = '{"schedule": {"query_tiles": 1}}'


# Without keys the code is the same.
@pytest.mark.parametrize(("length", "sm"), [(0, "sm_80"), (0, "sm_100"), *((200, sm) for sm in SMS)])
def test_rows_in_two_iterations(length, sm):
    rng = np.random.default_rng(length)
    q, k, v = ((rng.integers(-1, 2, (rows + 1, 128))).astype(np.float16)[:rows] for rows in (400, length, length))
    out, peaks = np.full((400, 128), np.nan, np.float32), np.full(400, np.nan, np.float32)
    *_, out, peaks = run(KERNELS, "weighing", sm, [q, k, v, out, peaks], (2, 1, 1))
    want, scores = np.zeros((400, 128)), np.zeros((400, 1))
    for first in range(0, length, 128):
        scores = (
            q.astype(np.float64) @ np.pad(k[first : first + 128], ((0, max(0, first + 128 - length)), (0, 0))).T / 4
        )
        weights = (scores[:, : length - first] ** 2).astype(np.float16)
        want = want / 2 + weights.astype(np.float64) @ v[first : first + 128].astype(np.float64)
    np.testing.assert_allclose(out, want, rtol=1e-6)
    np.testing.assert_array_equal(peaks, scores.max(axis=1))


@pytest.mark.parametrize("name", ["adding", "shifting"])
def test_what_an_order_binds_is_read_and_written_in_one_turn(name):
    """A load of what the same turn writes; the one of ``shifting`` reads what an earlier turn would have written."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((250, 64), (64, 240)))
    out = rng.integers(-9, 10, (250, 240)).astype(np.float32)
    more = out if name == "adding" else out[:, :1]
    found = run(KERNELS, name, "sm_90", [a, b, out])[2]
    np.testing.assert_array_equal(found, a.astype(np.float64) @ b.astype(np.float64) + more)
    assert ("tile = [128, 256]" in compiled(KERNELS, name, "sm_90").tileas) == (name == "adding")


@pytest.mark.parametrize(("name", "sm"), alternate(["leaving", "leaving_in_a_loop"], SMS))
def test_a_return_ends_all_iterations(name, sm):
    """What it comes after has been done in each of them."""
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((768, 32), (32, 256)))
    out, limit = np.full((768, 256), 9, np.float32), 1 if name == "leaving" else 0
    found = run(KERNELS, name, sm, [a, b, out, limit], (3, 1, 1))[2]
    want = np.concatenate([a[:256].astype(np.float64) @ b.astype(np.float64), np.full((256, 256), 1), out[512:]])
    np.testing.assert_array_equal(found, want)


def test_a_kernel_that_returns_is_computed_in_parts_all_the_same():
    assert "tile = [128, 256]" in compiled(KERNELS, "leaving", "sm_90").tileas
    assert "wgmma" in compiled(KERNELS, "leaving", "sm_90").ptx


@pytest.mark.parametrize("sm", SMS)
def test_parts_fit_and_are_accepted(sm):
    artifacts = assembled(KERNELS, "weighing", sm)
    resources = artifacts.manifest["kernels"]["weighing"]["resources"]
    assert resources["spill_stores"] + resources["spill_loads"] == 0
    module = parse(artifacts.tileas.encode())
    assert HALF in artifacts.tileas
    assert (verify_shared_memory_allocation(module) == 0) == (
        sm == "sm_90"
    )  # where TMA loads all tiles, and stores them from fragments
    assert sm == "sm_80" or verify_pipelines(module)


def test_two_ctas_share_the_tensor_memory_of_an_sm():
    """Each with parts of 128 rows, if asked to: what passes through shared memory beside the stages goes in small pieces."""
    artifacts = compiled(KERNELS, "weighing", "sm_100", schedule=ONE_QUERY_TILE)
    assert "occupancy = 2" in artifacts.tileas
    assert 2 * artifacts.manifest["kernels"]["weighing"]["shared_memory"]["dynamic"] <= 227 * 1024
