"""The state of everything that a program can read, as short texts: equal text means equal results of reading.

Each kind of read has a row in KINDS. The state of a file's contents is their SHA-256, which is recomputed only if the
file's stat has changed; that of a large file also by no later process (``kept_digests.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache

from ..kept_digests import LARGE, large_file_digest
from .ignored_env_vars import IGNORED_ENV_VARS
from .machine_facts import FACTS
from .portable_paths import PortablePaths

_BUILD_LEFTOVERS = re.compile(r"__pycache__|\.sconsign(\.(dblite|tmp))*|\.build_record-[0-9a-f]{16}")
# Threads do not survive a fork, and a worker uses one core: each variable is set unless the user has set it.
WORKER_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "TILEIRAS_EMULATOR_JOBS": "1"}
ABSENT, FILE, FOLDER, LINK, SPECIAL = "", "file", "folder", "link", "special"
Stamp = tuple[int, int, int, int, int]
_Known = tuple[Stamp, str] | None

_SUFFIXES, _DISTRIBUTIONS = (".py", ".pyc", ".so"), (".dist-info", ".egg-info")
_TYPES = ((stat.S_ISREG, FILE), (stat.S_ISDIR, FOLDER), (stat.S_ISLNK, LINK))

# The original functions: the tracer replaces those of ``os``.
_stat, _lstat, _listdir, _scandir, _readlink = os.stat, os.lstat, os.listdir, os.scandir, os.readlink
# The traced program may replace them, too.
_open, _dumps, _sha256 = open, json.dumps, hashlib.sha256
_BLOCK = 1 << 16  # bytes


def stamp(path: str) -> Stamp | None:
    """All fields of a file's stat that change with the file (times in ns); None if there is no file."""
    try:
        found = _stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


def differs_in_ctime_only(before: Stamp | None, now: Stamp | None) -> bool:
    """Whether all but the time of change is equal, as after a hard link: the contents may be, too."""
    return before is not None and now is not None and before[:1] + before[2:] == now[:1] + now[2:]


def absolute(path: str, folder: str = "", links: list[str] | None = None) -> str:
    """``path`` in ``folder`` (the working folder) without dots; two dots after a link lead to the parent of its target.

    Such links are added to ``links``.
    """
    whole = os.path.join(folder or os.getcwd(), path)
    if os.pardir not in whole.split(os.sep):
        return os.path.normpath(whole)
    found = os.sep
    for part in whole.split(os.sep):
        if part == os.pardir:
            if type_of(found, follows=False) == LINK:
                if links is not None:
                    links.append(found)
                found = os.path.realpath(found)
            found = os.path.dirname(found)
        elif part not in ("", os.curdir):
            found = os.path.join(found, part)
    return found


def type_of(path: str, follows: bool = True) -> str:
    """The type of a path: file or folder; of a link itself if it is not followed."""
    try:
        return _type_of((_stat if follows else _lstat)(path).st_mode)
    except (OSError, ValueError):
        return ABSENT


_COMPILED = re.compile(r"/__pycache__(/[^/]+\.pyc(\.\d+)?)?$")


def is_compiled_module(path: str) -> bool:
    """Whether ``path`` is a compiled Python module, or a folder of those."""
    return _COMPILED.search(path) is not None


def is_build_leftover(name: str) -> bool:
    """Whether the name is one of build leftovers, on which no program depends."""
    return _BUILD_LEFTOVERS.fullmatch(name) is not None


@lru_cache(maxsize=8192)
def is_standard(path: str) -> bool:
    """Whether ``path`` belongs to the standard library, which the interpreter's version identifies."""
    return f"{path}{os.sep}".startswith(STANDARD) and not is_installed(path)


@lru_cache(maxsize=8192)
def is_installed(path: str) -> bool:
    """Whether ``path`` belongs to an installed library, or is the folder of those."""
    return any(f"{os.sep}{name}{os.sep}" in f"{path}{os.sep}" for name in INSTALLED)


def _folders(*names: str) -> tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in names)
    return tuple({found for path in paths for found in (path, os.path.realpath(path))})


