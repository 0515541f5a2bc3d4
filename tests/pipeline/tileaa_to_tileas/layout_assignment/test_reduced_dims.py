"""Warps divide the dimensions that are kept, where a reduction of others would exchange whole rows of memory between them."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("reduced_dims.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
EXPECTED = {
    "columns": lambda x: x.max(axis=1),
    "planes": lambda x: x.max(axis=(1, 2)),
    "shares": lambda x: x - x.max(axis=1, keepdims=True),
}


@pytest.mark.parametrize(("name", "sm"), [(name, sm) for name in EXPECTED for sm in SMS])
def test_results(name, sm):
    x = np.random.default_rng(5).integers(-8, 9, (16, 16, 32)).astype(np.float32)
    expected = EXPECTED[name](x)
    found = run(KERNELS, name, sm, [x, np.full_like(expected, -1)], (2, 1, 1))[1]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", EXPECTED)
def test_warps_exchange_nothing(name):
    assert "bar.sync" not in str(compiled(KERNELS, name, "sm_90").ptx)


@pytest.mark.parametrize("name", ["few_rows", "reduced_rows"])
def test_warps_exchange_where_too_little_is_kept(name):
    """Rows stay coalesced: warps do not divide the fastest dimension."""
    assert "bar.sync" in str(compiled(KERNELS, name, "sm_90").ptx)


def test_results_of_an_exchange():
    x = np.random.default_rng(6).integers(-8, 9, (1, 128, 32)).astype(np.float32)
    found = run(KERNELS, "few_rows", "sm_90", [x, np.full((1, 32), -1, np.float32)])[1]
    np.testing.assert_array_equal(found, x.max(axis=1))
