"""Small functions that generated code calls on register values."""

from __future__ import annotations

import numpy as np

_TRUE, _FALSE = np.bool_(True), np.bool_(False)
_HALF = np.uint64(32)  # bits


def choose(mask, new, old):
    """``new`` where the predicate holds, else ``old``."""
    if mask is _TRUE:
        return new
    if mask is _FALSE:
        return old
    if isinstance(new, tuple):
        return tuple(choose(mask, n, o) for n, o in zip(new, old))
    return np.where(mask, new, old)


def lower_half(value):
    """The low 32 bits of 64."""
    return value.astype(np.uint32)


def upper_half(value):
    """The high 32 bits of 64."""
    return (value >> _HALF).astype(np.uint32)


def joined_halves(low, high):
    """64 bits of two halves."""
    return low.astype(np.uint64) | (high.astype(np.uint64) << _HALF)


NAMESPACE = {
    "np": np, "choose": choose, "lower_half": lower_half, "upper_half": upper_half, "joined_halves": joined_halves,
}  # fmt: skip


def exporter(namespace: dict):
    """A decorator that puts functions into ``namespace`` for generated code."""

    def export(function):
        namespace[function.__name__] = function
        return function

    return export
