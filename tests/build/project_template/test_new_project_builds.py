"""A new project builds, verifies, packages and tests itself, by the installed package."""

import sys

import pytest

from tests.installed_package import installed_package, run
from tileiras_build.build.project_template.write_project import CUTILE, KINDS, TILECPP
from tileiras_build.frontend.tilecpp.nvcc_toolchain import toolchain_fault

KERNELS = {CUTILE: ["softmax_f16", "softmax_f32"], TILECPP: ["scale<__half, 512>", "scale<float, 256>"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_does_all_that_its_readme_says(kind, tmp_path):
    if kind == CUTILE:
        pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")
    elif missing := toolchain_fault():
        pytest.skip(missing)
    installed, folder = installed_package(), tmp_path / "fast_kernels"
    run([sys.executable, "-m", "tileiras_build", "init", folder.name, f"--{kind}"], tmp_path, installed)
    said = run([sys.executable, "-m", "SCons", "-Q", "-j2", "sm=90", "verify", "package"], folder, installed)
    rows = [line.split(" sm_90 ") for line in said.splitlines() if line.endswith("match")]
    compared = sorted(row[0].strip() for row in rows if "reference" in row[1])
    assert compared == KERNELS[kind]
    assert (folder / "build/package/fast_kernels/manifest.json").exists()
    tested = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], folder, installed)
    assert " passed" in tested and "skipped" not in tested
