"""CUDA Tile C++ in a build, with a fake nvcc: built and skipped files, and messages."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.build.input_edits import Way, in_place, write
from tests.build.test_build_session import Project, steps_of
from tests.compiled_once import once, shared_folder
from tests.frontend.tilecpp.toolkit import make_toolkit

SCRIPT = """
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[scons_tool.generate])
env.KernelLibrary("kernels", sorted(Glob("*/*.cu"), key=str), kernels={kernels!r})
"""


def nvcc_of(name: str) -> dict[str, object]:
    return {"nvcc": f"{name}/toolkit/bin/nvcc", "nvcc_flags": f"-I{name}/one -I{name}/two"}


# A folder with a kernel file, its headers and a toolkit for each way in which what it depends on can change; how a compilation
# finds out what it depends on: tests/frontend/tilecpp/test_run_nvcc.py.
HEADERS = {"one/x": "", "two/a.h": "1\n"}
WAYS: dict[str, Way] = {
    "the file": Way("// 1", {}, in_place("the_file.cu", "// 2\n")),
    "a header, in place": Way("#include <a.h>", HEADERS, in_place("two/a.h", "2\n")),
    "a header earlier in the path": Way("#include <a.h>", HEADERS, write("one/a.h", "2\n")),
    "cicc": Way("", change=in_place("toolkit/nvvm/bin/cicc", "cicc 2")),
    "a variable": Way("#include <v.h>", {"one/x": "", "v1/v.h": "1\n", "v2/v.h": "2\n"}),
    "nothing": Way("#include <a.h>", HEADERS),
}


def stem(name: str) -> str:
    return name.replace(" ", "_").replace(",", "").replace("'", "")


class Library(Project):
    """A project with a folder for each of ``ways``."""

    def __init__(self, folder: Path, ways: dict[str, Way]):
        self.folder, self.ways = folder, ways
        kernels = {stem(name): nvcc_of(stem(name)) for name in ways}
        self.write("SConstruct", SCRIPT.format(kernels=kernels))
        for name, way in ways.items():
            here = folder / stem(name)
            make_toolkit(here / "toolkit")
            for path, text in ({f"{stem(name)}.cu": way.program + "\n"} | way.files).items():
                (here / path).parent.mkdir(parents=True, exist_ok=True)
                (here / path).write_text(text)

    def bytecode(self, *arguments: str, version: int = 1) -> tuple[dict[str, str], list[str]]:
        """The digest of each file's bytecode, and the steps that ran."""
        path = self.folder / f"a_variable/v{version}"
        targets = [f"build/sm_90/{stem(name)}.tilebc" for name in self.ways]
        done = self.run("sm=90", "explain=1", *arguments, *targets, sm=None, CPATH=str(path))
        assert done.returncode == 0, done.stdout + done.stderr
        files = ((name, self.folder / f"build/sm_90/{stem(name)}.tilebc") for name in self.ways)
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files}, steps_of(done)

    def clean(self) -> None:
        shutil.rmtree(self.folder / "build")
        (self.folder / ".sconsign.dblite").unlink()


@pytest.fixture(scope="module")
def builds():
    """What builds before and after all changes make: incremental, from the cache, clean."""
    return once(("ways to change C++",), _builds)


def _builds() -> dict[str, tuple[dict[str, str], list[str]]]:
    project, cache = Library(shared_folder(), WAYS), f"cache={shared_folder()}"
    made = {"before": project.bytecode(cache), "unchanged": project.bytecode(cache)}
    for name, way in WAYS.items():
        way.change(project.folder / stem(name))
    made["incremental"] = project.bytecode(cache, version=2)
    project.clean()
    made["cached"] = project.bytecode(cache, version=2)
    project.clean()
    made["clean"] = project.bytecode(version=2)
    return made


CHANGING = [name for name in WAYS if name != "nothing"]


