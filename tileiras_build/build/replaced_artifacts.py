"""Artifacts that a build has replaced: with the options or sources of before, they come back without a step.

A step that runs removes its outdated artifacts. Those of stages are moved to ``<build_dir>/.replaced`` instead, under a
digest of all that determined them: their path, the action's signature, and the contents of their inputs, as SCons recorded
them. A step whose key is there takes its artifacts back, if their contents have the digest of that record. So a build whose
options return to earlier values compiles nothing. A build that replaces nothing does not touch the folder.

The oldest artifacts are removed if all together have more than LIMIT bytes; ``prune=1`` and ``-c`` remove all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import SCons.Action
import SCons.Node.FS
from SCons.Util import hash_signature

from ..core.file_io import read_file, write_files
from ..core.plurals import count_text
from .artifact_node import ArtifactFile, action_signature, record_of
from .input_change_check import has_decided_inputs

FOLDER = ".replaced"
LIMIT = 1 << 30  # bytes
_TRIMMED = LIMIT // 4 * 3  # bytes that are left after the oldest are removed
_SIZE = "size"  # the file with the bytes of all others, an upper bound


class ReplacedArtifacts:
    """The replaced artifacts of one build folder. Thread-safe: SCons replaces in one thread, steps take in several."""

    def __init__(self, build_dir: Path):
        self.folder = build_dir / FOLDER
        self._lock = threading.Lock()
        self._kept = self._taken = 0  # bytes, artifacts

    @cached_property
    def _names(self) -> dict[str, str]:
        """The file name of each key: the key, a dot, and SCons' signature of the contents."""
        with suppress(OSError):
            return {name.partition(".")[0]: name for name in os.listdir(self.folder) if "." in name}
        return {}

    def keep(self, node: ArtifactFile) -> None:
        """Move the outdated file of ``node`` here, if it is as recorded and its step would now make another one."""
        entry = record_of(node) if SCons.Action.execute_actions and is_restorable(node) else None
        if entry is None or not node.is_as_recorded():
            return
        key = _recorded_key(node, entry.binfo)
        # A step that is forced to run must not find its own result.
        if key is None or key == _current_key(node):
            return
        name = f"{key}.{entry.ninfo.csig}"
        # On another file system, or without the right to write here, SCons removes the file.
        with suppress(OSError), self._lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            os.rename(node.get_abspath(), self.folder / name)
            self._names[key] = name
            self._kept += entry.ninfo.size
        node.clear_memoized_values()

    def take(self, nodes: list) -> dict[str, bytes] | None:
        """The artifacts of a step by file name, removed from here; None if not all are here."""
        if not self._names or not all(map(is_restorable, nodes)):
            return None
        names = {node.name: self._names.get(_current_key(node) or "") for node in nodes}
        if None in names.values() or not has_decided_inputs(nodes[0]):
            return None
        found = {file: self._read(str(name)) for file, name in names.items()}
        taken = {file: data for file, data in found.items() if data is not None}
        if len(taken) < len(nodes):
            return None
        self._drop(map(str, names.values()))
        return taken

    def _read(self, name: str) -> bytes | None:
        """A file's contents, if they are those that the name states."""
        with suppress(OSError):
            data = (self.folder / name).read_bytes()
            return data if hash_signature(data) == name.partition(".")[2] else None
        return None

    def _drop(self, names: Iterable[str]) -> None:
        with self._lock:
            for name in names:
                self._taken += self._names.pop(name.partition(".")[0], None) is not None
                with suppress(OSError):
                    os.unlink(self.folder / name)

    def summary(self) -> str:
        """How many artifacts were taken; "" if none."""
        return (
            f"restored {count_text(self._taken, 'artifact')} of earlier builds from {self.folder}"
            if self._taken
            else ""
        )

    def close(self, *, keep: bool) -> None:
        """Remove the oldest artifacts if all may have more than LIMIT bytes, and all unless ``keep``."""
        if not keep and SCons.Action.execute_actions:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif self._kept:
            self._trim()

    def _trim(self) -> None:
        # A full or read-only disk: the next build measures again.
        with suppress(Exception):
            size = self._size_before() + self._kept
            if size > LIMIT:
                size = _remove_oldest(self.folder, _TRIMMED)
            write_files({self.folder / _SIZE: str(size).encode()})

    def _size_before(self) -> int:
        try:
            return int(read_file(self.folder / _SIZE))
        except Exception:
            return sum(entry.stat().st_size for entry in os.scandir(self.folder)) - self._kept


def is_restorable(node) -> bool:
    """Whether the inputs that SCons records determine the artifact ``node``."""
    return isinstance(node, ArtifactFile) and getattr(node.builder.action, "is_restorable", False)


def _remove_oldest(folder: Path, limit: int) -> int:
    """Remove artifacts, those first that were replaced first, until the rest has at most ``limit`` bytes; their size."""
    states = {entry.path: entry.stat() for entry in os.scandir(folder) if entry.name != _SIZE}
    size = sum(state.st_size for state in states.values())
    for path, state in sorted(states.items(), key=lambda item: item[1].st_ctime):
        if size <= limit:
            break
        os.unlink(path)
        size -= state.st_size
    return size


def _recorded_key(node: ArtifactFile, build) -> str | None:
    """The key of the recorded step that made ``node``."""
    groups = (
        (build.bsources, build.bsourcesigs),
        (build.bdepends, build.bdependsigs),
        (build.bimplicit, build.bimplicitsigs),
    )
    inputs = [
        [(str(name), getattr(info, "csig", None)) for name, info in zip(names, infos, strict=True)]
        for names, infos in groups
    ]
    return _key(node, build.bactsig, inputs)


def _current_key(node: ArtifactFile) -> str | None:
    """The key of the step that makes ``node`` now."""
    groups = (node.sources, node.depends or (), node.implicit or ())
    if not all(isinstance(child, SCons.Node.FS.File) for children in groups for child in children):
        return None
    return _key(node, action_signature(node), [[(str(child), child.get_csig()) for child in group] for group in groups])


def _key(node: ArtifactFile, action: str | None, inputs: list) -> str | None:
    """None unless all inputs and the action have signatures."""
    if action is None or any(csig is None for group in inputs for _, csig in group):
        return None
    return hashlib.sha256(json.dumps([node.get_path(), action, inputs]).encode()).hexdigest()
