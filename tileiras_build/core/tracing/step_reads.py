"""What a traced step has read, as its process hands it to the one that makes the record."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .dependency_record import Dependency
from .dependency_state import Stamp
from .portable_paths import PortablePaths

Key = tuple[str, str]  # kind and name
Contents = tuple[Stamp, str]  # SHA-256 of a file with this stamp
NO_READS: Mapping[Key, object] = {}


@dataclass(frozen=True)
class StepReads:
    """What a step has read, and what was found then; ``known`` are the rows that its process alone can say.

    ``libraries`` is what libraries have read that the step has loaded. ``changeable`` are files that it has opened for
    changes, ``contents`` what the files contained when they were noted.
    """

    reads: dict[Key, Stamp | str | None]
    libraries: dict[Key, Stamp | str | None]
    known: dict[Key, Dependency]
    contents: dict[str, Contents]
    changeable: frozenset[str]
    search_path: list[str]
    depends_on_place: bool
    untraced_actions: tuple[str, ...]


def names_places(files: Iterable[bytes], places: PortablePaths) -> bool:
    """Whether the text of a folder of this place is in one of the files."""
    folders = {places.root, os.path.realpath(places.root), places.prefix} - {os.sep}
    return any(os.fsencode(folder) in data for data in files for folder in folders)
