"""``renamed_parameters``: a public function names the new parameter where a caller passes a former one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from .errors import renamed

P = ParamSpec("P")
R = TypeVar("R")


def renamed_parameters(**present: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator; ``present`` maps each former parameter to its present name. A call with a former one raises TypeError."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for former in present.keys() & kwargs.keys():
                raise TypeError(f"{function.__name__}(): {renamed(f'parameter {former}', present[former])}")
            return function(*args, **kwargs)

        return call

    return decorate
