"""The fingerprint of a kernel: all inputs of cuTile's front end. Kernels with a known fingerprint need no front end.

The front end reads the source of the kernel's function and of the functions that it calls, and resolves their names: in the
function's closure, in its module, in Python's builtins. So a fingerprint covers the text of these functions, their location
(for line information), and the values of those names, at any depth. Values may be scalars, strings, types, modules and
functions. A kernel that names anything else (an array, an object of a user's class), or evaluates Python code during
compilation (``static_eval``), has no fingerprint; the front end runs each time.

The front end reads a function once per process, and ignores later changes of its names. So the first snapshot counts here,
too. If the front end may have run before (``note_front_end``), there is no fingerprint.
"""

from __future__ import annotations

import enum
import inspect
import io
import os
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

_NAME = re.compile(r"[^\W\d]\w*")
_STATIC_PREFIX = "static_"  # prefix of what Python evaluates while the front end runs
_LIBRARIES = (
    "cuda.tile",
    "math",
    "operator",
    "numpy",
    "torch",
    "ml_dtypes",
)  # the version determines the values of their modules' names
_SETTINGS = ("CUDA_TILE_", "EXPERIMENTAL_CUDA_TILE_")  # prefixes of the environment variables that cuTile reads
_IRRELEVANT_SETTINGS = frozenset(
    f"CUDA_TILE_{name}" for name in ("CACHE_DIR", "CACHE_SIZE", "TEMP_DIR", "COMPILER_TIMEOUT_SEC")
)
_PLAIN = (type(None), bool, int, str, bytes, type(Ellipsis))


class UnfingerprintableError(Exception):
    """A kernel uses a value of an unsupported kind."""


_UNFINGERPRINTABLE = (
    UnfingerprintableError,
    OSError,
    TypeError,
    ValueError,
    RecursionError,
    SyntaxError,
    tokenize.TokenError,
)


def is_front_end_unpatched() -> bool:
    """Whether cuTile's front end only generates bytecode, and nobody has patched it."""
    if any(name.startswith(_SETTINGS) and name not in _IRRELEVANT_SETTINGS for name in os.environ):
        return False
    from cuda.tile._cext import default_tile_context

    config = default_tile_context.config
    if config.log_cutile_ir or config.log_tileir or config.enable_crash_dump:
        return False
    module = sys.modules.get("cuda.tile._compile")
    compile_tile = getattr(module, "compile_tile", None)
    return module is None or getattr(compile_tile, "__module__", None) in (
        module.__name__,
        f"{__package__}.export_kernel_hooks",
    )


def kernel_fingerprint(kernel: Any, signature: Any) -> str | None:
    """A text that determines a kernel's bytecode for one signature, besides the installation; None if it is unknown."""
    if not _is_trusted:
        return None
    try:
        look = _snapshot(kernel._pyfunc)
        parts = (
            kernel._annotated_function.parameter_annotations,
            kernel._compiler_options,
            signature.symbol,
            signature.parameters,
        )
        return repr((look.described, [_value(part, FunctionSnapshot()) for part in parts]))
    except _UNFINGERPRINTABLE:
        return None


@contextmanager
def with_first_snapshot(kernel: Any) -> Iterator[None]:
    """Restore the values of the first snapshot in the block, as the front end would have cached them."""
    changed = [name for name in _snapshot(kernel._pyfunc).all_names() if not name.is_as_it_was()]
    now = [replace(name, value=name.get()) for name in changed]
    for name in changed:
        name.put()
    try:
        yield
    finally:
        for name in now:
            name.put()


_MISSING = object()


@dataclass(frozen=True)
class _NameBinding:
    """The value of a name: in a module's dictionary, or in a cell of a function's closure."""

    space: Any
    name: str
    value: Any

    def get(self) -> Any:
        return self.space.cell_contents if isinstance(self.space, CellType) else self.space.get(self.name, _MISSING)

    def is_as_it_was(self) -> bool:
        return self.get() is self.value

    def put(self) -> None:
        if isinstance(self.space, CellType):
            self.space.cell_contents = self.value
        elif self.value is _MISSING:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = self.value


