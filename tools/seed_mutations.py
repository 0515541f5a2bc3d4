"""Apply each mutation of tests/seeds/mutations.toml to the compiler, and check that the tests of its row fail.

    python tools/seed_mutations.py                 all; exits with 1 where a broken behavior goes unnoticed
    python tools/seed_mutations.py index- flag-    those whose document, row or file contains one of the words
    python tools/seed_mutations.py --jobs 2        as many copies of the project at once
    python tools/seed_mutations.py --again         also those that were noticed before by the same tests

Each mutation changes one text of a copy of the project and runs the tests that show the row there: they must pass before
and fail after. The project itself is not touched. Processes are forked from one that has imported the libraries, and
nothing of the project.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.conformance_seeds import Mark, read_marks

PACKAGE = ROOT / "tileiras_build"
MUTATIONS = ROOT / "tests" / "seeds" / "mutations.toml"
COPIED = (
    "tileiras_build",
    "tests",
    "examples",
    "tools",
    "docs",
    "site_scons",
    "SConstruct",
    "pyproject.toml",
    "README.md",
)
LIBRARIES = ["pytest", "numpy", "ml_dtypes", "llvmlite.binding", "xdsl.ir", "xdsl.parser", "xdsl.printer", "xdsl.irdl"]
LIBRARIES += [f"xdsl.dialects.{name}" for name in ("arith", "builtin", "cf", "func", "llvm", "memref", "scf", "vector")]
TIMEOUT_SECONDS = 300
KILLED, SURVIVED, STILLBORN = "killed", "SURVIVED", "STILLBORN"  # the last: the mutated project does not import
NO_TEST, RED, TOO_LONG, LOST = "NO TEST", "FAILS BEFORE", "TOO LONG", "NO SUCH TEXT"


# ---- mutations -------------------------------------------------------------------------------------------------------
def _condition(value: bool) -> Callable[[str], str]:
    """``if x:`` with a value in the condition's place."""
    return lambda text: re.sub(r"^(if|elif|while|return|assert) [^\n]*?(:?)(?=\n|$)", rf"\1 {value}\2", text)


# How an entry says what it changes -> the text that takes the place of the one it gives.
KINDS: dict[str, Callable[[str], str]] = {
    "drop": lambda text: "",  # a row of a table, a word, an argument
    "skip": lambda text: "pass",  # a statement
    "never": _condition(False),
    "always": _condition(True),
}

# What LLVM does itself is broken where it is handed over: words of the module that LLVM gets, or of the PTX that it
# prints, become others. Word of an entry -> the text of compile_module.py behind which they do.
HANDED_OVER = {
    "handed": "return self._lines.text",
    "printed": "self._lines.restore(machine.emit_assembly(module))",
}