@pytest.mark.parametrize("name", CHANGING)
def test_three_builds_agree_after_a_change_of(builds, name):
    after = [builds[how][0][name] for how in ("incremental", "cached", "clean")]
    assert len(set(after)) == 1
    assert builds["before"][0][name] != after[0], "the change changes nothing"


def test_what_nothing_changes_is_not_compiled(builds):
    assert builds["unchanged"][1] == []
    assert builds["before"][0]["nothing"] == builds["clean"][0]["nothing"]


def test_it_says_what_changed(builds):
    said = {step.split()[2].removesuffix(":"): step.partition(": ")[2] for step in builds["incremental"][1]}
    assert said["the_file.cu"] == "the_file/the_file.cu changed"
    assert said["a_header_in_place.cu"] == "a_header_in_place/two/a.h changed"
    where = "files searched for in a_header_earlier_in_the_path/one changed"
    assert said["a_header_earlier_in_the_path.cu"] == where
    # A variable counts for all files, also where another reason is found first.
    assert said["nothing.cu"] == "the variable CPATH changed"


@pytest.fixture
def small(tmp_path):
    return Library(tmp_path, {"k": Way("#include <a.h>", HEADERS)})


def change_options(project: Library, **options: object) -> None:
    project.write("SConstruct", SCRIPT.format(kernels={"k": nvcc_of("k") | options}))


def test_flags_and_instantiations_compile_again(small):
    first, _ = small.bytecode()
    change_options(small, nvcc_flags="-Ik/one -Ik/two -DN=2")
    flagged, steps = small.bytecode()
    assert steps == ["tilebc sm_90 k.cu: flags changed from ['-Ik/one', '-Ik/two'] to ['-Ik/one', '-Ik/two', '-DN=2']"]
    change_options(small, instantiate=["scale<float, 8>"])
    instantiated, steps = small.bytecode()
    assert len({first["k"], flagged["k"], instantiated["k"]}) == 3


def test_a_link_that_leads_to_another_toolkit_compiles_again(small):
    make_toolkit(small.folder / "other")
    (small.folder / "other/nvvm/bin/cicc").write_text("cicc 2")
    (small.folder / "cuda").symlink_to("k/toolkit")
    change_options(small, nvcc="cuda/bin/nvcc")
    first, _ = small.bytecode()
    (small.folder / "cuda").unlink()
    (small.folder / "cuda").symlink_to("other")
    second, steps = small.bytecode()
    assert first != second and "nvcc changed from #/k/toolkit/bin/nvcc to #/other/bin/nvcc" in steps[0]


def test_a_file_beside_compiles_nothing(small):
    small.bytecode()
    for name in ("k/one/other.h", "k/other.h", "other.cuh"):
        small.write(name, "unrelated")
    assert small.bytecode()[1] == []


def test_a_run_with_nothing_to_do_makes_no_graph(small):
    small.bytecode()
    small.bytecode()
    assert "Reading SConscript files" in small.run("sm=90", "-n", sm=None).stdout
    time.sleep(0.1)
    targets = ["sm=90", "explain=1", "build/sm_90/k.tilebc"]
    path = {"CPATH": str(small.folder / "a_variable/v1")}
    assert "done reading" not in small.run(*targets, sm=None, **path).stdout
    small.write("k/one/a.h", "earlier")
    assert steps_of(small.run(*targets, sm=None, **path)) != []


def test_all_kernels_of_a_file_are_built_and_packed_together(small):
    (small.folder / "SConstruct").write_text(
        SCRIPT.format(kernels={"k": nvcc_of("k")}).replace("env.Kernel", "library = env.Kernel")
        + 'env.KernelPackage("pack", library, ptx="80")\n'
    )
    done = small.run("sm=90", "kernels", "package", sm=None)
    assert done.returncode == 0, done.stdout + done.stderr
    # PTX for other GPUs comes from bytecode of their own.
    assert "tilebc sm_80 k.cu" in steps_of(done)
    kernels = json.loads((small.folder / "build/package/pack/manifest.json").read_text())["kernels"]
    entries = ("_Z5scaleIdLi64EEvPKT_PS0_S0_", "_Z5scaleIfLi256EEvPKT_PS0_S0_", "negate")
    targets = {entry: [image["target"] for image in images] for entry, images in kernels.items()}
    assert targets == {entry: ["sm_90a", "sm_80"] for entry in entries}


