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
import signal
import sys
from collections.abc import Callable
from functools import partial

from ...core.errors import InternalError, InvalidInput, Location
from ...core.loaded_modules import loaded_modules
from ...core.system_limit_errors import address_space
from ...core.tracing.audit_hooks import install
from ...core.tracing.dependency_record import TracedResult
from ...core.tracing.dependency_state import is_installed, is_standard
from ...core.tracing.portable_paths import PortablePaths
from ...core.tracing.pyc_staleness import install_pyc_check
from ...core.tracing.read_tracer import ReadsChanged, ReadTracer, StepReads
from ...core.tracing.syscall_reads import SyscallReads
from ...pipeline.stages import load
from .call_result import describe_exit
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


def run_traced(run: Callable[[], TracedResult], path: str, root: str) -> TracedResult:
    """The result of ``run`` on the file at ``path``; retried once if a file that it read changed meanwhile."""
    for last in (False, True):
        try:
            return run()
        except ReadsChanged as change:
            if last:
                changed = str(change).replace(f"{root}{os.sep}", "")
                message = f"{changed} during export, twice in a row"
                remedy = "rerun when no other program writes to it"
                raise InvalidInput("input-changed", message, location=Location(path), remedy=remedy) from None
        except InternalError as error:
            raise _blame_user_file(error, path) or error from None
    raise AssertionError("the second attempt returns or raises")


_USER_FAULTS = {
    "worker-died": "fix what ends its process; a build must be able to import the file",
    "worker-timeout": "fix the loop or raise TILEIRAS_TIMEOUT (seconds)",
}


def _blame_user_file(error: InternalError, path: str) -> InvalidInput | None:
    """The user error for a file that ends its process or does not finish; None for other errors."""
    if (remedy := _USER_FAULTS.get(error.id)) is None:
        return None
    ended = (
        f"its process {describe_exit(code)}" if (code := getattr(error, "code", None)) is not None else error.message
    )
    remedy += _hint_of_memory(code)
    return InvalidInput(error.id, f"{ended} while the file ran", location=Location(path), remedy=remedy)


def _hint_of_memory(code: int | None) -> str:
    """Another possible cause of this exit code: a memory limit."""
    if code == -signal.SIGKILL:
        return ", or give it more memory: a system or container that runs out of memory kills processes"
    if code is not None and (most := address_space()) is not None:
        return f", or raise its limit of memory (ulimit -v), which is {most >> 20} MiB"
    return ""


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
