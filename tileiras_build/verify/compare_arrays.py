"""Compare arrays with a reference: the wrong elements, their count, and the largest errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..frontend.cases_api import CANARY
from ..frontend.kernel_case import EXACT, Checked, Tolerance

MAX_SHOWN = 3
"""Wrong elements of an array that a message lists."""


@dataclass(frozen=True)
class WrongElement:
    """A wrong element: its index, actual and expected value, and the tolerance."""

    index: tuple[int, ...]
    actual: Any
    expected: Any
    allowed: float

    @property
    def absolute(self) -> float:
        """The absolute error; NaN if either value is NaN."""
        return abs(float(self.actual) - float(self.expected))

    @property
    def relative(self) -> float:
        """The relative error."""
        return self.absolute / abs(float(self.expected)) if self.expected else float("inf")


@dataclass(frozen=True)
class ArrayMismatch:
    """The wrong elements of one array: the ``first`` few by index, and the largest absolute and relative errors."""

    array: str
    count: int
    of: int
    first: tuple[WrongElement, ...]
    worst: WrongElement
    worst_relative: WrongElement

    def __str__(self) -> str:
        one = self.first[0]
        differ = f"{self.count} of {self.of} elements differ"
        return f"{self.array}: {differ}; first at {one.index}: got {one.actual}, expected {one.expected}"


def compare(array: str, actual: np.ndarray, expected: np.ndarray, close: Tolerance = EXACT) -> ArrayMismatch | None:
    """The mismatch of ``actual``; None if every element is within the tolerance.

    Equal infinities match, and so do two NaNs; a NaN and a number do not.
    """
    wrong = ~_agree(actual, expected, close)
    if not wrong.any():
        return None
    places = np.argwhere(wrong)
    distance = _distance(actual, expected)
    with np.errstate(all="ignore"):
        share = distance / np.abs(_wide(expected))
    element = lambda place: _wrong(actual, expected, close, tuple(int(at) for at in place))
    return ArrayMismatch(
        array,
        int(wrong.sum()),
        wrong.size,
        tuple(map(element, places[:MAX_SHOWN])),
        element(places[_worst(distance[wrong])]),
        element(places[_worst(share[wrong])]),
    )


def tolerance_used(actual: np.ndarray, expected: np.ndarray, close: Tolerance) -> float:
    """The largest error divided by its tolerance, of matching elements; 0 if all are equal."""
    distance, allowed = _distance(actual, expected), _allowed(expected, close)
    with np.errstate(all="ignore"):
        shares = np.where(distance > 0, distance / allowed, 0)
    return float(np.max(shares[np.isfinite(shares)], initial=0.0))


def flat_arrays(values: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of a launch's arguments, by name; those in lists and tuples as ``name[0]``, ``name[1]``, …"""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            yield name, value
        elif isinstance(value, list | tuple):
            yield from flat_arrays({f"{name}[{number}]": item for number, item in enumerate(value)})


def differences(
    spec: Checked, expected: Mapping[str, np.ndarray], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[ArrayMismatch]:
    """The arrays of ``after`` that differ from ``expected``, or from ``before`` if ``expected`` does not name them."""
    unchanged = dict(flat_arrays(before))
    found = (
        compare(name, array, expected[name], spec.tolerance_of(name))
        if name in expected
        else compare(name, array, unchanged[name])
        for name, array in flat_arrays(after)
    )
    return [difference for difference in found if difference is not None]


def find_faults(spec: Checked, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The faults after a launch, one sentence each; empty if there are none.

    ``before`` and ``after`` hold the same arguments in separate arrays; the launch wrote to ``after``. The guard bytes
    around arrays from ``cases.allocate`` must be unchanged.
    """
    assert spec.reference is not None
    expected = dict(flat_arrays(spec.reference(dict(before))))
    faults = [str(difference) for difference in differences(spec, expected, before, after)]
    changed = (name for name, array in flat_arrays(after) if _is_padding_modified(array))
    return sorted(faults + [f"out-of-bounds write: padding of {name} was modified" for name in changed])


def _is_padding_modified(array: np.ndarray) -> bool:
    """Whether guard bytes around or between the elements of an array from ``allocate`` were modified."""
    raw = array.base
    if not isinstance(raw, np.ndarray) or raw.dtype != np.uint8 or raw[0] != CANARY or raw[-1] != CANARY:
        return False
    rest = raw.copy()
    start = array.ctypes.data - raw.ctypes.data
    elements = np.ndarray((*array.shape, array.itemsize), np.uint8, rest, start, (*array.strides, 1))
    elements[...] = CANARY
    return bool((rest != CANARY).any())


def _agree(actual: np.ndarray, expected: np.ndarray, close: Tolerance) -> np.ndarray:
    same = np.asarray(actual == expected)
    if actual.dtype.kind not in "iub":
        same = same | np.isnan(_wide(actual)) & np.isnan(_wide(expected))
    if close == EXACT:
        return same
    with np.errstate(all="ignore"):
        return same | (_distance(actual, expected) <= _allowed(expected, close))


def _allowed(expected: np.ndarray, close: Tolerance) -> np.ndarray:
    size = np.abs(_wide(expected))
    return np.where(np.isfinite(size), close.absolute + close.relative * np.nan_to_num(size, posinf=0), 0)


def _distance(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.abs(_wide(actual) - _wide(expected))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def _worst(measures: np.ndarray) -> int:
    """The index of the largest value, where NaN counts as infinite."""
    return int(np.argmax(np.where(np.isnan(measures), np.inf, measures)))


def _wrong(actual: np.ndarray, expected: np.ndarray, close: Tolerance, index: tuple[int, ...]) -> WrongElement:
    return WrongElement(index, actual[index], expected[index], float(_allowed(expected[index], close)))
