"""Slices between rows that a kernel loads, through tensor maps of their arrays: results with races, and which loads TMA executes."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("windows_of_arrays.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
BEFORE = 7  # what results hold before
# Rows of the first slice are fewer than those of a tile, so that a copy begins before the array; others have none, or end with the array.
ENDS = [0, 5, 5, 140, 333]
COPY = "cp.async.bulk.tensor"


def integers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float16)


def between(ends):
    return [slice(*pair) for pair in pairwise(ends)]


@pytest.mark.parametrize("sm", SMS)
def test_slices_of_keys(sm):
    q, k, v = (integers(ENDS[-1], 2, 64, seed=seed) * np.float16(0.125) for seed in range(3))
    out = np.full(q.shape, BEFORE, np.float16)
    found = run(KERNELS, "of_sequences", sm, [q, k, v, np.array(ENDS, np.int32), out], (2, len(ENDS) - 1, 2))[-1]
    wide = [one.astype(np.float32) for one in (q, k, v)]
    for rows in between(ENDS):
        for head in range(2):
            x, y, z = (one[rows, head] for one in wide)
            wanted = (x @ y.T).astype(np.float16).astype(np.float32) @ z
            np.testing.assert_allclose(found[rows, head], wanted, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("name", ["of_experts", "of_experts_tall"])
@pytest.mark.parametrize("sm", SMS)
def test_slices_of_experts(sm, name):
    a, b = integers(ENDS[-1], 128), integers(len(ENDS) - 1, 128, 80, seed=1)
    out = np.full((ENDS[-1] + 3, 80), BEFORE, np.float16)
    found = run(KERNELS, name, sm, [a, b, np.array(ENDS, np.int32), out], (3, 1, 1))[-1]
    for rows, right in zip(between(ENDS), b):
        np.testing.assert_array_equal(found[rows], a[rows].astype(np.float32) @ right.astype(np.float32))
    assert (found[ENDS[-1] :] == BEFORE).all()


@pytest.mark.parametrize("count", [0, 3, 150])
@pytest.mark.parametrize("sm", SMS[1:])
def test_first_rows(sm, count):
    a, b, out = integers(150, 128), integers(150, 64, seed=1), np.zeros((128, 64), np.float32)
    found = run(KERNELS, "of_first_rows", sm, [a, b, np.array([count], np.int32), out])[-1]
    np.testing.assert_array_equal(found, a[:count].astype(np.float32).T @ b[:count].astype(np.float32))


@pytest.mark.parametrize("sm", SMS[1:])
def test_columns_that_start_anywhere(sm):
    a, b, out = integers(128, 160), integers(130, 64, seed=1), np.zeros((128, 64), np.float32)
    found = run(KERNELS, "of_columns", sm, [a, b, np.array([16, 146], np.int32), out])[-1]
    np.testing.assert_array_equal(found, a[:, 16:146].astype(np.float32) @ b.astype(np.float32))
    assert f"{COPY}.4d" not in compiled(KERNELS, "of_columns", sm).ptx


@pytest.mark.parametrize(("name", "rank"), [("of_sequences", 5), ("of_experts", 4), ("of_first_rows", 4)])
@pytest.mark.parametrize("sm", SMS[1:3])
def test_tma_copies_slices(name, rank, sm):
    ptx = compiled(KERNELS, name, sm).ptx
    assert f"{COPY}.{rank}d.shared" in ptx and "cp.async.cg" not in ptx
    assert (f"{COPY}.{rank}d.global" in ptx) == (name != "of_first_rows")
