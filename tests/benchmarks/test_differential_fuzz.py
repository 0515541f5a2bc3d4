"""benchmarks/differential_fuzz.py goes on where a program ends the process that runs it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import differential_fuzz

from tests.fuzz.compare import Outcome, Way


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
