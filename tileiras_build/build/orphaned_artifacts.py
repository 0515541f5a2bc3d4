"""Files of kernels that no longer exist: a build reports them, and ``scons prune=1`` removes them.

A kernel that was removed or renamed leaves its artifacts in the build folder, where packages and people find them. A
file is an orphan only if all of this holds:

- no library of this build folder has a kernel of its name, for any target: a target that is not built today (``sm=90``
  after ``sm=90,100``) keeps its files; for a libdevice subset, none of these kernels requests it;
- SCons' records show that one of our steps made it;
- its size and time of change, or else its contents, are those of the step's output: another file in its place is kept.

A build reads only the records that it needs anyway, those of its targets; if there is an orphan, and to remove orphans, it
also reads those of the other targets.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import SCons.Node.FS
import SCons.SConsign
from SCons.Util.hashes import hash_file_signature

from ..core.plurals import count_text
from ..pipeline.stages import LIBDEVICE
from .artifact_node import matches
from .explain import parse_signature
from .incremental.compact_sconsign import Entries, peek
from .stage_actions import kernel_name

MAX_LISTED = 3  # files that are listed
REMEDY = "delete them with `scons prune=1`"
_PRESERVED = ("package",)  # steps whose files are named after a package


@dataclass
class _Folder:
    """A build folder: its nodes of this run, and its folders whose records are read."""

    artifacts: list
    subfolders: dict[str, SCons.Node.FS.Dir] = field(default_factory=dict)

    @cached_property
    def kernels(self) -> set[str]:
        """The names of existing kernels."""
        parts = set(self.subfolders.values())
        return {kernel_name(node) for node in self.artifacts if node.dir in parts}


def find_orphans(folders: Iterable[str], artifacts: list, everywhere: bool = False) -> list[str]:
    """The orphans in the build folders (paths as SCons has them), by path; ``artifacts`` are all nodes of this run."""
    known = {folder: _Folder(artifacts) for folder in folders}
    for part in {node.dir for node in artifacts}:
        if part.up().path in known:
            known[part.up().path].subfolders[part.path] = part
    return sorted(path for place, folder in known.items() for path in _orphans_of(place, folder, everywhere))


def _orphans_of(place: str, folder: _Folder, everywhere: bool) -> list[str]:
    found: list[str] = []
    for path, part in folder.subfolders.items():
        entries = part.sconsign().entries
        # In nearly all builds every file has its node.
        names = [name for name in _names(entries) if name not in part.entries]
        found += _in_records(path, entries, names, folder)
    if found or everywhere or not folder.subfolders:
        for path, entries in _other_records(place, folder.subfolders.keys()):
            found += _in_records(path, entries, _names(entries), folder)
    return found


def _other_records(place: str, read: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """The records of the folders in ``place`` that were not read yet."""
    if SCons.SConsign.ForDirectory is not SCons.SConsign.DB:
        # The build script has configured a record file in each folder.
        return
    database, _ = SCons.SConsign.Get_DataBase(SCons.Node.FS.get_default_fs().Top)
    for part in list(database.keys()):
        if os.path.dirname(part) == place and part not in read:
            # A damaged record proves nothing about its files.
            with suppress(Exception):
                yield part, pickle.loads(database[part])


def _names(entries: dict) -> Iterable[str]:
    return entries.names() if isinstance(entries, Entries) else entries


def _in_records(folder_name: str, entries: dict, names: Iterable[str], folder: _Folder) -> Iterator[str]:
    unknown = [name for name in names if name.rpartition(".")[0] not in folder.kernels]
    kept = _requested_by(entries, folder) if any(map(_is_libdevice_subset, unknown)) else set()
    for name in unknown:
        entry, path = peek(entries, name), os.path.join(folder_name, name)
        if name not in kept and entry is not None and _is_made_by_us(entry) and _is_as_made(path, entry.ninfo):
            yield path


def _is_libdevice_subset(name: str) -> bool:
    return name.endswith(LIBDEVICE.suffix)


def _requested_by(entries: dict, folder: _Folder) -> set[str]:
    """The requests of the last steps of existing kernels."""
    entries_of_kernels = (peek(entries, name) for name in _names(entries) if name.rpartition(".")[0] in folder.kernels)
    builds = (getattr(entry, "binfo", None) for entry in entries_of_kernels)
    return {os.path.basename(str(child)) for build in builds for child in getattr(build, "bimplicit", None) or ()}


def _is_made_by_us(entry) -> bool:
    """Whether the file was made by an action of ``stage_actions.py``, whose text is its signature."""
    signature = parse_signature(str(getattr(getattr(entry, "binfo", None), "bact", "")))
    return (
        isinstance(signature, dict) and "code" in signature and signature.get("stage", _PRESERVED[0]) not in _PRESERVED
    )


def _is_as_made(path: str, recorded) -> bool:
    try:
        found = os.lstat(path)
        if matches(recorded, found):
            return True
        # Copied, or restored; a link has its own size.
        same_size = getattr(recorded, "size", None) == found.st_size and not os.path.islink(path)
        return same_size and hash_file_signature(path) == getattr(recorded, "csig", None)
    except OSError:
        return False


def describe(orphans: list[str]) -> str:
    """One line: the count, the first files, and the remedy; "" if there are none."""
    if not orphans:
        return ""
    more = ", ..." if len(orphans) > MAX_LISTED else ""
    return f"{_count(orphans)}: {', '.join(orphans[:MAX_LISTED])}{more}; {REMEDY}"


def remove_orphans(orphans: list[str]) -> str:
    """Remove them, and folders that become empty; returns a line per action, "" if there was nothing to do."""
    removed, lines = [], []
    for path in orphans:
        try:
            os.unlink(path)
            removed.append(path)
        except OSError as error:
            lines.append(f"cannot remove {path}: {error.strerror or error}")
    for folder in {os.path.dirname(path) for path in removed}:
        with suppress(OSError):
            os.rmdir(folder)
    return "\n".join([f"removed {_count(removed)}", *lines] if removed else lines)


def _count(paths: list[str]) -> str:
    files = count_text(len(paths), "file")
    kernels = len({os.path.basename(path).rpartition(".")[0] for path in paths if not _is_libdevice_subset(path)})
    if not kernels:
        return f"{files} no longer used by any kernel"
    return f"{files} of {'a deleted kernel' if kernels == 1 else f'{kernels} deleted kernels'}"
