"""Takes cuTile's functions over and gives them back.

Taken over are attributes of cuTile's own modules, and of every module loaded by then that has the same object under any name
(``from cuda.tile import launch``). A reference that Python cannot find by a module's attribute (a closure, a default
argument, an attribute of an object) keeps cuTile's own function. What others have taken from here goes back to cuTile's own
function once it is given back, for our functions ask ``current()``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import exporting, launching, tune

if TYPE_CHECKING:
    from types import ModuleType

    from .session import Session

Function = Callable[..., Any]


@dataclass(frozen=True)
class Patch:
    """A function of cuTile in a module, and what makes the function that takes its place from it: in every module that has
    it, or in this one ``alone``."""

    module: str
    name: str
    make: Callable[[Function], Function]
    alone: bool = False


# Some releases lack some of them.
PATCHES: tuple[Patch, ...] = (
    Patch("cuda.tile.tune._tune", "_benchmark", tune.make_benchmark_of_search, alone=True),
    Patch("cuda.tile._cext", "launch", launching.make_launch),
    Patch("cuda.tile._cext", "get_compute_capability", launching.make_capability),
    Patch("cuda.tile._cext", "_benchmark", tune.make_benchmark),
    Patch("cuda.tile._cext", "_synchronize_context", tune.make_synchronize),
    Patch("cuda.tile.tune._tune_utils", "benchmark_with_timeout", tune.make_benchmark_with_timeout),
    Patch("cuda.tile._compile", "compile_cubin", exporting.make_compile_cubin),
    Patch("cuda.tile._compile", "_get_max_supported_bytecode_version", exporting.make_bytecode_version),
    Patch("cuda.tile._compile", "_get_compiler_version_string", exporting.make_compiler_version),
    Patch("cuda.tile._compile", "_tileiras_supports_remarks", exporting.make_supports_remarks),
)

_lock = threading.RLock()
_replaced: list[tuple[Function, Function]] = []  # (cuTile's own, ours)


def current() -> Session | None:
    """What is enabled."""
    return launching.session


def take_over(session: Session) -> None:
    """Let ``session`` compile and launch."""
    with _lock:
        _close()
        session.device.open()
        if not _replaced:
            _replace({patch: (own, patch.make(own)) for patch in PATCHES if (own := _find(patch)) is not None})
        launching.session = session


def _replace(pairs: dict[Patch, tuple[Function, Function]]) -> None:
    for patch, (_, ours) in pairs.items():
        if patch.alone:
            setattr(import_module(patch.module), patch.name, ours)
    _replaced.extend(pairs.values())
    _swap([pair for patch, pair in pairs.items() if not patch.alone])


def give_back() -> None:
    """Let cuTile compile and launch."""
    with _lock:
        _close()
        launching.session = None
        _swap([(ours, own) for own, ours in _replaced])
        _replaced.clear()


def _close() -> None:
    if launching.session is not None:
        launching.session.device.close()


def restore(before: Session | None) -> None:
    """What was before."""
    if before is None:
        give_back()
    else:
        take_over(before)


def _find(patch: Patch) -> Function | None:
    try:
        return getattr(import_module(patch.module), patch.name, None)
    except ModuleNotFoundError:
        return None


def _swap(pairs: list[tuple[Function, Function]]) -> None:
    """In every module that has one of the first functions, put the second in its place."""
    by_identity = {id(before): after for before, after in pairs}
    for module in list(sys.modules.values()):
        for name, value in _attributes(module):
            if (after := by_identity.get(id(value))) is not None:
                setattr(module, name, after)


def _attributes(module: ModuleType) -> list[tuple[str, object]]:
    if module is sys.modules[__name__]:
        return []
    return list(getattr(module, "__dict__", {}).items())
