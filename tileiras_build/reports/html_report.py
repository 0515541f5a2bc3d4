"""The HTML report of a build folder: one self-contained page, or a folder with one for each kernel."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import datetime
from pathlib import Path

from ..core.file_io import write_files
from ..core.version import __version__
from .build_history import METRICS, Values, read_history, write_history
from .build_timeline import Timeline, chrome_trace, read_timeline
from .collect_rows import NO_PROBLEMS, EstimateProblems, KernelRow, keys_of, read_built, remember
from .git_commit import git_commit
from .kernel_section_cache import packed_sections
from .project_manifest import project_root
from .render_templates import KERNEL_PAGE, PAGE, render, unpack
from .report_cache import ReportCache
from .report_csv_json import COLUMNS, VERSION
from .report_paths import details_path, history_path, page_path, timeline_path, trace_path

LAST = "the last report"
FOLDER = "_kernels"  # suffix of the folder with the kernels' own pages
PACKED_LIMIT = 24 << 20  # bytes of kernel sections in one file
_OURS = b'<meta name="generator" content="tileiras-build report">'
_DIGITS = 5  # of times in seconds: ten microseconds
_PLAIN = re.compile(r"[^\w.-]", re.ASCII)


@dataclass(frozen=True)
class Baseline:
    """The baseline of a comparison: a display name and the metrics of the other report."""

    name: str
    rows: Mapping[str, Values]


@dataclass(frozen=True)
class ReportForm:
    """How a report is written: ``pages``: one page per kernel; ``label`` of this build; ``jobs``: concurrent programs.

    ``options`` are the build's options that are not the defaults. ``root`` is the folder of the sources, by default the project's.
    """

    pages: bool = False
    label: str | None = None
    jobs: int = 1
    options: tuple[str, ...] = ()
    root: Path | None = None


@dataclass(frozen=True)
class Heading:
    """What the page says above the kernels: the project, and facts about the build."""

    project: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelSections:
    """The kernel sections of the main page: packed sections by name, or the addresses of the kernels' own pages, and notes."""

    packed: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_report(
    build_dir: Path,
    page: Path | None = None,
    without: Collection[Path] = (),
    baseline: Baseline | None = None,
    problems: EstimateProblems = NO_PROBLEMS,
    form: ReportForm = ReportForm(),
) -> Path:
    """Write the page (default: ``report/index.html`` in the build folder) and, beside it, the Chrome trace.

    ``without`` are cubins left from an earlier build. The page shows the changes since ``baseline``, or, if it is
    None, since the last report that differed, and estimates for ``problems``. Raises InvalidInput if the folder
    has no build or a damaged file.
    """
    cache = ReportCache(details_path(build_dir))
    built, timeline = read_built(build_dir, without, problems, cache), read_timeline(timeline_path(build_dir))
    history = read_history(history_path(build_dir))
    rows = [one.row for one in built]
    if baseline is None or form.label:
        before = remember(history, rows, time.time(), problems.text, form.label)
        write_history(history, history_path(build_dir))
    if baseline is not None:
        before = dict(baseline.rows)
    page = page or page_path(build_dir)
    packed = packed_sections(built, history, cache, form.root or project_root(build_dir), form.jobs)
    parts, files = _own_pages(str(build_dir), packed, page) if form.pages else (_in_one_file(packed), {})
    since = LAST if baseline is None else baseline.name
    files[page] = render_page(str(build_dir), rows, before, timeline, since, parts, _heading(build_dir, form)).encode()
    if timeline is not None:
        trace = json.dumps(chrome_trace(timeline.spans), separators=(",", ":")) + "\n"
        files[page.with_name(trace_path(build_dir).name)] = trace.encode()
    write_files(files)
    _remove_others(_folder_of(page), files)
    return page


def render_page(
    name: str,
    rows: Sequence[KernelRow],
    before: Mapping[str, Values] | None,
    timeline: Timeline | None,
    since: str = LAST,
    sections: KernelSections = KernelSections(),
    heading: Heading = Heading(),
) -> str:
    """The page as HTML; ``before`` are the metrics of the report ``since`` by key, None if there is none."""
    keys = list(map(" ".join, keys_of(rows)))
    then = {key: dict(zip(METRICS, values, strict=True)) for key, values in (before or {}).items()}
    data = {
        "name": name,
        "project": heading.project,
        "about": heading.about,
        "version": VERSION,
        "columns": COLUMNS,
        "rows": [asdict(row) | {"before": then.get(key)} for key, row in zip(keys, rows, strict=True)],
        "compared": before is not None,
        "since": since,
        "gone": sorted(set(then) - set(keys)),
        "build": None if timeline is None else _build(timeline),
        "pages": sections.pages,
    }
    return render(PAGE, data=data, packed=sections.packed.items(), notes=sections.notes)


def _heading(build_dir: Path, form: ReportForm) -> Heading:
    root = (form.root or project_root(build_dir)).resolve()
    commit = git_commit(root)
    facts = (commit and f"commit {commit}", f"tileiras_build {__version__}", " ".join(form.options))
    return Heading(root.name, tuple(filter(None, facts)))


def _in_one_file(packed: Mapping[str, str]) -> KernelSections:
    """The kernel sections for one file, without those that would exceed the size limit."""
    parts, size, left = KernelSections(), 0, 0
    for name, part in packed.items():
        if size + len(part) > PACKED_LIMIT:
            left += 1
            continue
        size += len(part)
        parts.packed[name] = part
    if left:
        parts.notes.append(
            f"Code views of {left} kernels omitted (file size limit {PACKED_LIMIT >> 20} MiB). "
            "Use pages=yes for one page per kernel."
        )
    return parts


def _folder_of(page: Path) -> Path:
    return page.with_name(page.stem + FOLDER)


def _own_pages(build: str, packed: Mapping[str, str], page: Path) -> tuple[KernelSections, dict[Path, bytes]]:
    parts, files, folder = KernelSections(), {}, _folder_of(page)
    for name, part in packed.items():
        path = folder / file_name(name)
        parts.pages[name] = f"{folder.name}/{path.name}"
        text = render(KERNEL_PAGE, name=name, build=build, index=f"../{page.name}", part=unpack(part))
        files[path] = text.encode()
    return parts, files


def _remove_others(folder: Path, files: Collection[Path]) -> None:
    """Remove kernel pages of an earlier report, and no other files."""
    for path in folder.glob("*.html"):
        if path not in files and path.is_file() and _OURS in path.read_bytes()[:400]:
            path.unlink(missing_ok=True)


def file_name(kernel: str) -> str:
    """The file name of a kernel's own page: the kernel's name if it is valid in files and URLs, else with a digest."""
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
