"""What a build says after its table about kernels with a space of constants and hints: those that nobody has tuned, and
choices from a space that has changed. The launch manifest has what was compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..core.file_io import read_file
from ..manifest.launch_manifest import parse_json, read_launch_manifest

DEFAULT = "default"  # who chose, where nothing has been tuned
MAX_LISTED = 3  # names in one line


def tuning_notes(manifests: Iterable[Path]) -> list[str]:
    """At most a line for the kernels with their default point, and one for choices from another space."""
    untuned, stale = [], []
    for path in manifests:
        # Most kernels have no space; their manifests are not parsed again.
        if b'"tuning"' not in (text := read_file(path)):
            continue
        found = read_launch_manifest(parse_json(text))
        for name, launch in found.kernels.items():
            if launch.tuning is not None and launch.variant_of is None:
                kernel = f"{name} ({found.target.rstrip('af')})"
                untuned += [kernel] * (launch.tuning.by == DEFAULT)
                stale += [kernel] * launch.tuning.stale
    lines = [f"not tuned, built with the arguments of the case: {_listed(untuned)}; run scons tune"] if untuned else []
    changed = "remark[tune-stale]: the space has changed since the choice for"
    return lines + ([f"{changed} {_listed(stale)}; run scons tune"] if stale else [])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
