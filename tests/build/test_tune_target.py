"""``scons tune``: choices beside the kernel file, and builds of what was chosen."""

import json
import os

import pytest

from tests import forked_scons
from tests.tuning.tuned_kernels import source
from tileiras_build.frontend.tuning_choices import Choice, write_choices

SCONSTRUCT = """
from tileiras_build import scons_tool

env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])
Default(env.KernelLibrary("kernels", ["double.py"]))
"""


def scons(folder, *arguments: str) -> str:
    done = forked_scons.run(["-Q", *arguments], folder, dict(os.environ), 240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tile(folder, sm: str) -> int:
    manifest = json.loads((folder / f"build/{sm}/double.json").read_text())
    return manifest["kernels"]["double"]["tuning"]["point"]["TILE"]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "SConstruct").write_text(SCONSTRUCT)
    (tmp_path / "double.py").write_text(source(1024))
    return tmp_path


def test_choices_are_built_for_their_target_alone(project):
    text = scons(project, "sm=80,90")
    assert "not tuned, built with the arguments of the case: double (sm_80), double (sm_90); run scons tune" in text
    tuned = scons(project, "sm=90", "tune")
    assert "TILE=1024" in tuned and "wrote double.tune.json" in tuned and "plain" not in tuned.split("kernel ")[1]
    text = scons(project, "sm=80,90")
    assert (tile(project, "sm_80"), tile(project, "sm_90")) == (64, 1024)
    # The bytecode of sm_80 is another file, which is unchanged.
    assert "sm_80   double" not in text and "built with the arguments of the case: double (sm_80)" not in text
    assert "up to date" in scons(project, "sm=80,90")
    rows = [line.split()[:4] for line in scons(project, "sm=90", "verify").splitlines()]
    assert ["double", "sm_90", "reference", "1x1x1"] in rows


def test_a_changed_space_is_a_remark_and_a_lost_point_an_error(project):
    write_choices(project / "double.py", {"double": {"sm_90": Choice({"TILE": 1024}, "model", space="another")}})
    assert "remark[tune-stale]: the space has changed since the choice for double (sm_90)" in scons(project, "sm=90")
    (project / "double.py").write_text(source(512))
    done = forked_scons.run(["-Q", "sm=90"], project, dict(os.environ), 240)
    assert done.returncode != 0
    assert "error[tune-stale]: double: TILE=1024 for sm_90 is no point of its space" in done.stdout + done.stderr
