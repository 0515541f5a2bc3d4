"""Options of single kernels in a library, and libraries in variant directories: real SCons runs over tiny stages."""

import pytest

from tests.build.test_build_session import SCONSTRUCT, Project, chain, cuts, steps_of
from tests.examples.example_library import bytecode_of
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


def test_a_schedule_file_is_a_dependency_of_its_kernels(project):
    rows = '{"a*": {"schedule": "fast.json"}}'
    project.write("SConstruct", SCONSTRUCT.replace("key=str))", f"key=str), kernels={rows})"))
    project.write("fast.json", '{"schedule": {"num_stages": 3}}')
    assert project.run(sm="90").returncode == 0
    assert project.steps(sm="90") == []
    project.write("fast.json", '{"schedule": {"num_stages": 4}}')
    again = project.run("explain=1", sm="90")
    assert next(line.partition(":")[0] for line in steps_of(again)).startswith("tileas sm_90 a")
    assert not any(" b" in line.partition(":")[0] for line in steps_of(again))
    assert "fast.json" in again.stdout or "schedule" in again.stdout
    project.write("fast.json", '{"schedule": {"num_stage": 4}}')
    wrong = project.run(sm="90")
    assert wrong.returncode != 0
    assert "fast.json:1:15: error[schedule-file]: unknown knob 'num_stage'; did you mean num_stages?" in wrong.stderr
    project.write("fast.json", '{"schedule": {"num_stages": 4}}')
    assert project.steps(sm="90") == []


def test_a_missing_schedule_file_is_one_sentence(project):
    rows = '{"a": {"schedule": "none.json"}}'
    project.write("SConstruct", SCONSTRUCT.replace("key=str))", f"key=str), kernels={rows})"))
    done = project.run(sm="90")
    assert done.returncode == 1 and "none.json" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_refused_schedule_fails_its_kernel_and_names_the_line(tmp_path):
    real = SCONSTRUCT.replace("fake_stages.use_own_preload()\n", "").replace(", fake_stages.TABLE", "")
    rows = '{"matmul_f16_nt": {"schedule": "mine.json"}}'
    project = Project(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.tilebc").unlink()
    (tmp_path / "matmul_f16_nt.tilebc").write_bytes(bytecode_of("matmul_f16_nt"))
    project.write("SConstruct", real.replace("key=str))", f"key=str), kernels={rows})"))
    project.write("mine.json", '{"schedule": {\n  "num_stages": 99\n}}')
    done = project.run("sm=90", "build/sm_90/matmul_f16_nt.tileas", sm=None)
    assert done.returncode != 0
    assert "mine.json:2:3: error[schedule-refused]: num_stages = 99 is refused: shared memory: 99 stages" in done.stderr
    project.write("mine.json", '{"schedule": {\n  "num_stages": 3\n}}')
    assert project.run("sm=90", "build/sm_90/matmul_f16_nt.tileas", sm=None).returncode == 0
    assert "num_stages = 3 : i32" in (tmp_path / "build/sm_90/matmul_f16_nt.tileas").read_text()


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
