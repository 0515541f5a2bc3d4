"""The three kinds of failure, each one sentence with a stable id (design.md, section 8).

A diagnostic states what was found, where, what was expected and what to do. Its rendered form is

    k.py:12:8: error[mma-no-row]: no tensor-core instruction for f8E4M3FN on sm_80; use sm_89 or newer
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import NamedTuple, TypeVar

Found = TypeVar("Found")
_PACKAGE = __name__.partition(".")[0]


class Location(NamedTuple):
    """The location of a diagnostic: a source line, or a byte offset of a binary file.

    ``file`` is a path or None; ``line`` and ``column`` count from 1 (0 = unknown); ``offset`` counts bytes from the
    start of the file.
    """

    file: str | None = None
    line: int = 0
    column: int = 0
    offset: int | None = None

    def __str__(self) -> str:
        # A file's name may contain line ends and control characters, but a diagnostic is one line.
        file = self.file if self.file is None or self.file.isprintable() else ascii(self.file)[1:-1]
        if self.offset is not None:
            return f"{file or '<bytecode>'}: byte {self.offset:#x}"
        if not self.line:
            return file or ""
        return f"{file}:{self.line}:{self.column}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name among ``known`` that is nearest to ``word``; None if none is near."""
    import difflib

    names = {name.lower(): name for name in reversed(list(known))}
    swapped = [name for name in names if sorted(name) == sorted(word.lower())]
    return next((names[near] for near in (*swapped, *difflib.get_close_matches(word.lower(), names, 1))), None)


def suggest(word: str, known: Iterable[str]) -> str:
    """The remedy for a ``word`` that is not among ``known``: the nearest name, and all names."""
    names = list(known)
    near = nearest(word, names)
    listed = f"use one of {', '.join(names)}"
    return listed if near is None else f"did you mean {near}? {listed}"


def renamed(former: str, present: str) -> str:
    """The remedy for a name that was replaced by ``present``."""
    return f"{former} was renamed to {present}"


# Exceptions of Python for data of an unexpected form.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError)


def printable(text: str) -> str:
    """The text with lone surrogates, which no stream can encode, as escape sequences."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


# ---- safe inspection of exceptions of foreign classes, whose attributes may raise: calls of the interpreter's own
# methods
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_module_of: Callable[[type], object] = type.__dict__["__module__"].__get__
_cause_of: Callable[[BaseException], BaseException | None] = BaseException.__dict__["__cause__"].__get__
_context_of: Callable[[BaseException], BaseException | None] = BaseException.__dict__["__context__"].__get__
traceback_of: Callable[[BaseException], TracebackType | None] = BaseException.__dict__["__traceback__"].__get__


def safe_query(query: Callable[..., Found], *arguments: object) -> Found | None:
    """The result of a query on foreign objects; None if it raises."""
    try:
        return query(*arguments)
    except BaseException:
        return None


def origin_of(error: BaseException) -> BaseException | None:
    """The cause or context of an exception."""
    cause = _cause_of(error)
    return _context_of(error) if cause is None else cause


def forget_origin(error: BaseException) -> None:
    """Drop the traceback, the cause and the context of an exception."""
    for name in ("__traceback__", "__cause__", "__context__"):
        BaseException.__dict__[name].__set__(error, None)


def class_name(kind: type) -> str:
    """The name of a class, on one line."""
    return " ".join(str.split(_name_of(kind)))


def kind_of(error: BaseException) -> str:
    """The name of an exception's class."""
    return class_name(type(error))


def is_own(error: BaseException) -> bool:
    """Whether an exception is a diagnostic of this package's own classes."""
    kind = type(error)
    return issubclass(kind, TileirasError) and str(safe_query(_module_of, kind)).partition(".")[0] == _PACKAGE


def exception_text(error: BaseException) -> str:
    """The text of an exception."""
    words = safe_query(lambda: printable(str(error)))
    return "(no message)" if words is None else words


def describe_exception(error: BaseException) -> str:
    """The type of an exception and its text, on one line."""
    return f"{kind_of(error)}: {' '.join(exception_text(error).split())}"


class TileirasError(Exception):
    """Base of all diagnostics: ``kind[id]: message`` with an optional location and remedy."""

    kind = "error"
    exit_code = 1

    def __init__(self, id: str, message: str, *, location: Location | None = None, remedy: str | None = None):
        message, remedy = printable(message), None if remedy is None else printable(remedy)
        super().__init__(id, message)
        self.id, self.message, self.location, self.remedy = id, message, location, remedy

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location and str(self.location) else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.kind}[{self.id}]: {self.message}{remedy}"

    def __reduce__(self):
        # Diagnostics cross process boundaries: keyword arguments are not pickled by default.
        return (_rebuild, (type(self), self.id, self.message, self.location, self.remedy))


def _rebuild(cls, id, message, location, remedy):
    return cls(id, message, location=location, remedy=remedy)


class InvalidInput(TileirasError):
    """The user's input is wrong: a damaged file, a bad option, IR that does not verify."""


class Unsupported(TileirasError):
    """Valid input for which one of our tables lacks a row, or that a target does not support."""

    exit_code = 2


class InternalError(TileirasError):
    """A broken contract between passes: a bug of this package."""

    kind = "internal error"
    exit_code = 3


class CompilerWarning(TileirasError):
    """What the compiler did less well than it could, of a class that the user selected."""

    kind = "warning"
    exit_code = 0


def missing_package(error: ImportError) -> InvalidInput | None:
    """The diagnostic for a missing dependency; None for a missing module of this package."""
    package = (error.name or "").partition(".")[0]
    if package in ("", _PACKAGE):
        return None
    message = f"cannot import {package}, required by {_PACKAGE}: {error}"
    return InvalidInput("package-missing", message, remedy=f"reinstall {_PACKAGE} in this environment")


class Diagnostics:
    """Collects all errors of a module, which are reported together."""

    def __init__(self) -> None:
        self.errors: list[TileirasError] = []

    def add(self, error: TileirasError) -> None:
        if all(str(error) != str(known) for known in self.errors):
            self.errors.append(error)

    def raise_if_any(self) -> None:
        if not self.errors:
            return
        if len(self.errors) == 1:
            raise self.errors[0]
        raise ErrorGroup(self.errors)


class ErrorGroup(TileirasError):
    """Several diagnostics of one module, printed one per line."""

    def __init__(self, errors: list[TileirasError]):
        first = errors[0]
        super().__init__(first.id, first.message, location=first.location, remedy=first.remedy)
        self.errors = list(errors)
        self.exit_code = max(error.exit_code for error in errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)

    def __reduce__(self):
        return (ErrorGroup, (self.errors,))
