"""Quotients by a row's number, bit for bit those of correctly rounded division: NumPy's."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.arith import hard_quotients

KERNELS = Path(__file__).with_name("division_kernels.py")
COLUMNS = 256
AWKWARD = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        1e-40,
        1.1754944e-38,
        2.0**-84,
        -(2.0**-85),
        2.0**80,
        3e38,
        -3e38,
    ],
    np.float32,
)
DIVISORS = np.array(
    [
        1.0,
        3.0,
        1.9999999,
        1.9999996,
        2.0**40,
        2.0**41,
        2.0**-40,
        2.0**-41,
        7e-39,
        0.0,
        -0.0,
        -3.0,
        np.inf,
        np.nan,
        3e38,
    ],
    np.float32,
)


def test_the_sequence_rounds_to_nearest_next_to_every_midpoint():
    some = np.random.default_rng(0).integers(hard_quotients.SMALLEST, hard_quotients.LEFT_OUT, 4000)
    ends = np.arange(hard_quotients.LEFT_OUT - 100, hard_quotients.LEFT_OUT)
    divisors = np.concatenate([some, ends, hard_quotients.SMALLEST + np.arange(100)])
    assert hard_quotients.wrong(divisors) == []


def test_the_divisor_that_is_left_out_must_be():
    assert hard_quotients.wrong(np.array([hard_quotients.LEFT_OUT])) != []


def _quotients(dtype):
    """Rows of dividends and their divisors: quotients next to midpoints, all of them or with awkward values between, awkward
    divisors, and subnormal quotients that are midpoints."""
    generator = np.random.default_rng(1)
    fractions = generator.integers(1 << 23, (1 << 24) - 1, 12)
    rows = [_row(np.array([fraction]), generator) for fraction in fractions]
    mixed = [row.copy() for row in rows[:3]]
    for row in mixed:
        row[generator.integers(0, COLUMNS, 2 * AWKWARD.size)] = np.tile(AWKWARD, 2)
    plain = generator.normal(size=(DIVISORS.size, COLUMNS)).astype(np.float32)
    plain[:, :8] = 0.0, -0.0, 1, -1, 3, -3, 1e-30, -1e-30
    thirds = (np.array([3, 7, 11, 2047]) * 2.0**20).astype(np.float32)
    halfway = (generator.integers(0, 1 << 12, (len(thirds), COLUMNS)) * 2 + 1) * 2.0**-150
    dividends = np.concatenate([rows, mixed, plain, (halfway * thirds[:, None]).astype(np.float32)]).astype(dtype)
    divisors = hard_quotients.operands(fractions)
    return dividends, np.concatenate([divisors, divisors[:3], DIVISORS, thirds]).astype(dtype)


def _row(divisor, generator):
    """Dividends of quotients that are next to midpoints, times powers of two and signs; some are zero."""
    found = np.concatenate([a for a, _ in hard_quotients.hard_cases(divisor)])
    chosen = hard_quotients.operands(generator.choice(found, COLUMNS)) * generator.choice([1, -1], COLUMNS)
    chosen = np.ldexp(chosen, generator.integers(-80, 79, COLUMNS)).astype(np.float32)
    chosen[::31], chosen[1::31] = 0.0, -0.0
    return chosen


def _bits(values):
    """NaN as one number."""
    wide = values.astype(np.float32)
    return np.where(np.isnan(wide), np.uint32(0x7FC00000), wide.view(np.uint32))


@pytest.mark.parametrize("sm", ["sm_89", "sm_100"])  # slow f64, and fast
@pytest.mark.parametrize("name", ["f32", "f32_to_f16", "f32_to_bf16", "f16", "bf16"])
def test_rows_are_divided_to_the_last_bit(name, sm):
    kinds = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
    given, out = kinds[name.split("_")[0]], kinds[name.split("_")[-1]]
    x, divisors = _quotients(given)
    actual = run(KERNELS, name, sm, [x, divisors, np.zeros_like(x, out)], grid=(len(x), 1, 1))[2]
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) / divisors.astype(np.float32)[:, None]).astype(out)
    np.testing.assert_array_equal(_bits(actual), _bits(expected))


def test_pairs_share_an_instruction_where_the_target_has_one():
    texts = {sm: compiled(KERNELS, "f32_to_f16", sm).ptx for sm in ("sm_80", "sm_100")}
    assert "fma.rn.f32x2" in texts["sm_100"] and "f32x2" not in texts["sm_80"]
    assert all(text.count("rcp.approx.ftz.f32") == 1 for text in texts.values())


def test_a_share_needs_no_look_at_its_dividends():
    texts = {name: compiled(KERNELS, name, "sm_80").ptx for name in ("shares", "shares_of_others")}
    assert all("rcp.approx.ftz.f32" in text for text in texts.values())
    assert "max.f32" not in texts["shares"] and "max.f32" in texts["shares_of_others"]


@pytest.mark.parametrize("sm", ["sm_89", "sm_100"])
def test_shares_of_totals_that_are_scaled_to_the_last_bit(sm):
    """Totals that are exact in any order, the last of whose fractions is all ones, times powers of two."""
    rows = np.random.default_rng(2).integers(0, 1 << 14, (3, COLUMNS)).astype(np.int64)
    rows[:, ::5] = 0
    rows[2, 0] = (1 << 24) - 1 - rows[2, 1:].sum()
    x = np.concatenate([np.ldexp(rows.astype(np.float32), power) for power in (0, 20, 80, -70, -149)]).astype(
        np.float32
    )
    x = np.concatenate([x, [np.where(np.arange(COLUMNS) == 3, np.float32(np.inf), x[0])], np.zeros_like(x[:1])])
    actual = run(KERNELS, "shares", sm, [x, np.zeros_like(x, np.float16)], grid=(len(x), 1, 1))[1]
    with np.errstate(all="ignore"):
        expected = (x / x.sum(axis=1, keepdims=True, dtype=np.float32)).astype(np.float16)
    np.testing.assert_array_equal(_bits(actual), _bits(expected))


def test_shares_of_rows_with_awkward_values():
    x = np.abs(_quotients(np.float32)[0])
    actual = run(KERNELS, "shares", "sm_80", [x, np.zeros_like(x, np.float16)], grid=(len(x), 1, 1))[1]
    odd = ~np.isfinite(x).all(axis=1)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) / x.astype(np.float64).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(actual[~odd], expected[~odd], rtol=1e-3, atol=1e-7)
    # The sum of such a row is infinite or NaN; what is divided by infinity is zero.
    finite = actual[odd][np.isfinite(x[odd])]
    assert odd.any() and (np.isnan(finite) | (finite == 0)).all()
