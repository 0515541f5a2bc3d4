"""Where a build folder keeps what reports are made from, and the report itself."""

from __future__ import annotations

from pathlib import Path

from ..target.targets import TARGETS

NAME = "report"


def cubins_of(build_dir: Path) -> list[Path]:
    """Those in the GPUs' folders, as a build lays them out; all below a folder that has none of these."""
    found = [path for target in TARGETS for path in sorted((build_dir / target).glob("*.cubin"))]
    return found or sorted(build_dir.rglob("*.cubin"))


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
    """What reports have said, for the page's changes and each kernel's history."""
    return build_dir / NAME / "history.json"


def project_path(build_dir: Path) -> Path:
    """The project's libraries."""
    return build_dir / NAME / "project.json"


def details_path(build_dir: Path) -> Path:
    """The folder of what was found out about artifacts."""
    return build_dir / NAME / "facts"
