"""Options of single kernels: ``KernelLibrary(…, kernels={"matmul_*": {"sm": "90,100", "opt": 2}})``.

A key is a kernel's name or a pattern of names (``fnmatch``); of several that match, later ones win, option by option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from ..errors import InvalidInput
from .settings import DEFAULTS, Settings

# Where a kernel lies, and how it is packed, is its library's matter.
NAMES = tuple(name for name in DEFAULTS if name not in ("build_dir", "ptx", "prefix"))


def settings_by_kernel(
    library: str,
    names: Iterable[str],
    rows: Mapping[str, Mapping[str, object]],
    read: Callable[..., Settings],
    later: Callable[[InvalidInput], None] | None = None,
) -> dict[str, Settings]:
    """The settings of each kernel of ``names``; ``read(**options)`` makes the library's own with some replaced.

    Raises InvalidInput[library-option] for an option that a kernel cannot have, [library-pattern] for a pattern that
    matches no kernel; the latter is given to ``later`` where that is there, for a library whose kernels are not all known.
    """
    _check(library, rows)
    known: dict[tuple, Settings] = {}
    found, unused = {}, set(rows)
    for name in names:
        matching = [pattern for pattern in rows if fnmatchcase(name, pattern)] if rows else []
        unused.difference_update(matching)
        key = tuple(matching)
        if key not in known:
            known[key] = read(**{option: value for pattern in matching for option, value in rows[pattern].items()})
        found[name] = known[key]
    if unused:
        error = _unused(library, sorted(unused), later is not None)
        if later is None:
            raise error
        later(error)
    return found


def _unused(library: str, patterns: list[str], incomplete: bool) -> InvalidInput:
    message = f"no kernel of library {library} is called {' or '.join(patterns)}"
    if incomplete:
        message += ", of those that are known: the kernels of a file that failed are not"
        return InvalidInput("library-pattern", message, remedy="correct that file first")
    return InvalidInput("library-pattern", message, remedy="name a kernel, or a pattern such as matmul_*, in kernels=")


def _check(library: str, rows: Mapping[str, Mapping[str, object]]) -> None:
    for pattern, options in rows.items():
        if wrong := sorted(set(options) - set(NAMES)):
            message = f"kernels {pattern} of library {library} are given {', '.join(wrong)}"
            raise InvalidInput("library-option", message, remedy=f"use {', '.join(NAMES)}")
