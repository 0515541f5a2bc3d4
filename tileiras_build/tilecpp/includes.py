"""Which headers a file has read, and where a header would be found instead of one of them if it were there.

nvcc's dependency file names what was read. What was looked for and not found it does not say; so the text of each file
is searched for ``#include`` and ``__has_include``, and every folder that comes before the one where a name is found is
noted with that name. That is more than was looked for (conditions are not evaluated) and never less, but for names that
macros make up: of those the files that were read tell the folders before.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .toolchain import Probe

_INCLUDE = re.compile(
    rb'(?:^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*|(__has_include(?:_next)?)\s*\(\s*)(["<])([^">\n]+)[">]',
    re.MULTILINE,
)
_WORD = re.compile(r"(?:\\.|\$\$|[^\s\\])+")
_ESCAPED = re.compile(r"\\(.)|\$\$")


def read_dependencies(text: str, root: str) -> list[str]:
    """The files that a dependency file (make's syntax) names, as absolute paths; relative ones are below ``root``."""
    named = text.partition(" : ")[2] or text.partition(": ")[2]
    words = (_ESCAPED.sub(lambda found: found[1] or "$", word) for word in _WORD.findall(named.replace("\\\n", " ")))
    return list(dict.fromkeys(os.path.normpath(os.path.join(root, word)) for word in words))


def looked_for(files: Iterable[str], probe: Probe) -> dict[str, set[str]]:
    """Folder -> names in it whose coming or going changes which headers ``files`` include.

    The folders exist: of a path that does not, it is the part that would have to appear first.
    """
    found: dict[str, set[str]] = defaultdict(set)
    places, folders = _Places(), (*probe.quoted, *probe.folders)
    for path in files:
        for candidate in (*_earlier(path, folders), *_searched(path, probe, places)):
            folder, name = places.first_absent(candidate)
            found[folder].add(name)
    return dict(found)


def _earlier(path: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Where the name that ``path`` has in one of the folders stands in those before it."""
    for position, folder in enumerate(folders):
        if path.startswith(folder + os.sep):
            yield from (os.path.join(before, path[len(folder) + 1 :]) for before in folders[:position])


def _searched(path: str, probe: Probe, places: _Places) -> Iterator[str]:
    """Where the directives of a file look, up to where they find something; what is only asked for counts itself."""
    for asked, quoted, name in _directives_of(path):
        folders = (os.path.dirname(path), *probe.quoted, *probe.folders) if quoted else probe.folders
        for folder in folders:
            candidate = os.path.normpath(os.path.join(folder, name))
            if not places.is_file(candidate):
                yield candidate
                continue
            if asked:
                yield candidate
            break


def _directives_of(path: str) -> tuple[tuple[bool, bool, str], ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return _directives(path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


@lru_cache(maxsize=4096)
def _directives(path: str, *stat: int) -> tuple[tuple[bool, bool, str], ...]:
    """(whether it only asks, whether the name is in quotes, the name) of every directive of a file."""
    with open(path, "rb") as stream:
        found = _INCLUDE.findall(stream.read())
    return tuple(dict.fromkeys((bool(asked), mark == b'"', os.fsdecode(name.strip())) for asked, mark, name in found))


class _Places:
    """What is there, asked once for each path."""

    def __init__(self) -> None:
        self._files: dict[str, bool] = {}
        self._folders: dict[str, bool] = {}

    def is_file(self, path: str) -> bool:
        if path not in self._files:
            self._files[path] = os.path.isfile(path)
        return self._files[path]

    def first_absent(self, path: str) -> tuple[str, str]:
        """The deepest folder of a path that exists, and the name below it."""
        folder, name = os.path.split(path)
        while not self._is_folder(folder) and folder != os.path.dirname(folder):
            folder, name = os.path.split(folder)
        return folder, name

    def _is_folder(self, path: str) -> bool:
        if path not in self._folders:
            self._folders[path] = os.path.isdir(path)
        return self._folders[path]
