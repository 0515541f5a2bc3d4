"""Packages as steps of the build: contents, rebuilds, and errors."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.build.test_build_session import ROOT, Project, steps_of
from tileiras_build.launch.packages.fatbin import find_fatbinary

SCONSTRUCT = """
from tileiras_build import scons_tool

variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=["tileiras"])
library = env.KernelLibrary("kernels", Glob("*.tilebc"))
Default(library)
env.KernelPackage("mine", library)
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    for name in ("a.tilebc", "b.tilebc", "ptxas", "libdevice.bc"):
        (tmp_path / name).unlink()
    shutil.copy(ROOT / "examples/prebuilt/vector_add_f32.tilebc", tmp_path)
    made.write("SConstruct", SCONSTRUCT)
    return made


def run(project, *arguments):
    done = project.run(*arguments, sm=None)
    assert done.returncode == 0, done.stderr
    return steps_of(done)


def images(project):
    manifest = json.loads((project.folder / "build/package/mine/manifest.json").read_text())
    return [(image["target"], image["kind"]) for image in manifest["kernels"]["vector_add_f32"]]


def test_plain_build_makes_no_package(project):
    run(project, "sm=80")
    assert not (project.folder / "build/package").exists() and not (project.folder / "build/fatbin").exists()


def test_package_is_rebuilt_when_a_gpu_or_ptx_joins(project):
    run(project, "sm=90", "package")
    assert images(project) == [("sm_90a", "cubin")]
    run(project, "sm=80,90", "package")
    assert images(project) == [("sm_80", "cubin"), ("sm_90a", "cubin"), ("sm_80", "ptx")]
    assert run(project, "sm=80,90", "package") == []
    assert run(project, "sm=80,90", "package", "ptx=none") == ["fatbin vector_add_f32", "package mine (1 kernel files)"]
    assert images(project) == [("sm_80", "cubin"), ("sm_90a", "cubin")]


SEVERAL = """
from tileiras_build import scons_tool

variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=["tileiras"])
Export("env")
first = SConscript("part/SConscript", variant_dir="build/variant", duplicate=0)
second = env.KernelLibrary("second", ["vector_add_f32.tilebc"])
env.KernelPackage("mine", [first, second])
"""


def test_libraries_of_several_folders_are_one_package_in_the_script_s_build_folder(project):
    (project.folder / "part").mkdir()
    other = (project.folder / "vector_add_f32.tilebc").read_bytes().replace(b"vector_add", b"vector_sub")
    (project.folder / "part/other.tilebc").write_bytes(other)
    library = 'Import("env")\nlibrary = env.KernelLibrary("first", ["other.tilebc"])\nReturn("library")\n'
    project.write("part/SConscript", library)
    project.write("SConstruct", SEVERAL)
    run(project, "sm=80", "package")
    manifest = json.loads((project.folder / "build/package/mine/manifest.json").read_text())
    assert sorted(manifest["kernels"]) == ["vector_add_f32", "vector_sub_f32"]
    assert run(project, "sm=80", "package") == []


def test_kernels_of_one_name_in_two_folders_are_called_by_them(project):
    (project.folder / "part").mkdir()
    shutil.copy(project.folder / "vector_add_f32.tilebc", project.folder / "part")
    library = 'Import("env")\nlibrary = env.KernelLibrary("second", ["vector_add_f32.tilebc"])\nReturn("library")\n'
    project.write("part/SConscript", library)
    project.write("SConstruct", SEVERAL)
    run(project, "sm=80", "package")
    kernels = json.loads((project.folder / "build/package/mine/manifest.json").read_text())["kernels"]
    assert sorted(kernels) == ["./vector_add_f32", "part/vector_add_f32"]
    header = (project.folder / "build/package/mine/include/mine.h").read_text()
    assert "mine_launch_vector_add_f32(" in header and "mine_launch_part_vector_add_f32(" in header


def test_kernels_of_one_name_and_folder_are_never_merged(project):
    project.write("SConstruct", ALIKE.replace("a.tilebc", "vector_add_f32.tilebc"))
    done = project.run("sm=80", "package", sm=None)
    sentence = "kernel vector_add_f32 is defined in both build/fatbin/vector_add_f32.fatbin and other/fatbin/vector_add_f32.fatbin; rename one"
    assert done.returncode == 2 and f"error[package-entry]: {sentence}" in done.stderr
    assert not (project.folder / "build/package/both/manifest.json").exists()


ALIKE = """
from tileiras_build import scons_tool

env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=["tileiras"])
first = env.KernelLibrary("kernels", ["vector_add_f32.tilebc"])
other = env.Clone(build_dir="other").KernelLibrary("kernels", ["a.tilebc"])
env.KernelPackage("one", first)
env.KernelPackage("two", [other])
env.KernelPackage("both", [[first], other])
"""


def test_libraries_of_one_name_are_packed_apart(project):
    other = (project.folder / "vector_add_f32.tilebc").read_bytes().replace(b"vector_add", b"vector_sub")
    (project.folder / "a.tilebc").write_bytes(other)
    project.write("SConstruct", ALIKE)
    run(project, "sm=80", "package")
    manifests = (project.folder / f"build/package/{name}/manifest.json" for name in ("one", "two", "both"))
    packed = [sorted(json.loads(path.read_text())["kernels"]) for path in manifests]
    assert packed == [["vector_add_f32"], ["vector_sub_f32"], ["vector_add_f32", "vector_sub_f32"]]


