"""Which functions of the compiler nobody calls: production, the front ends and `opt` of what production prints.

    python tools/reach.py                    the lines of functions that were not called, by folder and by file
    python tools/reach.py --functions 40     and the largest of these functions
    python tools/reach.py --quick            the programs of QUICK only, which tests/meta/test_reach.py runs
    python tools/reach.py --corpus FOLDER    also compiles the bytecode files below FOLDER
    python tools/reach.py --json             everything, for programs

A function is called if Python enters it: while the package is imported, or while PROGRAMS run. Its lines are those from
its first decorator to its end; one inside of another that is not called counts once. What is beside functions, tables,
classes and imports, counts as reached where its module is imported.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tileiras_build"
FOLDERS = ("pipeline", "dialects", "book")
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
for _path in (ROOT, ROOT / "tests" / "bytecode"):
    sys.path.insert(0, str(_path))


@dataclass
class Calls:
    """The code that Python enters between ``start`` and ``stop``."""

    codes: dict[int, CodeType] = field(default_factory=dict)

    def start(self) -> None:
        sys.settrace(self._hear)

    def stop(self) -> None:
        sys.settrace(None)

    def _hear(self, frame: FrameType, event: str, argument: object) -> None:
        # Code objects compare by their contents, which costs more than the call.
        self.codes[id(frame.f_code)] = frame.f_code

    def by_file(self) -> dict[str, set[int]]:
        """The first lines of the code that was entered, by file."""
        found: dict[str, set[int]] = {}
        for code in self.codes.values():
            found.setdefault(code.co_filename, set()).add(code.co_firstlineno)
        return found


@dataclass(frozen=True)
class Function:
    """A function that nobody called."""

    file: str
    name: str
    line: int
    lines: int


@dataclass(frozen=True)
class FileReach:
    """One file: its lines, and its functions that nobody called."""

    file: str
    lines: int
    imported: bool
    idle: tuple[Function, ...]

    @property
    def idle_lines(self) -> int:
        """Lines of functions that nobody called; all, where nobody imported the file."""
        return sum(function.lines for function in self.idle) if self.imported else self.lines


def idle_functions(file: str, text: str, called: set[int]) -> Iterator[Function]:
    """The outermost functions of a file whose first line is not in ``called``."""

    def visit(node: ast.AST, within: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.ClassDef):
                yield from visit(child, within)
                continue
            name = f"{within}{child.name}"
            start = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            if isinstance(child, ast.ClassDef) or start in called:
                yield from visit(child, f"{name}.")
            else:
                yield Function(file, name, start, child.end_lineno - start + 1)

    yield from visit(ast.parse(text), "")


def measure(calls: Calls) -> list[FileReach]:
    """What was reached of each file of FOLDERS."""
    called = calls.by_file()
    rows = []
    for path in sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")):
        text, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
        entered = called.get(str(path), set())
        idle = tuple(idle_functions(name, text, entered))
        rows.append(FileReach(name, len(text.splitlines()), bool(entered) or not text.strip(), idle))
    return rows


# ---- what runs ---------------------------------------------------------------------------------------------------


def _attempt(work: Callable[[], object]) -> None:
    """A program that a target refuses has been compiled as far as it goes."""
    from tileiras_build.errors import TileirasError

    try:
        work()
    except TileirasError as error:
        if error.id == "stage-failed":
            raise


def _kernels(folder: Path) -> dict[str, bytes]:
    from tileiras_build.bytecode.export import export_kernels

    files = sorted(path for path in folder.glob("*.py") if "\nCASES" in path.read_text())
    return {name: data for path in files for name, data in export_kernels(path, source_root=ROOT).items()}


def _compile_all(
    kernels: dict[str, bytes], targets: tuple[str, ...] = TARGETS, stop_at: str = "ptx", **options
) -> None:
    from tileiras_build import driver

    for data in kernels.values():
        for target in targets:
            _attempt(lambda data=data, target=target: driver.compile(data, target, stop_at=stop_at, **options))


def run_examples() -> None:
    """Production: every example for a target of each tier."""
    _compile_all(_kernels(ROOT / "examples" / "kernels"))


def run_options() -> None:
    """Lines, debug values, libNVVM, a cubin, checks behind each pass, files from one stage to the next."""
    from tileiras_build import driver
    from tileiras_build.pipeline.job import Job
    from tileiras_build.targets import find_target

    kernels = _kernels(ROOT / "examples" / "kernels")
    some = {name: kernels[name] for name in ("matmul_f16_nt", "softmax_f32", "histogram_i32")}
    _compile_all(some, lineinfo=True)
    _compile_all(some, opt_level=0, debug=True)
    _compile_all(some, serializer="libnvvm")
    _compile_all(some, ("sm_90",), stop_at="cubin")
    for data in some.values():
        files = {".tilebc": data}
        for before, after in ((".tilebc", ".tileaa"), (".tileaa", ".tileas"), (".tileas", ".ll"), (".ll", ".ptx")):
            files |= driver.lower(files[before], before, after, Job(find_target("sm_90")))
    os.environ["TILEIRAS_CHECK"] = "2"
    _compile_all(some, stop_at="ll")
    del os.environ["TILEIRAS_CHECK"]


def run_test_kernels() -> None:
    """Production: operations that no example has."""
    for folder in ("tileas_to_ll", "tileas_to_ll/values", "tileas_to_ll/products", "tileaa_to_tileas"):
        _compile_all(_kernels(ROOT / "tests" / "pipeline" / folder), stop_at="ll")


def run_random_programs() -> None:
    """Production: random programs, whose operations have all element types."""
    from tests.fuzz.programs import LATER_STEPS, SeededChoices, random_program

    programs = [random_program(SeededChoices(seed)) for seed in range(12)]
    programs += [random_program(SeededChoices(seed), LATER_STEPS) for seed in range(6)]
    _compile_all({str(number): program.bytecode() for number, program in enumerate(programs)}, stop_at="ll")


def run_bytecode() -> None:
    """Front ends: every operation of the format through reader, verifiers, writer, printer and text parser."""
    from sample_modules import SAMPLES, sample

    from tests.bytecode.round_trip_corpus import check

    samples = {name: sample(name) for name in SAMPLES}
    for data in samples.values():
        assert check(data) == []
    _compile_all(samples, stop_at="ll")


def run_looks_inside() -> None:
    """The module behind each pass as text (TILEIRAS_DEBUG=6), which `opt` takes up: the text forms of production."""
    from tileiras_build.pipeline.opt import parse_module

    kernels = _kernels(ROOT / "examples" / "kernels")
    some = {name: kernels[name] for name in ("matmul_f16_nt", "softmax_f32", "histogram_i32")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TILEIRAS_DEBUG": "6", "TILEIRAS_DUMP": folder}
        with redirect_stderr(io.StringIO()):
            _compile_all(some, stop_at="ll")
        del os.environ["TILEIRAS_DEBUG"], os.environ["TILEIRAS_DUMP"]
        for path in sorted(Path(folder).rglob("*.mlir")):
            _attempt(lambda path=path: parse_module(path.read_text(), str(path)))


def run_opt() -> None:
    """`opt`: the passes on the modules of the golden tests, whose IR is written by hand."""
    from tests.golden import split_file
    from tileiras_build.pipeline.job import Job
    from tileiras_build.pipeline.opt import transform
    from tileiras_build.targets import find_target

    for path in sorted((ROOT / "tests").rglob("*.mlir")):
        for case in split_file(path.read_text())[1]:
            job = Job(find_target(case.target))
            _attempt(lambda case=case, job=job: transform(case.source, case.passes, job))


PROGRAMS = (run_examples, run_options, run_test_kernels, run_random_programs, run_bytecode, run_looks_inside)


def run_corpus(folder: Path) -> None:
    """Every bytecode file below ``folder``."""
    _compile_all({str(path): path.read_bytes() for path in sorted(folder.rglob("*.tilebc"))}, stop_at="ll")


# ---- what is said ------------------------------------------------------------------------------------------------


def table(rows: list[FileReach], functions: int) -> Iterator[str]:
    """The lines of the report."""
    total, idle = sum(row.lines for row in rows), sum(row.idle_lines for row in rows)
    yield f"{idle} of {total} lines ({100 * idle / total:.1f} %) are of functions that nobody called"
    folders: dict[str, list[FileReach]] = {}
    for row in rows:
        folders.setdefault(row.file.rpartition("/")[0], []).append(row)
    for name, inside in sorted(folders.items(), key=lambda item: -sum(row.idle_lines for row in item[1])):
        yield f"{sum(row.idle_lines for row in inside):6} of {sum(row.lines for row in inside):6}  {name}/"
    yield ""
    for row in sorted(rows, key=lambda row: -row.idle_lines):
        if row.idle_lines:
            yield f"{row.idle_lines:6} of {row.lines:6}  {row.file}{'' if row.imported else '  (not imported)'}"
    yield ""
    largest = sorted((function for row in rows for function in row.idle), key=lambda function: -function.lines)
    for function in largest[:functions]:
        yield f"{function.lines:6}  {function.file}:{function.line}  {function.name}"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=0)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args(arguments)
    calls = Calls()
    calls.start()
    for program in PROGRAMS:
        if options.only in program.__name__:
            program()
    if options.corpus:
        run_corpus(options.corpus)
    calls.stop()
    print("\n".join(table(measure(calls), options.functions)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
