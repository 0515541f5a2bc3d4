"""Lets scripts import ``cupy`` where the device is the emulator: CuPy itself can do nothing without a GPU's driver."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-in's modules before anything that is installed."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of ``cupy`` or of a module in it."""
        if name.partition(".")[0] != "cupy":
            return None
        if not self._modules:
            from .cupy_module import modules

            self._modules = modules()
        return importlib.machinery.ModuleSpec(name, self) if name in self._modules else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """It is there."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has everything."""


_finder = _Finder()


def install() -> None:
    """From now on ``import cupy`` gives the stand-in, unless CuPy has been imported."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def remove() -> None:
    """``import cupy`` gives what is installed."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [name for name, module in sys.modules.items() if getattr(module, "__loader__", None) is _finder]:
        del sys.modules[name]
