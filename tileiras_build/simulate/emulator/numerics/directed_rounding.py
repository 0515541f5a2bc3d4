"""Float operations rounded toward zero, down or up: adjusts the nearest result by the sign of its error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..codegen.runtime_support import exporter
from .float_arithmetic import fma64, two_product, two_sum
from .float_formats import f32, f64

NAMESPACE: dict = {}
export = exporter(NAMESPACE)


def directed(r, error, mode: str):
    """Move a nearest-rounded r so that r + error is rounded in the given direction."""
    t = r.dtype.type
    up, down = np.nextafter(r, t(np.inf)), np.nextafter(r, t(-np.inf))
    if mode == "rp":
        return np.where(error > 0, up, r)
    if mode == "rm":
        return np.where(error < 0, down, r)
    return np.where((error < 0) & (r > 0), down, np.where((error > 0) & (r < 0), up, r))


def addition_error(a, b, r):
    """Sign-correct error of r = RN(a + b), overflow included."""
    _, e = two_sum(a, b)
    over = np.isinf(r) & np.isfinite(a) & np.isfinite(b)
    return np.where(over, -np.sign(r), np.where(np.isfinite(e), e, 0))


def exact_error32(exact_high, exact_low, r):
    """Sign of (high + low) - r for float64 high, low and float32 r."""
    d = np.where(np.isinf(r) & np.isfinite(exact_high), -np.sign(r), exact_high - r.astype(f64))
    d = np.where(np.isnan(d), 0, d)
    return np.where(d != 0, d, exact_low)


def _add32(a, b, mode):
    s, e = two_sum(a.astype(f64), b.astype(f64))
    r = s.astype(f32)
    r = directed(r, exact_error32(s, np.where(np.isfinite(e), e, 0), r), mode)
    return negative_zero(r, a, b, mode)


def negative_zero(r, a, b, mode):
    """x - x is -0 when rounding down."""
    if mode != "rm":
        return r
    return np.where((r == 0) & (np.signbit(a) != np.signbit(b)), r.dtype.type(-0.0), r)


def _mul32(a, b, mode):
    p = np.multiply(a, b, dtype=f64)
    r = p.astype(f32)
    return directed(r, exact_error32(p, f64(0), r), mode)


def _fma32(a, b, c, mode):
    s, e = two_sum(np.multiply(a, b, dtype=f64), c.astype(f64))
    r = s.astype(f32)
    r = directed(r, exact_error32(s, np.where(np.isfinite(e), e, 0), r), mode)
    return negative_zero(r, np.multiply(a, b), c, mode)


def _div32(a, b, mode):
    r = a / b
    rest = a.astype(f64) - r.astype(f64) * b.astype(f64)
    error = np.where(
        np.isfinite(rest), rest * np.sign(b), np.where(np.isinf(r) & np.isfinite(a) & (b != 0), -np.sign(r), 0)
    )
    return directed(r, error, mode)


def _sqrt32(a, mode):
    r = np.sqrt(a)
    rest = a.astype(f64) - r.astype(f64) * r.astype(f64)
    return directed(r, np.where(np.isfinite(rest), rest, 0), mode)


def _exact64(name: str, a, b=0.0, c=0.0):
    """The exact result as a rational (square roots: compared by squares instead)."""
    a, b, c = Fraction(a), Fraction(b), Fraction(c)
    return {"mul": lambda: a * b, "fma": lambda: a * b + c, "div": lambda: a / b}[name]()


def _sign64(name: str, values, r: float) -> int:
    """Sign of the exact result minus r, for finite operands, by rationals."""
    if name == "div" and values[1] == 0:
        return 0
    if math.isinf(r):
        return -1 if r > 0 else 1
    if name == "sqrt":
        rest = Fraction(values[0]) - Fraction(r) ** 2
    else:
        rest = _exact64(name, *values) - Fraction(r)
    return (rest > 0) - (rest < 0)


def _error64(name: str, values, r, fast):
    """Errors of rounded float64 results; ``fast`` is trusted where no intermediate can under- or overflow."""
    values = np.broadcast_arrays(*values, r)
    error = np.array(np.broadcast_to(np.where(np.isfinite(fast), fast, 0), r.shape))
    hard = np.zeros(r.shape, bool)
    for value in values:
        size = np.abs(value)
        hard |= (value != 0) & ~((size > 1e-70) & (size < 1e70))
    finite = np.logical_and.reduce([np.isfinite(v) for v in values[:-1]]) & ~np.isnan(r)
    error[~finite] = 0
    for index in map(tuple, np.argwhere(hard & finite)):  # argwhere takes 0-d arrays too
        error[index] = _sign64(name, [float(v[index]) for v in values[:-1]], float(r[index]))
    return error


def _add64(a, b, mode):
    r = a + b
    return negative_zero(directed(r, addition_error(a, b, r), mode), a, b, mode)


def _mul64(a, b, mode):
    r = np.asarray(a * b)
    return directed(r, _error64("mul", (a, b), r, two_product(a, b)[1]), mode)


def _fma64(a, b, c, mode):
    r = np.asarray(fma64(a, b, c))
    ph, pl = two_product(a, b)
    s, e1 = two_sum(ph, -r)
    t, e2 = two_sum(s, c)
    r = directed(r, _error64("fma", (a, b, c), r, t + (e1 + e2 + pl)), mode)
    return negative_zero(r, a * b, c, mode)


def _div64(a, b, mode):
    r = np.asarray(a / b)
    return directed(r, _error64("div", (a, b), r, -np.asarray(fma64(r, b, -a)) * np.sign(b)), mode)


def _sqrt64(a, mode):
    r = np.asarray(np.sqrt(a))
    return directed(r, _error64("sqrt", (a,), r, -np.asarray(fma64(r, r, -a))), mode)


_DIRECTED = {
    ("add", 4): _add32, ("mul", 4): _mul32, ("fma", 4): _fma32, ("div", 4): _div32, ("sqrt", 4): _sqrt32,
    ("add", 8): _add64, ("mul", 8): _mul64, ("fma", 8): _fma64, ("div", 8): _div64, ("sqrt", 8): _sqrt64,
}  # fmt: skip


@export
def rounded(name: str, mode: str, *values):
    """An operation rounded toward zero, down or up (mode rz, rm, rp)."""
    values = [np.asarray(v) for v in values]
    if name == "sub":
        name, values = "add", [values[0], -values[1]]
    if name == "rcp":
        name, values = "div", [values[0].dtype.type(1), values[0]]
    return _DIRECTED[name, values[0].dtype.itemsize](*values, mode)[()]
