"""Calls of functions that run people's own Python, in a worker: the result, and what was read for it."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager

from ..errors import InvalidInput, Location
from ..pipeline.stages import load
from ..reads.loading import use_certain_code
from ..reads.looking import is_installed, is_standard
from ..reads.places import Places
from ..reads.record import Watched
from ..reads.watch import PACKAGE, ReadsChanged, install


def call(function: str, root: str, *arguments: object) -> Watched:
    """``function`` ("module:function") with what it reads; names in the record are relative to the project ``root``.

    Raises what the function raises, and ReadsChanged where something that was read has changed meanwhile.
    """
    use_certain_code()
    watch = install()
    _forget_files()
    with _programs_unloaded():
        watch.begin()
        try:
            files = load(function)(*arguments)
            return Watched(files, watch.end(Places(root)))
        finally:
            watch.stop()


def run_watched(run: Callable[[], Watched], path: str, root: str) -> Watched:
    """What ``run`` makes of the file at ``path``; once more where something that it read changed meanwhile."""
    for last in (False, True):
        try:
            return run()
        except ReadsChanged as change:
            if last:
                changed = str(change).replace(f"{root}{os.sep}", "")
                message = f"{changed} while the file was exported, and once more when it was exported again"
                remedy = "build again when nothing writes there"
                raise InvalidInput("input-changed", message, location=Location(path), remedy=remedy) from None
    raise AssertionError("the second attempt returns or raises")


def _forget_files() -> None:
    """Drop what Python remembers of the files of earlier calls.

    Installed libraries are listed anew where their folders' times change: listing them for each call costs more than
    all else here.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        elif hasattr(finder, "invalidate_caches") and not is_installed(path) and not is_standard(path):
            finder.invalidate_caches()
    for name in [name for name in linecache.cache if not is_installed(name) and not is_standard(name)]:
        del linecache.cache[name]


@contextmanager
def _programs_unloaded():
    """Modules that are no installed libraries are loaded anew by each call, so that each call reads them."""
    loaded = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - loaded:
            if _is_program(sys.modules[name]):
                del sys.modules[name]


def _is_program(module: object) -> bool:
    origin = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if not isinstance(origin, str) or origin.startswith(PACKAGE):
        return False
    return not is_installed(origin) and not is_standard(origin)
