"""The fingerprint of the installation, from the states of its files; results that depend only on it are cached.

Reading all of the compiler's code, and the lists of installed distributions, takes as long as importing NumPy.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder

from ..core.code_digest import PACKAGE
from ..core.persistent_cache import cache_key, user_cache

_LISTS = (".dist-info", ".egg-info", ".egg-link", ".pth")  # files that name a distribution and its version
_CODE = (".py", ".so", ".pyd", ".bc", ".ll")
_process_start = time.time_ns()  # this process has read its code since


@cache
def installation_fingerprint() -> str | None:
    """A text that changes with the code of this package and of cuda-tile, with any installed distribution, and with Python; None
    if it is unknown, for example if code was modified after this process read it. Files are compared by name, times and size.
    """
    try:
        cutile = _folder_of_cutile()
        if cutile is None:
            return None
        folders = sorted({os.path.abspath(folder) for folder in sys.path})
        lists = [(folder, found) for folder in folders if (found := _lists_in(folder))]
        files = [_files_in(str(folder)) for folder in (PACKAGE, cutile)]
    except OSError:
        return None
    if any(changed >= _process_start for found in files for _, (_, changed, *_) in found):
        return None
    return cache_key("installation", sys.version, *lists, *files)


def _folder_of_cutile() -> str | None:
    module = sys.modules.get("cuda.tile")
    if module is not None:
        return next(iter(module.__path__), None)
    package = PathFinder.find_spec("cuda")
    places = [os.path.join(folder, "tile") for folder in (package and package.submodule_search_locations) or ()]
    return next(filter(os.path.isdir, places), None)


def _lists_in(folder: str) -> list[tuple]:
    if not os.path.isdir(folder):
        return []
    with os.scandir(folder) as found:
        return sorted((one.name, state_of(one.stat())) for one in found if one.name.endswith(_LISTS))


def _files_in(folder: str) -> list[tuple]:
    files, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as found:
            for one in found:
                if one.name.endswith(_CODE):
                    files.append((one.path, state_of(one.stat())))
                elif "." not in one.name and one.name != "__pycache__" and one.is_dir():
                    folders.append(one.path)
    return sorted(files)


def state_of(found: os.stat_result) -> tuple[int, ...]:
    """When a file was modified and changed, its size and its inode."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def cached_lookup(what: str, find: Callable[[], str]) -> str:
    """The cached result of ``find``, which depends only on the installation."""
    store, installed = user_cache(), installation_fingerprint()
    if store is None or installed is None:
        return find()
    key = cache_key("known", what, installed)
    if (data := store.find(key)) is not None:
        return json.loads(data)
    found = find()
    store.keep(key, json.dumps(found).encode())
    return found
