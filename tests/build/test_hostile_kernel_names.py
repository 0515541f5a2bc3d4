"""Hostile names of files and kernels in a library: built, packed, reported and listed, or refused with one sentence."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.test_build_session import Project
from tests.ir.bytecode.sample_modules import build
from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.packages.fatbin_inputs import read_images
from tileiras_build.launch.packages.package_library import KernelFiles, pack_library
from tileiras_build.manifest.manifest_constants import VERSION
from tileiras_build.pipeline.ptx_to_cubin import read_cubin

SCONSTRUCT = """
from tileiras_build import scons_tool

variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=["tileiras"])
library = env.KernelLibrary("kernels", Glob("*.tilebc"))
Default(library)
env.KernelPackage("mine", library)
"""
# A file's name, and the name of the kernel in it.
KERNELS = {
    "a b": "if",
    'a"b': "$0",
    "a$b": "a$b",
    "$(touch gone)": "add",
    "${SOURCE}": "str0",
    "-o": "_x",
    "a&b<script>": "main",
    "a\\n": "x" * 300,
    "a*[b]": "_ZN3fooEv",
    "größe": "NULL",
    "x" * 200: "y" * 2000,
}


def write(folder: Path, stem: str, kernel: str) -> None:
    (folder / f"{stem}.tilebc").write_bytes(build(lambda *_: None, name=kernel))


def new_project(folder: Path) -> Project:
    made = Project(folder)
    for name in ("a.tilebc", "b.tilebc", "ptxas", "libdevice.bc"):
        (folder / name).unlink()
    made.write("SConstruct", SCONSTRUCT)
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    made = new_project(tmp_path_factory.mktemp("library"))
    for stem, kernel in KERNELS.items():
        write(made.folder, stem, kernel)
    done = made.run("sm=80", "package", "report", "commands", "kernels", sm=None)
    assert done.returncode == 0, done.stderr
    return made.folder


def test_every_file_has_its_artifacts_and_nothing_else_appears(built):
    stages = ("tileaa", "tileas", "ll", "ptx", "cubin", "json")
    assert {path.name for path in (built / "build/sm_80").iterdir()} == {
        f"{stem}.{stage}" for stem in KERNELS for stage in stages
    }
    assert {path.name for path in (built / "build/fatbin").iterdir()} == {f"{stem}.fatbin" for stem in KERNELS}
    left = {path.name for path in built.iterdir() if not path.name.startswith((".scons", "dump"))}
    assert left == {*(f"{stem}.tilebc" for stem in KERNELS), "SConstruct", "build"}


@pytest.mark.parametrize("stem", KERNELS)
def test_the_kernel_is_in_the_cubin_and_the_manifest_once(built, stem):
    assert list(read_cubin((built / f"build/sm_80/{stem}.cubin").read_bytes()).kernels) == [KERNELS[stem]]
    assert list(json.loads((built / f"build/sm_80/{stem}.json").read_text())["kernels"]) == [KERNELS[stem]]


def test_the_package_holds_every_kernel_and_c_can_name_it(built):
    package = built / "build/package/mine"
    assert sorted(json.loads((package / "manifest.json").read_text())["kernels"]) == sorted(KERNELS.values())
    source, header = ((package / name).read_text() for name in ("src/mine.c", "include/mine.h"))
    assert all(f'    {{"{kernel}", ' in source for kernel in KERNELS.values())
    names = {kernel.replace("$", "_") for kernel in KERNELS.values()} - {"_ZN3fooEv"} | {"foo"}
    assert set(re.findall(r"^CUresult mine_launch_(\w+)\(", header, re.MULTILINE)) == names
    assert ast.parse((package / "__init__.py").read_text())


def test_the_report_escapes_names(built):
    page = (built / "build/report/index.html").read_text()
    assert "a&b<script>" not in page and "a\\u0026b\\u003cscript\\u003e" in page


def test_the_listed_commands_make_the_same_artifacts(built):
    rows = json.loads((built / "build/compile_commands.json").read_text())
    assert {Path(row["file"]).name.rpartition(".")[0] for row in rows} == set(KERNELS)
    for row in [row for row in rows if row["file"] in ("-o.tilebc", "$(touch gone).tilebc")]:
        artifact = built / row["output"]
        before = artifact.read_bytes()
        artifact.unlink()
        command = [sys.executable, "-m", "tileiras_build", *row["arguments"][1:]]
        assert subprocess.run(command, cwd=row["directory"], check=False).returncode == 0
        assert artifact.read_bytes() == before


@pytest.mark.parametrize("stem", ["a\nb", "\x1b[31m", "#a", "a\tb", "\udcff"])
def test_a_file_that_no_build_can_name_is_refused(tmp_path, stem):
    made = new_project(tmp_path)
    write(tmp_path, stem, "k")
    done = made.run("sm=80", sm=None)
    assert done.returncode != 0 and "error[kernel-name]: kernel file name" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "build/sm_80").exists()


def test_a_kernel_that_no_artifact_can_name_fails_its_file_only(tmp_path):
    made = new_project(tmp_path)
    write(tmp_path, "good", "k")
    write(tmp_path, "bad", "x() { ret void }\ndefine cc71 void @evil")
    done = made.run("-k", "sm=80", sm=None)
    assert done.returncode != 0 and "bad.tilebc: byte" in done.stderr and "error[kernel-name]" in done.stderr
    assert {path.name for path in (tmp_path / "build/sm_80").iterdir() if path.suffix == ".cubin"} == {"good.cubin"}
    assert not list((tmp_path / "build/sm_80").glob("bad.*"))


def launch(entry):
    return {
        "version": VERSION,
        "target": "sm_80",
        "kernels": {entry: {"params": [], "threads_per_cta": 32, "tensor_maps": []}},
    }


@pytest.mark.parametrize("entry", ["a b", 'x"; int evil() {', "../x", "WARP_SZ", ""])
def test_a_forged_manifest_is_refused_before_it_becomes_c(tmp_path, entry):
    (tmp_path / "k.cubin").write_bytes(b"cubin")
    (tmp_path / "k.json").write_text(json.dumps(launch(entry)))
    with pytest.raises(InvalidInput, match=r"k\.json: error\[kernel-name\]"):
        read_images([("cubin", str(tmp_path / "k.cubin"))])


def test_two_kernels_that_c_cannot_tell_apart(tmp_path):
    files = []
    for stem, entry in (("one", "a$b"), ("two", "a_b")):
        (tmp_path / f"{stem}.cubin").write_bytes(stem.encode())
        (tmp_path / f"{stem}.fatbin").write_bytes(stem.encode())
        manifest = launch(entry)
        manifest["kernels"][entry]["shared_memory"] = {"static": 0, "dynamic": 0}
        (tmp_path / f"{stem}.json").write_text(json.dumps(manifest))
        files.append(KernelFiles(stem, str(tmp_path / f"{stem}.fatbin"), (("cubin", str(tmp_path / f"{stem}.cubin")),)))
    with pytest.raises(
        InvalidInput, match=r"mine\.h: error\[kernel-name\]: kernels a\$b and a_b have the same C name a_b"
    ):
        pack_library("mine", files)