@dataclass(frozen=True)
class Mutation:
    """One way to break a row: in ``file``, ``old`` (found exactly once) becomes ``new``.

    ``tests``, where there are some, stand for those that show the row; each of them must notice by itself.
    """

    document: str
    row: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    def apply(self, text: str) -> str:
        """The broken text; raises ValueError where ``old`` is not there exactly once."""
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.document} {self.row}: {self.old!r} is {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def read_mutations(path: Path = MUTATIONS) -> list[Mutation]:
    """All entries of the table."""
    return [
        _mutation(document, row, entry)
        for document, rows in tomllib.loads(path.read_text()).items()
        for names, entries in rows.items()
        for row in names.split()
        for entry in (entries if isinstance(entries, list) else [entries])
    ]


def _mutation(document: str, row: str, entry: dict) -> Mutation:
    for key in HANDED_OVER.keys() & entry.keys():
        old = HANDED_OVER[key]
        return Mutation(document, row, find_file("compile_module.py"), old, f"{old}.replace{tuple(entry[key])!r}")
    file, tests = find_file(entry["file"]), tuple(entry.get("tests", ()))
    if "old" in entry:
        return Mutation(document, row, file, entry["old"], entry["new"], tests)
    if "swap" in entry:
        first, between, second = entry["swap"]
        return Mutation(document, row, file, f"{first}{between}{second}", f"{second}{between}{first}", tests)
    [kind] = KINDS.keys() & entry.keys()
    return Mutation(document, row, file, entry[kind], KINDS[kind](entry[kind]), tests)


@cache
def _files() -> tuple[str, ...]:
    return tuple(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py"))


def find_file(end: str) -> str:
    """The one file of the package whose path ends so, relative to the repository; raises ValueError."""
    found = [file for file in _files() if file.endswith(f"/{end}")]
    if len(found) != 1:
        raise ValueError(f"{end!r} ends the paths of {len(found)} files of the package")
    return found[0]


def words_of(mutation: Mutation) -> str:
    """The words of LLVM's input or output that a mutation changes; "" for one that changes something else."""
    marks = (f"{old}.replace(" for old in HANDED_OVER.values())
    rest = next((mutation.new.removeprefix(mark) for mark in marks if mutation.new.startswith(mark)), "")
    return ast.literal_eval(f"({rest}")[0] if rest else ""


def showing_tests(mutation: Mutation, marks: list[Mark]) -> list[str]:
    """The pytest ids of the tests that must notice the mutation."""
    if mutation.tests:
        return list(mutation.tests)
    shown = [mark for mark in marks if (mark.document, mark.id) == (mutation.document, mutation.row)]
    return [f"{mark.file}::{mark.test}" for mark in shown]


# ---- running tests ---------------------------------------------------------------------------------------------------
class _Reports:
    """A plugin of pytest that lists the tests which fail, and the seconds that each took."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        name = report.nodeid.partition("[")[0]
        self.seconds[name] = self.seconds.get(name, 0) + report.duration


def _in_a_copy(folder: str, tests: Sequence[str], options: Sequence[str], answer: Connection) -> None:
    """A process's work: pytest's exit code for tests of a copy, the tests that fail, and the output."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tools", "tests", "tileiras_build")]:
        del sys.modules[name]
    os.chdir(folder)
    sys.path[:] = [folder, *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    os.environ["PYTHONPATH"] = folder
    os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}.pyc"
    sys.pycache_prefix = f"{folder}.pyc"
    import pytest

    said, reports = io.StringIO(), _Reports()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options, *tests], plugins=[reports])
    answer.send((int(code), reports.failed, said.getvalue()[-4000:], reports.seconds))


@dataclass(frozen=True)
class Outcome:
    """What pytest says of some tests: its exit code (None where time was up), what fails, its last words, and how long
    each test took."""

    code: int | None
    failed: list[str]
    said: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


def run_tests(folder: Path, tests: Sequence[str], *options: str, seconds: float = TIMEOUT_SECONDS) -> Outcome:
    """The outcome of tests of a copy, with the copy's package, in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_in_a_copy, args=(str(folder), tuple(tests), options, theirs))
    process.start()
    theirs.close()
    try:
        return Outcome(*ours.recv()) if ours.poll(seconds) else Outcome(None, [])
    except EOFError:  # the process has died, which a compiler should not
        return Outcome(1, list(tests))
    finally:
        process.kill()
        process.join()


def copy_project(folder: Path) -> Path:
    """What the tests need, in ``folder``."""
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignore)
        else:
            shutil.copy(source, folder / name)
    return folder


_seconds = itertools.count(1)


def _write(path: Path, text: str) -> None:
    """Python takes compiled code for current where the source's second and size are those it was compiled from."""
    path.write_text(text)
    os.utime(path, (at := next(_seconds), at))


def try_mutation(folder: Path, mutation: Mutation, tests: Sequence[str]) -> tuple[str, str]:
    """The verdict on tests that pass without the mutation, and pytest's last words."""
    path = folder / mutation.file
    original = path.read_text()
    try:
        _write(path, mutation.apply(original))
        # All of those that an entry names must notice; of those that show a row the first that does is enough.
        done = run_tests(folder, tests, *([] if mutation.tests else ["-x"]))
    except ValueError as error:
        return LOST, str(error)
    finally:
        _write(path, original)
    if done.code is None:
        return TOO_LONG, ""
    if done.code != 1:
        return (SURVIVED if done.code == 0 else STILLBORN), done.said
    if missed := [test for test in mutation.tests if not any(failed.startswith(test) for failed in done.failed)]:
        return SURVIVED, "\n".join(missed)
    return KILLED, ", ".join(done.failed)


