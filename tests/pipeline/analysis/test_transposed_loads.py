"""Operands that threads compute from tiles that lie along m, and write along k."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run
from tileiras_build.simulate.emulator import Counters

KERNELS = Path(__file__).with_name("transposed_operands.py")


def arguments(rows, depth):
    rng = np.random.default_rng(depth)
    a = rng.integers(-4, 5, (1, depth, rows)).astype(np.float16)
    b = rng.integers(-4, 5, (depth, 64)).astype(np.float32)
    return [a, b, rng.integers(1, 4, depth).astype(np.float32), np.zeros((rows, 64), np.float32)]


@pytest.mark.parametrize(("name", "rows", "depth"), [("scaled", 128, 320), ("scaled_of_64", 64, 64)])
def test_a_computed_tile_is_transposed_without_bank_conflicts(name, rows, depth):
    a, b, scales, out = arguments(rows, depth)
    counters = Counters()
    found = run(KERNELS, name, "sm_90", [a, b, scales, out], counters=counters)[3]
    np.testing.assert_array_equal(found, (a[0].astype(np.float32) * scales[:, None]).T @ b)
    assert counters.accesses and not any(counters.bank_conflicts.values())
