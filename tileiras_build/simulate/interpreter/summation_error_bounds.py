"""How far a sum may be off that is added up in any order, and where it may overflow on the way.

Tile IR promises no order of elements for ``reduce``, regrouping for ``scan`` (CudaTile/IR/Ops.td, notes of both), and none for the
products of ``mmaf``. With u half an epsilon of the type of the sums, s = t_1 + ... + t_n and S = |t_1| + ... + |t_n|:

- Error. Whatever the order, each t_i takes part in at most n - 1 rounded additions, each of which multiplies what it gives by
  1 + d, |d| <= u, so that the error is at most ((1 + u)^(n - 1) - 1) S, about (n - 1) u S (Higham, Accuracy and Stability of
  Numerical Algorithms, 2nd edition, section 4.2). The bound is on S and not on |s|: of terms that cancel the sum may be all error,
  and where one order finds 0 another need not. An addition cannot underflow inexactly; a product can, by half of the smallest
  number (section 2.8). ``sum_error_bound`` is that bound with sqrt(n) for n, which holds but with a probability of 2 exp(-c^2 / 2) for
  errors c times it (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1).
- No error. If every t_i is a whole multiple of a power of two q that the type has, and S <= 2^p q with p bits of precision, then
  so is every partial sum, none of which is more than S: all are representable, and every order gives s. ``is_exact``.
- Overflow. The largest partial sum of any order is that of the positive terms, the smallest that of the negative ones. Some
  order overflows if and only if one of these does, and what that order gives is an infinity, or a NaN where both do. If s itself
  overflows and only one side does, all orders give that infinity: nothing brings a partial sum back from it. ``opens``.
  An infinity among the terms stays what it is, unless some of the others overflow to the other one before they meet it: then NaN.
  That is so of rounding to nearest; the directed modes stop at the largest number, from which a sum comes back.
  Regrouping keeps terms next to each other: there it is the extreme sums of neighbors (``extremes_of_prefixes``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .element_types import Format

HEADROOM = 64  # sums of float64 are taken of numbers smaller by 2^64, so that they do not overflow
EXACT_ZERO = 1 << 20  # the exponent of what every power of two divides
EITHER_SIGN, NAN_OUTCOME = 2, 3  # what ``opens`` says of some sums


def exponents(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest bit of each finite float64; EXACT_ZERO of zeros, and of what is not finite."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, EXACT_ZERO, lowest + exponent - 53)


def is_exact(size: np.ndarray, unit: np.ndarray, epsilon: float, form: Format) -> np.ndarray:
    """Whether sums of numbers that are multiples of 2^unit are exact: ``size`` is the sum of magnitudes."""
    least = form.min_exponent + 1 - form.precision
    with np.errstate(over="ignore"):
        room = np.ldexp(2.0 / epsilon, np.clip(unit, -2000, 2000))
    return (size <= room) & (unit >= least)


def sum_error_bound(size: np.ndarray, count: int, epsilon: float, form: Format) -> np.ndarray:
    """How far a sum of ``count`` products is off, of which ``size`` is the sum of magnitudes."""
    return size * epsilon * np.sqrt(count) + count * form.tiny / 2


def overflow_outcomes(
    total: np.ndarray,
    highest: np.ndarray,
    lowest: np.ndarray,
    slack: np.ndarray | float,
    limit: float,
    is_nearest: bool = True,
    infinite: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Where the order decides whether a sum overflows, and where to: 1 up, -1 down, EITHER way, NAN_OUTCOME where an infinity among
    the terms meets one of the other sign, else 0. ``highest`` and ``lowest`` are extreme partial sums of finite terms, up to
    ``slack``, ``infinite`` is the sum of the others."""
    over, under = ~(highest + slack <= limit), ~(lowest - slack >= -limit)
    certain = ~(over & under) & (np.abs(total) - slack > limit) & is_nearest
    side = np.where(certain, 0, np.where(over & under, EITHER_SIGN, over.astype(np.int8) - under))
    against = np.where(np.asarray(infinite) < 0, over, under)
    return np.where(np.isinf(infinite), NAN_OUTCOME * against, side)


Extremes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def extremes_any_order(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum along axis 0, and the highest and the lowest of some of the terms."""
    return terms.sum(0), np.maximum(terms, 0).sum(0), np.minimum(terms, 0).sum(0)


def extremes_of_prefixes(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum of every prefix along axis 0, and the highest and the lowest of neighbors in it."""
    ends = terms.cumsum(0)
    starts = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    highest = np.maximum.accumulate(ends - np.minimum.accumulate(starts))
    lowest = np.minimum.accumulate(ends - np.maximum.accumulate(starts))
    return ends, highest, lowest


def unspecified_sums(values: np.ndarray, form: Format, extremes: Extremes, is_nearest: bool = True) -> np.ndarray:
    """Where the order decides whether sums of float64 values along axis 0 overflow in a type, as ``opens`` says it."""
    terms = np.ldexp(np.where(np.isfinite(values), values, 0), -HEADROOM)
    total, highest, lowest = extremes(terms)
    slack = len(terms) * form.epsilon * np.maximum(highest, -lowest)
    infinite = extremes(np.where(np.isinf(values), values, 0))[0]
    return overflow_outcomes(total, highest, lowest, slack, np.ldexp(form.max_value, -HEADROOM), is_nearest, infinite)


def unspecified_products(values: np.ndarray, form: Format, extremes: Extremes, is_nearest: bool = True) -> np.ndarray:
    """Where the order decides whether products along axis 0 overflow, or lose more to an underflow than to roundings.

    They are sums of logarithms. A zero among them stays one unless another part overflows. Each of n roundings of subnormal
    numbers doubles one at most, so that what is 2^n times too small for the type is 0 in any order.
    """
    sizes = np.abs(np.where(np.isfinite(values), values, 1))
    total, highest, lowest = extremes(np.log2(np.where(sizes == 0, 1, sizes)))
    zero = extremes((sizes == 0).astype(float))[0] > 0
    slack, limit = len(values) * form.epsilon + 2.0**-20, np.log2(form.max_value)
    over, under = highest + slack > limit, ~zero & (lowest - slack < form.min_exponent)
    infinite = ~zero & ~under & (total - slack > limit) & is_nearest
    nothing = ~over & (total + len(values) + slack < np.log2(form.tiny) - 1) & is_nearest
    return (over & ~infinite) | (under & ~nothing)
