"""What a watched program reads, in a process of its own; ``tests/build/test_incremental_correctness.py`` has the many ways."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.compiled_once import once, shared_folder

ROOT = Path(__file__).resolve().parents[3]
RUN = """
import json, os, sys
from tileiras_build.workers.executor import traced_fork_call
from tileiras_build.core.tracing.audit_hooks import install
install().load(); {load}; install().loaded()

def program(name):
    namespace = {}
    exec(compile(open(name).read(), name, "exec"), namespace)
    return {}

sys.modules["programs"] = sys.modules["__main__"]
rows = []
for path in sys.argv[1:]:
    folder, name = os.path.split(path)
    os.chdir(folder)
    record = traced_fork_call.call("programs:program", folder, name).record
    rows.append({"reads": [read.to_json()[:3] for read in record.reads], "unfollowed": record.untraced_actions,
                 "libraries": [read.to_json()[:2] for read in record.blocks()[1]]})
print(json.dumps(rows))
"""


def watched(folder: Path, *programs: str, load: str = "import numpy", **environment: str) -> list[dict]:
    """The records of programs that one process runs one after the other, which has done ``load`` before."""
    paths = [folder / f"program_{number}.py" for number in range(len(programs))]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program)
    return records(paths, load, **environment)


def records(paths: list[Path], load: str = "import numpy", **environment: str) -> list[dict]:
    """The same of programs that each run in their own folder."""
    path = os.pathsep.join([str(ROOT), environment.pop("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("{load}", load), *paths],
        cwd=paths[0].parent,
        env=os.environ | environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_each(programs: Iterable[str], prepare: Callable[[Path], object], **environment: str) -> dict[str, dict]:
    """The record of each program, which runs in a folder of its own that ``prepare`` has made ready: one process for all."""

    def make() -> dict[str, dict]:
        paths = []
        for program in programs:
            paths.append(shared_folder() / "program_0.py")
            paths[-1].write_text(program)
            prepare(paths[-1].parent)
        return {
            program: record | {"folder": str(path.parent)}
            for program, path, record in zip(programs, paths, records(paths, **environment), strict=True)
        }

    return once(("watched", *programs), make)


def _one(folder: Path) -> None:
    (folder / "a.txt").write_text("1")


def names(record: dict, kind: str) -> list[str]:
    return sorted(name for of, name, _ in record["reads"] if of == kind)


def test_what_the_program_reads_is_its_own(tmp_path):
    (tmp_path / "a.txt").write_text("1")
    first, second = watched(tmp_path, "open('a.txt').read()", "import os; os.environ.get('B'); os.path.exists('c')")
    assert names(first, "contents") == ["#/a.txt", "#/program_0.py"]
    assert (names(second, "variable"), names(second, "type")) == (["B"], ["#/c"])
    assert "#/a.txt" not in str(second)


def test_a_library_that_a_step_loads_counts_for_that_step_alone(tmp_path):
    """Its process ends with it, and what the library remembers too."""
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "lib.py").write_text("import os\nVALUE = os.environ.get('LIB')\nopen(__file__[:-6] + 'conf.txt').read()\n")
    (site / "conf.txt").write_text("")
    first, second = watched(tmp_path, "import lib", "pass", PYTHONPATH=str(site))
    loaded, others = ({tuple(row) for row in record["libraries"]} for record in (first, second))
    assert {
        ("contents", "#/site-packages/lib.py"),
        ("variable", "LIB"),
        ("contents", "#/site-packages/conf.txt"),
    } <= loaded - others
    assert any(name.endswith("numpy/__init__.py") for _, name in others)


def test_what_this_package_hands_to_ptxas_counts_for_no_step(tmp_path):
    """A compile server has compiled a kernel before it forks workers."""
    load = "from tileiras_build.cli import server_preload; server_preload.warm_up()"
    (record,) = watched(tmp_path, "import os; os.environ['OWN']", load=load, OWN="1", OLDPWD="/", OTHER="2")
    asked = {name for kind, name in record["libraries"] if kind in ("variable", "environment")}
    assert not asked & {"", "OLDPWD", "OTHER", "OWN"} and names(record, "variable") == ["OWN"]


def test_a_programs_modules_are_loaded_by_each_step(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/sizes.py").write_text("")
    records = watched(tmp_path, "import sizes", "import sizes", PYTHONPATH=str(tmp_path / "far"))
    assert all("#/far/sizes.py" in names(record, "contents") for record in records)


def test_what_the_program_makes_is_no_input(tmp_path):
    program = (
        "import os, tempfile\nopen('made.txt', 'w').write('1'); open('made.txt').read()\nos.mkdir('m'); os.listdir('m')\n"
        "os.environ['SET'] = '1'; os.environ['SET']\nwith tempfile.NamedTemporaryFile() as t: open(t.name).read()\n"
    )
    (record,) = watched(tmp_path, program)
    assert names(record, "contents") == ["#/program_0.py"]
    assert names(record, "names") == names(record, "variable") == [] and record["unfollowed"] == []


UNFOLLOWED = {
    "import subprocess; subprocess.run(['true'])": "it runs a program",
    "import os; os.system('true')": "it runs a program",
    "import os; os._exit(0) if os.fork() == 0 else os.wait()": "it starts a process",
    "import socket; socket.socket().bind(('127.0.0.1', 0))": "it connects to a server",
    "import sqlite3; sqlite3.connect(':memory:')": "it reads a database",
    "open('/proc/uptime').read()": "it reads /proc/uptime",
    "open('/proc/self/environ').read()": "it reads /proc/self/environ",
    "import ctypes; ctypes.CDLL(None).getenv(b'A')": "it calls getenv of C",
    "import os; os.link('a.txt', 'b.txt')": "it renames {folder}/a.txt",
    "import os; os.chmod('a.txt', 0o600)": "it changes {folder}/a.txt",
    "import os; os.unlink('a.txt')": "it removes {folder}/a.txt",
    "import os; os.statvfs('.')": "it calls statfs",
    "open('a.txt').read(); open('a.txt', 'a').write('2')": "it modifies {folder}/a.txt, which it also reads",
}


def test_a_library_may_look_for_shared_libraries_as_pytorch_does(tmp_path):
    """Python runs ldconfig for it. A program's own search, and another program that a library runs, is not followed."""
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "looks.py").write_text("from ctypes.util import find_library\nFOUND = find_library('m')\n")
    (site / "runs.py").write_text("import subprocess\nsubprocess.run(['true'])\n")
    own = "from ctypes.util import find_library; find_library('m')"
    records = watched(tmp_path, "import looks", "import runs", own, PYTHONPATH=str(site))
    assert [record["unfollowed"] for record in records] == [[], ["it runs a program"], ["it runs a program"]]


