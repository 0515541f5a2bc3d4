"""Calls a function when a module is imported: a framework is replaced when a script imports it, and costs nothing otherwise."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that have a hook through the other finders, and wraps their loaders."""

    def __init__(self) -> None:
        self.waiting: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, with a ``_NotifyingLoader``; None for modules without a hook."""
        call = self.waiting.pop(name, None)
        if call is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            self.waiting[name] = call
            return None
        spec.loader = _NotifyingLoader(spec.loader, call)
        return spec


class _NotifyingLoader(importlib.abc.Loader):
    """A loader that calls a function after the module has been executed."""

    def __init__(self, loader: importlib.abc.Loader, call: Callable[[ModuleType], None]):
        self._loader, self._call = loader, call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._call(module)


_finder = _Finder()


def on_import(name: str, call: Callable[[ModuleType], None], missing_only: bool = False) -> None:
    """Call ``call(module)`` now if the module is loaded (or not at all, ``missing_only``), else after its first import."""
    if name in sys.modules:
        if not missing_only:
            call(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.waiting[name] = call


def cancel(name: str) -> None:
    """Remove a module's hook."""
    _finder.waiting.pop(name, None)