@pytest.mark.parametrize("other", ['"mine", library', '"mine", second'])
def test_a_package_is_made_once(project, other):
    second = f'second = env.KernelLibrary("second", ["a.tilebc"])\nenv.KernelPackage({other})\n'
    (project.folder / "a.tilebc").write_bytes((project.folder / "vector_add_f32.tilebc").read_bytes())
    project.write("SConstruct", SCONSTRUCT.replace('Glob("*.tilebc")', '["vector_add_f32.tilebc"]') + second)
    done = project.run("sm=80", "package", sm=None)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "error[package-twice]: package mine is declared twice; pass" in done.stderr


def test_libraries_that_are_arguments_of_their_own_are_refused(project):
    project.write("SConstruct", SCONSTRUCT.replace('"mine", library', '"mine", library, library'))
    done = project.run("sm=80", "package", sm=None)
    assert done.returncode and 'error[package-library]: KernelPackage("mine", …)' in done.stderr


def test_ptx_of_another_gpu_is_lowered_for_the_package(project):
    built = run(project, "sm=90", "package", "ptx=80")
    assert [step for step in built if "sm_80" in step] == [
        f"{stage} sm_80 vector_add_f32" for stage in ("ll", "ptx", "tileaa", "tileas")
    ]
    assert images(project) == [("sm_90a", "cubin"), ("sm_80", "ptx")]


def test_cuobjdump_lists_the_kernel_s_own_fatbin(project):
    run(project, "sm=80", "package")
    program = find_fatbinary().with_name("cuobjdump")
    command = [str(program), "--list-elf", str(project.folder / "build/fatbin/vector_add_f32.fatbin")]
    assert "vector_add_f32.sm_80.cubin" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("change", "option", "sentence"),
    [
        (
            '"mine"',
            "ptx=90",
            "sm_90a PTX is not forward-compatible (runs on sm_90 only); use ptx=80, 86, 87, 88, 89, auto or none",
        ),
        ('"mine"', "ptx=91", "unknown target sm=91"),
        ('"not-mine"', "sm=80", "invalid package name 'not-mine'"),
        (
            '"stdint"',
            "sm=80",
            "invalid package name 'stdint' (a header of C or CUDA); use e.g. stdint_kernels",
        ),
    ],
)
def test_wrong_package_is_one_sentence(project, change, option, sentence):
    project.write("SConstruct", SCONSTRUCT.replace('"mine"', change))
    done = project.run(option, "package", sm=None)
    assert done.returncode == 1 and sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_package_without_kernels_is_one_sentence(project):
    project.write("SConstruct", SCONSTRUCT.replace('"mine", library', '"mine", []'))
    done = project.run(sm=None)
    assert "package mine has no kernels; pass the result of env.KernelLibrary" in done.stderr


def test_tool_is_found_by_its_name_once_the_package_is_imported():
    script = "from tileiras_build import scons_tool; import SCons.Tool; print(SCons.Tool.Tool('tileiras').name)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "tileiras\n", done.stderr


def test_with_k_the_package_is_of_the_kernels_that_are_there(project):
    shutil.copy(ROOT / "examples/prebuilt/matmul_f16_nt.tilebc", project.folder)
    (project.folder / "broken.tilebc").write_bytes(b"\x7fTileIR\0 and no more")
    done = project.run("-k", "package", "sm=90", sm=None)
    assert done.returncode != 0
    assert done.stdout.rstrip().endswith("package mine is missing broken (sm_90)")
    kernels = json.loads((project.folder / "build/package/mine/manifest.json").read_text())["kernels"]
    assert kernels.keys() == {"vector_add_f32", "matmul_f16_nt"}
    (project.folder / "broken.tilebc").unlink()
    assert "package mine (2 kernel files)" in run(project, "sm=90", "package")


def test_with_k_what_is_there_is_installed(project):
    (project.folder / "broken.tilebc").write_bytes(b"\x7fTileIR\0 and no more")
    done = project.run("-k", "install", "sm=90", "prefix=there", sm=None)
    assert done.returncode != 0
    assert done.stdout.rstrip().endswith("package mine is missing broken (sm_90) (installed without them in there)")
    packed, installed = project.folder / "build/package/mine", project.folder / "there/mine"
    names = sorted(path.relative_to(packed) for path in packed.rglob("*") if path.is_file())
    assert len(names) == 9 and all((installed / name).read_bytes() == (packed / name).read_bytes() for name in names)
    (project.folder / "broken.tilebc").unlink()
    run(project, "sm=80,90", "install", "prefix=there")
    assert [(installed / name).read_bytes() for name in names] == [(packed / name).read_bytes() for name in names]
    assert len(images(project)) == 3


def test_without_k_nothing_is_packed(project):
    (project.folder / "broken.tilebc").write_bytes(b"\x7fTileIR\0 and no more")
    assert project.run("package", "sm=90", sm=None).returncode != 0
    assert not (project.folder / "build/package/mine/manifest.json").exists()