class FunctionSnapshot:
    """A snapshot of a function: its source, and the values of its names; ``inner`` are the snapshots of functions that it names."""

    def __init__(self) -> None:
        self.described: tuple = ()
        self.names: list[_NameBinding] = []
        self.inner: list[FunctionSnapshot] = []

    def all_names(self) -> list[_NameBinding]:
        """The names of this and of the inner snapshots, each once."""
        looks: dict[int, FunctionSnapshot] = {}
        waiting = [self]
        while waiting:
            look = waiting.pop()
            if id(look) not in looks:
                looks[id(look)] = look
                waiting += look.inner
        return [name for look in looks.values() for name in look.names]


_seen: WeakKeyDictionary[FunctionType, FunctionSnapshot] = WeakKeyDictionary()
_is_trusted = True  # the front end has read no function without a snapshot
_snapshots_taken = 0  # functions that the front end had read at the last note


def note_front_end(is_restored: bool = False) -> None:
    """Record that the front end is patched or restored: its calls in between are not seen."""
    global _is_trusted, _snapshots_taken
    module = sys.modules.get("cuda.tile._passes.ast2hir")
    looks = 0 if module is None else module.get_function_hir.cache_info().misses
    _is_trusted &= is_restored or looks == _snapshots_taken
    _snapshots_taken = looks


def snapshot_first(function: FunctionType) -> None:
    """Take the snapshot before the front end reads a function. A function without a fingerprint never gets one."""
    with suppress(*_UNFINGERPRINTABLE):
        _snapshot(function)


def _snapshot(function: FunctionType) -> FunctionSnapshot:
    """The first snapshot of a function; raises one of ``_UNFINGERPRINTABLE``, again at each call if the first one did."""
    found = _seen.get(function)
    if found is None:
        found = _seen[function] = FunctionSnapshot()
        found.described = ("being looked at", function.__name__, function.__code__.co_firstlineno)
        try:
            found.described = _described(function, found)
        except _UNFINGERPRINTABLE:
            found.described = ()
            raise
    if not found.described:
        raise UnfingerprintableError(function.__name__)
    return found


@dataclass(frozen=True)
class _Text:
    """The source of a function: its lines from line ``first`` on, its ``names``, and its ``attributes`` (after a point)."""

    first: int
    lines: str
    names: frozenset[str]
    attributes: frozenset[str]


def _described(function: FunctionType, look: FunctionSnapshot) -> tuple:
    """The description of a function; raises UnfingerprintableError."""
    text, code = _read(function), function.__code__
    if any(name.startswith(_STATIC_PREFIX) for name in text.names | text.attributes):
        raise UnfingerprintableError(code.co_name)
    # A variable of a comprehension is a variable of the function, and may shadow another one elsewhere.
    own = () if "global" in text.names else {*code.co_varnames, *code.co_cellvars} - {*code.co_names}
    found = [one for one in _resolved(function, text) if one.name not in own]
    look.names += found
    named = [(one.name, _value(one.value, look, text)) for one in found]
    more = (function.__defaults__, function.__kwdefaults__, function.__annotations__)
    place = (code.co_filename, inspect.getfile(function), function.__module__, function.__name__, code.co_flags)
    return (*place, text.first, text.lines, code.co_varnames, named, *(_value(one, look, text) for one in more))


def _read(function: FunctionType) -> _Text:
    # The front end reads it in the same way.
    lines, first = inspect.findsource(function)
    text = "".join(inspect.getblock(lines[first:]))
    names: set[str] = set()
    attributes: set[str] = set()
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and before != "def":
            (attributes if before == "." else names).add(token.string)
        elif token.type == tokenize.STRING:
            # A formatted string contains names, and ``getattr`` takes attributes as strings.
            names.update(_NAME.findall(token.string))
            attributes.update(_NAME.findall(token.string))
        before = token.string
    if "\\" in text or not text.isascii():
        raise UnfingerprintableError("Python may warn of it, or read other names than these")
    return _Text(first, text, frozenset(names), frozenset(attributes))


