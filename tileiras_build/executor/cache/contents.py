"""What a cache folder holds: how much, whether it is whole, and how to make it smaller.

Builds may use the folder meanwhile: a record that goes away costs them a rebuild. Files that a build wrote in the last
hour stay even if no record lists them yet.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...errors import InvalidInput, Location
from .action_result import DamagedRecord, Digest, decode
from .build_cache import size_text
from .folder_store import TOUCH_AFTER
from .store import BLOBS, RESULTS

_UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Contents:
    """How much a cache folder holds: steps, their distinct files and all bytes; ``leftovers`` of killed builds too."""

    steps: int
    files: int
    size: int
    leftovers: int

    def __str__(self) -> str:
        left = f"; {_count(self.leftovers, 'temporary file')} of ended builds" if self.leftovers else ""
        return f"{_count(self.steps, 'step')}, {_count(self.files, 'file')}, {size_text(self.size)}{left}"


def parse_size(text: str) -> int:
    """Bytes of "500M" or "2.5G"; raises InvalidInput[cache-size]."""
    with suppress(ValueError):
        size = float(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else float(text)
        if 0 <= size < float("inf"):
            return int(size)
    raise InvalidInput("cache-size", f"{text!r} is not a size", remedy="use a number of bytes, or one like 500M or 20G")


def measure(folder: Path) -> Contents:
    """How much ``folder`` holds; raises InvalidInput[cache-place] where it is no cache."""
    if not folder.is_dir():
        raise InvalidInput("cache-place", "this is not a folder", location=Location(str(folder)))
    results, blobs, leftovers = _records(folder, RESULTS), _records(folder, BLOBS), _leftovers(folder)
    size = sum(map(_size, [*results, *blobs, *leftovers]))
    return Contents(len(results), len(blobs), size, len(leftovers))


def verify(folder: Path) -> list[Path]:
    """Remove the records that are damaged; returns them."""
    damaged = [path for path in _records(folder, RESULTS) if _listed(path) is None]
    damaged += [path for path in _records(folder, BLOBS) if Digest.of(_read(path)).hash != path.name]
    for path in damaged:
        path.unlink(missing_ok=True)
    return damaged


def trim(folder: Path, limit: int) -> None:
    """Remove the steps that were used longest ago until the rest has at most ``limit`` bytes."""
    kept: set[str] = set()
    size = 0
    for path in sorted(_records(folder, RESULTS), key=_used, reverse=True):
        digests = _listed(path) or {}
        new = {digest.hash: digest.size for digest in digests.values() if digest.hash not in kept}
        size += sum(new.values()) + _size(path)
        if digests and size <= limit:
            kept |= new.keys()
        else:
            path.unlink(missing_ok=True)
    for path in [*_records(folder, BLOBS), *_leftovers(folder)]:
        if path.name not in kept and time.time() - _used(path) > TOUCH_AFTER:
            path.unlink(missing_ok=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _records(folder: Path, kind: str) -> list[Path]:
    return [path for path in (folder / kind).glob("??/*") if not path.name.startswith(".")]


def _leftovers(folder: Path) -> list[Path]:
    return [path for kind in (RESULTS, BLOBS) for path in (folder / kind).glob("??/.*")]


def _listed(path: Path) -> dict[str, Digest] | None:
    try:
        return decode(path.name, _read(path))
    except DamagedRecord:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _used(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0
