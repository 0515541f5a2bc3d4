"""The view model of one kernel for its HTML template: source, stages, SASS, remarks, verification, estimate, history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.byte_sizes import size_text
from ..core.error_index.explanations import explanations
from ..core.file_io import read_stored
from ..core.plurals import count_text
from ..simulate.estimate.estimate_kernel import KernelEstimate
from .cached_disassembly import ArtifactContents, ArtifactDetails
from .collect_rows import BuiltKernel
from .history_view import HistoryView
from .optimization_remarks import ANALYSIS, FAILED, MISSED, PASSED, Remark
from .remark_gains import gain_text
from .roofline_view import RooflineView, view_roofline
from .schedule_view import ScheduleView, view_schedule
from .source_files import Source, SourceFiles
from .stage_source_lines import Line, read_lines
from .verification_results import interpreted

TITLES = {
    "tilebc": "bytecode (MLIR)",
    "tileaa": "tileaa",
    "tileas": "tileas",
    "ll": "LLVM IR",
    "ptx": "PTX",
    "sass": "SASS",
}
_FILES = ("tileaa", "tileas", "ll", "ptx")  # stages whose artifact is text
_KINDS = {PASSED: "selected", MISSED: "missed", FAILED: "fallback", ANALYSIS: "note"}
_SMALL = 0.01  # bounds below this share of the estimate are listed by name only
WITHOUT_LINES = "Built without line info: rebuild with lineinfo=yes to link source, PTX and SASS."


@dataclass(frozen=True)
class Text:
    """A text for a pane; ``places`` has the source lines of each line, as "13" or, for the second file, "1:13"."""

    name: str
    title: str
    text: str
    places: str
    ptx: str


@dataclass(frozen=True)
class Bar:
    """One bound of an estimate: its cycles, and their share of the estimate."""

    name: str
    clocks: float
    share: float
    is_limit: bool


@dataclass(frozen=True)
class Bars:
    """An estimate with its bounds, largest first; ``small`` are the names of negligible ones."""

    microseconds: float
    machine: str
    problem: str
    bars: list[Bar]
    small: list[str]
    assumed: tuple[str, ...]
    roofline: RooflineView | None


@dataclass(frozen=True)
class RemarkView:
    """A remark, with the key of its source line if that file is shown."""

    remark: Remark
    place: str
    where: str

    @property
    def title(self) -> str:
        """The kind as it is shown."""
        return _KINDS[self.remark.kind]


@dataclass(frozen=True)
class Advice:
    """One kind of missed optimization: the places where it was missed, what to do about it, and what that gains by the model."""

    message: str
    items: list[RemarkView]
    fix: str
    gain: str


@dataclass(frozen=True)
class RemarksOfLine:
    """The remarks on one source line, whose text is ``code``."""

    place: str
    where: str
    code: str
    items: list[RemarkView]


@dataclass(frozen=True)
class OnGpu:
    """The kernel on one GPU; ``notes`` are sentences about missing data."""

    target: str
    metrics: list[tuple[str, str]]
    reference: str | None
    interpreted: str | None
    estimate: Bars | None
    texts: list[Text]
    notes: list[str]
    advice: list[Advice]
    lines: list[RemarksOfLine]
    schedule: ScheduleView | None
    history: HistoryView | None


@dataclass(frozen=True)
class KernelView:
    """One kernel of one library on all GPUs; ``files`` are named by debug information, ``sources`` are the shown ones."""

    name: str
    library: str | None
    sources: list[Source]
    gpus: list[OnGpu]
    files: list[str]


@dataclass(frozen=True)
class ShownSources:
    """The sources that are shown, and their position by name."""

    index: Mapping[str, int]
    sources: Sequence[Source]

    def code(self, place: tuple[str, int]) -> str:
        """The text of a line; "" if it is not shown."""
        text = self.sources[self.index[place[0]]].text if place[0] in self.index else None
        lines = (text or "").splitlines()
        return lines[place[1] - 1].strip() if place[1] <= len(lines) else ""


def inputs_of(one: BuiltKernel) -> ArtifactContents:
    """The artifacts of a kernel that its details are derived from."""
    cubin = one.member.cubin
    return ArtifactContents(
        one.row.target, _optional(one.member.bytecode), _optional(cubin.with_suffix(".tileas")), read_stored(cubin)
    )


def view_kernel(
    built: Sequence[BuiltKernel],
    facts: Sequence[ArtifactDetails],
    files: SourceFiles,
    histories: Sequence[HistoryView | None],
) -> KernelView:
    """One kernel on several GPUs; ``facts`` and ``histories`` are in the order of ``built``."""
    texts = [_lines_of(one, found) for one, found in zip(built, facts, strict=True)]
    names = _order_files(texts)
    bytecode = built[0].member.bytecode
    sources = [source for name in names if (source := files.read(name, bytecode)).text is not None]
    shown = ShownSources({source.name: index for index, source in enumerate(sources)}, sources)
    gpus = [
        _on_gpu(one, found, lines, shown, _missing(names, shown.index, found), history)
        for one, found, lines, history in zip(built, facts, texts, histories, strict=True)
    ]
    return KernelView(built[0].row.kernel, built[0].row.library, sources, gpus, names)


def text_files_of(one: BuiltKernel) -> dict[str, Path]:
    """The text artifacts of a kernel, by stage."""
    paths = {name: one.member.cubin.with_suffix(f".{name}") for name in _FILES}
    return {name: path for name, path in paths.items() if path.exists()}


def _optional(path: Path) -> bytes | None:
    return read_stored(path) if path.exists() else None


def _lines_of(one: BuiltKernel, facts: ArtifactDetails) -> dict[str, list[Line]]:
    texts = {name: facts.texts[name] for name in ("tilebc",) if name in facts.texts}
    texts |= {name: read_stored(path).decode(errors="replace") for name, path in text_files_of(one).items()}
    texts |= {name: facts.texts[name] for name in ("sass",) if name in facts.texts}
    return {name: read_lines(name, text, one.symbol) for name, text in texts.items()}


def _order_files(texts: Iterable[Mapping[str, list[Line]]]) -> list[str]:
    """The source files, the one with the most lines first."""
    count = Counter(file for one in texts for lines in one.values() for line in lines for file, _ in line.places)
    return [file for file, _ in count.most_common()]


def _missing(names: Sequence[str], file_index: Mapping[str, int], facts: ArtifactDetails) -> Iterator[str]:
    if "tilebc" not in {**facts.texts, **facts.missing}:
        yield "Bytecode not found in the build folder."
    if not names:
        yield "No line info."
    elif not file_index:
        yield f"Source {names[0]} is outside the project folder."
    elif others := [name for name in names if name not in file_index]:
        yield f"Source not available: {', '.join(others)}"
    yield from facts.missing.values()


def _on_gpu(
    one: BuiltKernel, facts: ArtifactDetails, lines: Mapping[str, list[Line]], shown: ShownSources, missing: Iterable[str],
    history: HistoryView | None,
) -> OnGpu:  # fmt: skip
    linked = any(line.places for line in lines.get("sass", ()))
    notes = [*missing, *([WITHOUT_LINES] if lines.get("sass") and not linked else [])]
    remarks = [_remark(remark, shown.index) for remark in facts.remarks if remark.function == one.symbol]
    texts = [_text(name, found, shown.index) for name, found in lines.items()]
    compared = interpreted(one.member.cubin, one.symbol)
    return OnGpu(
        one.row.target,
        list(_metrics(one)),
        one.row.reference,
        compared,
        _bars(one),
        texts,
        notes,
        _advice(remarks, one.estimated),
        _by_line(remarks, shown.code),
        view_schedule(facts.schedules.get(one.symbol)),
        history,
    )


def _text(name: str, lines: Sequence[Line], file_index: Mapping[str, int]) -> Text:
    places = ",".join(
        "|".join(_key(place, file_index) for place in line.places if place[0] in file_index) for line in lines
    )
    ptx = ",".join(str(line.ptx or "") for line in lines) if any(line.ptx for line in lines) else ""
    return Text(name, TITLES[name], "\n".join(line.text for line in lines), places.rstrip(","), ptx)


def _key(place: tuple[str, int], file_index: Mapping[str, int]) -> str:
    index = file_index[place[0]]
    return f"{index}:{place[1]}" if index else str(place[1])


def _remark(remark: Remark, file_index: Mapping[str, int]) -> RemarkView:
    found = remark.location
    if found is None or not found.file or not found.line:
        return RemarkView(remark, "", "")
    place = (found.file, found.line)
    return RemarkView(remark, _key(place, file_index) if found.file in file_index else "", f"{found.file}:{found.line}")


def _advice(remarks: Sequence[RemarkView], estimate: KernelEstimate | None) -> list[Advice]:
    """The missed optimizations, each with its places and its row of the index of errors."""
    found: dict[tuple[str, str], list[RemarkView]] = {}
    for one in remarks:
        if one.remark.kind in (MISSED, FAILED):
            found.setdefault((one.remark.name, one.remark.message), []).append(one)
    rows = explanations()
    return [
        Advice(message, items, rows[name].fix, gain_text(name, estimate)) for (name, message), items in found.items()
    ]


def _by_line(remarks: Sequence[RemarkView], code: Callable[[tuple[str, int]], str]) -> list[RemarksOfLine]:
    """The remarks by source line, in the order of lines."""
    found: dict[tuple[str, int], list[RemarkView]] = {}
    for one in remarks:
        found.setdefault(_location(one.remark), []).append(one)
    return [RemarksOfLine(items[0].place, items[0].where, code(place), items) for place, items in sorted(found.items())]


def _location(remark: Remark) -> tuple[str, int]:
    found = remark.location
    return ("", 0) if found is None or not found.file else (found.file, found.line)


def _metrics(one: BuiltKernel) -> Iterator[tuple[str, str]]:
    row = one.row
    spills = None if row.spill_stores is None else row.spill_stores + (row.spill_loads or 0)
    yield "registers", _shown(row.registers)
    yield "spills", _size(spills)
    yield "shared memory", _size(row.shared)
    yield "stack", _size(row.stack)
    yield "threads per CTA", str(row.threads)
    if row.occupancy is not None:
        yield "occupancy", f"{row.occupancy:.1f} %, {count_text(row.ctas or 0, 'CTA')} per SM; limited by {row.limit}"
    yield "instructions", _shown(row.instructions)
    yield "cubin", _size(row.size)


def _shown(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _size(size: int | None) -> str:
    return "-" if size is None else size_text(size)


def _bars(one: BuiltKernel) -> Bars | None:
    found = one.estimated
    if found is None or one.problem is None:
        return None
    longest = max(found.bounds.values())
    ordered = sorted(found.bounds.items(), key=lambda bound: -bound[1])
    bars = [
        Bar(name, clocks, clocks / longest, name == found.limit)
        for name, clocks in ordered
        if clocks >= _SMALL * longest
    ]
    small = [name for name, clocks in ordered if clocks < _SMALL * longest]
    return Bars(found.microseconds, found.gpu, one.problem.text, bars, small, found.assumed, view_roofline(found))
