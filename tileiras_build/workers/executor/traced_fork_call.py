"""Calls of functions that run user code, each in its own process: the result, and the traced dependencies.

The process is a fork of this one, which has imported the common modules and nothing of a user. So effects of one file on its
process (environment, working folder, settings, caches of libraries) do not reach another.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import linecache
import os
import platform
import sys
from collections.abc import Callable
from functools import partial

from ...core.loaded_modules import loaded_modules
from ...core.tracing.audit_hooks import install
from ...core.tracing.dependency_record import TracedResult
from ...core.tracing.dependency_state import is_installed, is_standard
from ...core.tracing.portable_paths import PortablePaths
from ...core.tracing.pyc_staleness import install_pyc_check
from ...core.tracing.read_tracer import ReadTracer, StepReads
from ...core.tracing.syscall_reads import SyscallReads
from ...pipeline.stages import load
from .fork_call import call_in_fork

# Imports of every cuTile Python export, some of them at its first kernel.
_FRONT_END = (
    *("numpy", "numpy.random", "ml_dtypes", "cuda.tile.compilation", "cuda.tile._compile"),
    *("tileiras_build.frontend.export_cutile", "tileiras_build.cases", "cuda.tile._preview_loader"),
)
_PREVIEW = "cuda.tile_preview"  # cuTile tries to import it at its first kernel
_NAMESPACE = "cuda"  # of which a project may have a part
_WARM_UP, _FORGET_NAMESPACE = (f"tileiras_build.frontend.warm_up:{name}" for name in ("warm_up", "forget_namespace"))
_EXPORTS_BEFORE = 4  # in twice as many more a warm-up saves what it takes


def call(function: str, root: str, *arguments: object) -> TracedResult:
    """``function`` ("module:function") with its dependencies; names in the record are relative to the project ``root``.

    Raises the function's exception, and ReadsChanged if a dependency has changed meanwhile.
    """
    install_pyc_check()
    watch, places = install(), PortablePaths(root)
    run = load(function)
    is_cutile = any(isinstance(argument, str) and _names_front_end(argument) for argument in arguments)
    if is_cutile:
        _prepare_front_end(watch)
    _forget_files()
    loaded_modules()  # for the fork
    watch.prepare(places)
    if is_cutile and _is_warm and watch.note("candidates", f"{os.path.abspath(root)}//{_NAMESPACE}"):
        load(_FORGET_NAMESPACE)()
    signals = watch.signals
    system = SyscallReads(lambda: signals.tolerates_runs)
    files, step = call_in_fork(partial(_call, run, places, arguments), system.on_call, lambda: not signals.is_silent)
    return TracedResult(files, system.add_to(watch.record(step, places, files.values()), places))


def _names_front_end(path: str) -> bool:
    """Whether a Python file mentions cuTile, which is then imported once, before the fork."""
    if not path.endswith(".py"):
        return False
    try:
        with open(path, "rb") as stream:
            return b"cuda.tile" in stream.read()
    except OSError:
        return False


_exports = itertools.count()  # of cuTile Python that this process has been asked for
_is_warm = False


def _prepare_front_end(watch: ReadTracer) -> None:
    """Import it at the first export; in a process that makes several, export something here before one that comes later."""
    global _is_warm
    number = next(_exports)
    if number not in (0, _EXPORTS_BEFORE):
        return
    watch.load()
    try:
        if number == 0:
            for name in _FRONT_END:
                importlib.import_module(name)
            importlib.util.find_spec(_PREVIEW)
        else:
            load(_WARM_UP)()
            _is_warm = True
    except Exception:
        pass  # the file's own import reports it
    finally:
        watch.loaded()
        gc.freeze()  # a garbage collection in a fork would copy the pages of all imported objects


def _call(
    run: Callable[..., dict[str, bytes]], places: PortablePaths, arguments: tuple
) -> tuple[dict[str, bytes], StepReads]:
    """What is made and read, in the fork."""
    watch = install()
    if sys.path[-1:] != [places.root]:
        # Modules beside the build script are found, too, after all installed ones.
        sys.path.append(places.root)
    platform._uname_cache = None  # type: ignore[attr-defined]  # who asks again is heard
    platform._platform_cache.clear()  # type: ignore[attr-defined]
    watch.begin()
    try:
        return run(*arguments), watch.end()
    finally:
        watch.stop()


def _forget_files() -> None:
    """Drop Python's caches of files that may have changed since this process began.

    Not in the fork, which would copy each page that it visits.
    """
    for known in (sys.path_importer_cache, linecache.cache):
        if len(known) != _kept.get(id(known)):
            for path in [path for path, found in known.items() if found is None or not _is_fixed(path)]:
                del known[path]
            _kept[id(known)] = len(known)


_kept: dict[int, int] = {}  # how many entries of each have been looked at


def _is_fixed(path: str) -> bool:
    return is_installed(path) or is_standard(path)
