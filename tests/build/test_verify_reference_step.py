"""``scons verify`` against references: first runs, skipped reruns, and effects of edits."""

import os
from pathlib import Path

import pytest

from tests import forked_scons
from tileiras_build.reports.collect_rows import EstimateProblems, read_rows

SCONSTRUCT = """
from tileiras_build import scons_tool

env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])
Default(env.KernelLibrary("kernels", sorted(Glob("*.py") + Glob("*.tilebc"), key=str)))
"""
KERNEL = """import cuda.tile as ct
from tileiras_build.frontend.cases_api import Array, Case
from numbers_of_add import reference

@ct.kernel
def add(x, out, TILE: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) + 2)

def inputs(rng):
    import numpy as np
    return {"x": np.arange(100, dtype="int32"), "out": np.zeros(100, "int32")}

VECTOR = Array("int32", 1, alignment=16, shape_divisible_by=4)
CASES = [Case("add", add, (VECTOR, VECTOR, 32), inputs=inputs, reference=reference, grid=4)]
"""
REFERENCE = """import numpy as np

def reference(values):
    step = int(open("step.txt").read())
    return {"out": values["x"] + np.int32(step)}
"""


def scons(folder: Path, *arguments: str):
    return forked_scons.run(["-Q", "-k", "sm=80", *arguments], folder, dict(os.environ), 240)


def steps(done) -> list[str]:
    """The steps of a run, each a stage and a kernel or a file."""
    words = [line.partition("] ")[2].split() for line in done.stdout.splitlines() if line.startswith("[")]
    return [" ".join((stage, *(word for word in detail if word[0] == "("), name)) for stage, *detail, name in words]


@pytest.fixture
def project(tmp_path):
    pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")
    for name, text in {
        "SConstruct": SCONSTRUCT,
        "k.py": KERNEL,
        "numbers_of_add.py": REFERENCE,
        "step.txt": "2",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_a_reference_reads_is_compared_again_and_nothing_is_compiled(project):
    first = scons(project, "verify", "build/sm_80/add.cubin")
    assert first.returncode == 0, first.stderr
    [row] = read_rows(project / "build", problems=EstimateProblems(of_references=True))
    assert row.microseconds > 0 and row.estimate_limit and row.reference == "match (0x tolerance)"
    assert {"verify (interpreter) add", "verify (reference) add", "ptx add"} <= set(steps(first))
    rows = [line.split() for line in first.stdout.splitlines() if line.endswith("match")]
    assert [row[:4] for row in rows] == [
        ["add", "sm_80", "interpreter", "2x1x1"],
        ["add", "sm_80", "reference", "4x1x1"],
    ]
    assert steps(scons(project, "verify")) == []
    (project / "step.txt").write_text("3")
    wrong = scons(project, "verify")
    assert (wrong.returncode != 0, steps(wrong)) == (True, ["verify (reference) add"])
    assert "k.py:5:1: error[reference-mismatch]: add (sm_80, grid (4, 1, 1)): 100 of 100" in wrong.stderr
    assert (
        "    out[0]: got 2, expected 3 (abs error 1, rel error 0.333, tolerance 0), written by tile block (0, 0, 0)\n"
        in wrong.stderr
    )
    assert not (project / "build/sm_80/add.reference").exists()
    # An edit of the reference exports the kernel again, to the same bytecode.
    (project / "numbers_of_add.py").write_text(REFERENCE.replace("np.int32(step)", "np.int32(step - 1)"))
    right = scons(project, "verify")
    assert (right.returncode, steps(right)) == (0, ["tilebc k.py", "verify (reference) add"]), right.stderr
    (project / "numbers_of_add.py").write_text(REFERENCE.replace("values[", "given["))
    broken = scons(project, "verify")
    assert (
        "numbers_of_add.py:5:20: error[reference-raised]: reference of 'add': NameError: name 'given'" in broken.stderr
    )
    assert "Traceback" not in broken.stderr
