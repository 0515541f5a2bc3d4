"""The project's own SConstruct: it builds every kernel of the examples for every target."""

import os
from pathlib import Path

from tests import forked_scons
from tests.examples.example_library import FILES
from tileiras_build.frontend.export_cutile import list_cases
from tileiras_build.frontend.tilecpp.nvcc_toolchain import toolchain_fault
from tileiras_build.pipeline.stages import STAGES

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str):
    return forked_scons.run(["-C", str(ROOT), *arguments], Path.cwd(), dict(os.environ), 120)


def test_every_kernel_goes_through_every_stage_for_every_target(tmp_path):
    done = run("-n", "-Q", "sm=90,100", f"build_dir={tmp_path / 'build'}")
    assert done.returncode == 0, done.stderr
    steps = {tuple(line.partition("] ")[2].split()) for line in done.stdout.splitlines() if line.startswith("[")}
    kernels = [name for path in FILES for name in list_cases(path)]
    kernels += [path.stem for path in (ROOT / "examples/kernels").glob("*.tilebc")]
    if toolchain_fault() is None:
        kernels += [path.stem for path in (ROOT / "examples/kernels").glob("*.cu")]
    assert kernels
    expected = {(stage.name, sm, kernel) for stage in STAGES[1:] for sm in ("sm_90", "sm_100") for kernel in kernels}
    assert {step for step in steps if step[0] != "tilebc"} == expected
    assert not (tmp_path / "build").exists()


def test_wrong_target_is_one_sentence():
    done = run("-Q", "sm=91")
    assert done.returncode == 1
    assert done.stderr.startswith("scons: *** error[unknown-target]: unknown target sm=91; use one or more of sm_80, ")
    assert len(done.stderr.splitlines()) == 1
