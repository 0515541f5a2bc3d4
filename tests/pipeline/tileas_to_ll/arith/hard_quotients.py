"""Quotients of f32 that lie next to a midpoint of two values, and the sequence of ``arith/division_by_reciprocal.py`` on them.

    python -m tests.pipeline.tileas_to_ll.arith.hard_quotients [EVERY]     all divisors, or every so many-th: some minutes

Operands are a = A / 2^23 and b = B / 2^23 with 2^23 <= A, B < 2^24; powers of two change nothing. Let ulp be the unit in the
last place of a / b, y = (1 / b)(1 + e), q = RN(a y), r = RN(a - b q) and z = RN(q + r y). With y = RN(1 / b), |e| <= 2^-24 and q
is within 3/2 ulp of a / b; r has a relative error of 2^-24 at most, so that q + r y is within 3.1 * 2^-24 ulp of a / b. So z is
RN(a / b) unless a / b is that near to a midpoint M / 2^p with an odd M of 25 bits (p = 24 where A >= B, else 25). There
|A 2^p - B M| <= 2 * 3.1: the distance is |A 2^p - B M| / (B 2^p), an ulp 2^(1 - p), and B < 2^24. For each B and each such
difference c the congruence B M = -c modulo 2^p has few solutions, which are tried. No a / b is a midpoint itself: A 2^p = B M
would give the odd M at most 24 bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from tileiras_build.simulate.emulator.numerics.float_arithmetic import fma32

SMALLEST, LARGEST = 1 << 23, 1 << 24
# No reciprocal is computed of it: the kernel asks.
LEFT_OUT = LARGEST - 1
NEAR = 8
f32 = np.float32


def operands(fractions: np.ndarray) -> np.ndarray:
    """The f32 in [1, 2) of 24 bits."""
    return (fractions.astype(np.float64) / SMALLEST).astype(f32)


def hard_cases(divisors: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(A, B) of the quotients within NEAR of a midpoint, for an array of B."""
    for shift in range(NEAR.bit_length()):
        chosen = divisors[divisors & (2 << shift) - 1 == 1 << shift]
        odd = chosen >> shift
        inverse = _inverse(odd)
        for c in (c for c in range(-NEAR, NEAR + 1) if c and c % (1 << shift) == 0):
            for power in (24, 25):
                yield from _solutions(chosen, inverse, c, shift, power)


def _inverse(odd: np.ndarray) -> np.ndarray:
    """Modulo 2^32, by Newton's iteration."""
    inverse = odd.copy()
    for _ in range(5):
        inverse = inverse * (2 - odd * inverse) & 0xFFFFFFFF
    return inverse


def _solutions(
    divisors: np.ndarray, inverse: np.ndarray, c: int, shift: int, power: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    modulus = 1 << power - shift
    least = -(c >> shift) * inverse % modulus
    for start in range(0, 1 << 25, modulus):
        midpoint = least + start
        dividend = divisors * midpoint + c >> power
        good = (midpoint >= 1 << 24) & (midpoint < 1 << 25) & (midpoint & 1 == 1)
        good &= (dividend >= SMALLEST) & (dividend < LARGEST) & ((dividend >= divisors) == (power == 24))
        yield dividend[good], divisors[good]


def reciprocal(b: np.ndarray, error: int) -> np.ndarray:
    """1 / b after two of Newton's steps, from what is ``error`` units in the last place from it."""
    found = ((1 / b).view(np.int32) + error).view(f32)
    for _ in range(2):
        found = fma32(found, fma32(-b, found, f32(1)), found)
    return found


def quotient(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> np.ndarray:
    """a / b, as the kernels compute it."""
    first = a * y
    return fma32(-fma32(b, first, -a), y, first)


def wrong(divisors: np.ndarray) -> list[tuple[int, int]]:
    """The (A, B) of hard cases whose quotient comes out wrong."""
    found = []
    for A, B in hard_cases(divisors):
        a, b = operands(A), operands(B)
        y = 1 / b
        bad = quotient(a, b, y) != a / b
        for error in (-1, 0, 1):
            bad |= reciprocal(b, error) != y
        found += zip(A[bad].tolist(), B[bad].tolist())
    return found


def _main(step: int) -> int:
    count, part = 0, 1 << 18
    for first in range(SMALLEST, LEFT_OUT, part * step):
        divisors = np.arange(first, min(first + part * step, LEFT_OUT), step, dtype=np.int64)
        found = wrong(divisors)
        for A, B in found:
            print(f"{A:#x} / {B:#x}")
        count += len(found)
    print(f"{count} wrong")
    return count > 0


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
