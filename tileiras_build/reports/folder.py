"""Where a build folder keeps what reports are made from, and the report itself."""

from __future__ import annotations

from pathlib import Path

NAME = "report"


def timeline_path(build_dir: Path) -> Path:
    """The steps of the last build that did something."""
    return build_dir / NAME / "timeline.json"


def trace_path(build_dir: Path) -> Path:
    """The same as a Chrome trace."""
    return build_dir / NAME / "trace.json"


def page_path(build_dir: Path) -> Path:
    """The HTML page."""
    return build_dir / NAME / "index.html"


def history_path(build_dir: Path) -> Path:
    """What the last two reports that differ have said, for the page's changes."""
    return build_dir / NAME / "history.json"