def _resolved(function: FunctionType, text: _Text) -> Iterator[_NameBinding]:
    of: Any = function  # typeshed knows nothing of a function's builtins
    builtins = of.__builtins__
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for name in sorted(text.names | cells.keys()):
        if name in cells:
            yield _NameBinding(cells[name], name, cells[name].cell_contents)
            continue
        space = function.__globals__ if name in function.__globals__ else builtins
        if name in space:
            yield _NameBinding(space, name, space[name])


def _value(value: Any, look: FunctionSnapshot, text: _Text | None = None) -> object:
    """The description of a value; raises UnfingerprintableError."""
    kind = type(value)
    if kind in _PLAIN:
        return kind.__name__, value
    if kind is float:
        return "float", value.hex()
    if kind in (tuple, list):
        return kind.__name__, [_value(one, look, text) for one in value]
    if kind is dict:
        return "dict", [(_value(one, look, text), _value(inner, look, text)) for one, inner in value.items()]
    for known, describe in _DESCRIBED.items():
        if isinstance(value, known):
            return describe(value, look, text)
    return _library_object(value, look, text)


def _module(module: ModuleType, look: FunctionSnapshot, text: _Text | None) -> object:
    if _is_library(module.__name__):
        return "module", module.__name__, str(getattr(module, "__version__", ""))
    if text is None or hasattr(module, "__getattr__"):
        raise UnfingerprintableError(module.__name__)
    asked = sorted(text.attributes & vars(module).keys())
    return "module", module.__name__, [(name, _value(vars(module)[name], look, text)) for name in asked]


def _function(function: FunctionType, look: FunctionSnapshot, text: _Text | None) -> object:
    if _is_library(function.__module__ or ""):
        if function.__name__.startswith(_STATIC_PREFIX):
            raise UnfingerprintableError(function.__name__)
        return "function", function.__module__, function.__qualname__
    marks = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
    inner = vars(function).get("__wrapped__")
    # cuTile's decorator returns a stand-in for the wrapped function; for other decorators the front end reads the wrapper.
    meant = inner if inner is not None and marks.get("_cutile_function_wrapper") is True else function
    look.inner.append(found := _snapshot(meant))
    return "function", _value(marks, look, text), found.described


def _builtin(function: BuiltinFunctionType, look: FunctionSnapshot, text: _Text | None) -> object:
    owner = function.__self__
    if isinstance(owner, ModuleType) and owner.__name__ in ("builtins", "math", "_operator"):
        return "builtin", owner.__name__, function.__qualname__
    raise UnfingerprintableError(function.__qualname__)


def _type(kind: type, look: FunctionSnapshot, text: _Text | None) -> object:
    if kind.__module__ == "builtins" or _is_library(kind.__module__):
        return "type", kind.__module__, kind.__qualname__
    raise UnfingerprintableError(kind.__qualname__)


_DESCRIBED: dict[type, Callable[..., object]] = {
    ModuleType: _module,
    FunctionType: _function,
    BuiltinFunctionType: _builtin,
    type: _type,
}


def _library_object(value: Any, look: FunctionSnapshot, text: _Text | None) -> object:
    """Objects of a library's classes: its constants, and the fields of its classes."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if not _is_library(kind.__module__):
        if kind.__module__ == "typing":
            return name, _typing(value, look, text)
        raise UnfingerprintableError(name)
    if isinstance(value, enum.Enum):
        return name, value.name
    if is_dataclass(value):
        return name, [(field.name, _value(getattr(value, field.name), look, text)) for field in fields(value)]
    if kind.__name__ in _CONSTANTS:
        return name, repr(value)
    if kind.__name__ == "ByTarget":
        return name, [(key, _value(inner, look, text)) for key, inner in sorted(vars(value).items())]
    raise UnfingerprintableError(name)


_CONSTANTS = frozenset(("DType", "dtype", "PointerInfo", "ConstantAnnotation"))


def _typing(value: Any, look: FunctionSnapshot, text: _Text | None) -> object:
    arguments = getattr(value, "__args__", ()) + getattr(value, "__metadata__", ())
    return str(getattr(value, "__origin__", value)), [_value(one, look, text) for one in arguments]


def _is_library(name: str) -> bool:
    return name in _LIBRARIES or name.startswith(tuple(f"{library}." for library in _LIBRARIES))
