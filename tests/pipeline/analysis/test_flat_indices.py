"""Vectors of elements at computed indices, and what kernels with them compute."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("flat_indices.py")
RANDOM = np.random.default_rng(11)


def integers(*shape: int) -> np.ndarray:
    return RANDOM.integers(-8, 8, shape).astype(np.float32)


def gated_rows():
    x, bias = integers(16, 96), integers(32)
    expected = x[:, :48] * x[:, 48:] + np.resize(bias, 768).reshape(16, 48)
    return [x.ravel(), bias, np.zeros(768, np.float32)], expected.ravel()


def swapped_halves():
    x = integers(512)
    return [x, np.zeros_like(x)], np.roll(x.reshape(-1, 2, 32), 1, axis=1).ravel()


def row_totals():
    x = integers(2, 592)
    return [x, np.zeros(16, np.float32)], np.pad(x.sum(axis=1), (0, 14))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("inputs", [gated_rows, swapped_halves, row_totals], ids=lambda one: one.__name__)
def test_neighbours_are_accessed_together(inputs, sm):
    values, expected = inputs()
    name = inputs.__name__
    loads = re.findall(r"ld\.global\S*", compiled(KERNELS, name, sm, strategy="none").ptx)
    assert loads and all(".v4" in load or ".v8" in load for load in loads)
    out = run(KERNELS, name, sm, values, (2 if name != "gated_rows" else 3, 1, 1))[-1]
    np.testing.assert_array_equal(out, expected)
