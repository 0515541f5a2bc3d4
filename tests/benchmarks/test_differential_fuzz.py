"""benchmarks/differential_fuzz.py goes on where a program ends the process that runs it, and runs kernels with uniform control flow."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import differential_fuzz
import pytest

from tests.fuzz import compare_matmuls
from tests.fuzz.compare_tile_programs import Outcome, Way


def run(job):
    if job.seed == 1:
        os._exit(3)
    return job.seed, [Outcome("agrees", "sm_80", Way(0))]


def test_a_process_that_ends_is_a_fault_of_its_program_alone():
    worker = differential_fuzz.Worker(run, differential_fuzz._lost)
    found = [worker(differential_fuzz.Job(seed, "first", ("sm_80",)))[1][0] for seed in range(3)]
    worker.process.terminate()
    assert [outcome.kind for outcome in found] == ["agrees", "fails", "agrees"]
    assert found[1].detail == "the process ended with 3"


BRANCHES = differential_fuzz.Job(5, "branches", ("sm_80",), races=True)


def test_kernels_with_uniform_control_flow_are_compared():
    seed, outcomes = differential_fuzz._run(BRANCHES)
    assert seed == 5
    assert [(outcome.kind, outcome.way.opt_level) for outcome in outcomes] == [("agrees", 0), ("agrees", 3)]


@pytest.mark.parametrize(
    ("part", "found", "kind"),
    [
        ("_wanted", lambda kernel, module: [array + 1 for array in kernel.inputs()], "differs"),
        ("_wanted", lambda kernel, module: None, "refused"),
        ("_module", lambda kernel, folder: int("no module"), "fails"),
    ],
    ids=["other results", "values too large", "an exception"],
)
def test_what_is_wrong_of_a_kernel_is_reported(part, found, kind, monkeypatch):
    monkeypatch.setattr(compare_matmuls, part, found)
    assert {outcome.kind for outcome in differential_fuzz._run(BRANCHES)[1]} == {kind}


def test_a_failure_of_cutile_itself_is_a_refusal(monkeypatch):
    import cuda.tile as ct

    def fails(*_):
        raise ct.TileInternalError("Internal error: no bytecode")

    monkeypatch.setattr(compare_matmuls, "_compare", fails)
    kinds = {(outcome.kind, outcome.detail) for outcome in differential_fuzz._run(BRANCHES)[1]}
    assert kinds == {("refused", "cuTile fails: Internal error: no bytecode")}


def test_a_kernel_is_written_as_source(tmp_path, capsys):
    path = tmp_path / "library_member.py"
    assert differential_fuzz._give(5, "branches", path) == differential_fuzz._give(5, "branches", None) == 0
    assert path.read_text() == capsys.readouterr().out.removesuffix("\n")
