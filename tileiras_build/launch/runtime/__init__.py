"""Loading and launching built kernel libraries through cuda-python: ``Library``.

Importing this package is cheap: each name is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kernel_library import Kernel, Library
    from .pack_arguments import Address
    from .torch_operators import register_torch_operators

__all__ = ["Address", "Kernel", "Library", "register_torch_operators"]
_MODULES = {
    "Address": "pack_arguments",
    "Kernel": "kernel_library",
    "Library": "kernel_library",
    "register_torch_operators": "torch_operators",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
