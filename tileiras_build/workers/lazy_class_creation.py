"""Create dataclasses lazily, so that the compiler is imported faster.

A third of the import time of xDSL and the dialects goes into dataclasses: there are four hundred and fifty, with five or six
methods each, compiled from text one by one. A small kernel uses a third of the classes, and most of those a few times. So

- in a process that makes one call, a class of the compiler is processed at the first use of a name that the decorator adds; one that is
  forked for many calls would process it in each fork,
- a constructor works from the fields for its first calls, and is compiled after them; other methods are compiled when they are first called,
- a class of the dialects gets its definition on first access (``ir/dialects/lazy_definitions.py``).

Processes of this package enable it before they import the compiler; in processes with user code (scons, workers) it applies
only to classes of named packages. The process of a user who imports the package never enables it.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from _thread import RLock
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

OWN, COMPILER = ("tileiras_build",), ("tileiras_build", "xdsl")  # packages whose classes are created lazily
_HEAD = "def __create_fn__("
_COLD = 12  # calls of a constructor that take less time than compiling it
_INIT, _HASH, _FIELDS = "__init__", "__hash__", "__dataclass_fields__"
# The methods that each option of the decorator adds, and the other names that it adds.
_METHODS = {"init": (_INIT,), "repr": ("__repr__",), "eq": ("__eq__",), "frozen": ("__setattr__", "__delattr__")}
_VALUES = (
    _FIELDS,
    "__dataclass_params__",
    "__match_args__",
    *(("__replace__",) if sys.version_info >= (3, 13) else ()),
)
_NOTHING = object()
_process: Callable[..., type] = vars(dataclasses)["_process_class"]
# The options of a class that is not processed yet, and its own values of the pending names.
_pending: dict[type, tuple[tuple[bool, ...], dict[str, object]]] = {}
_lock = RLock()
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]
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
    vars(dataclasses)["_process_class"] = _process_later
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


def _process_later(kind: type, *options: bool) -> type:
    """``dataclasses._process_class``, when a name that it adds is first used."""
    code = _process.__code__
    given = dict(zip(code.co_varnames[1 : code.co_argcount], options))
    is_own = kind.__module__.partition(".")[0] in COMPILER  # not one of a kernel's file
    if _packages is not None or not is_own or not _is_deferrable(kind, given):
        return _process(kind, *options)
    own = vars(kind)
    methods = [name for option, names in _METHODS.items() if given[option] for name in names if name not in own]
    values: dict[str, object] = {name: _PendingValue(kind, name) for name in _VALUES if name not in own}
    if given["eq"] and not _has_explicit_hash(own):
        methods += [_HASH] if given["frozen"] else []
        values |= {} if given["frozen"] else {_HASH: None}
    added = values | {name: _pending_method(kind, name) for name in methods}
    _pending[kind] = options, {name: own.get(name, _NOTHING) for name in added}
    for name, value in added.items():
        setattr(kind, name, value)
    return kind


def _is_deferrable(kind: type, given: dict[str, bool]) -> bool:
    """Not where the class is replaced, or ordered, or an attribute of it is: what is derived from it may read that."""
    if given["slots"] or given["order"] or given["unsafe_hash"] or not given["match_args"]:
        return False
    return not any(isinstance(value, dataclasses.Field) for value in vars(kind).values())


def _has_explicit_hash(own: Any) -> bool:
    """Whether a class defines ``__hash__``: Python sets it to None where a class defines ``__eq__`` alone."""
    return _HASH in own and not (own[_HASH] is None and "__eq__" in own)


class _PendingValue:
    """A placeholder for ``name`` until the class ``owner`` is processed."""

    def __init__(self, owner: type, name: str):
        self.owner, self.name = owner, name

    def __get__(self, made: object, kind: type) -> object:
        _finish(self.owner)
        return getattr(kind if made is None else made, self.name)


def _pending_method(kind: type, name: str) -> Callable[..., Any]:
    """The method ``name`` of a class that is processed at its first call."""

    def method(self, /, *arguments: Any, **named: Any) -> Any:
        _finish(kind)
        return vars(kind)[name](self, *arguments, **named)

    method.__name__, method.__qualname__ = name, f"{kind.__qualname__}.{name}"
    return method


def _finish(kind: type) -> None:
    """Process a class, unless another thread has."""
    with _lock:
        options, own = _pending.pop(kind, ((), {}))
        for name, value in own.items():
            if value is _NOTHING:
                delattr(kind, name)
            else:
                setattr(kind, name, value)
        if own:
            _process(kind, *options)


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
    """The method ``name``, which replaces itself by the result of ``compiled``: a constructor after some calls, others at their first."""
    made = initialize = None
    left = _COLD if name == _INIT else 0

    def method(self, /, *arguments: Any, **named: Any) -> Any:
        nonlocal initialize, left, made
        if left:
            left -= 1
            if initialize is None and (owner := _owner(self, name, method)) is not None:  # not inside another function
                initialize = _initializer(owner)
            if initialize is not None and initialize(self, arguments, named):
                return None
        if made is None:
            made = compiled()
            made.__qualname__ = method.__qualname__
            if (owner := _owner(self, name, method)) is not None:  # ``__repr__`` is inside another function, too
                setattr(owner, name, made)
        return made(self, *arguments, **named)

    method.__name__ = name
    return method


def _owner(made: object, name: str, method: Callable[..., Any]) -> type | None:
    """The class that has a method as its own."""
    return next((kind for kind in type(made).__mro__ if vars(kind).get(name) is method), None)


def _initializer(owner: type) -> Callable[[Any, tuple, dict[str, Any]], bool]:
    """A function that sets the fields of an object from the arguments of its constructor; it returns False, and sets nothing, unless they
    are right and the class is simple.
    """
    rows = dataclasses.fields(owner)
    is_simple = len(rows) == len(vars(owner)[_FIELDS])  # no InitVar, no ClassVar
    positional = [row.name for row in rows if row.init and not row.kw_only]
    known = {row.name for row in rows if row.init}
    put = object.__setattr__ if owner.__dataclass_params__.frozen else setattr  # type: ignore[attr-defined]
    finish = hasattr(owner, "__post_init__")

    def initialize(made: Any, arguments: tuple, named: dict[str, Any]) -> bool:
        values = dict(zip(positional, arguments))
        if not is_simple or len(arguments) > len(positional) or values.keys() & named or named.keys() - known:
            return False
        values |= named
        found = [(row.name, _value(row, values)) for row in rows]
        if any(value is _NOTHING for _, value in found):
            return False
        for name, value in found:
            if value is not dataclasses.MISSING:
                put(made, name, value)
        if finish:
            made.__post_init__()
        return True

    return initialize


def _value(row: dataclasses.Field, values: dict[str, Any]) -> Any:
    """The value of a field; MISSING if the constructor does not set it, _NOTHING if an argument is missing."""
    if row.name in values:
        return values[row.name]
    if row.default_factory is not dataclasses.MISSING:
        return row.default_factory()
    if not row.init:
        return dataclasses.MISSING
    return _NOTHING if row.default is dataclasses.MISSING else row.default
