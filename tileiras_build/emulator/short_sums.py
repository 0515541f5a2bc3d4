"""Sums of fp8 products in a warpgroup's tensor cores, which keep 13 bits behind the point.

The PTX ISA leaves the order and the rounding of the additions of a product open. The tensor cores of sm_90 are known to
keep less of the fp8 products of ``wgmma`` than of others. An element of D = A B + C is

    truncate(sum of trunc(x 2^(13 - e)) over x in {C, 32 products} 2^(e - 13))

where e is the largest exponent among the terms. The exponent of a product is the sum of those of its factors (its
significand may be 2 or more), that of zero the lowest of f32; subnormal numbers have their type's lowest. ``truncate``
keeps 14 significant bits, that is 13 behind the leading one; an accumulator of f16 is rounded to nearest even instead.

Sources: "DeepSeek-V3 Technical Report" (arXiv 2412.19437, section 3.5.2: products aligned to the largest exponent, 14 bits,
truncated), "SageAttention2" (arXiv 2411.10958: 13 bits of fraction in the accumulator, the rest truncated), "MMA-Sim"
(arXiv 2511.10909: the formula, compared with the hardware bit by bit). Of other instructions the last one says: ``mma.sync``
of fp8 on sm_90 and all products of sm_100 and 120 keep 25 bits behind the point, which are all of f32; ``mma.sync`` of fp8
on sm_89 keeps 13 as well, of 16 products at a time (not modelled).
"""

from __future__ import annotations

import numpy as np

from .numerics import f32, f64
from .products import NUMBERS, Factor

KINDS = ("e4m3", "e5m2")
FRACTION_BITS = 13
LOWEST = {"f32": -126, "f16": -14}  # exponents of normal numbers of the accumulator
NO_TERM = -10000  # an exponent below those of all products


@np.errstate(all="ignore")
def add_products(left: Factor, right: Factor, old: np.ndarray, type_: str) -> np.ndarray:
    """A B + C in float32 for A (n or 1, m, k), B (n or 1, columns, k) and C (n, m, columns) of ``type_``, f32 or f16.

    Results of f16 are not rounded to it yet.
    """
    shape, out = old.shape, np.empty(old.shape, f32)
    factors = [np.broadcast_to(one.wide, (shape[0], *one.wide.shape[1:])) for one in (left, right)]
    exponents = [_exponents(values, NUMBERS[one.kind].lowest) for values, one in zip(factors, (left, right))]
    for number in range(shape[0]):
        a, b = (values[number].T for values in factors)
        first, second = (values[number].T for values in exponents)
        out[number] = _add_to(old[number].astype(f64), a, b, first, second, type_)
    return out + f32(0)


def _exponents(values: np.ndarray, lowest: int) -> np.ndarray:
    return np.where(values == 0, NO_TERM, np.maximum(np.frexp(values)[1] - 1, lowest))


def _add_to(old, a, b, a_exponents, b_exponents, type_: str) -> np.ndarray:
    """One matrix C (m, columns), the factors (k, m) and (k, columns)."""
    largest = np.where(old == 0, LOWEST["f32"], np.maximum(np.frexp(old)[1] - 1, LOWEST[type_]))
    for first, second in zip(a_exponents, b_exponents):
        np.maximum(largest, first[:, None] + second, out=largest)
    scale = np.ldexp(1.0, FRACTION_BITS - largest)
    total = np.trunc(old * scale)
    for first, second in zip(a, b):
        total += np.trunc(first[:, None] * second * scale)
    total /= scale
    return (_truncated(total) if type_ == "f32" else total).astype(f32)


def _truncated(values: np.ndarray) -> np.ndarray:
    exponents = np.maximum(np.frexp(values)[1] - 1, LOWEST["f32"])
    unit = np.ldexp(1.0, exponents - FRACTION_BITS)
    return np.trunc(values / unit) * unit
