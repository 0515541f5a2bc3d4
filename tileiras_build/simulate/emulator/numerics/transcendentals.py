"""ex2, lg2, sin, cos and tanh of float32, correctly rounded: the same bits on every CPU.

The ISA bounds the errors of the approximations, and hardware stays below these bounds; the error here is at most half a unit.
NumPy's functions differ in the last bit between CPUs, because NumPy and the C library select vector code by instruction set.
They are therefore evaluated in float64, with much more precision than float32. If the nearest float32 still depends on the
last bits, about once in a million values, decimal arithmetic decides.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import cache

import numpy as np

from ..native import elementwise_f32

f32, f64, u64 = np.float32, np.float64, np.uint64

ERROR = 2.0**-48  # relative, of NumPy's float64 functions: above the 4 units in the last place of its vector libraries
# Digits: 38 before the point of the largest float32, 45 zeros after that of the smallest, 17 of a float64, and a margin.
CONTEXT = Context(prec=130)


@cache
def pi() -> Decimal:
    """By Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_inverse(n: int) -> Decimal:
        power, total, k = Decimal(1) / n, Decimal(0), 0
        while abs(power) > Decimal(10) ** -CONTEXT.prec:
            total += power / (2 * k + 1)
            power, k = -power / (n * n), k + 1
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


def sine(x: Decimal, quarters: int = 0) -> Decimal:
    """sin(x + quarters * pi / 2), by its series about the nearest multiple of pi / 2."""
    nearest = (x * 2 / pi()).to_integral_value()
    x, quarters = x - nearest * pi() / 2, (quarters + int(nearest)) % 4
    k = quarters % 2  # the series of the cosine has the even powers, that of the sine the odd ones
    term, total, k = (Decimal(1), Decimal(1), 0) if k else (x, x, 1)
    while abs(term) > Decimal(10) ** -CONTEXT.prec:
        term = -term * x * x / ((k + 1) * (k + 2))
        total, k = total + term, k + 2
    return -total if quarters >= 2 else total


def tangent(x: Decimal) -> Decimal:
    """The hyperbolic tangent."""
    square = (2 * min(max(x, Decimal(-150)), Decimal(150))).exp()
    return (square - 1) / (square + 1)


# Name -> the function of NumPy, and that of decimal numbers for finite arguments.
FUNCTIONS = {
    "ex2": (np.exp2, lambda x: Decimal(2) ** x),
    "lg2": (np.log2, lambda x: x.ln() / Decimal(2).ln()),
    "sin": (np.sin, sine),
    "cos": (np.cos, lambda x: sine(x, 1)),
    "tanh": (np.tanh, tangent),
}


def evaluate(name: str, x):
    """A function of ``FUNCTIONS`` on float32 values, rounded to nearest even."""
    if name in elementwise_f32.OPERATIONS and (by_code := elementwise_f32.try_apply(name, x)) is not None:
        return by_code
    shape, x = np.shape(x), np.atleast_1d(x)
    wide = FUNCTIONS[name][0](x.astype(f64))
    out = wide.astype(f32)
    near = is_near_midpoint(wide, out)
    if near.any():
        out[near] = [round_correctly(name, value) for value in x[near].tolist()]
    return out.reshape(shape)[()]


_LOW, _FIRST, _SPAN = u64((1 << 29) - 1), u64((1 << 28) - 64), u64(128)  # ERROR is at most 32 units of a float64
TINY = f32(2.0**-126)


def is_near_midpoint(wide: np.ndarray, out: np.ndarray) -> np.ndarray:
    """A mask of the values that may round to either of two float32 within ERROR, by the bits that rounding to ``out`` drops."""
    near = ((wide.view(u64) - _FIRST) & _LOW) <= _SPAN
    near |= np.abs(out) < TINY
    if near.any():
        some = wide[near]
        near[near] = np.isfinite(some) & ((some * (1 - ERROR)).astype(f32) != (some * (1 + ERROR)).astype(f32))
    return near


def round_correctly(name: str, x: float) -> np.float32:
    """The float32 nearest to the function of x."""
    with localcontext(CONTEXT):
        exact = FUNCTIONS[name][1](Decimal(x))
        return nearest_float32(exact)


def nearest_float32(exact: Decimal) -> np.float32:
    """The float32 nearest to a decimal number, chosen from the rounded float64 and its float32 neighbors."""
    first = f32(float(exact))
    candidates = (np.nextafter(first, f32(-np.inf)), first, np.nextafter(first, f32(np.inf)))
    finite = [value for value in candidates if np.isfinite(value)]
    return min(finite, key=lambda value: abs(Decimal(float(value)) - exact))