def test_an_error_is_nvcc_s_own_and_others_are_built(tmp_path):
    project = Library(tmp_path, {"bad": Way("\n#error-at-3 identifier x is undefined"), "good": Way("")})
    done = project.run("sm=90", "-k", "build/sm_90/bad.tilebc", "build/sm_90/good.tilebc", sm=None)
    said = "bad/bad.cu:2:3: error[nvcc]: identifier x is undefined; correct the file"
    assert done.returncode == 2 and said in done.stderr
    assert (project.folder / "build/sm_90/good.tilebc").exists()
    assert not (project.folder / "build/sm_90/bad.tilebc").exists()


def test_warnings_are_shown(tmp_path):
    project = Library(tmp_path, {"k": Way("#warn-at-3 never used")})
    assert "k/k.cu:1:3: warning[nvcc]: never used" in project.run("sm=90", "build/sm_90/k.tilebc", sm=None).stdout


def test_warnings_come_with_what_the_cache_gives(tmp_path):
    """As a compiler's behind a cache do; where nothing is compiled nothing is printed."""
    (tmp_path / "p").mkdir()
    project, said = (
        Library(tmp_path / "p", {"k": Way("#warn-at-3 never used")}),
        "k/k.cu:1:3: warning[nvcc]: never used",
    )
    build = lambda: project.run("sm=90", f"cache={tmp_path / 'cache'}", "build/sm_90/k.tilebc", sm=None).stdout
    assert said in build()
    assert said not in build()
    project.clean()
    again = build()
    assert said in again and "1 of 1 steps found" in again


def test_two_kernels_of_one_name_are_refused(small):
    small.write("SConstruct", SCRIPT.format(kernels={}).replace('Glob("*/*.cu")', 'Glob("*/*.cu") + ["k.tilebc"]'))
    done = small.run("sm=90", sm=None)
    assert "error[library-name]: kernel k of library kernels is defined in both k" in done.stderr


def test_without_nvcc_the_step_fails_with_what_to_do(small):
    small.write("SConstruct", SCRIPT.format(kernels={"k": {"nvcc": "nowhere/nvcc"}}))
    done = small.run("sm=90", "build/sm_90/k.tilebc", sm=None)
    assert "nowhere/nvcc is not an executable file; pip install 'tileiras-build[tilecpp]'" in done.stderr


USABLE = """
from tileiras_build import scons_tool
variables = scons_tool.variables(ARGUMENTS)
env = Environment(variables=variables, tools=[scons_tool.generate])
print("usable:", [str(node) for node in env.TileCpp(Glob("k/*.cu"))])
"""


def test_a_library_can_do_without_its_tile_cpp_files(small):
    small.write("SConstruct", USABLE)
    tools = os.path.dirname(shutil.which("sh") or "")
    found = small.run("-n", "nvcc=k/toolkit/bin/nvcc", sm=None)
    assert "usable: ['k/k.cu']" in found.stdout or "no host compiler" in found.stdout
    (small.folder / "bin").mkdir()
    for name in ("sh", "python3"):
        (small.folder / "bin" / name).symlink_to(Path(tools, "sh") if name == "sh" else shutil.which(name) or "")
    missed = small.run("-n", "nvcc=k/toolkit/bin/nvcc", sm=None, PATH=str(small.folder / "bin"))
    assert "scons: skipping k/k.cu: there is no host compiler (g++ or clang++)" in missed.stdout
    assert "usable: []" in missed.stdout


