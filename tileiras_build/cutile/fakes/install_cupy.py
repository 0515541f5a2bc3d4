"""Installs the fake ``cupy`` for the emulator: CuPy itself needs a GPU's driver."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the fake modules before installed ones."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of ``cupy`` or of a submodule."""
        if name.partition(".")[0] != "cupy":
            return None
        if not self._modules:
            from .cupy_module import modules

            self._modules = modules()
        return importlib.machinery.ModuleSpec(name, self) if name in self._modules else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The existing module."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


_finder = _Finder()


def install() -> None:
    """Make ``import cupy`` return the fake, unless CuPy has been imported."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def remove() -> None:
    """Make ``import cupy`` return the installed package."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [name for name, module in sys.modules.items() if getattr(module, "__loader__", None) is _finder]:
        del sys.modules[name]