_ZIPPED = f"{sys.base_exec_prefix}/lib/python{sysconfig.get_config_var('py_version_nodot')}.zip"
STANDARD = tuple(folder + os.sep for folder in (*_folders("stdlib", "platstdlib"), _ZIPPED))
INSTALLED = ("site-packages", "dist-packages")  # folders of packages that pip and Debian install


class Probe:
    """Computes each state once."""

    def __init__(self, paths: PortablePaths):
        self.paths = paths
        self.stamps: dict[str, Stamp | None] = {}
        self._states: dict[tuple[str, str], str] = {}
        self._listings: dict[str, dict[str, list[str]]] = {}

    def state(self, kind: str, name: str, known: _Known = None) -> str:
        """The state of ``name`` (``PortablePaths.name``); ``known`` is the state of its contents at some stamp."""
        state = self._states.get((kind, name))
        if state is None:
            state = self._states[kind, name] = PROBES[kind](self, name, known)
        return state

    def contents(self, name: str, known: _Known) -> str:
        """SHA-256 of a file."""
        path = self.paths.path(name)
        found = self.stamps[path] = stamp(path)
        if found is None:
            return ABSENT
        if known and tuple(known[0]) == found:
            return known[1]
        return _digest_of(path, found[-1], found[2])

    def type(self, name: str, known: object) -> str:
        """The type of a path: file or folder."""
        path = self.paths.path(name)
        found = self.stamps[path] = stamp(path)
        return _type_of(found[-1]) if found else ABSENT

    def stat(self, name: str, known: object) -> str:
        """Type and permissions, size, owner, number of names, and times of modification and change."""
        path = self.paths.path(name)
        found = self.stamps[path] = stamp(path)
        if found is None:
            return ABSENT
        owner = _stat(path)
        return f"{found[-1]:o} {found[2]} {found[0]} {found[1]} {owner.st_uid}:{owner.st_gid} {owner.st_nlink}"

    def link(self, name: str, known: object) -> str:
        """The target of a link, or the type of any other path."""
        path = self.paths.path(name)
        try:
            mode = _lstat(path).st_mode
            return f"-> {_readlink(path)}" if stat.S_ISLNK(mode) else _type_of(mode)
        except (OSError, ValueError):
            return ABSENT

    def names(self, name: str, known: object) -> str:
        """A folder's entries and their types."""
        return _digest(_entries(self.paths.path(name)))

    def candidates(self, name: str, known: object) -> str:
        """The possible files of a module in a folder: ``folder//module``."""
        folder, _, module = name.rpartition("//")
        entries = self._listing(self.paths.path(folder)).get(module, ())
        return " ".join(entry for entry in entries if entry == module or entry.endswith(_SUFFIXES))

    def among(self, name: str, known: object) -> str:
        """Which of some names a folder contains: ``folder//name/name/name``."""
        folder, _, names = name.rpartition("//")
        listing = self._listing(self.paths.path(folder))
        return "/".join(entry for entry in names.split("/") if entry in listing.get(entry.partition(".")[0], ()))

    def program(self, name: str, known: object) -> str:
        """The program that PATH resolves the name to."""
        found = shutil.which(name, path=_environment().get("PATH"))
        return self.paths.name(os.path.abspath(found)) if found else ABSENT

    def shadows(self, name: str, known: object) -> str:
        """The modules of a folder that shadow those of the standard library."""
        listing = self._listing(self.paths.path(name))
        return " ".join(entry for stem in sorted(listing.keys() & sys.stdlib_module_names) for entry in listing[stem])

    def distributions(self, name: str, known: object) -> str:
        """The distributions installed in a folder."""
        listing = self._listing(self.paths.path(name))
        return _digest(sorted(entry for group in listing.values() for entry in group if entry.endswith(_DISTRIBUTIONS)))

    def startup(self, name: str, known: object) -> str:
        """The files of a folder of libraries that affect Python's startup."""
        files = startup_files(self.paths.path(name))
        return _digest([[os.path.basename(path), _digest_of(path, stat.S_IFREG)] for path in files])

    def variable(self, name: str, known: object) -> str:
        """The digest of an environment variable, as some are secrets."""
        value = _environment().get(name)
        return ABSENT if value is None else _digest(value)

    def environment(self, name: str, known: object) -> str:
        """The whole environment except internal variables of shells."""
        return _digest(sorted(item for item in _environment().items() if item[0] not in IGNORED_ENV_VARS))

    def path(self, name: str, known: object) -> str:
        """The search path of modules."""
        return self.search_path(sys.path)

    def machine(self, name: str, known: object) -> str:
        """A fact about the machine or the user."""
        return _digest(FACTS[name]())

    def place(self, name: str, known: object) -> str:
        """The locations of the project and of Python's environment."""
        return _digest([self.paths.root, self.paths.prefix])

    def search_path(self, path: list[str]) -> str:
        """The folders of ``path``; the project itself is last."""
        folders = [os.path.abspath(folder) for folder in path]
        if folders[-1:] == [self.paths.root]:
            folders.pop()
        return " ".join(self.paths.name(folder) for folder in folders if not is_standard(folder))

    def _listing(self, folder: str) -> dict[str, list[str]]:
        """The names in a folder, by their part before the first dot."""
        if folder not in self._listings:
            found = self._listings[folder] = {}
            for entry in _list(folder):
                found.setdefault(entry.partition(".")[0], []).append(entry)
        return self._listings[folder]


