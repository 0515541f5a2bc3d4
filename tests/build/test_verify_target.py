"""``scons verify`` over real kernels: first runs, skipped reruns, and messages."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests import forked_scons
from tests.simulate.interpreter.kernels import kernel, load, store
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.stages import STAGES

ROOT = Path(__file__).resolve().parents[2]
SCONSTRUCT = """
from tests.build.test_verify_target import TABLE
from tileiras_build import scons_tool

variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[lambda env: scons_tool.generate(env, TABLE)])
Default(env.KernelLibrary("kernels", sorted(Glob("*.tilebc"), key=str)))
"""
DOUBLE = load("x", "px", (64,), "f32") + "\n  %r = {} %x, %x : tile<64xf32>" + store("r", "pr", (64,), "f32")


def miscompiling(text, job):
    """PTX that adds where it must multiply."""
    return ll_to_ptx.lower(text, job).replace("mul.rn.f32", "add.rn.f32").replace("mul.f32", "add.f32")


TABLE = tuple(replace(stage, edge=f"{__name__}:miscompiling") if stage.name == "ptx" else stage for stage in STAGES)


def write_kernel(path: Path, operation: str, entry: str) -> None:
    text = kernel({"px": "f32", "pr": "f32"}, DOUBLE.format(operation)).replace("@k(", f"@{entry}(")
    path.write_bytes(write_module(parse_text(text)))


def scons(folder: Path, *arguments: str):
    return forked_scons.run(["-Q", "sm=80", *arguments], folder, os.environ | {"PYTHONPATH": str(ROOT)}, 240)


def verified(done) -> list[str]:
    """The kernels that a run has verified, which it does side by side."""
    words = [line.partition("] ")[2].split() for line in done.stdout.splitlines() if line.startswith("[")]
    return sorted(name for *stage, _, name in words if stage == ["verify", "(interpreter)"])


@pytest.fixture
def project(tmp_path):
    (tmp_path / "SConstruct").write_text(SCONSTRUCT)
    shutil.copy(ROOT / "examples/prebuilt/vector_add_f32.tilebc", tmp_path)
    write_kernel(tmp_path / "twice.tilebc", "addf", "twice")
    return tmp_path


def test_unchanged_kernels_are_not_verified_again(project):
    first = scons(project, "verify")
    assert first.returncode == 0, first.stderr
    assert verified(first) == ["twice", "vector_add_f32"]
    rows = [line.split() for line in first.stdout.splitlines() if line.endswith("match")]
    assert [(row[0], row[1], row[4], row[-2]) for row in rows] == [
        ("twice", "sm_80", "2", "0%"), ("vector_add_f32", "sm_80", "3", "0%"),
    ]  # fmt: skip
    again = scons(project, "verify")
    assert verified(again) == [] and again.stdout.count(" match\n") == 2
    write_kernel(project / "twice.tilebc", "maxf", "twice")
    assert verified(scons(project, "verify")) == ["twice"]


def test_numbers_that_differ_fail_their_step_and_no_other(project):
    write_kernel(project / "square.tilebc", "mulf", "square")
    done = scons(project, "-k", "verify")
    assert done.returncode != 0
    assert "internal error[verify-mismatch]: square on sm_80: parameter 1: " in done.stderr
    assert done.stdout.count(" match\n") == 2
    assert not (project / "build/sm_80/square.verified").exists()


def test_kernels_without_usable_inputs_are_named(project):
    text = kernel({"px": "i32"}, "  %no = constant <i1: false> : tile<i1>\n  assert %no, \"never\" : tile<i1>")
    (project / "k.tilebc").write_bytes(write_module(parse_text(text)))
    done = scons(project, "verify")
    assert done.returncode == 0, done.stderr
    [row] = [line for line in done.stdout.splitlines() if line.startswith("k ")]
    assert "skipped: " in row and "never" in row


def test_a_plain_build_verifies_nothing(project):
    done = scons(project, "-n")
    assert done.returncode == 0 and verified(done) == [] and "cubin" in done.stdout
