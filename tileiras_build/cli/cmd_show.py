"""``tileiras-build show FILE [--sm SM]``: each source line of a kernel with its remarks and its SASS, and an estimate of its launch."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..core.file_io import write_files
from ..core.plurals import count_text
from ..core.terminal import is_terminal
from .cmd_export import KERNEL_FILE, PYTHON, bytecode_of_file
from .command_options import DEFAULT_TARGET, add_nvcc, add_opt_level

if TYPE_CHECKING:
    from ..driver import Artifacts
    from ..reports.collect_rows import EstimateProblems
    from ..reports.optimization_remarks import Remark
    from ..reports.source_files import SourceFiles
    from ..reports.stage_source_lines import Line, Place
    from ..workers.executor.forked_executor import ForkedExecutor

_UNKNOWN = ("", 0)
_LABEL = re.compile(r"\.L\w+:$")
_WIDE = 120  # columns of a terminal from which on code is beside its source line
_SUFFIXES = (".tileaa", ".tileas", ".ll", ".ptx")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``show``."""
    parser.add_argument("file", metavar="FILE", help=KERNEL_FILE)
    what = f"comma-separated targets or GPUs (default: {DEFAULT_TARGET})"
    parser.add_argument("--sm", metavar="SM", default=DEFAULT_TARGET, help=what)
    what = "only this kernel of the file; repeatable (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)
    what = "counts in place of instructions"
    parser.add_argument("--counts", action="store_true", help=what)
    what = "grid in tile blocks, for the estimate (default: that of the case)"
    parser.add_argument("--grid", metavar="X[,Y,Z]", help=what)
    what = "array shape (a=4096x4096) or scalar value for the estimate; repeatable"
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help=what)
    parser.add_argument("--html", metavar="PAGE", help="write a page, with every stage beside the source")
    add_opt_level(parser)
    add_nvcc(parser)


@dataclass(frozen=True)
class _Form:
    """How kernels are listed: counts or instructions, beside the source from ``width`` columns on."""

    counts: bool
    width: int


def run(options: argparse.Namespace) -> None:
    """Compile each kernel for each target, and print it or write the page."""
    from ..target.isa.serializer_options import read_level
    from ..target.targets import parse_targets
    from ..workers.executor.forked_executor import ForkedExecutor

    executor, level, targets = ForkedExecutor(), read_level(options.opt), parse_targets(options.sm)
    problems = _problems(options, executor, [target.generation for target in targets])
    form = _Form(options.counts, get_terminal_size().columns if is_terminal(sys.stdout) else 0)
    with TemporaryDirectory() as folder:
        for target in targets:
            for name, data in bytecode_of_file(options, target).items():
                if options.html:
                    files = executor.run(f"{__name__}:artifact_files", data, target.name, level, options.file, name)
                    write_files({Path(folder, path): content for path, content in files.items()})
                else:
                    arguments = (data, target.name, level, options.file, form, problems)
                    print(executor.run(f"{__name__}:kernel_text", *arguments), end="\n\n")
        if options.html:
            _write_page(Path(folder), options, problems)


def _problems(options: argparse.Namespace, executor: ForkedExecutor, targets: list[str]) -> EstimateProblems:
    from ..core.errors import InvalidInput
    from ..reports.collect_rows import EstimateProblems
    from ..simulate.estimate.estimate_kernel import Problem

    if options.grid:
        return EstimateProblems(Problem.read(options.settings, options.grid))
    if options.settings:
        raise InvalidInput("report-grid", "--set requires --grid", remedy="give --grid X,Y,Z")
    if Path(options.file).suffix != PYTHON:
        return EstimateProblems()
    launches = "tileiras_build.tuning.case_launches:launches_of_file"
    return EstimateProblems(None, True, executor.run(launches, options.file, targets))


def _write_page(folder: Path, options: argparse.Namespace, problems: EstimateProblems) -> None:
    from ..reports.html_report import ReportForm, write_report

    form = ReportForm(root=Path(options.file).resolve().parent)
    print(f"wrote {write_report(folder, Path(options.html), problems=problems, form=form)}")


def artifact_files(bytecode: bytes, sm: str, level: int | str, file: str, name: str) -> dict[str, bytes]:
    """The files of a module as a build folder has them."""
    from ..driver import compile

    made = compile(bytecode, sm, opt_level=level, lineinfo=True, name=file)
    assert made.cubin is not None
    texts = {suffix: getattr(made, suffix[1:]).encode() for suffix in _SUFFIXES}
    files = texts | {".cubin": made.cubin, ".json": json.dumps(made.manifest).encode()}
    return {f"tilebc/{name}.tilebc": bytecode} | {f"{sm}/{name}{suffix}": data for suffix, data in files.items()}


