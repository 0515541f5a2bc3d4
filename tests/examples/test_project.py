"""The example project, built outside of the checkout by an installed wheel, and what comes out of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed_package import installed_package, run

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ("add_f32", "scale_f16", "scale_f32")


def scons(folder: Path, installed: Path, *arguments: str) -> str:
    return run([sys.executable, "-m", "SCons", "-Q", "-j2", *arguments], folder, installed)


@pytest.fixture(scope="module")
def installed():
    """A folder that a wheel of this checkout is installed into."""
    pytest.importorskip("setuptools", reason="no setuptools to build a wheel with")
    return installed_package()


@pytest.fixture(scope="module")
def project(installed, tmp_path_factory):
    """A copy of the example project, built."""
    pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")
    folder = tmp_path_factory.mktemp("user") / "project"
    shutil.copytree(ROOT / "examples/project", folder)
    scons(folder, installed, "sm=80,90", ".", "package", "install", "commands", "prefix=src")
    return folder


def test_installed_package_is_what_runs(installed):
    where = run([sys.executable, "-c", "import tileiras_build; print(tileiras_build.__file__)"], installed, installed)
    assert Path(where.strip()) == installed / "tileiras_build/__init__.py"


def test_every_kernel_is_built_for_both_gpus(project):
    for folder in ("build", "build/profiling/build"):
        made = {path.relative_to(project / folder) for path in (project / folder).glob("sm_*/*.cubin")}
        assert made == {Path(sm, f"{kernel}.cubin") for sm in ("sm_80", "sm_90") for kernel in KERNELS}


def test_second_build_does_nothing(project, installed):
    said = scons(project, installed, "sm=80,90", "kernels", "package", "install", "prefix=src")
    assert not [line for line in said.splitlines() if line.startswith("[") or "Install" in line]


def test_installed_package_is_a_library(project, installed):
    """It imports by its name, and finds the kernels, the GPUs and a cubin's bytes."""
    script = "from my_kernels import library as l; i, = [i for i in l['scale_f32'].images if i.target == 'sm_90a']; "
    script += "print(sorted(l), l.targets); import sys; sys.stdout.flush(); sys.stdout.buffer.write(l.image_bytes(i))"
    environment = os.environ | {"PYTHONPATH": f"{installed}{os.pathsep}{project / 'src'}"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, timeout=60, check=True)
    line, cubin = done.stdout.split(b"\n", 1)
    assert line.decode() == f"{sorted(KERNELS)} ('sm_80', 'sm_90')"
    assert cubin == (project / "build/sm_90/scale_f32.cubin").read_bytes()


def test_installed_package_goes_into_a_wheel(project, installed):
    """The folder that `scons install` makes needs a pyproject.toml of a few lines around it."""
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "my-kernels"\nversion = "1"\n'
        '[tool.setuptools]\npackages = ["my_kernels"]\npackage-dir = {"" = "src"}\n'
        '[tool.setuptools.package-data]\nmy_kernels = ["*.json", "*.fatbin", "include/*", "src/*"]\n'
    )
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "."], project, installed)
    (wheel,) = (project / "dist").glob("*.whl")
    listed = run([sys.executable, "-m", "zipfile", "-l", wheel], project, installed)
    for name in ("__init__.py", "manifest.json", "my_kernels.fatbin", "include/my_kernels.h", "src/my_kernels.c"):
        assert f"my_kernels/{name} " in listed


def test_exported_commands_make_the_same_artifacts(project, installed, tmp_path):
    """The commands of the list for one GPU, run in order in another folder, give the build's bytes."""
    rows = json.loads((project / "build/compile_commands.json").read_text())
    rows = [row for row in rows if "scale_f16" in row["output"]]
    outputs = ["tilebc/scale_f16.tilebc"] + [
        f"{sm}/scale_f16.{stage}" for sm in ("sm_80", "sm_90") for stage in ("tileaa", "tileas", "ll", "ptx", "cubin")
    ]
    assert [row["output"] for row in rows] == [f"build/{output}" for output in outputs]
    assert all(row["directory"] == str(project) and row["arguments"][0] == "tileiras-build" for row in rows)
    shutil.copytree(project / "kernels", tmp_path / "kernels")
    for folder in ("tilebc", "sm_90"):
        (tmp_path / "build" / folder).mkdir(parents=True)
    for row, output in zip(rows, outputs, strict=True):
        if "sm_80" in output:
            continue
        run([sys.executable, "-m", "tileiras_build", *row["arguments"][1:]], tmp_path, installed)
        assert (tmp_path / "build" / output).read_bytes() == (project / "build" / output).read_bytes(), output
