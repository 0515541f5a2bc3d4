"""``cache=``: a second checkout uses the results of the first, which are those that it would have built."""

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from tests.build.test_build_session import PYTHON, SCONSTRUCT, Project, chain, cuts, steps_of
from tests.compiled_once import once, shared_folder
from tests.workers.executor.cache.http_servers import SERVERS, free_port, running
from tileiras_build.build.replaced_artifacts import FOLDER
from tileiras_build.reports.build_timeline import BUILT, CACHED, Span, read_timeline

ALL = sorted(chain("a", "b") + cuts())
STEPS = len(ALL)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def checkout(tmp_path):
    """Makes checkouts of the same sources, each in a folder of its own."""

    def make(name: str) -> Project:
        (tmp_path / name).mkdir()
        return Project(tmp_path / name)

    return make


def found(done) -> str:
    """The cache's line of a run: "10 of 11"."""
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"^cache .*: (\d+ of \d+) steps found", done.stdout, re.MULTILINE)
    return line


def artifacts(project: Project, folder: str = "build") -> dict[str, str]:
    root = project.folder / folder
    found = (
        path for path in root.rglob("[!.]*.*") if path.is_file() and not {"report", FOLDER}.intersection(path.parts)
    )
    # Records of what was read hold this machine's times.
    files = sorted(path for path in found if path.suffix != ".reads")
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def records(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("place", ["folder", *SERVERS])
def test_second_checkout_takes_everything(tmp_path, checkout, place):
    first, second = checkout("first"), checkout("second")
    if place == "folder":
        _build_twice(first, second, str(tmp_path / "cache"))
        return
    with running(place, tmp_path / "server") as server:
        _build_twice(first, second, server.address())


def _build_twice(first: Project, second: Project, place: str) -> None:
    assert found(first.run(f"cache={place}", "-j1")) == f"0 of {STEPS}"
    done = second.run(f"cache={place}", "-j4")
    assert found(done) == f"{STEPS} of {STEPS}"
    assert steps_of(done) == ALL
    assert artifacts(second) == artifacts(first)
    assert {span.outcome for span in timeline(first)} == {BUILT}
    assert {span.outcome for span in timeline(second)} == {CACHED}


def timeline(project: Project) -> list[Span]:
    return read_timeline(project.folder / "build/report/timeline.json").spans


def test_keys_hold_no_path(cache, checkout):
    """Another build folder, another place of the checkout, other paths of the tools."""
    first, second = checkout("first"), checkout("second")
    first.run(f"cache={cache}")
    for name in ("ptxas", "libdevice.bc"):
        (second.folder / name).rename(second.folder / f"my-{name}")
    options = [f"cache={cache}", "ptxas=my-ptxas", "libdevice=my-libdevice.bc", "build_dir=out/here"]
    assert found(second.run(*options)) == f"{STEPS} of {STEPS}"
    assert artifacts(second, "out/here") == artifacts(first)


def _fill() -> Path:
    """The cache of a checkout that is built."""
    cache = shared_folder()
    assert Project(shared_folder()).run(f"cache={cache}").returncode == 0
    return cache


CHANGES = {
    "what later steps drop, of a source and of libdevice, and ptxas": (
        {"a.tilebc": "# new\nkernel a\n", "libdevice.bc": "# new\nlibdevice 1", "ptxas": "ptxas 2"},
        [],
        STEPS - 2 - 1 - 2,
    ),
    "a kernel, and libdevice, which the other asks for": (
        {"a.tilebc": "kernel a\nedited\n", "libdevice.bc": "libdevice 2"},
        [],
        STEPS - 5 - 2,
    ),
    "an option": ({}, ["opt=2"], 1),
    "the targets": ({}, ["sm=80"], 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_the_bytes_is_in_the_key(cache, checkout, change):
    shutil.copytree(once(("filled cache",), _fill), cache)
    second, clean = checkout("second"), checkout("clean")
    files, options, hits = CHANGES[change]
    for project in (second, clean):
        for name, text in files.items():
            project.write(name, text)
    assert found(second.run(f"cache={cache}", *options)) == f"{hits} of {STEPS}"
    clean.run(*options)
    assert artifacts(second) == artifacts(clean)


@pytest.mark.parametrize("place", ["folder", *SERVERS])
def test_every_tenth_record_damaged_costs_only_rebuilds(tmp_path, checkout, place):
    if place == "folder":
        _damage_and_build(checkout, str(tmp_path / "cache"), tmp_path / "cache")
        return
    with running(place, tmp_path / "server") as server:
        _damage_and_build(checkout, server.address(), server.files)


def _damage_and_build(checkout, place: str, folder: Path) -> None:
    first, second, third = checkout("first"), checkout("second"), checkout("third")
    first.run(f"cache={place}")
    damaged = records(folder)[::10]
    for number, path in enumerate(damaged):
        data = path.read_bytes()
        path.write_bytes((data[: len(data) // 2], b"", bytes([data[0] ^ 1]) + data[1:])[number % 3])
    done = second.run(f"cache={place}")
    hits, steps = map(int, found(done).split(" of "))
    assert STEPS - 2 * len(damaged) <= hits < steps == STEPS
    assert f"; {STEPS - hits} damaged, rebuilt" in done.stdout
    assert artifacts(second) == artifacts(first)
    assert found(third.run(f"cache={place}")) == f"{STEPS} of {STEPS}"


def test_exported_kernels_are_cached_with_what_their_file_imports(cache, checkout):
    text = SCONSTRUCT.replace('Glob("*.tilebc") + Glob("*.py")', 'Glob("k.py")').replace(".TABLE", ".PROGRAM_TABLE")
    program = "from tileiras_build.frontend.export_cutile import Case\nfrom shared import VALUE\n"

    def project(name, shared):
        made = checkout(name)
        made.write("SConstruct", text)
        made.write("k.py", program + PYTHON.format(p="1", q="1"))
        made.write("shared.py", shared)
        return made

    project("first", "VALUE = 1\n").run(f"cache={cache}")
    assert found(project("second", "VALUE = 1\n").run(f"cache={cache}")) == "11 of 11"
    assert found(project("third", "VALUE = 1\nNEW = 1\n").run(f"cache={cache}")) == "10 of 11"


def test_readonly_build_reads_and_keeps_nothing(cache, checkout):
    first, second = checkout("first"), checkout("second")
    first.run(f"cache={cache}")
    before = records(cache)
    second.write("a.tilebc", "kernel a\nedited\n")
    assert found(second.run(f"cache={cache}", "--cache-readonly")) == f"{STEPS - 5} of {STEPS}"
    assert records(cache) == before


def test_cache_can_be_switched_off(cache, checkout):
    done = checkout("first").run(f"cache={cache}", "--cache-disable")
    assert steps_of(done) == ALL
    assert "steps found" not in done.stdout and not cache.exists()


def test_failing_step_is_not_kept(cache, checkout):
    for name in ("first", "second"):
        project = checkout(name)
        project.write("c.tilebc", "kernel c\nll: fail\n")
        done = project.run("-k", f"cache={cache}")
        assert done.returncode == 2 and "fake-no-row" in done.stderr
    assert f"{STEPS + 2} of {STEPS + 3} steps found" in done.stdout


def test_server_that_is_away_costs_one_warning_and_no_step(checkout):
    done = checkout("first").run(f"cache=http://127.0.0.1:{free_port()}/cache")
    assert done.returncode == 0
    assert steps_of(done) == ALL
    assert done.stderr.count("Connection refused") <= 3
    assert "so for the rest of this build caching is disabled" in done.stderr


def test_server_that_goes_away_during_the_build_costs_no_step(tmp_path, checkout):
    first, second, clean = checkout("first"), checkout("second"), checkout("clean")
    clean.run()
    with running("wsgidav", tmp_path / "server") as server:
        first.run(f"cache={server.address()}")
        second.write(
            "SConstruct",
            SCONSTRUCT + f"\nimport os, threading\nthreading.Timer(0.3, os.kill, ({server.process.pid}, 9)).start()\n",
        )
        done = second.run(f"cache={server.address()}")
    assert done.returncode == 0, done.stderr
    assert artifacts(second) == artifacts(clean)


def test_folder_that_cannot_be_written_costs_no_step(cache, checkout):
    cache.mkdir()
    for name in ("ac", "cas"):
        (cache / name).write_text("a file in the place of a folder")
    done = checkout("first").run(f"cache={cache}")
    assert done.returncode == 0 and steps_of(done) == ALL
    assert "for the rest of this build" in done.stderr


def test_wrong_place_gets_one_sentence(checkout):
    """Others: tests/workers/executor/cache/test_store.py."""
    done = checkout("first").run("cache=ftp://host/cache")
    assert done.returncode == 1
    assert "error[cache-value]: " in done.stderr and "cache=ftp://host/cache" in done.stderr
    assert "; use a folder, or http://host:port/path, or s3://bucket/path" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_relative_folder_is_beside_the_sconstruct(checkout):
    project = checkout("first")
    project.run("cache=kept")
    assert records(project.folder / "kept")


ROOT = Path(__file__).resolve().parents[2]
KERNELS = ("vector_add", "softmax")


def test_real_artifacts_are_equal_between_checkouts_and_jobs(tmp_path, cache):
    """Built, not taken: the second build has no cache."""
    first, second = (real_project(tmp_path / name, *KERNELS) for name in ("one", "another place/two"))
    plain = ["lineinfo=yes", "sm=90"]
    assert run_scons(first, *plain, f"cache={cache}", "-j2").returncode == 0
    assert run_scons(second, *plain, "-j1").returncode == 0
    assert artifacts(first) == artifacts(second)
    shutil.rmtree(second.folder / "build")
    for path in second.folder.glob(".sconsign*"):
        path.unlink()
    steps = len([name for name in artifacts(first) if not name.endswith(".json")])
    done = run_scons(second, *plain, f"cache={cache}")
    exports = len(KERNELS) - len([name for name in artifacts(first) if name.endswith(".tilebc")])
    assert found(done) == f"{steps + exports} of {steps + exports}"
    assert artifacts(first) == artifacts(second)


def real_project(folder: Path, *kernels: str) -> Project:
    """A checkout with real kernels and the real stages."""
    (folder / "kernels").mkdir(parents=True)
    project = Project(folder)
    for name in kernels:
        shutil.copy(ROOT / f"examples/kernels/{name}.py", folder / "kernels")
    project.write(
        "SConstruct",
        "from tileiras_build import scons_tool\n"
        "env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=[scons_tool.generate])\n"
        'Default(env.KernelLibrary("kernels", Glob("kernels/[!_]*.py")))\n',
    )
    return project


def run_scons(project: Project, *arguments: str):
    return project.run(*arguments, sm=None, seconds=500)
