"""Options of single kernels in a library, and libraries in variant directories: real SCons runs over tiny stages."""

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project, chain, cuts
from tileiras_build.build.library_member import Kernel
from tileiras_build.build.per_kernel_options import check_files, check_options, settings_by_kernel
from tileiras_build.core.errors import InvalidInput


def kernels(*names: str) -> list[Kernel]:
    return [Kernel(name, None, None, lambda target, settings: None) for name in names]


def read(**options):
    return tuple(sorted(options.items()))


def test_later_patterns_win_option_by_option():
    rows = {"*": {"opt": 1}, "matmul_*": {"opt": 2, "sm": "90"}, "matmul_f16": {"opt": 3}}
    found = settings_by_kernel("lib", kernels("saxpy", "matmul_f16", "matmul_f32"), rows, read)
    assert found == {
        "saxpy": (("opt", 1),),
        "matmul_f16": (("opt", 3), ("sm", "90")),
        "matmul_f32": (("opt", 2), ("sm", "90")),
    }


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"matmal": {"opt": 2}}, "library lib has no kernel 'matmal'"),
        (
            {"saxpy": {"optimize": 2}},
            "unknown options optimize for kernels saxpy of library lib; use sm, opt, lineinfo, debug",
        ),
        ({"saxpy": {"tile_group": 8}}, "kernels saxpy of library lib; tile_group was renamed to grid_swizzle"),
        ({"saxpy": {"build_dir": "x"}}, "unknown options build_dir for kernels saxpy of library lib"),
    ],
)
def test_options_without_effect_are_refused(rows, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        check_options("lib", rows)
        settings_by_kernel("lib", kernels("saxpy"), rows, read)


@pytest.mark.parametrize("pattern", ["saxpy", "sax*", "scale<float, 256>"])
def test_options_of_nvcc_are_for_its_files(pattern):
    made = [
        *kernels("saxpy"),
        Kernel("ops-scale_float_256", None, None, lambda target, settings: None, ("ops", "scale<float, 256>")),
    ]
    for option in ("nvcc", "nvcc_flags", "instantiate"):
        sentence = f"kernels {pattern} of library lib: option {option} applies to whole .cu files; use the stem"
        with pytest.raises(InvalidInput, match=sentence.replace("*", r"\*")):
            check_files("lib", {pattern: {option: "x"}}, made, ["ops"])
    check_files(
        "lib", {"ops": {"nvcc_flags": "-DN=4"}, "*": {"nvcc_flags": "-DM=4"}, pattern: {"opt": 2}}, made, ["ops"]
    )


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_each_kernel_gets_its_own_targets_and_level(project):
    text = SCONSTRUCT.replace("key=str))", 'key=str), kernels={"a": {"sm": "100", "opt": 1}})')
    project.write("SConstruct", text)
    assert project.steps() == sorted(chain("a", targets=["sm_100"]) + chain("b") + cuts())
    assert "ptx sm_100 O1" in (project.folder / "build/sm_100/a.cubin").read_text()
    assert "ptx sm_90 O3" in (project.folder / "build/sm_90/b.cubin").read_text()
    project.write("SConstruct", text.replace('"opt": 1', '"opt": 2'))
    assert project.steps() == chain("a", targets=["sm_100"])


def test_a_kernel_for_a_debugger_beside_a_small_one(project):
    rows = '{"a": {"debug": 1, "opt": 0}, "b": {"opt": "s"}}'
    project.write("SConstruct", SCONSTRUCT.replace("key=str))", f"key=str), kernels={rows})"))
    assert project.run().returncode == 0
    made = [(project.folder / f"build/sm_90/{kernel}.cubin").read_text() for kernel in "ab"]
    assert "ptx sm_90 O0" in made[0] and "ptx sm_90 Os" in made[1]


def test_wrong_option_of_a_kernel_is_one_sentence(project):
    project.write("SConstruct", SCONSTRUCT.replace("key=str))", 'key=str), kernels={"a": {"sm": "91"}})'))
    done = project.run()
    assert done.returncode == 1
    assert "unknown target sm=91" in done.stderr and len(done.stderr.splitlines()) == 1


def test_variant_directories_build_the_same_sources_twice(project):
    (project.folder / "kernels").mkdir()
    project.write("kernels/c.tilebc", "kernel c\nptx: libdevice\n")
    project.write("kernels/SConscript", 'Import("env")\nDefault(env.KernelLibrary(env["LIBRARY"], ["c.tilebc"]))\n')
    variants = """
for opt in "13":
    own = env.Clone(opt=opt, LIBRARY=f"kernels{opt}")
    SConscript("kernels/SConscript", variant_dir=f"out/O{opt}", duplicate=0, exports={"env": own})
"""
    project.write(
        "SConstruct", SCONSTRUCT.replace("Default(env.KernelLibrary", "env.Value(").partition("env.Value")[0] + variants
    )
    done = project.run(sm="90")
    assert done.returncode == 0, done.stderr
    for opt in "13":
        made = project.folder / f"out/O{opt}/build/sm_90/c.cubin"
        assert f"ptx sm_90 O{opt}" in made.read_text()
    assert project.steps(sm="90") == []
