"""Create the methods of dataclasses lazily, so that the compiler is imported faster.

A third of the import time of xDSL and the dialects goes into methods that are never called: a dataclass has five or six,
compiled from text one by one, and there are four hundred dataclasses. With lazy creation such a method is compiled at its
first call, and a class of the dialects gets its definition on first access (``ir/dialects/lazy_definitions.py``). Without both, a
cold ``lower`` of a small kernel takes 265 ms of CPU more (660 in place of 390, ``benchmarks/command_start.py``), 125 of them
for the definitions.

Processes of this package enable it before they import the compiler; in processes with user code (scons, workers) it applies
only to classes of named packages. The process of a user who imports the package never enables it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

OWN, COMPILER = ("tileiras_build",), ("tileiras_build", "xdsl")  # packages whose classes are created lazily
_HEAD = "def __create_fn__("
_packages: tuple[str, ...] | None = ()  # None: all


def is_enabled() -> bool:
    """Whether lazy creation is enabled in this process."""
    return _packages != ()


def enable(*packages: str) -> None:
    """Enable lazy creation in this process for good: for classes of these packages, or for all."""
    global _packages
    _packages = None if _packages is None or not packages else tuple({*_packages, *packages})
    # The module's functions find this name before the builtin; this works in all versions of Python.
    vars(dataclasses)["exec"] = _execute
    if (known := vars(dataclasses).get("inspect")) is inspect:
        vars(dataclasses)["inspect"] = _WithoutSignatures(known.__name__)
    if packages != OWN and not any(isinstance(finder, _BeforeDialects) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeDialects())


def _is_deferred(module: object) -> bool:
    return _packages is None or isinstance(module, str) and module.partition(".")[0] in _packages


class _BeforeDialects:
    """Enables lazy definitions before the first dialect is imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "xdsl.dialects":
            sys.meta_path.remove(self)
            import_module("tileiras_build.ir.dialects.lazy_definitions").enable_lazy_definitions()


class _WithoutSignatures(ModuleType):
    """``inspect`` without signatures, which dataclasses use as the docstring of a class that has none.

    For lazy methods the signature would be wrong, and it takes as long as the rest of the class.
    """

    def __init__(self, name: str):
        super().__init__(name)
        vars(self).update(vars(inspect), signature=self._signature)

    @staticmethod
    def _signature(kind: type) -> object:
        return "" if _is_deferred(kind.__module__) else inspect.signature(kind)


def _execute(text: str, names: dict[str, Any] | None, space: dict[str, Any]) -> None:
    """``exec`` of a text that defines ``__create_fn__``, which returns the methods of a dataclass, one or a tuple."""
    before, _, returned = text.rpartition("\n return ")
    if not before.startswith(_HEAD) or not _is_deferred((names or {}).get("__name__")):
        exec(text, names, space)
        return

    def create(**closure: Any) -> object:
        made: dict[str, Any] = {}

        # ``functools.cache`` takes longer than everything else here.
        def compiled() -> Any:
            if not made:
                exec(text, names, made)
                made["made"] = made["__create_fn__"](**closure)
            return made["made"]

        if not returned.startswith("("):
            return _lazy_method(returned, compiled)
        found = [name for name in returned.strip("()").split(",") if name]
        return tuple(_lazy_method(name, partial(_nth, compiled, at)) for at, name in enumerate(found))

    space["__create_fn__"] = create


def _nth(compiled: Callable[[], tuple], at: int) -> Any:
    return compiled()[at]


def _lazy_method(name: str, compiled: Callable[[], Any]) -> Callable[..., Any]:
    """The method ``name``, which replaces itself by the result of ``compiled`` at its first call."""
    made = None

    def method(self, /, *arguments: Any, **named: Any) -> Any:
        nonlocal made
        if made is None:
            made = compiled()
            made.__qualname__ = method.__qualname__
            for kind in type(self).__mro__:
                if vars(kind).get(name) is method:
                    setattr(kind, name, made)
        return made(self, *arguments, **named)

    method.__name__ = name
    return method
