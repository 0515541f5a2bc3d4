"""Replaces functions of cuTile, and restores them.

Patched are attributes of cuTile's own modules, now or when they are imported, and of every loaded module that has the same
object under any name (``from cuda.tile import launch``). References that are not attributes of modules (a closure, a default
argument, an attribute of an object) keep cuTile's own function. A module that imported a replacement keeps it; after
``uninstall`` the replacement calls cuTile's own function, because it checks ``current()``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import autotune_benchmark, export_kernel_hooks, launch_hook
from .fakes.post_import_hooks import cancel, on_import
from .kernel_fingerprint import note_front_end

if TYPE_CHECKING:
    from types import ModuleType

    from .session import Session

Function = Callable[..., Any]


@dataclass(frozen=True)
class Patch:
    """A function of cuTile in a module, and the factory of its replacement: in every module that has it, or only in this one
    (``alone``).
    """

    module: str
    name: str
    make: Callable[[Function], Function]
    alone: bool = False


# Some releases lack some of them.
FUNCTION_PATCHES: tuple[Patch, ...] = (
    Patch("cuda.tile.tune._tune", "_benchmark", autotune_benchmark.make_benchmark_of_search, alone=True),
    Patch("cuda.tile._cext", "launch", launch_hook.make_launch),
    Patch("cuda.tile._cext", "get_compute_capability", launch_hook.make_capability),
    Patch("cuda.tile._cext", "_benchmark", autotune_benchmark.make_benchmark),
    Patch("cuda.tile._cext", "_synchronize_context", autotune_benchmark.make_synchronize),
    Patch("cuda.tile.tune._tune_utils", "benchmark_with_timeout", autotune_benchmark.make_benchmark_with_timeout),
    Patch("cuda.tile._compile", "compile_tile", export_kernel_hooks.make_compile_tile),
    Patch("cuda.tile._compile", "compile_cubin", export_kernel_hooks.make_compile_cubin),
    Patch("cuda.tile._compile", "_get_max_supported_bytecode_version", export_kernel_hooks.make_bytecode_version),
    Patch("cuda.tile._compile", "_get_compiler_version_string", export_kernel_hooks.make_compiler_version),
    Patch("cuda.tile._compile", "_tileiras_supports_remarks", export_kernel_hooks.make_supports_remarks),
)

_MODULES = tuple(dict.fromkeys(patch.module for patch in FUNCTION_PATCHES))
# Packages that do not use cuTile, and this one, whose modules have none of its functions but those that it puts back.
_UNSCANNED_MODULES = sys.stdlib_module_names | {"numpy", "xdsl", __name__.partition(".")[0]}
_lock = threading.RLock()
_replaced: list[tuple[Function, Function]] = []  # (cuTile's own, ours)


def current() -> Session | None:
    """The enabled session."""
    return launch_hook.session


def install(session: Session) -> None:
    """Make ``session`` compile and launch."""
    with _lock:
        _close()
        session.device.open()
        if not _replaced:
            note_front_end()
            _replace([sys.modules[name] for name in _MODULES if name in sys.modules])
            for name in _MODULES:
                # cuTile imports its front end late, after modules that others share.
                on_import(name, lambda module: _replace([module]), missing_only=True)
        launch_hook.session = session


def _replace(modules: Iterable[ModuleType]) -> None:
    """Replace cuTile's functions in all modules."""
    with _lock:
        pairs = []
        for module in modules:
            for patch in (patch for patch in FUNCTION_PATCHES if patch.module == module.__name__):
                if (own := getattr(module, patch.name, None)) is None:
                    continue
                _replaced.append((own, ours := patch.make(own)))
                if patch.alone:
                    setattr(module, patch.name, ours)
                else:
                    pairs.append((own, ours))
        _swap(pairs)


def uninstall() -> None:
    """Let cuTile compile and launch."""
    with _lock:
        _close()
        launch_hook.session = None
        for name in _MODULES:
            cancel(name)
        note_front_end(is_restored=True)
        _swap([(ours, own) for own, ours in _replaced])
        _replaced.clear()


def _close() -> None:
    if launch_hook.session is not None:
        launch_hook.session.device.close()


def restore(before: Session | None) -> None:
    """Restore the previous session."""
    if before is None:
        uninstall()
    else:
        install(before)


def _swap(pairs: list[tuple[Function, Function]]) -> None:
    """In every module replace each of the first functions by the second."""
    by_identity = {id(before): after for before, after in pairs}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _UNSCANNED_MODULES:
            continue
        values = getattr(module, "__dict__", {}).copy()
        for found in by_identity.keys() & map(id, values.values()):
            for attribute, value in values.items():
                if id(value) == found:
                    setattr(module, attribute, by_identity[found])