def kernel_text(bytecode: bytes, sm: str, level: int | str, file: str, form: _Form, problems: EstimateProblems) -> str:
    """The kernels of a module for one target: resources and estimate of each, then the source lines with their code."""
    from ..driver import compile
    from ..reports.cached_disassembly import ArtifactContents, find_details
    from ..reports.resource_usage import rows_of_manifest
    from ..reports.stage_source_lines import read_lines

    artifacts = compile(bytecode, sm, opt_level=level, lineinfo=True, name=file)
    assert artifacts.cubin is not None and artifacts.manifest is not None and artifacts.tileas is not None
    details = find_details(ArtifactContents(sm, None, artifacts.tileas.encode(), artifacts.cubin))
    parts = []
    for row in rows_of_manifest(artifacts.manifest):
        name, target, registers, shared, stack, stores, loads = row.cells
        head = (
            f"{name}  {target}: {registers} registers, shared memory {shared}, stack {stack}, spills {stores} + {loads}"
        )
        code = [
            line for line in read_lines("sass", details.texts.get("sass", ""), row.kernel) if line.places or line.text
        ]
        remarks = [remark for remark in details.remarks if remark.function == row.kernel]
        notes = [
            *_estimate(artifacts, row.kernel, problems),
            *(f"no {what}: {why}" for what, why in details.missing.items()),
        ]
        parts.append("\n".join([head, *notes, *_listing(code, remarks, Path(file), form)]))
    return "\n\n".join(parts)


def _estimate(artifacts: Artifacts, name: str, problems: EstimateProblems) -> Iterator[str]:
    from ..manifest.launch_manifest import read_launch_manifest
    from ..simulate.estimate.estimate_kernel import estimate_kernel
    from ..target.targets import find_target

    assert artifacts.cubin is not None
    launches = read_launch_manifest(artifacts.manifest).kernels
    problem = problems.of(None, name, find_target(artifacts.job.target.name), launches)
    if problem and (found := estimate_kernel(artifacts.cubin, name, launches, problem)):
        yield f"{found.microseconds:.2f} us on {found.gpu} for {problem.text}; limited by {found.limit}; modelled, not measured"


@dataclass
class _SourceLine:
    code: list[str]
    remarks: list[str]


def _listing(code: list[Line], remarks: list[Remark], file: Path, form: _Form) -> Iterator[str]:
    from ..reports.source_files import SourceFiles

    lines: dict[Place, _SourceLine] = {}
    for place, text in _instructions(code, file):
        lines.setdefault(place, _SourceLine([], [])).code.append(text)
    for remark in remarks:
        place = (remark.location.file or "", remark.location.line or 0) if remark.location else _UNKNOWN
        lines.setdefault(place, _SourceLine([], [])).remarks.append(_remark_text(remark))
    sources, shown = SourceFiles(file.resolve().parent), ""
    for (name, number), found in sorted(lines.items()):
        if name != shown:
            yield f"\n{name}"
            shown = name
        source = f"{number:>5}  {_source(sources, name, number, file)}" if number else "       (no line)"
        notes = [f"       {text}" for text in dict.fromkeys(found.remarks)]
        amount = count_text(sum(not text.startswith(".") for text in found.code), "instruction")
        yield from _block(source, notes, [amount] if form.counts else found.code, form.width)


def _block(source: str, remarks: list[str], code: list[str], width: int) -> Iterator[str]:
    """A source line with its code below it, or beside it in a wide terminal; remarks are lines of their own."""
    if width < _WIDE:
        yield from (source, *remarks, *(f"         {text}" for text in code))
        return
    half = width // 2
    for left, right in zip_longest([source[: half - 2]], code, fillvalue=""):
        yield f"{left:{half}}{right[: width - half]}".rstrip()
    yield from remarks


def _instructions(code: list[Line], file: Path) -> Iterator[tuple[Place, str]]:
    """Each instruction, and each label with the place of the instruction behind it."""
    labels: list[str] = []
    for line in code:
        if _LABEL.match(line.text):
            labels.append(line.text)
        elif line.text[:1].isalnum():
            place = _place(line, file)
            yield from ((place, label) for label in labels)
            yield place, line.text
            labels.clear()


def _place(line: Line, file: Path) -> Place:
    """The line of the kernel file that an instruction comes from, or its innermost one."""
    own = [place for place in line.places if Path(place[0]).name == file.name]
    return (own or list(line.places) or [_UNKNOWN])[0]


def _remark_text(remark: Remark) -> str:
    notes = ", ".join(f"{key} {value}" for key, value in remark.notes)
    reasons = f": {'; '.join(remark.reasons)}" if remark.reasons else ""
    return f"{remark.kind}: {remark.message}{f' ({notes})' if notes else ''}{reasons}"


def _source(sources: SourceFiles, name: str, number: int, file: Path) -> str:
    """The text of a line; empty if the file is not there, or is not below the folder of the kernel file."""
    found = sources.read(file.name if Path(name).name == file.name else name, file)
    rows = (found.text or "").splitlines()
    return rows[number - 1].rstrip() if 0 < number <= len(rows) else ""
