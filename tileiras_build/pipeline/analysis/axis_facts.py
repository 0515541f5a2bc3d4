"""What arithmetic makes of the divisibility, contiguity and constancy of integers, whatever operations it is written in.

A *group* along a dimension is as many elements as its size, from a multiple of that on. All rules are per dimension: a value that counts
up within a group from a multiple of its size keeps its upper bits there, and so does what an aligned value makes of these bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

# The divisor of zero, which every power of two divides.
MAX_DIVISIBILITY = 1 << 30


def power_of_two(value: int) -> int:
    """The largest power of two that divides ``value``."""
    return MAX_DIVISIBILITY if value == 0 else min(value & -value, MAX_DIVISIBILITY)


@dataclass(frozen=True)
class AxisInfo:
    """Facts about a value; a scalar has no dimensions. ``constant`` is the value itself if known."""

    contiguity: tuple[int, ...]
    constancy: tuple[int, ...]
    divisibility: int
    constant: int | None = None

    @property
    def ones(self) -> tuple[int, ...]:
        """Groups of one element."""
        return (1,) * len(self.constancy)


def group_starts(info: AxisInfo, runs: Sequence[int], unit: int = 1) -> int:
    """The divisor of the first element of each group of sizes ``runs``.

    Groups smaller than those of the value start inside them: at multiples of their size (times ``unit``).
    """
    divisibility = info.divisibility
    for run, own in zip(runs, info.contiguity):
        if run < own:
            divisibility = gcd(divisibility, run * unit)
    return divisibility


def aligned_groups(a: AxisInfo, c: AxisInfo) -> tuple[int, ...]:
    """The groups along each dimension in which ``a`` counts up from a multiple of their size, and ``c`` is one multiple of it."""
    sizes = []
    for dim, (run, still) in enumerate(zip(a.contiguity, c.constancy, strict=True)):
        size = gcd(run, still)
        runs = tuple(size if other == dim else 1 for other in range(len(a.contiguity)))
        sizes.append(gcd(size, group_starts(a, runs), group_starts(c, runs)))
    return tuple(sizes)


def equal_groups(*infos: AxisInfo) -> tuple[int, ...]:
    """The groups in which all values are equal."""
    return tuple(gcd(*column) for column in zip(*(info.constancy for info in infos), strict=True))


def multiplied(a: AxisInfo, c: AxisInfo) -> AxisInfo:
    """a * c."""
    for info, factor in ((a, c), (c, a)):
        if factor.constant == 1:
            return info
    known = None if a.constant is None or c.constant is None else a.constant * c.constant
    divisibility = min(group_starts(a, a.ones) * group_starts(c, a.ones), MAX_DIVISIBILITY)
    return AxisInfo(a.ones, equal_groups(a, c), divisibility, known)


def quotient(a: AxisInfo, c: AxisInfo, *, rounds_down: bool) -> AxisInfo:
    """a / c; ``rounds_down``: to the next lower integer, and c is positive. Powers of two divide their multiples exactly."""
    if c.constant == 1:
        return a
    constancy = equal_groups(a, c)
    if rounds_down:
        constancy = _larger(constancy, aligned_groups(a, c))
    divisor = c.constant if c.constant == c.divisibility else None
    return AxisInfo(a.ones, constancy, max(group_starts(a, a.ones) // divisor, 1) if divisor else 1)


def remainder(a: AxisInfo, c: AxisInfo, *, counts_up: bool) -> AxisInfo:
    """a % c; ``counts_up``: c is positive, and the remainder not negative."""
    runs = aligned_groups(a, c) if counts_up else a.ones
    return AxisInfo(runs, equal_groups(a, c), gcd(group_starts(a, runs), group_starts(c, runs)))


def kept_bits(a: AxisInfo, c: AxisInfo) -> AxisInfo:
    """a & c. A mask of the lower bits is a remainder; one of upper bits makes those equal that differ in lower ones."""
    for info, mask in ((a, c), (c, a)):
        if mask.constant is not None and 0 < mask.constant < MAX_DIVISIBILITY and not mask.constant & mask.constant + 1:
            return remainder(info, _constant_like(mask, mask.constant + 1), counts_up=True)
    constancy = _larger(equal_groups(a, c), aligned_groups(a, c), aligned_groups(c, a))
    return AxisInfo(a.ones, constancy, max(group_starts(a, a.ones), group_starts(c, a.ones)))


def combined_bits(a: AxisInfo, c: AxisInfo) -> AxisInfo:
    """a | c, a ^ c: lower bits count up where the other value has none."""
    runs = _larger(aligned_groups(a, c), aligned_groups(c, a))
    return AxisInfo(runs, equal_groups(a, c), gcd(group_starts(a, runs), group_starts(c, runs)))


def either(a: AxisInfo, c: AxisInfo, groups: Sequence[int] | None = None) -> AxisInfo:
    """One of two values, the same one in each of ``groups``; the smaller or the larger one, if there are none."""
    sizes = groups or (0,) * len(a.contiguity)
    runs = tuple(map(gcd, a.contiguity, c.contiguity, sizes))
    constancy = tuple(map(gcd, equal_groups(a, c), sizes))
    return AxisInfo(runs, constancy, gcd(group_starts(a, runs), group_starts(c, runs)))


def moved(start: AxisInfo, step: AxisInfo, unit: int = 1, bytes: int = 1, per_byte: int = 1) -> AxisInfo:
    """What some multiple of ``step`` is added to, in ``bytes`` for each ``per_byte`` elements; ``unit``: that of the start's groups."""
    runs = tuple(map(gcd, start.contiguity, step.constancy))
    added = min(max(group_starts(step, runs) * bytes // per_byte, 1), MAX_DIVISIBILITY)
    return AxisInfo(runs, equal_groups(start, step), gcd(group_starts(start, runs, unit), added))


def power(exponent: AxisInfo) -> AxisInfo | None:
    """Two to a constant power; None where it is not known, or no divisor is so large."""
    number = exponent.constant
    if number is None or not 0 <= number < MAX_DIVISIBILITY.bit_length() - 1:
        return None
    return _constant_like(exponent, 1 << number)


def _constant_like(info: AxisInfo, number: int) -> AxisInfo:
    return AxisInfo(info.contiguity, info.constancy, power_of_two(number), number)


def _larger(*sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(max, *sizes))
