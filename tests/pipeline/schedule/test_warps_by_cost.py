"""Matmuls whose warps cost decides: half as many where that is cheaper, and the same results."""

import json

import numpy as np
import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of, launch

WIDE = "matmul_f16_nt_wide"  # 128 x 128


def warps(sm: str, **knobs) -> int:
    text = compiled(bytecode_of(WIDE), sm, schedule=json.dumps({"schedule": knobs}) if knobs else "").tileas
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
    few = launch(WIDE, compiled(bytecode_of(WIDE), sm))
    many = launch(WIDE, compiled(bytecode_of(WIDE), sm, schedule='{"schedule": {"num_warps": 8}}'))
    for name, value in few.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, many[name])
