"""Find arguments of a ``Case`` that are Python values although a launch passes them at run time.

cuTile treats an argument as a constant only if its parameter is annotated with ``ct.Constant``; a launch passes any
other scalar. A value in a ``Case`` for such a parameter would export another kernel than the one that launches run.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any


def unannotated_constants(function: Callable, arguments: tuple) -> Iterator[tuple[str, object]]:
    """The name of each parameter without ``ct.Constant`` whose argument is a Python scalar, and that scalar."""
    names = function.__code__.co_varnames
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:
        return  # cuTile reports what is wrong with the annotations
    for name, argument in zip(names, arguments):
        for value in _constants(argument, hints.get(name), is_constant=False):
            yield name, value


def _constants(argument: object, annotation: Any, *, is_constant: bool) -> Iterator[object]:
    from cuda.tile import ConstantAnnotation

    if typing.get_origin(annotation) is Annotated:
        annotation, *notes = typing.get_args(annotation)
        is_constant = is_constant or any(isinstance(note, ConstantAnnotation) for note in notes)
    if isinstance(argument, tuple):
        for part, inner in zip(argument, _parts(annotation, len(argument))):
            yield from _constants(part, inner, is_constant=is_constant)
    elif isinstance(argument, int | float) and not is_constant:
        yield argument


def _parts(annotation: Any, length: int) -> list[Any]:
    """The annotations of a tuple's elements."""
    found = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else ()
    if len(found) == 2 and found[1] is ...:
        return [found[0]] * length
    return [*found, *[None] * (length - len(found))]
