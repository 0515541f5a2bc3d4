"""The table of element types: its formats are those of ml_dtypes and of the interpreter, number for number."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tileiras_build.element_types import ELEMENT_TYPES
from tileiras_build.interpreter.formats import fnv8_to_float

SMALL = [name for name, row in ELEMENT_TYPES.items() if row.format is not None and row.format.width <= 16 and row.numpy]


def dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, ELEMENT_TYPES[name].numpy, ELEMENT_TYPES[name].numpy))


def patterns(name: str) -> np.ndarray:
    width = ELEMENT_TYPES[name].format.width
    return np.arange(1 << width, dtype=np.uint8 if width <= 8 else np.uint16)


@pytest.mark.parametrize("name", SMALL)
def test_every_pattern_is_its_number(name):
    with np.errstate(invalid="ignore"):
        numbers = patterns(name).view(dtype(name)).astype(np.float64)
    np.testing.assert_array_equal([ELEMENT_TYPES[name].format.value(bits) for bits in patterns(name).tolist()], numbers)


def test_the_type_that_no_library_has():
    form = ELEMENT_TYPES["fnv8E5M3FNU"].format
    numbers = fnv8_to_float(np.arange(256, dtype=np.uint8))
    np.testing.assert_array_equal([form.value(bits) for bits in range(256)], numbers)
    assert [form.nearest(number) for number in numbers[:255]] == list(range(255))
    assert [form.nearest(value) for value in (1e9, float("inf"), 1.0625, 1.1875, 2.0**-18, 2.0**-17)] == [
        255,
        255,
        120,
        122,
        0,
        1,
    ]


@pytest.mark.parametrize("name", SMALL)
def test_the_nearest_number(name):
    form, rng = ELEMENT_TYPES[name].format, np.random.default_rng(0)
    with np.errstate(all="ignore"):
        numbers = patterns(name).view(dtype(name)).astype(np.float64)
        values = np.concatenate(
            [rng.normal(size=500) * 10.0 ** rng.integers(-6, 6, 500), numbers, (numbers[1:] + numbers[:-1]) / 2]
        )
        values = values[~np.isnan(values)] if form.signed else np.abs(values[~np.isnan(values)])
        want = values.astype(dtype(name)).astype(np.float64)
    found = np.array([form.value(form.nearest(float(value))) for value in values])
    np.testing.assert_array_equal(found, want)
