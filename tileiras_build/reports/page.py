"""The HTML report of a build folder: one self-contained page, or a folder with one for each kernel."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from pathlib import Path

from ..files import write_files
from .collect import NO_PROBLEMS, Built, Problems, Row, keys_of, read_built, remember
from .export import COLUMNS, VERSION
from .facts import read_facts
from .folder import facts_path, history_path, page_path, timeline_path, trace_path
from .history import NUMBERS, History, Values, read_history, write_history
from .history_view import view_history
from .kernel_view import KernelView, inputs_of, view_kernel
from .render import KERNEL, KERNEL_PAGE, PAGE, pack, render
from .source_files import SourceFiles
from .timeline import Timeline, chrome_trace, read_timeline

LAST = "the last report"
FOLDER = "_kernels"  # behind the name of the page of all: the folder of their pages
PACKED_LIMIT = 24 << 20  # bytes of kernels' parts in one file
_OURS = b'<meta name="generator" content="tileiras-build report">'
_DIGITS = 5  # of times in seconds: ten microseconds
_PLAIN = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True)
class Baseline:
    """What a page is compared with: a name for people, and the numbers of the other report."""

    name: str
    rows: Mapping[str, Values]


@dataclass(frozen=True)
class Form:
    """How a report is written: ``pages``, one for each kernel; ``keep`` names this build; ``jobs`` programs may run at a time."""

    pages: bool = False
    keep: str | None = None
    jobs: int = 1


@dataclass(frozen=True)
class KernelParts:
    """What the page of all holds of kernels: their packed parts by name or, of pages of their own, the addresses; and sentences."""

    packed: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_report(
    build_dir: Path,
    page: Path | None = None,
    without: Collection[Path] = (),
    baseline: Baseline | None = None,
    problems: Problems = NO_PROBLEMS,
    form: Form = Form(),
) -> Path:
    """Write the page (default: ``report/index.html`` in the build folder) and, beside it, the Chrome trace.

    ``without`` are cubins that an earlier build has left. The page shows what has changed since ``baseline``, where there is
    none since the last report that differed, and estimates for ``problems``. Raises InvalidInput where the folder
    holds no build, or a file in it is damaged.
    """
    built, timeline = read_built(build_dir, without, problems), read_timeline(timeline_path(build_dir))
    history = read_history(history_path(build_dir))
    rows = [one.row for one in built]
    if baseline is None or form.keep:
        before = remember(history, rows, time.time(), problems.text, form.keep)
        write_history(history, history_path(build_dir))
    if baseline is not None:
        before = dict(baseline.rows)
    page = page or page_path(build_dir)
    views = list(_views(build_dir, built, history, form.jobs))
    parts, files = _own_pages(str(build_dir), views, page) if form.pages else (_packed(views), {})
    since = LAST if baseline is None else baseline.name
    files[page] = render_page(str(build_dir), rows, before, timeline, since, parts).encode()
    if timeline is not None:
        trace = json.dumps(chrome_trace(timeline.spans), separators=(",", ":")) + "\n"
        files[page.with_name(trace_path(build_dir).name)] = trace.encode()
    write_files(files)
    _remove_others(_folder_of(page), files)
    return page


def render_page(
    name: str,
    rows: Sequence[Row],
    before: Mapping[str, Values] | None,
    timeline: Timeline | None,
    since: str = LAST,
    parts: KernelParts = KernelParts(),
) -> str:
    """The page's text; ``before`` are the numbers of another report, called ``since``, by key, None if this is the first."""
    keys = list(map(" ".join, keys_of(rows)))
    then = {key: dict(zip(NUMBERS, values, strict=True)) for key, values in (before or {}).items()}
    data = {
        "name": name,
        "version": VERSION,
        "columns": COLUMNS,
        "rows": [asdict(row) | {"before": then.get(key)} for key, row in zip(keys, rows, strict=True)],
        "compared": before is not None,
        "since": since,
        "gone": sorted(set(then) - set(keys)),
        "build": None if timeline is None else _build(timeline),
        "pages": parts.pages,
    }
    return render(PAGE, data=data, packed=parts.packed.items(), notes=parts.notes)


def _views(build_dir: Path, built: Sequence[Built], history: History, jobs: int) -> Iterator[list[KernelView]]:
    """The kernels of each name, those of several libraries together."""
    facts = read_facts(map(inputs_of, built), facts_path(build_dir), jobs)
    keys = list(map(" ".join, keys_of(one.row for one in built)))
    histories = {key: view for key in keys if (view := view_history(history, key)) is not None}
    files = SourceFiles(Path())
    by_name: dict[str, dict[str | None, list[int]]] = {}
    for number, one in enumerate(built):
        by_name.setdefault(one.row.kernel, {}).setdefault(one.row.library, []).append(number)
    for libraries in by_name.values():
        yield [
            view_kernel(
                [built[n] for n in numbers], [facts[n] for n in numbers], files, histories, [keys[n] for n in numbers]
            )
            for numbers in libraries.values()
        ]


def _packed(views: Iterable[list[KernelView]]) -> KernelParts:
    """All kernels for one file; those that would make it too large are left to pages of their own."""
    parts, size, left = KernelParts(), 0, 0
    for kernels in views:
        packed = pack("".join(render(KERNEL, kernel=kernel) for kernel in kernels))
        if size + len(packed) > PACKED_LIMIT:
            left += 1
            continue
        size += len(packed)
        parts.packed[kernels[0].name] = packed
    if left:
        parts.notes.append(
            f"{left} kernels are without sources, stages and machine code, which would make this file larger than "
            f"{PACKED_LIMIT >> 20} MiB: scons report pages=yes writes a page for each."
        )
    return parts


def _folder_of(page: Path) -> Path:
    return page.with_name(page.stem + FOLDER)


def _own_pages(build: str, views: Iterable[list[KernelView]], page: Path) -> tuple[KernelParts, dict[Path, bytes]]:
    parts, files, folder = KernelParts(), {}, _folder_of(page)
    for kernels in views:
        path = folder / file_name(name := kernels[0].name)
        parts.pages[name] = f"{folder.name}/{path.name}"
        text = render(KERNEL_PAGE, name=name, build=build, index=f"../{page.name}", kernels=kernels)
        files[path] = text.encode()
    return parts, files


def _remove_others(folder: Path, files: Collection[Path]) -> None:
    """Remove the pages that an earlier report has written for kernels, and no other files."""
    for path in folder.glob("*.html"):
        if path not in files and _OURS in path.read_bytes()[:400]:
            path.unlink(missing_ok=True)


def file_name(kernel: str) -> str:
    """The file of a kernel's own page: its name where that is one that files and addresses may have, else with a digest."""
    plain = _PLAIN.sub("_", kernel)[:80]
    own = "" if plain == kernel else f"-{hashlib.sha256(kernel.encode()).hexdigest()[:10]}"
    return f"{plain}{own}.html"


def _build(timeline: Timeline) -> dict:
    started = datetime.fromtimestamp(timeline.start).astimezone().strftime("%Y-%m-%d %H:%M")
    first = min((span.start for span in timeline.spans), default=0.0)
    spans = [
        [*astuple(span)[:4], round(span.start - first, _DIGITS), round(span.end - first, _DIGITS), span.outcome]
        for span in timeline.spans
    ]
    return {"started": started, "jobs": timeline.jobs, "seconds": timeline.seconds, "spans": spans}
