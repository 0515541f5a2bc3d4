"""benchmarks/schedule_cost.py: rows of cost and estimate, and what their errors are."""

import sys
from math import exp, log
from pathlib import Path

import pytest

from tileiras_build.pipeline.schedule.kernel import Kernel
from tileiras_build.pipeline.schedule.schedule import Schedule
from tileiras_build.target.targets import find_target

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("schedule_cost", "variants", "estimates", "compile_speed", "triton_peer")


@pytest.fixture
def program(monkeypatch):
    """The program as its folder's scripts see it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER / "gpu"))
    import schedule_cost

    yield schedule_cost
    for name in MODULES:
        sys.modules.pop(name, None)


def test_a_kernel_becomes_a_row(program):
    [row] = program.rows_of(find_target("sm_80"), ["vector_add*"])
    assert (row.name, row.target) == ("vector_add_float32_1024", "sm_80")
    assert row.kernel.loaded == 2 * row.kernel.stored and row.schedule.num_warps is not None
    [(error, same)] = program.errors([row])
    assert same is row and exp(error) == pytest.approx(program.modelled(row) / row.clocks)
    assert abs(error) < log(2)


def test_no_row_counts_more_than_for_a_factor_of_two(program):
    def row(factor):
        kernel = Kernel((), loaded=4096.0, stored=2048.0)
        cost = program.modelled(program.Row("k", "sm_90", kernel, Schedule(num_warps=4), 1.0))
        return program.Row("k", "sm_90", kernel, Schedule(num_warps=4), cost / factor)

    assert program.loss([row(1.0), row(8.0)]) == pytest.approx(log(2) / 2)
    assert program.loss([row(1.1)]) == pytest.approx(log(1.1)) == pytest.approx(program.loss([row(1 / 1.1)]))


def test_rows_of_both_halves_are_held_out_by_name(program):
    halves = {program.Row(f"k{number}", "sm_90", Kernel(()), Schedule(), 1.0).is_held_out for number in range(16)}
    assert halves == {False, True}