@pytest.mark.parametrize("program", UNFOLLOWED)
def test_what_nobody_can_follow_is_reported(program):
    record = of_each(UNFOLLOWED, _one)[program]
    assert record["unfollowed"] == [UNFOLLOWED[program].format(folder=record["folder"])]


def test_pythons_own_library_is_not_noted(tmp_path):
    (record,) = watched(tmp_path, "import wave, tempfile, colorsys; tempfile.gettempdir()")
    assert names(record, "contents") == ["#/program_0.py"] and names(record, "variable") == []


def test_what_python_runs_when_it_starts_counts_for_every_step(tmp_path):
    """Wherever it lies: the modules of a site or a user, and the files that extend the search path."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far/sitecustomize.py").write_text("")
    (record,) = watched(tmp_path, "pass", PYTHONPATH=str(tmp_path / "far"))
    kept = {tuple(row) for row in record["libraries"]}
    assert ("contents", "#/far/sitecustomize.py") in kept
    assert {kind for kind, _ in kept} >= {"startup"} and ("candidates", "#/far//usercustomize") in kept


MACHINE = {
    "import os; os.cpu_count()": "processors",
    "import os; os.sched_getaffinity(0)": "processors",
    "import multiprocessing; multiprocessing.cpu_count()": "processors",
    "import os; os.sysconf('SC_NPROCESSORS_ONLN')": "processors",
    "import os; os.sysconf('SC_PHYS_PAGES')": "memory",
    "import platform; platform.node()": "host",
    "import socket; socket.gethostname()": "host",
    "import os; os.uname().nodename": "host",
    "import platform; platform.machine(), platform.system()": "system",
    "import os; os.getuid()": "user",
    "import lib; lib.processors()": "processors",
}


LIB = "import os, platform\nos.cpu_count(), platform.node(), os.getcwd()\ndef processors(): return os.cpu_count()\n"
IMPORTING = "import lib; open('program_0.py')"


def _of_machine(program: str) -> dict:
    site = once(("a library that asks",), shared_folder) / "site-packages"
    site.mkdir(exist_ok=True)
    (site / "lib.py").write_text(LIB)
    return of_each([*MACHINE, IMPORTING], lambda folder: None, PYTHONPATH=str(site))[program]


@pytest.mark.parametrize("program", MACHINE)
def test_what_a_program_asks_of_the_machine_is_a_row(program):
    record = _of_machine(program)
    asked = {name for kind, name, *_ in [*record["reads"], *record["libraries"]] if kind == "machine"}
    assert asked == {MACHINE[program]} and record["unfollowed"] == []


def test_what_a_library_asks_when_it_is_imported_is_no_row():
    """It asks for its own threads."""
    record = _of_machine(IMPORTING)
    assert names(record, "machine") == names(record, "place") == []


PLACES = {
    "open('a.txt')": [],
    "import os; os.path.exists('a.txt')": [],
    "from concurrent.futures import ThreadPoolExecutor as T; T().map(print, ())": [],
    "import os; os.getcwd()": [""],
    "import os; os.path.abspath('a.txt')": [""],
    "from pathlib import Path; Path('a.txt').resolve()": [""],
    "import os; os.__file__": [""],
    "(lambda: 0).__code__.co_filename": [""],
}


@pytest.mark.parametrize("program", PLACES)
def test_a_program_that_asks_where_it_lies_has_a_row_for_that(program):
    record = of_each(PLACES, _one)[program]
    assert (names(record, "place"), names(record, "machine")) == (PLACES[program], [])
