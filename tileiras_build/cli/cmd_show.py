"""``tileiras-build show FILE [--sm SM]``: each source line of a kernel with its optimization remarks and its SASS."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.plurals import count_text
from .cmd_export import KERNEL_FILE, bytecode_of_file
from .command_options import DEFAULT_TARGET, add_nvcc, add_opt_level

if TYPE_CHECKING:
    from ..reports.optimization_remarks import Remark
    from ..reports.source_files import SourceFiles
    from ..reports.stage_source_lines import Line, Place

_UNKNOWN = ("", 0)
_LABEL = re.compile(r"\.L\w+:$")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``show``."""
    parser.add_argument("file", metavar="FILE", help=KERNEL_FILE)
    what = f"comma-separated targets or GPUs (default: {DEFAULT_TARGET})"
    parser.add_argument("--sm", metavar="SM", default=DEFAULT_TARGET, help=what)
    what = "only this kernel of the file; repeatable (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)
    what = "counts in place of instructions"
    parser.add_argument("--counts", action="store_true", help=what)
    add_opt_level(parser)
    add_nvcc(parser)


def run(options: argparse.Namespace) -> None:
    """Compile each kernel for each target, and print it."""
    from ..target.isa.serializer_options import read_level
    from ..target.targets import parse_targets
    from ..workers.executor.forked_executor import ForkedExecutor

    executor, level = ForkedExecutor(), read_level(options.opt)
    for target in parse_targets(options.sm):
        for data in bytecode_of_file(options, target).values():
            arguments = (data, target.name, level, options.file, options.counts)
            print(executor.run(f"{__name__}:kernel_text", *arguments), end="\n\n")


def kernel_text(bytecode: bytes, sm: str, level: int | str, file: str, counts: bool) -> str:
    """The kernels of a module for one target: a line of resources each, then the source lines with their code."""
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
        notes = [f"no {name}: {why}" for name, why in details.missing.items()]
        parts.append("\n".join([head, *notes, *_listing(code, remarks, Path(file), counts)]))
    return "\n\n".join(parts)


@dataclass
class _SourceLine:
    code: list[str]
    remarks: list[str]


def _listing(code: list[Line], remarks: list[Remark], file: Path, counts: bool) -> Iterator[str]:
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
        yield f"{number:>5}  {_source(sources, name, number, file)}" if number else "       (no line)"
        yield from (f"       {text}" for text in dict.fromkeys(found.remarks))
        amount = count_text(sum(not text.startswith(".") for text in found.code), "instruction")
        yield from [f"         {amount}"] if counts else (f"         {text}" for text in found.code)


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
