"""Small functions that generated code calls on register values."""

from __future__ import annotations

import numpy as np

_TRUE, _FALSE = np.bool_(True), np.bool_(False)


def choose(mask, new, old):
    """``new`` where the predicate holds, else ``old``."""
    if mask is _TRUE:
        return new
    if mask is _FALSE:
        return old
    if isinstance(new, tuple):
        return tuple(choose(mask, n, o) for n, o in zip(new, old))
    return np.where(mask, new, old)


NAMESPACE = {"np": np, "choose": choose}


def exporter(namespace: dict):
    """A decorator that puts functions into ``namespace`` for generated code."""

    def export(function):
        namespace[function.__name__] = function
        return function

    return export