OWN = {"scale<float, 256>": {"opt": 1}, "neg*": {"sm": "100"}}


def entries(project: Library, *names: str) -> dict[str, list[str]]:
    """The kernels in PTX files of the build."""
    texts = {name: (project.folder / f"build/{name}.ptx").read_text() for name in names}
    return {name: re.findall(r"\.visible \.entry (\w+)", text) for name, text in texts.items()}


def test_kernels_of_a_file_have_options_of_their_own(small):
    small.write("SConstruct", SCRIPT.format(kernels={"k": nvcc_of("k")} | OWN))
    done = small.run("sm=90", "commands", "kernels", sm=None)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = ["sm_90/k-scale_float_256", "sm_90/k-scale_double_64", "sm_100/k-negate"]
    assert list(entries(small, *parts).values()) == [
        ["_Z5scaleIfLi256EEvPKT_PS0_S0_"], ["_Z5scaleIdLi64EEvPKT_PS0_S0_"], ["negate"]
    ]  # fmt: skip
    assert not (small.folder / "build/sm_100/k-scale_double_64.cubin").exists()
    assert not list(small.folder.glob("build/*/k.cubin"))
    # Once for each target: what told the names is what the step would make.
    assert (small.folder / "k/toolkit/bin/runs").read_text().splitlines() == ["k/k.cu"] * 2
    check_commands(small, "k-scale_float_256.tilebc")
    assert steps_of(small.run("sm=90", "commands", "kernels", sm=None)) == []
    small.write("SConstruct", SCRIPT.format(kernels={"k": nvcc_of("k")} | OWN | {"scale<float, 256>": {"opt": 2}}))
    steps = steps_of(small.run("sm=90", "kernels", sm=None))
    assert steps and all(step.split()[2] == "k-scale_float_256" for step in steps)


def test_options_for_unknown_kernels_of_a_file_are_refused(small):
    small.write("SConstruct", SCRIPT.format(kernels={"k": nvcc_of("k"), "scale<half, 256>": {"opt": 1}}))
    done = small.run("sm=90", sm=None)
    sentence = "scons: *** error[library-pattern]: library kernels has no kernel 'scale<half, 256>'; use a kernel name"
    assert done.returncode == 1 and done.stderr.startswith(sentence) and len(done.stderr.splitlines()) == 1
    small.write("SConstruct", SCRIPT.format(kernels={"k": nvcc_of("k"), "negate": {"nvcc_flags": "-DN"}}))
    done = small.run("sm=90", sm=None)
    assert "kernels negate of library kernels: option nvcc_flags applies to whole .cu files" in done.stderr


def test_a_file_that_fails_is_reported_before_its_kernels_are_missed(tmp_path):
    project = Library(tmp_path, {"bad": Way("#error-at-3 identifier x is undefined")})
    project.write("SConstruct", SCRIPT.format(kernels={"bad": nvcc_of("bad"), "negate": {"opt": 1}}))
    done = project.run("sm=90", sm=None)
    assert done.returncode == 2 and "bad/bad.cu:1:3: error[nvcc]: identifier x is undefined" in done.stderr
    said = "library kernels has no kernel 'negate' (kernels of a file that failed are unknown)"
    assert said in done.stdout


def test_commands_repeat_the_step(small):
    done = small.run("sm=90", "commands", "build/sm_90/k.tilebc", sm=None)
    assert done.returncode == 0, done.stderr
    check_commands(small, "k.tilebc")


def check_commands(project: Library, name: str) -> None:
    rows = json.loads((project.folder / "build/compile_commands.json").read_text())
    (row,) = [row for row in rows if row["output"].endswith(name)]
    made = project.folder / row["output"]
    expected = made.read_bytes()
    made.unlink()
    subprocess.run(row["arguments"], cwd=row["directory"], check=True)
    assert made.read_bytes() == expected
