"""Error bounds and overflow of sums that may be evaluated in any order.

The element order of ``reduce``, the grouping of ``scan`` (CudaTile/IR/Ops.td, notes of both) and the accumulation order of
``mmaf`` are unspecified. Let u be half of the epsilon of the accumulator type, s = t_1 + ... + t_n and S = |t_1| + ... + |t_n|:

- Error. In any order, each t_i takes part in at most n - 1 rounded additions, each with a relative error of at most u. So the
  error is at most ((1 + u)^(n - 1) - 1) S, about (n - 1) u S (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
  edition, section 4.2). The bound is relative to S, not to |s|: if terms cancel, s may be all error, and be 0 in some orders
  only. An addition cannot underflow inexactly; a product can, by half of the smallest subnormal (section 2.8).
  ``sum_error_bound`` is this bound with sqrt(n) for n; errors c times larger have a probability of 2 exp(-c^2 / 2) (Higham and
  Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1).
- Exactness (``is_exact``). If every t_i is a multiple of a representable power of two q, and S <= 2^p q with p bits of
  precision, then every partial sum is such a multiple of magnitude at most S. So all are representable: every order is exact.
- Overflow (``overflow_outcomes``). The largest partial sum of any order is that of the positive terms, the smallest that of the
  negative ones. Some order overflows if and only if one of these does; its result is an infinity, or NaN if both do. If s itself
  overflows and only one side does, all orders give that infinity. An infinity among the terms stays, unless the other terms may
  overflow to the opposite infinity before they are added to it: then NaN. This holds for rounding to nearest; directed modes
  saturate at the largest finite value, from which a sum can come back. For a scan, which only regroups neighbors, the extremes
  are those of sums of neighbors (``extremes_of_prefixes``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .element_types import Format

HEADROOM = 64  # terms are scaled by 2^-64, so that float64 sums do not overflow
EXACT_ZERO = 1 << 20  # the exponent of zero, a multiple of every power of two
EITHER_SIGN, NAN_OUTCOME = 2, 3  # values of ``overflow_outcomes``


def exponents(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each float64; EXACT_ZERO for zeros and non-finite values."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, EXACT_ZERO, lowest + exponent - 53)


def is_exact(size: np.ndarray, unit: np.ndarray, epsilon: float, form: Format) -> np.ndarray:
    """Whether sums of multiples of 2^unit are exact in any order; ``size`` is the sum of magnitudes."""
    least = form.min_exponent + 1 - form.precision
    with np.errstate(over="ignore"):
        limit = np.ldexp(2.0 / epsilon, np.clip(unit, -2000, 2000))
    return (size <= limit) & (unit >= least)


def sum_error_bound(size: np.ndarray, count: int, epsilon: float, form: Format) -> np.ndarray:
    """The error bound of a sum of ``count`` products whose magnitudes add up to ``size``."""
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
    """Where overflow depends on the order, and its outcome: 1 for +inf, -1 for -inf, EITHER_SIGN, NAN_OUTCOME if an infinite term
    may be added to the opposite infinity, else 0. ``highest`` and ``lowest`` are the extreme partial sums of the finite terms,
    within ``slack``; ``infinite`` is the sum of the infinite terms."""
    over, under = ~(highest + slack <= limit), ~(lowest - slack >= -limit)
    certain = ~(over & under) & (np.abs(total) - slack > limit) & is_nearest
    side = np.where(certain, 0, np.where(over & under, EITHER_SIGN, over.astype(np.int8) - under))
    against = np.where(np.asarray(infinite) < 0, over, under)
    return np.where(np.isinf(infinite), NAN_OUTCOME * against, side)


Extremes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def extremes_any_order(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum along axis 0, and the highest and lowest sum of any subset."""
    return terms.sum(0), np.maximum(terms, 0).sum(0), np.minimum(terms, 0).sum(0)


def extremes_of_prefixes(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The prefix sums along axis 0, and for each the highest and lowest sum of neighbors in the prefix."""
    ends = terms.cumsum(0)
    starts = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    highest = np.maximum.accumulate(ends - np.minimum.accumulate(starts))
    lowest = np.minimum.accumulate(ends - np.maximum.accumulate(starts))
    return ends, highest, lowest


def unspecified_sums(values: np.ndarray, form: Format, extremes: Extremes, is_nearest: bool = True) -> np.ndarray:
    """The ``overflow_outcomes`` of sums of float64 values along axis 0 in a type."""
    terms = np.ldexp(np.where(np.isfinite(values), values, 0), -HEADROOM)
    total, highest, lowest = extremes(terms)
    slack = len(terms) * form.epsilon * np.maximum(highest, -lowest)
    infinite = extremes(np.where(np.isinf(values), values, 0))[0]
    return overflow_outcomes(total, highest, lowest, slack, np.ldexp(form.max_value, -HEADROOM), is_nearest, infinite)


def unspecified_products(values: np.ndarray, form: Format, extremes: Extremes, is_nearest: bool = True) -> np.ndarray:
    """Where overflow, or underflow beyond rounding errors, of products along axis 0 depends on the order.

    Products are sums of logarithms. A product with a zero factor is zero unless another partial product overflows. Each of n
    roundings at most doubles a subnormal value, so a product that is 2^n times too small for the type is 0 in any order.
    """
    sizes = np.abs(np.where(np.isfinite(values), values, 1))
    total, highest, lowest = extremes(np.log2(np.where(sizes == 0, 1, sizes)))
    zero = extremes((sizes == 0).astype(float))[0] > 0
    slack, limit = len(values) * form.epsilon + 2.0**-20, np.log2(form.max_value)
    over, under = highest + slack > limit, ~zero & (lowest - slack < form.min_exponent)
    infinite = ~zero & ~under & (total - slack > limit) & is_nearest
    nothing = ~over & (total + len(values) + slack < np.log2(form.tiny) - 1) & is_nearest
    return (over & ~infinite) | (under & ~nothing)
