"""The message of a build to ``tileiras-build watch``, in the file of an environment variable: its folders, outputs and inputs.

Only SCons knows these: a build script chooses its folders, and kernels may read any file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "TILEIRAS_WATCH"  # core/tracing/ignored_env_vars.py: nothing that is built depends on it
_CUBIN = ".cubin"


@dataclass(frozen=True)
class WatchMessage:
    """The build folders, the cubins of all existing kernels, and every file that the build read or made."""

    folders: frozenset[str] = field(default_factory=frozenset)
    cubins: frozenset[str] = field(default_factory=frozenset)
    files: frozenset[str] = field(default_factory=frozenset)


def is_listening() -> bool:
    """Whether a watcher listens."""
    return bool(os.environ.get(VARIABLE))


def send(folders: Iterable[str], files: Iterable[str]) -> None:
    """Send the message, with absolute paths."""
    found = set(files)
    cubins = {path for path in found if path.endswith(_CUBIN)}
    own = {*map(os.path.abspath, folders), *(os.path.dirname(os.path.dirname(path)) for path in cubins)}
    message = {"folders": sorted(own), "cubins": sorted(cubins), "files": sorted(found)}
    with suppress(OSError):
        Path(os.environ[VARIABLE]).write_text(json.dumps(message))


def receive(path: Path) -> WatchMessage | None:
    """The message of a build; None if it sent none."""
    try:
        message = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return WatchMessage(*(frozenset(message[name]) for name in ("folders", "cubins", "files")))


def files_of(artifacts: Iterable) -> Iterator[str]:
    """The artifacts, their sources, and their other dependencies."""
    reads = set()
    for node in artifacts:
        yield node.get_abspath()
        yield from (found.get_abspath() for found in (*node.sources, *(node.depends or ())))
        reads.add(node.reads)
    for found in filter(None, reads):
        inputs = found.inputs()
        yield from () if isinstance(inputs, str) else inputs[0]
