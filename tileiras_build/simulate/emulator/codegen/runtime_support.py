"""Small functions that generated code calls on register values."""

from __future__ import annotations

import numpy as np

_TRUE, _FALSE = np.bool_(True), np.bool_(False)
_HALF = np.uint64(32)  # bits


def choose(mask, new, old):
    """``new`` where the mask is true, else ``old``."""
    if mask is _TRUE:
        return new
    if mask is _FALSE:
        return old
    if isinstance(new, tuple):
        return tuple(choose(mask, n, o) for n, o in zip(new, old))
    return np.where(mask, new, old)


def lower_half(value):
    """The low 32 bits of a 64-bit value."""
    return value.astype(np.uint32)


def upper_half(value):
    """The high 32 bits of a 64-bit value."""
    return (value >> _HALF).astype(np.uint32)


def joined_halves(low, high):
    """The 64-bit value of two halves."""
    return low.astype(np.uint64) | (high.astype(np.uint64) << _HALF)


NAMESPACE = {
    "np": np, "choose": choose, "lower_half": lower_half, "upper_half": upper_half, "joined_halves": joined_halves,
}  # fmt: skip


def exporter(namespace: dict):
    """A decorator that exports functions to generated code through ``namespace``."""

    def export(function):
        namespace[function.__name__] = function
        return function

    return export
