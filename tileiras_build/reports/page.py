"""The HTML report of a build folder: one self-contained page, made from ``page.html``, ``page.css`` and ``page.js``."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, astuple, dataclass
from datetime import datetime
from pathlib import Path

from ..estimate.builds import Problem
from ..files import write_files
from .collect import Row, by_key, read_rows, remember
from .export import COLUMNS, VERSION
from .folder import page_path, timeline_path, trace_path
from .timeline import Timeline, chrome_trace, read_timeline

_FOLDER = Path(__file__).parent
LAST = "the last report"
_DIGITS = 5  # of times in seconds: ten microseconds


@dataclass(frozen=True)
class Baseline:
    """What a page is compared with: a name for people, and the rows of the other report."""

    name: str
    rows: list[Row]


def write_report(
    build_dir: Path,
    page: Path | None = None,
    without: Collection[tuple[str, str]] = (),
    baseline: Baseline | None = None,
    problem: Problem | None = None,
) -> Path:
    """Write the page (default: ``report/index.html`` in the build folder) and, beside it, the Chrome trace.

    ``without`` are kernel files, (folder of the GPU, name), whose cubins an earlier build has left. The page shows what has
    changed since ``baseline``, where there is none since the last report that differed, and
    estimates for ``problem``. Raises InvalidInput where the folder
    holds no build, or a file in it is damaged.
    """
    rows, timeline = read_rows(build_dir, without, problem), read_timeline(timeline_path(build_dir))
    before = remember(build_dir, rows) if baseline is None else by_key(baseline.rows)
    since = LAST if baseline is None else baseline.name
    page = page or page_path(build_dir)
    files = {page: render_page(str(build_dir), rows, before, timeline, since).encode()}
    if timeline is not None:
        trace = json.dumps(chrome_trace(timeline.spans), separators=(",", ":")) + "\n"
        files[page.with_name(trace_path(build_dir).name)] = trace.encode()
    write_files(files)
    return page


def render_page(
    name: str, rows: list[Row], before: dict[str, dict] | None, timeline: Timeline | None, since: str = LAST
) -> str:
    """The page's text; ``before`` are the rows of another report, called ``since``, by key, None if this is the first."""
    content = {
        "name": name,
        "version": VERSION,
        "columns": COLUMNS,
        "rows": [asdict(row) | {"before": (before or {}).get(row.key)} for row in rows],
        "compared": before is not None,
        "since": since,
        "gone": sorted(set(before or ()) - {row.key for row in rows}),
        "build": None if timeline is None else _build(timeline),
    }
    # A "<" could end the script element that holds the data.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"css": _text("page.css"), "js": _text("page.js"), "data": data}
    page = _text("page.html")
    for part, text in parts.items():
        page = page.replace(f"@{part}@", text, 1)
    return page


def _build(timeline: Timeline) -> dict:
    started = datetime.fromtimestamp(timeline.start).astimezone().strftime("%Y-%m-%d %H:%M")
    first = min((span.start for span in timeline.spans), default=0.0)
    spans = [
        [*astuple(span)[:4], round(span.start - first, _DIGITS), round(span.end - first, _DIGITS), span.outcome]
        for span in timeline.spans
    ]
    return {"started": started, "jobs": timeline.jobs, "seconds": timeline.seconds, "spans": spans}


def _text(name: str) -> str:
    return (_FOLDER / name).read_text()
