"""Launches kernel libraries built by tileiras_build, without the compiler.

    from tileiras_build_runtime import Library

    library = Library("my_kernels")
    library["vector_add_f32"].launch((4,), x, y, out, stream=stream)

If the compiler is installed, its ``tileiras_build.launch.runtime``, which is the same code, is used instead. So a process has
one ``Address`` class and one set of error classes, whichever name they are imported by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from tileiras_build import errors as _errors
    from tileiras_build import runtime as _runtime
except ModuleNotFoundError as _missing:
    if _missing.name != "tileiras_build":
        raise
    from .core import errors as _errors
    from .launch import runtime as _runtime

from .core.version import __version__

if TYPE_CHECKING:
    from .core.errors import InvalidInput, TileirasError, Unsupported
    from .launch.runtime import Address, Kernel, Library, register_torch_operators

__all__ = [
    "Address",
    "InvalidInput",
    "Kernel",
    "Library",
    "TileirasError",
    "Unsupported",
    "__version__",
    "register_torch_operators",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_runtime if name in _runtime.__all__ else _errors, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
