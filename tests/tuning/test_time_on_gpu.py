"""Points are timed on a GPU: the strict driver's, whose events measure the emulator."""

import json
import sys

import pytest

from tests.strict_driver.server import StrictDriver, build
from tests.tuning.tuned_kernels import source
from tileiras_build.driver import compile
from tileiras_build.frontend.export_cutile import export_point, opened_cases
from tileiras_build.frontend.tuning_choices import read_choices
from tileiras_build.frontend.tuning_space import at_point, points

pytest.importorskip("cuda.bindings", reason="cuda-python is not installed: pip install 'tileiras-build[runtime]'")


def run(gpu: StrictDriver, *words: object):
    return gpu.run([sys.executable, "-m", "tileiras_build", "tune", *words])


SCONSTRUCT = """
from tileiras_build import scons_tool

env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])
env.KernelLibrary("kernels", ["double.py", "twice.py"])
"""


def add_points(gpu: StrictDriver, path):
    """Give the driver the kernels of all points."""
    with opened_cases(path) as cases:
        for point in points(cases[0]):
            made = compile(export_point(str(path), at_point(cases[0], point)), "sm_90", name=str(path))
            gpu.add(made.cubin, made.ptx)


@pytest.mark.parametrize("inputs", [False, True])
def test_each_point_is_launched(tmp_path, inputs):
    """With the lengths of problems, and with the arrays of inputs, which the driver requires to be within their memory."""
    path, folder = tmp_path / "double.py", tmp_path / "driver"
    folder.mkdir()
    text = source(64, 256)
    path.write_text(
        text.replace(", problems=[", ", where=lambda p: True)#") if inputs else text.replace("1 << 22", "4096")
    )
    build(folder)
    with StrictDriver(folder, "sm_90") as gpu:
        add_points(gpu, path)
        done = run(gpu, path, "--sm", "90", "--gpu", "--json")
        assert (done.returncode, gpu.refusals()) == (0, []), done.stderr
        [found] = json.loads(done.stdout)
        assert found["by"] == "gpu" and all(row["mean"] > 0 for row in found["points"])
        assert {row["point"]["TILE"] for row in found["points"]} == {64, 256}
        assert len(gpu.launches) == 20
        assert read_choices(path)["double"]["sm_90"].by == "gpu"
        other = run(gpu, path, "--sm", "100", "--gpu")
        assert other.returncode == 1 and "error[tune-gpu]: this machine's GPU is sm_90, not sm_100" in other.stderr


def test_scons_times_one_kernel_at_a_time(tmp_path):
    project, folder = tmp_path / "project", tmp_path / "driver"
    for made in (project, folder):
        made.mkdir()
    (project / "SConstruct").write_text(SCONSTRUCT)
    small = source(64, 256).replace("1 << 22", "4096").split("    Case(\"plain\"")[0] + "]\n"
    (project / "double.py").write_text(small)
    (project / "twice.py").write_text(small.replace("double", "twice"))
    build(folder)
    # What a step opens is hashed: the driver's memory, too.
    with StrictDriver(folder, "sm_90", size=1 << 24) as gpu:
        for name in ("double", "twice"):
            add_points(gpu, project / f"{name}.py")
        done = gpu.run(
            [sys.executable, "-m", "SCons", "-Q", "-j2", "-C", project, "sm=90", "server=no", "tune", "tune_by=gpu"]
        )
        assert (done.returncode, gpu.refusals()) == (0, []), done.stdout + done.stderr
        rows = [{*gpu.launches[first : first + 10]} for first in range(0, 40, 10)]
        assert len(gpu.launches) == 40 and all(len(row) == 1 for row in rows), gpu.launches
    assert "times are measured on this machine's GPU" in done.stdout
    for name in ("double", "twice"):
        assert read_choices(project / f"{name}.py")[name]["sm_90"].by == "gpu"
