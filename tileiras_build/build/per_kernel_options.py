"""Options of single kernels: ``KernelLibrary(…, kernels={"matmul_*": {"sm": "90,100", "opt": 2}})``.

A key is a kernel's name or a pattern of names (``fnmatch``); of several matches, later ones take precedence, per option.
Keys match the kernels of a CUDA Tile C++ file by the file's name, all of them, or by their C++ names
(``tilecpp_kernel_groups.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from ..config.former_names import FORMER_NAMES, suggest_option
from ..core.errors import InvalidInput, nearest
from .library_member import Kernel
from .settings import DEFAULTS, Settings

# A kernel's folder and packaging are its library's.
NAMES = tuple(name for name in DEFAULTS if name not in ("build_dir", "ptx", "prefix"))
OF_FILES = ("nvcc", "nvcc_flags", "instantiate")  # options of whole CUDA Tile C++ files
Rows = Mapping[str, Mapping[str, object]]


def matching(rows: Rows, names: Sequence[str]) -> tuple[str, ...]:
    """The keys that match a kernel with these names, in order."""
    return tuple(key for key in rows if any(name == key or fnmatchcase(name, key) for name in names))


def options_of(rows: Rows, keys: Iterable[str]) -> dict[str, object]:
    """The merged rows at ``keys``."""
    return {option: value for key in keys for option, value in rows[key].items()}


def settings_by_kernel(
    library: str,
    kernels: Iterable[Kernel],
    rows: Rows,
    read: Callable[..., Settings],
    later: Callable[[InvalidInput], None] | None = None,
) -> dict[str, Settings]:
    """The settings of each of ``kernels``, by name; ``read(**options)`` makes the library's own with some replaced.

    Raises InvalidInput[library-pattern] for a pattern that matches no kernel; passes it to ``later`` instead, if given, for a
    library whose kernels are not all known.
    """
    known: dict[tuple, Settings] = {}
    found, unused = {}, set(rows)
    for kernel in kernels:
        key = matching(rows, kernel.names) if rows else ()
        unused.difference_update(key)
        if key not in known:
            known[key] = read(**options_of(rows, key))
        found[kernel.name] = known[key]
    if unused:
        error = _unused(library, sorted(unused), list(found), later is not None)
        if later is None:
            raise error
        later(error)
    return found


def _unused(library: str, patterns: list[str], known: list[str], incomplete: bool) -> InvalidInput:
    message = f"library {library} has no kernel {' or '.join(map(repr, patterns))}"
    if incomplete:
        message += " (kernels of a file that failed are unknown)"
        return InvalidInput("library-pattern", message, remedy="fix that file first")
    near = nearest(patterns[0], known)
    meant = "" if near is None else f"did you mean {near}? "
    return InvalidInput(
        "library-pattern", message, remedy=f"{meant}use a kernel name or a pattern such as matmul_* in kernels="
    )


def check_options(library: str, rows: Rows) -> None:
    """Raise InvalidInput[library-option] for an option that no kernel can have."""
    for pattern, options in rows.items():
        if wrong := sorted(set(options) - set(NAMES)):
            message = f"unknown options {', '.join(wrong)} for kernels {pattern} of library {library}"
            renamed = [suggest_option(name, NAMES) for name in wrong if name in FORMER_NAMES]
            raise InvalidInput("library-option", message, remedy="; ".join(renamed) or f"use {', '.join(NAMES)}")


def check_files(library: str, rows: Rows, kernels: Iterable[Kernel], files: Sequence[str]) -> None:
    """Raise InvalidInput[library-option] for nvcc options of kernels that nvcc does not compile separately.

    ``files`` are the names of the library's CUDA Tile C++ files, without their suffix.
    """
    asked = {pattern: [name for name in OF_FILES if name in options] for pattern, options in rows.items()}
    idle = {pattern: names for pattern, names in asked.items() if names and not _match_any(pattern, files)}
    named = {key for kernel in kernels for key in matching(rows, kernel.names)} if idle else set()
    for pattern in idle.keys() & named:
        message = (
            f"kernels {pattern} of library {library}: option {', '.join(idle[pattern])} applies to whole .cu files"
        )
        raise InvalidInput("library-option", message, remedy="use the stem of a .cu file as the key in kernels=")


def _match_any(pattern: str, names: Iterable[str]) -> bool:
    return any(matching({pattern: {}}, [name]) for name in names)
