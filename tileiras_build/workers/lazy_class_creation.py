"""Create the methods of dataclasses lazily, so that the compiler is imported faster.

A third of the time in which xDSL and the dialects are imported goes into methods that nobody calls: a dataclass has five or
six, compiled from text one by one, and there are four hundred dataclasses. In a process that has deferred, such a method
is compiled when it is called first. And a class of the dialects is defined when it is first asked for its definition
(``ir/dialects/lazy_definitions.py``).

Processes of our own defer before they import the compiler; where people's own code runs too (scons, workers), only classes
of named packages are concerned. The process of a user who imports the package never defers.
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

OWN, COMPILER = ("tileiras_build",), ("tileiras_build", "xdsl")  # packages whose classes are deferred
_HEAD = "def __create_fn__("
_packages: tuple[str, ...] | None = ()  # None: all


def is_enabled() -> bool:
    """Whether this process has deferred."""
    return _packages != ()


def enable(*packages: str) -> None:
    """From now on, and for good, this process defers: classes of these packages, or all."""
    global _packages
    _packages = None if _packages is None or not packages else tuple({*_packages, *packages})
    # The module's functions find this one before the builtin that they mean: it is what all versions of Python share here.
    vars(dataclasses)["exec"] = _execute
    if (known := vars(dataclasses).get("inspect")) is inspect:
        vars(dataclasses)["inspect"] = _WithoutSignatures(known.__name__)
    if packages != OWN and not any(isinstance(finder, _BeforeDialects) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeDialects())


def _is_deferred(module: object) -> bool:
    return _packages is None or isinstance(module, str) and module.partition(".")[0] in _packages


class _BeforeDialects:
    """Sees to it that definitions are deferred before the first dialect is imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "xdsl.dialects":
            sys.meta_path.remove(self)
            import_module("tileiras_build.ir.dialects.lazy_definitions").enable_lazy_definitions()


class _WithoutSignatures(ModuleType):
    """``inspect``, of which dataclasses ask for a signature that becomes the docstring of a class that has none.

    Of deferred methods it would be wrong, and it takes as long as the rest of the class.
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

        # ``functools.cache`` takes longer than all else here.
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
    """The method ``name``, which puts what ``compiled`` returns into its place when it is called first."""
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