# ---- all of them -----------------------------------------------------------------------------------------------------
def _cache_file() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "tileiras-build", "mutations.json")


def digest(mutation: Mutation, tests: Iterable[str]) -> str:
    """What a verdict depends on, but for the rest of the compiler: the mutation, its file's text and the tests' files."""
    files = [mutation.file, *sorted({test.split("::")[0] for test in tests})]
    parts = [repr(mutation), *((ROOT / file).read_text() for file in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def try_all(chosen: list[Mutation], jobs: int, known: set[str]) -> Iterator[tuple[Mutation, str, str]]:
    """Each mutation with its verdict and why, as they come; ``known`` gets the digests of those that are killed."""
    marks = read_marks()
    shown = {mutation: showing_tests(mutation, marks) for mutation in chosen}
    digests = {mutation: digest(mutation, shown[mutation]) for mutation in chosen}
    wanted = [mutation for mutation in chosen if digests[mutation] not in known]
    yield from ((mutation, KILLED, "as before") for mutation in chosen if mutation not in wanted)
    multiprocessing.get_context("forkserver").set_forkserver_preload(LIBRARIES)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(copy_project(Path(name, str(number))))
        before = _before(copies, [test for mutation in wanted for test in shown[mutation]])

        def attempt(mutation: Mutation) -> tuple[Mutation, str, str]:
            tests = sorted(shown[mutation], key=lambda test: before.seconds.get(test, 0))  # the quickest first
            if not tests:
                return mutation, NO_TEST, ""
            if bad := [test for test in tests if any(failed.startswith(test) for failed in before.failed)]:
                return mutation, RED, ", ".join(bad)
            folder = copies.get()
            try:
                return mutation, *try_mutation(folder, mutation, tests)
            finally:
                copies.put(folder)

        for mutation, verdict, why in pool.map(attempt, wanted):
            if verdict == KILLED:
                known.add(digests[mutation])
            yield mutation, verdict, why


def _before(copies: SimpleQueue[Path], tests: list[str]) -> Outcome:
    """How the tests come out without a mutation."""
    folder = copies.get()
    done = run_tests(folder, sorted(set(tests)), seconds=20 * TIMEOUT_SECONDS) if tests else Outcome(0, [])
    copies.put(folder)
    if done.code not in (0, 1):
        raise SystemExit(f"the tests do not run:\n{done.said}")
    return done


def table(results: Sequence[tuple[Mutation, str, str]], total: Sequence[Mutation]) -> Iterator[str]:
    """One line for each document: mutations that were killed, that survived, and that were not tried."""
    yield "| Document | Rows | Mutations | Killed | Survived | Not run |"
    yield "|---|---|---|---|---|---|"
    for document in [*dict.fromkeys(mutation.document for mutation in total), "all"]:
        ours = [mutation for mutation in total if document in (mutation.document, "all")]
        verdicts = [verdict for mutation, verdict, _ in results if document in (mutation.document, "all")]
        killed, rows = verdicts.count(KILLED), {(mutation.document, mutation.row) for mutation in ours}
        counts = (len(rows), len(ours), killed, len(verdicts) - killed, len(ours) - len(verdicts))
        yield f"| {document} | {' | '.join(map(str, counts))} |"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="say which test noticed, or what pytest said")
    options = parser.parse_args(arguments)
    mutations, file, start = read_mutations(), _cache_file(), time.monotonic()
    places = {mutation: f"{mutation.document} {mutation.row} {mutation.file}" for mutation in mutations}
    chosen = [one for one in mutations if not options.words or any(word in places[one] for word in options.words)]
    known = set(json.loads(file.read_text())) if file.exists() and not options.again else set()
    results = []
    for mutation, verdict, why in try_all(chosen, options.jobs, known):
        results.append((mutation, verdict, why))
        if verdict != KILLED or options.verbose:
            print(f"{verdict:12} {mutation.document} {mutation.row}: {mutation.old!r}", flush=True)
            print(f"{'':12} {why}\n" if options.verbose else "", end="", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(sorted(known)))
    print("\n".join(table(results, mutations)))
    print(f"{time.monotonic() - start:.0f} s")
    return 0 if results and {verdict for _, verdict, _ in results} == {KILLED} else 1


if __name__ == "__main__":
    sys.exit(main())
