"""Real SCons runs over the tiny stages of tests/fake_stages.py: built and skipped steps, and messages."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forked_scons
from tests.compiled_once import once, shared_folder
from tileiras_build.config.build_options import OPTIONS

ROOT = Path(__file__).resolve().parents[2]
# Without the default tools SCons looks for no compilers of C, which takes a sixth of a run; the examples' scripts do that.
SCONSTRUCT = """
from tests import fake_stages
from tileiras_build import scons_tool
fake_stages.use_own_preload()
DefaultEnvironment(tools=[])
env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=[lambda env: scons_tool.generate(env, fake_stages.TABLE)])
env["TILEIRAS_TIMEOUT"] = 60
Default(env.KernelLibrary("kernels", sorted(Glob("*.tilebc") + Glob("*.py"), key=str)))
"""
IMPATIENT = SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 60', 'env["TILEIRAS_TIMEOUT"] = 5')  # for steps that hang
CHAIN = ["tileaa", "tileas", "ll", "ptx", "cubin"]
CUT = "libdevice.bc"
BOTH = ("sm_90", "sm_100")  # what ``copy_of_built`` is built for

SCRIPT_AGE = 0.06  # seconds; more than sconscript_trace.py allows for clocks


class Project:
    """A folder with an SConstruct and kernels a, b (which asks for libdevice)."""

    first: subprocess.CompletedProcess | None = None  # the run that built it, in ``copy_of_built``
    targets = "90"

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("SConstruct", SCONSTRUCT)
        self.write("a.tilebc", "kernel a\n")
        self.write("b.tilebc", "kernel b\nptx: libdevice\n")
        self.write("ptxas", "ptxas 1")
        self.write("libdevice.bc", "libdevice 1")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def run(self, *arguments: str, sm: str | None = "", seconds: float = 600, **environment: str):
        """Build for ``targets``, or for what ``sm`` says; None: for what the project says."""
        self._let_scripts_age()
        sm = self.targets if sm == "" else sm
        options = [f"sm={sm}", "ptxas=ptxas", "libdevice=libdevice.bc"] if sm else []
        # pytest's own variable differs between a fixture and its test, and builds look at their environment.
        fixed = {"PYTHONPATH": str(ROOT), "TILEIRAS_DUMP": str(self.folder / "dump"), "PYTEST_CURRENT_TEST": ""}
        environment = os.environ | fixed | environment
        return forked_scons.run(["-j2", *options, *arguments], self.folder, environment, seconds)

    def _let_scripts_age(self) -> None:
        """A build script that is as new as the run could change under it, so such a run keeps no record of it."""
        newest = max(path.stat().st_ctime for path in [*self.folder.glob("SCons*"), *self.folder.glob("*/SConscript")])
        time.sleep(max(0.0, newest + SCRIPT_AGE - time.time()))

    def steps(self, *arguments: str, **more) -> list[str]:
        """What a run built: "stage target kernel" of each step, sorted."""
        return steps_of(self.run(*arguments, **more))


def steps_of(done) -> list[str]:
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines() if line.startswith("[")]
    return sorted(" ".join(line.split()) for line in lines)


def chain(*kernels: str, stages=CHAIN, targets=("sm_90",)) -> list[str]:
    return sorted(f"{stage} {target} {kernel}" for stage in stages for target in targets for kernel in kernels)


def cuts(*targets: str) -> list[str]:
    """The steps that cut what kernel b asks of libdevice."""
    return sorted(f"{CUT} {target} f" for target in targets or ("sm_90",))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def copy_of_built(folder: Path) -> Project:
    """A project that is built for both targets, once for all tests.

    The first run in the copy compares contents: what rests on the times of files needs a build of its own.
    """
    original, first = once(("built project",), _build_project)
    shutil.copytree(original, folder, dirs_exist_ok=True, symlinks=True)
    project = Project.__new__(Project)
    project.folder, project.first = folder, first
    return project


def _build_project() -> tuple[Path, subprocess.CompletedProcess]:
    project = Project(shared_folder())
    done = project.run(sm="90,100")
    assert done.returncode == 0, done.stderr
    return project.folder, done


@pytest.fixture
def built(tmp_path):
    return copy_of_built(tmp_path)


def test_first_build_makes_every_stage_for_every_target(built):
    assert steps_of(built.first) == sorted(chain("a", "b", targets=BOTH) + cuts(*BOTH))
    made = {str(path.relative_to(built.folder / "build")) for path in (built.folder / "build").glob("sm_*/*")}
    shared = {path for path in made if path.endswith(CUT)}
    assert {Path(path).parent.name for path in shared} == {"sm_90", "sm_100"} and len(shared) == 2
    made -= shared
    suffixes = [*CHAIN, "json"]
    assert made == {f"{sm}/{kernel}.{suffix}" for sm in ("sm_90", "sm_100") for kernel in "ab" for suffix in suffixes}
    assert (built.folder / "build/sm_90/a.cubin").read_text().splitlines()[-2:] == ["ptx sm_90 O3", "cubin ptxas 1"]


def test_end_of_build_shows_resources(built):
    rows = [line.split() for line in built.first.stdout.splitlines() if " sm_" in line and not line.startswith("[")]
    assert rows == [
        [kernel, sm, "42", "1.02", "KiB", "0", "0", "8", "B"] for kernel in "ab" for sm in ("sm_90", "sm_100")
    ]


def test_a_reader_that_has_closed_the_pipe_is_no_error(project):
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "SCons", "-n", "explain=1", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=project.folder, env=environment, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def test_end_of_a_build_of_a_large_library_shows_what_was_built(project):
    small = "from tileiras_build.build import progress\nprogress.TABLE_LIMIT = 1\n"
    project.write("SConstruct", small + SCONSTRUCT)
    first = project.run().stdout
    assert "\n2 cubins; see: tileiras-build report build\n" in first and "registers" not in first
    project.write("a.tilebc", "kernel a\nedited\n")
    second = project.run().stdout
    assert "\n2 cubins; see: tileiras-build report build\n" in second
    rows = [line.split()[:2] for line in second.splitlines() if " sm_" in line and not line.startswith("[")]
    assert rows == [["a", "sm_90"]]


def test_second_build_does_nothing_and_says_so(built):
    done = built.run()
    assert done.returncode == 0
    assert steps_of(done) == []
    assert "is up to date" in done.stdout and "registers" not in done.stdout


def test_edited_kernel_rebuilds_its_own_chains(built):
    built.write("a.tilebc", "kernel a\nedited\n")
    assert built.steps() == chain("a")


def test_edit_without_effect_is_cut_off(built):
    built.write("a.tilebc", "# a comment\nkernel a\n")
    assert built.steps() == chain("a", stages=["tileaa", "tileas"])


def test_edit_is_cut_off_after_runs_that_built_nothing(built):
    """A run without work must not forget what the artifacts were."""
    for _ in range(2):
        assert built.steps() == []
    built.write("a.tilebc", "# a comment\nkernel a\n")
    assert built.steps() == chain("a", stages=["tileaa", "tileas"])
    built.write("a.tilebc", "# a comment\nkernel a\nedited\n")
    assert built.steps() == chain("a")


def test_new_ptxas_reassembles_and_lowers_nothing(built):
    built.write("ptxas", "ptxas 2")
    assert built.steps() == chain("a", "b", stages=["cubin"])
    assert (built.folder / "build/sm_90/a.cubin").read_text().splitlines()[-1] == "cubin ptxas 2"


def test_new_libdevice_relinks_only_kernels_that_ask_for_it(built):
    built.write("libdevice.bc", "libdevice 2")
    assert built.steps() == sorted(cuts() + chain("b", stages=["ptx"]))


def test_new_libdevice_stops_where_what_is_cut_comes_out_equal(built):
    built.write("libdevice.bc", "# the same\nlibdevice 1")
    assert built.steps() == cuts()
    assert built.steps() == []


def test_the_link_is_given_what_was_cut(project):
    project.write("c.tilebc", "kernel c\nptx: libdevice\nptx: cut before\n")
    assert project.run(sm="90").returncode == 0


def test_kernels_that_ask_for_the_same_share_what_is_cut(built):
    built.write("c.tilebc", "kernel c\nptx: libdevice\n")
    assert built.steps() == chain("c")
    built.write("c.tilebc", "kernel c\nptx: libdevice\nptx: linked\n")
    assert built.steps(sm="90") == sorted([f"{CUT} sm_90 f, g", *chain("c", targets=["sm_90"])])
    assert len(list(built.folder.glob(f"build/sm_90/*.{CUT}"))) == 2


def test_what_an_older_kernel_asked_for_is_not_cut_for_it(built):
    """Kernel b asks for nothing now: with a new libdevice nothing is cut, and the old file has no reader."""
    built.write("b.tilebc", "kernel b\n")
    built.write("libdevice.bc", "libdevice 2")
    assert built.steps() == chain("b")


def test_kernels_without_mathematics_do_not_know_libdevice(built):
    (built.folder / "b.tilebc").unlink()
    built.write("libdevice.bc", "libdevice 2")
    assert built.steps() == []


def test_what_was_cut_is_cut_again_where_it_is_gone_or_damaged(built):
    for spoil in (Path.unlink, lambda path: path.write_text("cut short")):
        for path in built.folder.glob(f"build/*/*.{CUT}"):
            spoil(path)
        assert built.steps() == cuts()


def test_clean_removes_what_was_cut(built):
    assert built.run("-c", sm="90,100").returncode == 0
    assert not list(built.folder.glob("build/sm_*/*"))


def test_a_kernel_named_on_the_command_line_brings_what_it_asks_for(project):
    """SCons looks at named targets itself: at the .ll after it has asked what that asks for."""
    names = ("build/sm_90/b.ptx", "build/sm_90/b.ll")
    stages = sorted(chain("b", stages=CHAIN[:4], targets=["sm_90"]) + cuts("sm_90"))
    assert project.steps(*names, sm="90") == stages
    assert project.steps(*names, sm="90") == []
    project.write("libdevice.bc", "libdevice 2")
    assert project.steps(*names, sm="90") == sorted(["ptx sm_90 b", *cuts("sm_90")])


def test_option_that_changes_output_rebuilds(built):
    assert built.steps("opt=2") == chain("a", "b")


def test_another_target_leaves_the_built_ones(built):
    assert built.steps(sm="80,90") == sorted(chain("a", "b", targets=["sm_80"]) + cuts("sm_80"))


def test_failing_kernel_says_why_once_and_keep_going_builds_the_rest(project):
    project.write("c.tilebc", "kernel c\nll: fail\n")
    done = project.run("-k")
    assert done.returncode != 0
    built = steps_of(done)
    assert built == sorted(chain("a", "b") + cuts() + chain("c", stages=CHAIN[:3]))
    diagnostic = "k.py:3:4: error[fake-no-row]: no row in ll; use another"
    assert [line for line in done.stderr.splitlines() if diagnostic in line] == [
        f"scons: *** [build/sm_90/c.ll] {diagnostic}"
    ]
    assert "Traceback" not in done.stderr + done.stdout
    assert "1 step failed:" in done.stdout
    assert not list(project.folder.rglob("c.ll"))


def test_stale_results_of_a_failing_kernel_are_not_reported(built):
    built.write("a.tilebc", "kernel a\nll: fail\n")
    done = built.run("-k")
    table, _, failures = done.stdout.partition("failed:")
    assert "\na " not in table and "\nb " not in failures
    assert "\na " in failures


def test_crashing_worker_fails_its_kernel_only(project):
    project.write("c.tilebc", "kernel c\nptx: crash\n")
    done = project.run("-k", sm="90")
    crashed = chain("c", stages=CHAIN[:4], targets=["sm_90"])
    assert steps_of(done) == sorted(chain("a", "b", targets=["sm_90"]) + cuts("sm_90") + crashed)
    assert "was killed by SIGABRT; last output: LLVM ERROR: cannot select" in done.stderr
    assert (project.folder / "build/sm_90/b.cubin").exists()


def test_stage_that_hangs_is_ended(project):
    project.write("SConstruct", IMPATIENT)
    project.write("c.tilebc", "kernel c\nptx: sleep\n")
    done = project.run("-k", sm="90")
    assert "timed out after 5 s" in done.stderr
    assert (project.folder / "build/sm_90/b.cubin").exists()


def test_internal_error_gives_a_reproducer(project):
    project.write("a.tilebc", "kernel a\nll: contract\n")
    done = project.run(sm="90")
    assert "internal error[pass-illegal-op]: operation x.y survived pass z" in done.stderr
    assert "reproduce with: tileiras-build lower" in done.stderr


PYTHON = """
CASES = [Case("p", None, ()), Case("q", None, ())]
BODY_p = {p}
BODY_q = {q}
"""


def test_python_source_is_the_input_and_unchanged_kernels_are_cut_off(project):
    project.write("k.py", PYTHON.format(p="first", q="first"))
    assert "tilebc 2 of k.py" in project.steps(sm="90")
    project.write("k.py", PYTHON.format(p="second", q="first"))
    assert project.steps(sm="90") == sorted(["tilebc 2 of k.py", *chain("p", targets=["sm_90"])])


def test_python_file_is_exported_again_when_its_import_changes(project):
    project.write("shared.py", "CASES = []\n")
    project.write("k.py", "import shared\n" + PYTHON.format(p="1", q="1"))
    text = SCONSTRUCT.replace('Glob("*.tilebc") + Glob("*.py")', 'Glob("k.py")')
    project.write("SConstruct", text)
    project.run(sm="90")
    project.write("shared.py", "CASES = []\nCHANGED = 1\n")
    assert project.steps(sm="90") == ["tilebc 2 of k.py"]


def test_broken_python_file_fails_alone(project):
    project.write("k.py", "CASES = [\n")
    done = project.run("-k", sm="90")
    assert "k.py:1:" in done.stderr and "Traceback" not in done.stderr
    assert (project.folder / "build/sm_90/a.cubin").exists()


def test_two_kernels_of_one_name_are_refused(project):
    project.write("k.py", PYTHON.replace('"q"', '"a"').format(p="1", q="1"))
    done = project.run(sm="90")
    assert done.returncode == 1
    assert "error[library-name]: kernel a of library kernels is defined in both a.tilebc and" in done.stderr


def test_two_libraries_with_kernels_of_one_name_are_refused(project):
    for folder in ("one", "two"):
        (project.folder / folder).mkdir()
        project.write(f"{folder}/k.py", PYTHON.format(p="1", q="1"))
    more = '\nfor name in ("one", "two"): env.KernelLibrary(name, [f"{name}/k.py"])\n'
    project.write("SConstruct", (project.folder / "SConstruct").read_text() + more)
    done = project.run(sm="90")
    assert done.returncode == 1
    refused = (
        "error[library-name]: kernel p is defined in both one/k.py and two/k.py; rename one, or use different build_dir"
    )
    assert refused in done.stderr and "Traceback" not in done.stderr


def test_a_target_is_named_from_a_folder_of_the_project(project):
    (project.folder / "in").mkdir()
    assert project.run(sm="90").returncode == 0
    (project.folder / "build/sm_90/a.cubin").unlink()
    done = run_in(project.folder / "in", "-u", "../build/sm_90/a.cubin")
    assert done.returncode == 0 and (project.folder / "build/sm_90/a.cubin").exists(), done.stderr
    done = run_in(project.folder / "in", "-u", "../build/sm_90/absent.cubin")
    assert "error[target-unknown]" in done.stderr


def run_in(folder, *words):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "SCons", "-j2", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_help_has_the_projects_own_options(project):
    script = (project.folder / "SConstruct").read_text()
    project.write("SConstruct", 'AddOption("--mine", action="store_true", help="one of mine")\n' + script)
    assert {"--mine", "build_dir"} <= set(project.run("-h").stdout.split())


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("sm=91", "unknown target sm=91; use one or more of sm_80, sm_86, "),
        (
            "ms=90",
            "unknown option ms=; did you mean sm? use one of sm, opt, lineinfo, debug, strategy, serializer, llvm_pipeline, fp8_promotion_interval, grid_swizzle, persistent, exp2_polynomial, variants, warnings, werror, build_dir, "
            "ptxas, libdevice, nvcc, nvcc_flags, cache, explain, prune, executor",
        ),
    ],
)
def test_wrong_option_gets_one_sentence(project, option, sentence):
    done = project.run(option, sm=None, FAKE_INPUT=str(project.folder / "ptxas"))
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (project.folder / "build").exists()


def test_help_explains_the_options(project):
    done = project.run("-h", "opt=2", sm=None, FAKE_INPUT=str(project.folder / "ptxas"))
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert [row.name for row in OPTIONS if not any(line.startswith(f"{row.name} ") for line in lines)] == []
    assert {"sm sm_90 [default]", "opt 2 [command line]", "-j N 2 [command line]"} <= set(lines)
    assert not (project.folder / "build").exists()


def test_single_stage_builder(project):
    text = SCONSTRUCT.replace('env.KernelLibrary("kernels", ', 'env.Tileaa("a.tilebc") or (')
    project.write("SConstruct", text)
    assert project.steps() == chain("a", stages=["tileaa"])


def test_dry_run_builds_nothing(project):
    done = project.run("-n")
    assert steps_of(done) == chain("a", "b")
    assert not (project.folder / "build").exists()


def children(tree, name):
    """The nodes that stand right under one in what ``--tree`` prints."""
    start = next(at for at, line in enumerate(tree) if line.endswith(f"-{name}"))
    depth, found = tree[start].index("+-"), []
    for line in tree[start + 1 :]:
        if "+-" not in line or line.index("+-") <= depth:
            break
        if line.index("+-") == depth + 2:
            found.append(line.partition("+-")[2])
    return found


def test_the_tree_of_a_fresh_folder_has_libdevice(project):
    """What a kernel asks of it is not known before its .ll is there: the file itself stands in the tree."""
    tree = project.run("-n", "--tree=all").stdout.splitlines()
    assert all("libdevice.bc" in children(tree, f"build/sm_90/{name}.ptx") for name in "ab")
    project.run()
    tree = project.run("-n", "--tree=all").stdout.splitlines()
    assert "libdevice.bc" not in children(tree, "build/sm_90/a.ptx") + children(tree, "build/sm_90/b.ptx")
    assert any(child.endswith(f".{CUT}") for child in children(tree, "build/sm_90/b.ptx"))
    assert steps_of(project.run()) == []


def test_interrupt_ends_running_steps_at_once(project):
    project.write("a.tilebc", "kernel a\nll: sleep\n")
    project.write("SConstruct", SCONSTRUCT.replace('env["TILEIRAS_TIMEOUT"] = 60', ""))
    command = [sys.executable, "-m", "SCons", "-j2", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=project.folder, env=environment, **pipes) as scons:
        while "ll      sm_90   a" not in scons.stdout.readline():
            assert scons.poll() is None
        time.sleep(0.3)
        scons.send_signal(signal.SIGINT)
        _, errors = scons.communicate(timeout=50)
    # The step would go on after a minute.
    assert scons.returncode == 2
    assert "interrupted" in errors and "Traceback" not in errors
    assert not (project.folder / "build/sm_90/a.ll").exists()


def test_terminal_gets_one_updated_line(project):
    """On a terminal the steps share a line, and whatever else is printed starts below it."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm", "CI": ""}
    command = [sys.executable, "-m", "SCons", "sm=90", "ptxas=ptxas", "libdevice=libdevice.bc"]
    with subprocess.Popen(command, cwd=project.folder, env=environment, stdout=theirs, stderr=theirs) as scons:
        os.close(theirs)
        text = read_terminal(ours)
    assert scons.returncode == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text).replace("\r", "\n")
    counts = [(int(done), int(of)) for done, of in re.findall(r"\[ *(\d+)/(\d+)\]", plain)]
    shares = [int(share) for share in re.findall(r"(\d+)%", plain)]
    # What kernel b asks of libdevice is known when its .ll is there.
    assert counts[0] == (0, 10) and counts[-1] == (11, 11) and counts == sorted(counts) and shares == sorted(shares)
    assert "tileaa sm_90 a" in plain
    lines = plain.splitlines()
    assert "scons: done building targets." in lines and "next: scons verify" in text


def read_terminal(descriptor: int) -> str:
    data = b""
    try:
        while part := os.read(descriptor, 65536):
            data += part
    except OSError:
        # Linux says the end of a terminal so.
        pass
    os.close(descriptor)
    return data.decode()


def test_other_warnings_repeat_the_steps_that_they_come_from(built):
    spills = "warning[spill]: kernel {} for sm_90 spills registers: 0 bytes of stores and 8 of loads"
    done = built.run("warnings=spill", sm="90")
    assert steps_of(done) == chain("a", "b", stages=["cubin"], targets=["sm_90"])
    assert all(spills.format(kernel) in done.stdout for kernel in "ab")
    assert "warning[" not in built.run("warnings=spill", sm="90").stdout
    refused = built.run("-k", "warnings=spill", "werror=1", sm="90")
    assert refused.returncode and spills.format("a").replace("warning", "error") in refused.stdout
    assert not (built.folder / "build/sm_90/a.cubin").exists()
