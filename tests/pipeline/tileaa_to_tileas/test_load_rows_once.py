"""Rows that stay in registers between a reduction and its use: which, and correct results without a race."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pairwise import alternate

KERNELS = Path(__file__).with_name("rows_read_again.py")
# Loads of tiles in the program. Loops of many trips stay, as do those of rows that registers do not hold, or that are written between,
# and loops that reduce.
LOADS = {"one_part": 1, "four_parts": 4, "many_parts": 2, "long_parts": 2, "views": 4, "online": 2, "twice": 2}
LOADS |= {"in_place": 1, "in_place_in_parts": 2}
LENGTHS = {"one_part": 200, "four_parts": 500, "views": 500, "twice": 500, "in_place": 100}


@pytest.mark.parametrize(("name", "loads"), LOADS.items())
def test_loads(name, loads):
    found = compiled(KERNELS, name, "sm_90", strategy="none").tileas
    assert sum(".tiled_load " in line or "nv_tileas.load " in line for line in found.splitlines()) == loads


@pytest.mark.parametrize(("name", "sm"), alternate(LENGTHS, ["sm_80", "sm_90", "sm_100", "sm_120"]))
def test_results(name, sm):
    x = np.random.default_rng(3).integers(-9, 10, (3, LENGTHS[name])).astype(np.float32)
    wants = {"views": [_centered(x)], "twice": [_less_totals(_less_totals(x))], "in_place": [_less_totals(x)]}.get(name)
    arrays = {"views": [x, 0 * x], "twice": [x], "in_place": [x]}.get(name, [x, np.zeros(3, np.float32), 0 * x])
    wants, grid = wants or [x.sum(axis=1), _centered(x)], (2 if name == "in_place" else 3, 1, 1)
    for found, want in zip(run(KERNELS, name, sm, arrays, grid=grid)[-len(wants) :], wants):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)


def _centered(x):
    return x - x.mean(axis=1, keepdims=True)


def _less_totals(x):
    return x - x.sum(axis=1, keepdims=True) / 128
