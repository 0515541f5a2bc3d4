"""Loops that LLVM unrolls have one version: their loads run ahead of other loops."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pairwise import alternate

KERNELS = Path(__file__).with_name("accumulated_tiles.py")


@pytest.mark.parametrize(("name", "versions"), [("short", 0), ("many_trips", 3), ("large_tiles", 3)])
def test_versions(name, versions):
    assert compiled(KERNELS, name, "sm_90", strategy="none").tileas.count("nv_tileas.if ") == versions


@pytest.mark.parametrize(
    ("size", "sm"), alternate([(5, 48), (4, 48), (3, 32), (1, 16)], ["sm_80", "sm_90", "sm_100", "sm_120"])
)
def test_rows_that_an_array_lacks_are_zero(size, sm):
    rows, columns = size
    x = np.random.default_rng(rows).integers(-9, 10, (rows, columns), np.int32)
    found = run(KERNELS, "short", sm, [x, np.full((1, 48), -1, np.int32)])[1]
    expected = np.zeros(48, np.int32)
    expected[:columns] = x[:4].sum(axis=0)
    np.testing.assert_array_equal(found[0], expected)
