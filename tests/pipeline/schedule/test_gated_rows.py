"""Threads of element-wise kernels have registers for all that they load at once where DRAM is fast, else ptxas loads late."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, disassembled, run, scheduled_kernel
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.target.sass_listing import read_listings

KERNELS = Path(__file__).with_name("gated_rows.py")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_results(sm):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (2, 5120)).astype(np.float16) for _ in range(2))
    found = run(KERNELS, "long", sm, [a, b, np.zeros_like(a)], (2, 1, 1))[2]
    np.testing.assert_array_equal(found, (a * a + 1) * a * b)


def test_all_loads_come_first():
    [listing] = read_listings(disassembled(KERNELS, "long", "sm_100"))
    memory = [line.opcode for line in listing.lines if line.opcode in ("LDG", "F2FP", "STG")]
    first = memory.index("F2FP")
    assert memory[:first].count("LDG") == memory.count("LDG") > 4


@pytest.mark.parametrize("name", ["short", "bytes", "copied"])
def test_other_kernels_keep_the_registers_that_ptxas_chooses(name):
    _has_no_limit(name, "sm_100")


def test_slow_memory_needs_fewer_bytes_in_flight():
    _has_no_limit("long", "sm_90")


def _has_no_limit(name: str, sm: str):
    assert schedule_of(scheduled_kernel(KERNELS, name, sm)).occupancy is None
    assert ".maxnreg" not in str(compiled(KERNELS, name, sm).ptx)
