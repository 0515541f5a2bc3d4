"""Paths of reports and their inputs in a build folder."""

from __future__ import annotations

from pathlib import Path

from ..target.targets import ALL_TARGETS

NAME = "report"


def cubins_of(build_dir: Path) -> list[Path]:
    """The cubins in the per-GPU folders of a build; if there are none, all cubins below the folder."""
    found = [path for target in ALL_TARGETS for path in sorted((build_dir / target).glob("*.cubin"))]
    return found or sorted(build_dir.rglob("*.cubin"))


def timeline_path(build_dir: Path) -> Path:
    """The timeline of the last build that ran steps."""
    return build_dir / NAME / "timeline.json"


def trace_path(build_dir: Path) -> Path:
    """The timeline as a Chrome trace."""
    return build_dir / NAME / "trace.json"


def page_path(build_dir: Path) -> Path:
    """The HTML page."""
    return build_dir / NAME / "index.html"


def history_path(build_dir: Path) -> Path:
    """The metrics of earlier reports."""
    return build_dir / NAME / "history.json"


def project_path(build_dir: Path) -> Path:
    """The record of the project's libraries."""
    return build_dir / NAME / "project.json"


def details_path(build_dir: Path) -> Path:
    """The cache folder of artifact details."""
    return build_dir / NAME / "facts"