PROBES: dict[str, Callable[[Probe, str, _Known], str]] = {
    "contents": Probe.contents,
    "type": Probe.type,
    "stat": Probe.stat,
    "link": Probe.link,
    "names": Probe.names,
    "candidates": Probe.candidates,
    "among": Probe.among,
    "program": Probe.program,
    "shadows": Probe.shadows,
    "distributions": Probe.distributions,
    "startup": Probe.startup,
    "variable": Probe.variable,
    "environment": Probe.environment,
    "path": Probe.path,
    "machine": Probe.machine,
    "place": Probe.place,
}


def startup_files(folder: str) -> list[str]:
    """The files of a folder of libraries that Python reads at startup."""
    return [os.path.join(folder, entry) for entry in _list(folder) if entry.endswith(".pth")]


def _environment() -> dict[str, str]:
    """The environment of a worker of this process; a copy that bypasses the tracer's ``os.environ``."""
    data: dict[bytes, bytes] = vars(os.environ)["_data"]
    return WORKER_VARIABLES | {os.fsdecode(key): os.fsdecode(value) for key, value in list(data.items())}


def _digest(value: object) -> str:
    return _sha256(_dumps(value).encode(errors="surrogateescape")).hexdigest()


def _digest_of(path: str, mode: int, size: int = 0) -> str:
    if not stat.S_ISREG(mode):
        return _type_of(mode)
    try:
        return large_file_digest(path, _read_digest) if size >= LARGE else _read_digest(path)
    except OSError as error:
        return f"unreadable: {error.errno}"


def _read_digest(path: str) -> str:
    with _open(path, "rb") as stream:
        digest = _sha256()
        while block := stream.read(_BLOCK):
            digest.update(block)
        return digest.hexdigest()


def _type_of(mode: int) -> str:
    return next((name for is_type, name in _TYPES if is_type(mode)), SPECIAL)


def _list(folder: str) -> list[str]:
    try:
        names = _listdir(folder)
    except (OSError, ValueError):
        return []
    return sorted(name for name in names if not is_build_leftover(name))


def _entries(folder: str) -> list[str] | None:
    """The names in a folder, with a mark for folders and links; None if there is no folder."""
    try:
        with _scandir(folder) as found:
            rows = [f"{entry.name}{_mark(entry)}" for entry in found if not is_build_leftover(entry.name)]
    except (OSError, ValueError):
        return None
    return sorted(rows)


def _mark(entry: os.DirEntry) -> str:
    if entry.is_symlink():
        return "@"
    return "/" if entry.is_dir(follow_symlinks=False) else ""
