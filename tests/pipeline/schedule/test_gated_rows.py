"""Threads have registers for all that they load at once, else ptxas loads late: of element-wise kernels, and of loops that reduce it."""

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


@pytest.mark.parametrize(
    ("name", "computation", "sm"),
    [("long", "F2FP", "sm_100"), ("bounded", "MUFU", "sm_90"), ("bounded", "MUFU", "sm_100")],
)
def test_all_loads_come_first(name, computation, sm):
    [listing] = read_listings(disassembled(KERNELS, name, sm))
    memory = [line.opcode for line in listing.lines if line.opcode in ("LDG", computation, "STG")]
    first = memory.index(computation)
    assert memory[:first].count("LDG") == memory.count("LDG") > 4


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_results_in_place(sm):
    rng = np.random.default_rng(7)
    a, by, more = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 2048), 2048, 2048))
    found = run(KERNELS, "bounded", sm, [a, by, more, np.zeros_like(a)], (2, 1, 1))[3]
    np.testing.assert_allclose(found, by * np.tanh(2 * a) + more, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_an_iteration_loads_all_that_it_reduces_first(sm):
    values = np.random.default_rng(4).integers(-3, 4, (2, 5120)).astype(np.float16)
    total = run(KERNELS, "reduced", sm, [values, np.zeros(16, np.float16)], (2, 1, 1))[1]
    np.testing.assert_array_equal(total[:2], values.sum(axis=1))
    [listing] = read_listings(disassembled(KERNELS, "reduced", sm, strategy="none"))
    opcodes = [line.opcode for line in listing.lines]
    last = max(place for place, opcode in enumerate(opcodes) if opcode == "LDG")
    loads = [place for place, opcode in enumerate(opcodes) if opcode == "LDG"]
    added = [place for place, opcode in enumerate(opcodes) if opcode in ("FADD", "FADD2", "FHADD", "HADD2")]
    assert len(loads) == 4 and not any(loads[0] < place < last for place in added)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100"])
def test_more_warps_where_many_values_are_live(sm):
    """Registers leave twelve warps of four on an SM, and 24 of eight."""
    x, gate, out = (np.random.default_rng(seed).integers(-2, 3, (1, 4096)).astype(np.float16) for seed in range(3))
    *_, of_x, of_gate = run(KERNELS, "gradients", sm, [x, gate, out, np.zeros_like(x), np.zeros_like(x)])
    np.testing.assert_array_equal(of_x, out * (x * x * (1 - x) + x) * gate)
    np.testing.assert_array_equal(of_gate, out * x * x)
    assert scheduled_kernel(KERNELS, "gradients", sm).num_warps == 8


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_values_of_an_iteration_are_live_in_the_loop_alone(sm):
    """A thread of 128 has 64 totals and a row's 8 elements; more warps would each load that row."""
    x, weights = (
        np.random.default_rng(seed).integers(-3, 4, (8, width)).astype(np.float16)
        for seed, width in ((5, 1024), (6, 16))
    )
    found = run(KERNELS, "mixed", sm, [x, weights, np.zeros_like(x)])[2]
    np.testing.assert_array_equal(found, weights[:, :8] @ x)
    assert scheduled_kernel(KERNELS, "mixed", sm).num_warps == 4


@pytest.mark.parametrize("name", ["short", "bytes", "copied", "held"])
def test_other_kernels_keep_the_registers_that_ptxas_chooses(name):
    _has_no_limit(name, "sm_100")


def test_slow_memory_needs_fewer_bytes_in_flight():
    _has_no_limit("long", "sm_90")


def _has_no_limit(name: str, sm: str):
    assert schedule_of(scheduled_kernel(KERNELS, name, sm)).occupancy is None
    assert ".maxnreg" not in str(compiled(KERNELS, name, sm).ptx)
