"""Values of a warp's registers: an int if uniform, an array with a value per lane, or None if unknown.

Words are ints from 0 to 2**32 - 1 or int64 arrays, so that the same arithmetic applies to both; results beyond 64 bits wrap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...target.sm_limits import WARP

Lanes = int | np.ndarray | None
Truth = bool | np.ndarray | None
MASK = 0xFFFFFFFF
LANES = np.arange(WARP, dtype=np.int64)
ALL_LANES = np.ones(WARP, dtype=bool)


def word(value: int | np.ndarray) -> int | np.ndarray:
    """The low 32 bits."""
    return value & MASK


def signed(value: int | np.ndarray) -> int | np.ndarray:
    """A word as a signed integer."""
    return (value ^ 0x80000000) - 0x80000000


def signed_pair(value: int | np.ndarray) -> int | np.ndarray:
    """64 bits as a signed integer."""
    if isinstance(value, np.ndarray):
        return value
    return (value & (1 << 64) - 1 ^ 1 << 63) - (1 << 63)


def pair(low: int | np.ndarray, high: int | np.ndarray) -> int | np.ndarray:
    """Two words as a 64-bit integer."""
    return signed_pair(low | signed(high) << 32)


def upper(value: int | np.ndarray) -> int | np.ndarray:
    """The high word of 64 bits."""
    return value >> 32 & MASK


def floats(value: int | np.ndarray) -> np.ndarray:
    """Words as f32."""
    return np.atleast_1d(np.asarray(value, dtype=np.uint32)).view(np.float32)


def bits(value: np.ndarray, like: tuple[Lanes, ...]) -> int | np.ndarray:
    """f32 values as words: one int if all of ``like`` are uniform."""
    words = np.atleast_1d(np.asarray(value, dtype=np.float32)).view(np.uint32).astype(np.int64)
    return words if any(isinstance(one, np.ndarray) for one in like) else int(words[0])


def to_lanes(value: int | np.ndarray) -> np.ndarray:
    """An array with a value per lane."""
    return value if isinstance(value, np.ndarray) else np.full(WARP, value, dtype=np.int64)


def elementwise(function: Callable[[int], int], value: int | np.ndarray) -> int | np.ndarray:
    """Apply a function of one int to each lane."""
    if not isinstance(value, np.ndarray):
        return function(value)
    return np.array([function(int(one)) for one in value], dtype=np.int64)


def select(truth: Truth, yes: Lanes, no: Lanes) -> Lanes:
    """``yes`` where ``truth`` holds, else ``no``; None if the result depends on an unknown value."""
    if truth is None or yes is None or no is None:
        alike = yes is not None and no is not None and np.array_equal(yes, no)
        return yes if alike or truth is True else no if truth is False else None
    if isinstance(truth, np.ndarray):
        return np.where(truth, yes, no)
    return yes if truth else no


def both(one: Truth, other: Truth) -> Truth:
    """Logical and of predicates that may be unknown."""
    if one is None or other is None:
        return False if one is False or other is False else None
    return one & other


def either(one: Truth, other: Truth) -> Truth:
    """Logical or of predicates that may be unknown."""
    if one is None or other is None:
        return True if one is True or other is True else None
    return one | other


def negation(truth: Truth) -> Truth:
    """Logical not of a predicate that may be unknown."""
    return None if truth is None else ~truth if isinstance(truth, np.ndarray) else not truth


def unless_same(truth: np.ndarray) -> bool | np.ndarray:
    """A single bool if all lanes agree."""
    return bool(truth[0]) if (truth == truth[0]).all() else truth
