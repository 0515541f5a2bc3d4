"""Extremes found in pairs of halves are those of the widened values: zeros, NaN and subnormal numbers included."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("min_max_kernels.py")
COLUMNS = 512


def _rows(dtype):
    """Rows of random bits, of subnormal numbers, of zeros of both signs, of NaN alone and of NaN beside other values."""
    generator = np.random.default_rng(0)
    bits = generator.integers(0, 1 << 16, (8, COLUMNS), dtype=np.uint32).astype(np.uint16)
    bits[1] = generator.integers(1, 64, COLUMNS) | generator.integers(0, 2, COLUMNS) << 15
    bits[2] = generator.integers(0, 2, COLUMNS) << 15
    rows = bits.view(dtype)
    rows[3], rows[4:] = np.nan, generator.normal(size=(4, COLUMNS))
    rows[5, 77], rows[6, 3], rows[7, 500] = np.nan, np.inf, -np.inf
    return rows


def _wanted(rows, nan):
    """(max, min) of each row: NaN where one is NaN, or where all are."""
    wide = rows.astype(np.float32)
    unknown = np.isnan(wide)
    lost = unknown.any(axis=1) if nan else unknown.all(axis=1)
    largest, smallest = np.where(unknown, -np.inf, wide).max(axis=1), np.where(unknown, np.inf, wide).min(axis=1)
    return np.where(lost[:, None], np.nan, np.stack([largest, smallest], axis=1))


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize(
    ("name", "dtype", "nan"), [("extremes_f16", np.float16, False), ("extremes_bf16_nan", ml_dtypes.bfloat16, True)]
)
def test_extremes_are_those_of_the_widened_values(name, dtype, nan, sm):
    rows = _rows(dtype)
    out = run(KERNELS, name, sm, [rows, np.zeros((8, 2), np.float32)], grid=(8, 1, 1))[1]
    np.testing.assert_array_equal(out, _wanted(rows, nan))


def test_pairs_are_used():
    text = compiled(KERNELS, "extremes_bf16_nan", "sm_80").ptx
    assert text.count("max.NaN.bf16x2") == text.count("min.NaN.bf16x2") == COLUMNS // 32 // 2 - 1


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_extremes_of_three(sm):
    """Of NaN, zeros and infinities, too; one instruction for two values where the target finds the largest of three."""
    rows = _rows(np.float16).astype(np.float32)
    out = run(KERNELS, "extremes_f32", sm, [rows, np.zeros((8, 2), np.float32)], grid=(8, 1, 1))[1]
    np.testing.assert_array_equal(out, _wanted(rows, False))
    text = compiled(KERNELS, "extremes_f32", sm).ptx
    own = text[: text.index("shfl" if sm == "sm_90" else "redux")]
    lines = [line for line in own.splitlines() if re.search(r"\bmax\.f32", line)]
    assert len(lines) <= (COLUMNS // 32 // 2 + 1 if sm == "sm_100" else COLUMNS // 32 - 1)
