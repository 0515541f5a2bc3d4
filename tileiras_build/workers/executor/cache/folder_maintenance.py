"""Maintenance of a cache folder: measure its size, verify its contents, and trim it.

Builds may use the folder meanwhile: a removed record costs them a rebuild. Files that a build wrote in the last hour are kept
even if no record lists them yet. Anybody who can write to the folder may have put anything there: only regular files are
opened, and no link below ``ac`` and ``cas`` is followed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ....core import byte_sizes
from ....core.errors import InvalidInput, Location
from ....core.plurals import count_text
from .action_result import BLOB_LIMIT, DamagedRecord, Digest, decode
from .build_cache import RECORD_LIMIT
from .folder_store import TOUCH_AFTER, read_record
from .store import BLOBS, RESULTS

_SHARD, _NAME = re.compile("[0-9a-f]{2}", re.ASCII), re.compile("[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class FolderContents:
    """The size of a cache folder: steps, their distinct files and all bytes; ``leftovers`` are temporary files of killed builds."""

    steps: int
    files: int
    size: int
    leftovers: int

    def __str__(self) -> str:
        left = f"; {count_text(self.leftovers, 'temporary file')} of killed builds" if self.leftovers else ""
        return f"{count_text(self.steps, 'step')}, {count_text(self.files, 'file')}, {byte_sizes.size_text(self.size)}{left}"


def parse_size(text: str) -> int:
    """Bytes of "500MiB" or "2.5GiB"; raises InvalidInput[cache-size]."""
    if (size := byte_sizes.parse_size(text)) is None:
        remedy = "use bytes, or e.g. 500MiB or 20GiB"
        raise InvalidInput("cache-size", f"invalid size {text!r}", remedy=remedy)
    return size


def measure(folder: Path) -> FolderContents:
    """The size of ``folder``; raises InvalidInput[cache-value] if it is not a cache."""
    if not folder.is_dir():
        raise InvalidInput("cache-value", "this is not a folder", location=Location(str(folder)))
    results, blobs, leftovers = _records(folder, RESULTS), _records(folder, BLOBS), _leftovers(folder)
    size = sum(map(_size, [*results, *blobs, *leftovers]))
    return FolderContents(len(results), len(blobs), size, len(leftovers))


@dataclass(frozen=True)
class DamagedEntry:
    """A file in a cache folder that builds reject, and why; ``final`` if this user has no access to it."""

    path: Path
    reason: str
    final: bool = False

    def __str__(self) -> str:
        text = str(self.path)
        return f"{text if text.isprintable() else ascii(text)}: {self.reason}"


def verify(folder: Path) -> Iterator[DamagedEntry]:
    """Read everything; yields the damaged entries."""
    for kind in (RESULTS, BLOBS):
        place = folder / kind
        if place.is_symlink() and place.is_dir():
            # One of the two may be on another disk.
            place = place.resolve()
        yield from _verify_folder(place, lambda part: _verify_shard(kind, part))  # noqa: B023


def _verify_shard(kind: str, shard: Path) -> Iterator[DamagedEntry]:
    if _SHARD.fullmatch(shard.name):
        yield from _verify_folder(shard, lambda path: filter(None, [_damage(kind, path)]))


def _verify_folder(folder: Path, look: Callable[[Path], Iterable[DamagedEntry]]) -> Iterator[DamagedEntry]:
    """The damage that ``look`` finds in each entry of a folder; also if it is not a folder, or unreadable."""
    try:
        found = os.lstat(folder)
        if stat.S_ISDIR(found.st_mode):
            for path in _entries(folder):
                yield from look(path)
        else:
            yield DamagedEntry(folder, "not a folder")
    except FileNotFoundError:
        return
    except OSError as error:
        yield _unreadable(folder, error)


def remove(damage: DamagedEntry) -> str | None:
    """Remove a damaged entry; returns why it could not be removed, if so."""
    if damage.final:
        return "owned by another user"
    try:
        _remove(damage.path)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _damage(kind: str, path: Path) -> DamagedEntry | None:
    if path.name.startswith("."):
        return None if _is_file(path) else DamagedEntry(path, "not a file")
    if not _NAME.fullmatch(path.name) or not path.name.startswith(path.parent.name):
        return DamagedEntry(path, "unexpected file name")
    try:
        data = read_record(path, RECORD_LIMIT if kind == RESULTS else BLOB_LIMIT)
        if data is None:
            return DamagedEntry(path, "not a file")
        reason = _CHECKS[kind](path.name, data)
    except FileNotFoundError:
        # A build or another job has removed it.
        return None
    except OSError as error:
        return _unreadable(path, error)
    return DamagedEntry(path, reason) if reason else None


def _unreadable(path: Path, error: OSError) -> DamagedEntry:
    return DamagedEntry(path, f"cannot be read: {error.strerror or error}", isinstance(error, PermissionError))


def _wrong_result(name: str, data: bytes) -> str | None:
    try:
        decode(name, data)
    except DamagedRecord as error:
        return str(error)
    return None


def _wrong_blob(name: str, data: bytes) -> str | None:
    return None if Digest.of(data).hash == name else "content does not match its hash"


# Kind of record -> check of its bytes.
_CHECKS = {RESULTS: _wrong_result, BLOBS: _wrong_blob}


def trim(folder: Path, limit: int) -> None:
    """Remove the least recently used steps until the rest has at most ``limit`` bytes."""
    kept: set[str] = set()
    size = 0
    for path in sorted(_records(folder, RESULTS), key=_used, reverse=True):
        digests = _listed(path) or {}
        new = {digest.hash: digest.size for digest in digests.values() if digest.hash not in kept}
        size += sum(new.values()) + _size(path)
        if digests and size <= limit:
            kept |= new.keys()
        else:
            _remove_if_possible(path)
    for path in [*_records(folder, BLOBS), *_leftovers(folder)]:
        if path.name not in kept and time.time() - _used(path) > TOUCH_AFTER:
            _remove_if_possible(path)


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder, sorted; empty without a folder. Raises OSError if it is unreadable."""
    try:
        return [folder / name for name in sorted(os.listdir(folder))]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _all(folder: Path, kind: str) -> list[Path]:
    """All entries of the folders for records of the kind."""
    found: list[Path] = []
    with suppress(OSError):
        parts = [path for path in _entries(folder / kind) if _SHARD.fullmatch(path.name) and not path.is_symlink()]
        for part in parts:
            with suppress(OSError):
                found += _entries(part)
    return found


def _records(folder: Path, kind: str) -> list[Path]:
    return [path for path in _all(folder, kind) if not path.name.startswith(".")]


def _leftovers(folder: Path) -> list[Path]:
    return [path for kind in (RESULTS, BLOBS) for path in _all(folder, kind) if path.name.startswith(".")]


def _listed(path: Path) -> dict[str, Digest] | None:
    try:
        data = read_record(path, RECORD_LIMIT)
        return None if data is None else decode(path.name, data)
    except (DamagedRecord, OSError):
        return None


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder with its contents; never the target of a link. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_if_possible(path: Path) -> None:
    with suppress(OSError):
        _remove(path)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _used(path: Path) -> float:
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0
