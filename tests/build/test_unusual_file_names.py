"""Kernel files that change their process have the same bytes alone, together, in any order, from a cache, with a server.

Each file of ``unusual_file_names.py`` first writes down what it sees of all that the others change, then makes its own change.
"""

import ast
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.build.test_build_session import Project
from tests.build.test_caching_executor import artifacts
from tests.build.test_incremental_correctness import CASE, PROGRAMS
from tests.build.unusual_file_names import AWKWARD, MODULES, Awkward
from tests.compiled_once import once, shared_folder
from tileiras_build.workers.server import list_servers

ONLOOKER = "nothing"
UNKEPT = ("a child",)
FILES = AWKWARD | {ONLOOKER: Awkward("", "None")}
ROW = {name: f"w{number:03}" for number, name in enumerate(FILES)}
# What every file sees; a module of the project's own, which each has anew.
STATE = f"""import {", ".join(name for name in MODULES if name != "state")}
import sys as state
SEEN = []
state = state.modules[__name__]
def raises(function, *arguments):
    try: function(*arguments)
    except Exception as error: return type(error).__name__
def umask():
    before = os.umask(0)
    os.umask(before)
    return before
def seen():
    return [{", ".join(f"({row.look})" for row in AWKWARD.values() if not row.is_slow)}]
"""


class Files(Project):
    """A project with a folder for each of some kernel files, in this order."""

    found: list[str]  # how many steps the last build has taken from the cache

    def __init__(self, folder: Path, names: list[str]):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.write("SConstruct", PROGRAMS)
        self.write("ptxas", "ptxas 1")
        self.write("libdevice.bc", "libdevice 1")
        self.write("state.py", STATE)
        for number, name in enumerate(names):
            (folder / f"{number:03}").mkdir()
            self.write(f"{number:03}/k.py", _program(name))

    def made(self, *arguments: str, **environment: str) -> dict[str, str]:
        """The artifacts of a build, by kernel and suffix."""
        # A variable that differs between checkouts is another export.
        done = self.run("build/tilebc", *arguments, sm="90", **{"TILEIRAS_DUMP": ""} | environment)
        assert done.returncode == 0, done.stdout + done.stderr
        self.found = re.findall(r"^cache .*: (\d+) of", done.stdout, re.MULTILINE)
        return {Path(path).name: digest for path, digest in artifacts(self).items()}

    def seen(self, name: str) -> list:
        """What a file has seen that all look at."""
        _, value = next(self.folder.rglob(f"{ROW[name]}.tilebc")).read_text().splitlines()
        return ast.literal_eval(value.removeprefix("value "))[0]

    def clean(self) -> None:
        shutil.rmtree(self.folder / "build")
        (self.folder / ".sconsign.dblite").unlink()


def _program(name: str) -> str:
    row = FILES[name]
    slow = [each.look for each in AWKWARD.values() if each.is_slow and (name == ONLOOKER or each.look == row.look)]
    looks = f"VALUE = state.seen(), [{', '.join(slow)}]\n"
    return f"{CASE.format(name=ROW[name])}import {', '.join(MODULES)}\n{looks}{row.program}\n"


def _shuffled(seed: int) -> list[str]:
    return random.Random(seed).sample(list(FILES), len(FILES))


@pytest.fixture(scope="module")
def builds():
    """The artifacts of each way to build, and what the files see."""
    return once(("awkward files",), _builds)


def _builds() -> dict:
    folder, cache = shared_folder(), f"cache={shared_folder()}"
    alone = Files(folder / "alone", [ONLOOKER])
    made = {"alone": alone.made("-j1"), "seen alone": alone.seen(ONLOOKER)}
    first = Files(folder / "first", list(FILES))
    made["one worker"] = first.made("-j1", cache)
    made["seen"] = {name: first.seen(name) for name in FILES}
    made["two workers, shuffled"] = Files(folder / "second", _shuffled(1)).made("-j2")
    # They ask where they lie, so it takes two checkouts to show that it decides nothing.
    Files(folder / "elsewhere", list(FILES)).made("-j2", cache)
    third = Files(folder / "third", list(FILES))
    made["from the cache"] = third.made("-j2", cache)
    made["found"] = third.found
    with _server(alone, shared_folder()) as environment:
        made["a server, shuffled"] = Files(folder / "fourth", _shuffled(2)).made("-j1", **environment)
        assert sum(server.requests for server in list_servers.find_servers()) > 1
    return made


@contextmanager
def _server(project: Files, runtime: Path) -> Iterator[dict[str, str]]:
    """The environment of builds with a server that builds of ``project`` have started."""
    runtime.chmod(0o700)
    environment = {"TILEIRAS_SERVER": "1", "XDG_RUNTIME_DIR": str(runtime)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            for _ in range(5):
                project.clean()
                project.made(**environment)
                if any(server.requests for server in list_servers.find_servers()):
                    break
            yield environment
        finally:
            list_servers.find_servers("stop")


def test_each_file_has_the_same_bytes(builds):
    def of(way: str, name: str) -> dict[str, str]:
        return {file: digest for file, digest in builds[way].items() if file.partition(".")[0] == ROW[name]}

    ways = ["two workers, shuffled", "from the cache", "a server, shuffled"]
    for name in FILES:
        assert (name, builds["seen"][name]) == (name, builds["seen alone"])
        first = of("one worker", name)
        assert first and (name, {way: of(way, name) for way in ways}) == (name, dict.fromkeys(ways, first))


def test_a_file_alone_has_the_bytes_that_it_has_among_others(builds):
    assert builds["alone"].items() <= builds["one worker"].items()


def test_what_can_be_followed_comes_from_the_cache(builds):
    assert builds["found"] == [str(len(FILES) - len(UNKEPT))]
