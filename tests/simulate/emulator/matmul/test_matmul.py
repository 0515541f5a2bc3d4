"""Matrix multiplication: exact sums rounded once, independent of order, batching, slicing and BLAS."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.matmul import matmul
from tileiras_build.simulate.emulator.matmul.matmul import multiply, round_dots
from tileiras_build.simulate.emulator.matmul.operand_value_ranges import FLOAT_RANGES, MatmulOperand
from tileiras_build.simulate.emulator.numerics import float_formats

KINDS = ["f16", "bf16", "tf32", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "s8", "s4"]


def random_codes(rng, kind: str, shape) -> np.ndarray:
    """Finite values with uniformly distributed exponents of a type."""
    if kind[0] == "s":
        return rng.integers(-(1 << int(kind[1]) - 1), 1 << int(kind[1]) - 1, shape).astype(np.float32)
    if kind == "tf32":
        codes = rng.integers(0, 1 << 19, shape).astype(np.uint32) << np.uint32(13)
        return np.nan_to_num(codes.view(np.float32), nan=1.0, posinf=2.0, neginf=-2.0)
    codes = rng.integers(0, 1 << float_formats.FORMATS[kind].bits, shape)
    return np.nan_to_num(float_formats.table(kind)[codes], nan=1.0, posinf=2.0, neginf=-2.0)


def nearest_float32(exact: Fraction) -> np.float32:
    """Round to nearest even, with rationals."""
    sign, exact = (-1 if exact < 0 else 1), abs(exact)
    if exact == 0:
        return np.float32(0)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    value = sign * round(exact / unit) * unit  # round() of a rational rounds ties to even
    return np.float32(float(value)) if abs(value) < Fraction(2) ** 128 else np.float32(sign * np.inf)


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A (m, k) times the columns (n, k) of B."""
    rows, columns = ([[Fraction(x) for x in line] for line in m.tolist()] for m in (a, b))
    sums = [[sum((x * y for x, y in zip(row, column)), Fraction(0)) for column in columns] for row in rows]
    return np.array([[nearest_float32(value) for value in line] for line in sums], np.float32)


def bits(values) -> list:
    return np.ascontiguousarray(values).view(np.uint32).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_exact_and_rounded_once(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    a, b = random_codes(rng, kind, (2, 5, 16)), random_codes(rng, kind, (2, 6, 16))
    result = multiply(MatmulOperand(a, kind), MatmulOperand(b, kind))
    assert bits(result) == [bits(reference(x, y)) for x, y in zip(a, b)]


@pytest.mark.parametrize("kind", ["f16", "bf16", "e5m2"])
@pytest.mark.parametrize("small", [2.0**-14, 2.0**-60])
def test_sums_near_midpoints_are_rounded_from_exact_values(kind, small):
    """2^24 + 1 is the midpoint of two float32 values: the smallest term decides, even if BLAS loses it."""
    large = 2.0**12
    if kind != "bf16":
        small = max(small, 2.0**-14)
    a = np.zeros((1, 4, 16), np.float32)
    a[0, :, [0, 5, 9]] = [[large] * 4, [1] * 4, [small, -small, 0, small]]
    b = np.zeros((1, 2, 16), np.float32)
    b[0, :, [0, 5, 9]] = [[large, -large], [1, -1], [small, small]]
    for order in (np.arange(16), np.arange(16)[::-1]):
        result = multiply(MatmulOperand(a[..., order], kind), MatmulOperand(b[..., order], kind))
        assert bits(result) == [bits(reference(a[0], b[0]))]
    assert result[0, 0, 0] == large**2 + 2 and result[0, 1, 0] == large**2 == result[0, 2, 0]


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.sampled_from([8, 16, 32]))
def test_results_are_independent_of_order_and_batching(seed, kind, k):
    rng = np.random.default_rng(seed)
    spread = rng.integers(0, 3)  # the spread of exponents: the whole type, a scale per row, or narrow
    a, b = random_codes(rng, kind, (3, 16, k)), random_codes(rng, kind, (3, 8, k))
    if kind[0] != "s" and spread:
        a, b = (np.where(np.abs(x) < (1 if spread == 1 else 0.1), np.float32(0.5), x) for x in (a, b))
    whole = multiply(MatmulOperand(a, kind), MatmulOperand(b, kind))
    order = rng.permutation(k)
    assert bits(multiply(MatmulOperand(a[..., order], kind), MatmulOperand(b[..., order], kind))) == bits(whole)
    single = [multiply(MatmulOperand(a[i : i + 1], kind), MatmulOperand(b[i : i + 1], kind)) for i in range(3)]
    assert bits(np.concatenate(single)) == bits(whole)
    assert bits(multiply(MatmulOperand(b, kind), MatmulOperand(a, kind)).swapaxes(1, 2)) == bits(whole)
    parts = [multiply(MatmulOperand(a[:, i : i + 4], kind), MatmulOperand(b, kind)) for i in range(0, 16, 4)]
    assert bits(np.concatenate(parts, axis=1)) == bits(whole)


def test_scaled_factors_outside_the_range_of_float32():
    a, b = np.full((1, 1, 32), 448 * 2.0**127), np.full((1, 1, 32), 2.0**-9 * 2.0**-127)
    assert multiply(MatmulOperand(a, "scaled"), MatmulOperand(b, "scaled")) == 32 * 448 * 2.0**-9


def test_infinities_and_nans_affect_only_their_sums():
    a, b = np.ones((2, 3, 16), np.float32), np.ones((2, 4, 16), np.float32)
    a[0, 0, 3], a[0, 1, 5], b[0, 2, 7], b[0, 3, 5] = np.inf, 1e30, np.nan, 0
    result = multiply(MatmulOperand(a, "bf16"), MatmulOperand(b, "bf16"))
    rows = [[np.inf, np.inf, np.nan, np.inf], [1e30, 1e30, np.nan, 15], [16, 16, np.nan, 15]]
    np.testing.assert_array_equal(result, np.array([rows, np.full((3, 4), 16)], np.float32))


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zero_sum_is_positive(zero):
    a, b = np.full((1, 2, 16), zero, np.float32), np.full((1, 2, 16), 3, np.float32)
    assert bits(multiply(MatmulOperand(a, "f16"), MatmulOperand(b, "f16"))) == [[[0, 0], [0, 0]]]


def test_stack_of_one_is_broadcast():
    rng = np.random.default_rng(1)
    a, b = random_codes(rng, "bf16", (1, 4, 16)), random_codes(rng, "bf16", (3, 4, 16))
    result = multiply(MatmulOperand(a, "bf16"), MatmulOperand(b, "bf16"))
    assert bits(result) == [bits(reference(a[0], y)) for y in b]


@pytest.mark.parametrize(
    ("m", "k", "n", "right"), [(64, 16, 8, 3), (64, 32, 256, 1), (200, 32, 250, 3), (2, 64, 33, 3)]
)
def test_accumulation_in_slices(m, k, n, right, monkeypatch):
    """For all slices, and with one or several matrices B."""
    rng = np.random.default_rng(n)
    steps = [(rng.integers(-8, 9, (3, m, k)), rng.integers(-8, 9, (right, n, k))) for _ in range(3)]
    start = rng.integers(-8, 9, (3, m, n)).astype(np.float32)
    expected = start + sum(a @ b.swapaxes(1, 2) for a, b in steps)
    for part in (1 << 14, 1000):
        monkeypatch.setattr(matmul, "SLICE_ELEMENTS", part)
        for kind in ("f16", "tf32"):
            factors = [
                tuple(MatmulOperand(one.astype(np.float16 if kind == "f16" else np.float32), kind) for one in step)
                for step in steps
            ]
            total = start.copy()
            matmul.accumulate(total, factors)
            np.testing.assert_array_equal(total, expected)


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_each_step_is_rounded_separately(kind, scale):
    """Normal values whose extremes do not imply exact sums."""
    rng = np.random.default_rng(len(kind))
    values = [rng.standard_normal((2, 24, 16)) * scale * np.exp(3 * rng.standard_normal((2, 24, 1))) for _ in range(4)]
    if kind == "f16":
        values = [np.clip(value, -6e4, 6e4).astype(np.float16) for value in values]
    else:
        mask = np.uint32(0xFFFF0000 if kind == "bf16" else 0xFFFFE000)
        values = [(value.astype(np.float32).view(np.uint32) & mask).view(np.float32) for value in values]
    a, b, c, d = values
    total = np.zeros((2, 24, 24), np.float32)
    matmul.accumulate(
        total,
        [(MatmulOperand(a, kind), MatmulOperand(b, kind)), (MatmulOperand(c, kind), MatmulOperand(d, kind))],
        fresh=True,
    )
    expected = [reference(c[i], d[i]) + reference(a[i], b[i]) for i in range(2)]
    assert bits(total) == [bits(one) for one in expected]


@pytest.mark.parametrize("fresh", [True, False])
def test_accumulation_of_zeros(fresh):
    zeros = MatmulOperand(np.full((1, 8, 16), -0.0, np.float32), "bf16")
    total = np.full((1, 8, 8), -0.0, np.float32)
    matmul.accumulate(total, [(zeros, zeros), (zeros, zeros)], fresh=fresh)
    assert not np.signbit(total).any()


@given(st.lists(st.lists(st.floats(-1e70, 1e70), min_size=5, max_size=5), min_size=1, max_size=4))
def test_sums_of_any_numbers(terms):
    assert bits(round_dots(np.array(terms)) + np.float32(0)) == bits(
        [nearest_float32(sum(map(Fraction, t), Fraction(0))) for t in terms]
    )


KERNEL = """.reg .b32 r<8>; .reg .f32 f<8>; .reg .b64 d<4>; mov.u32 r0, %tid.x; mul.wide.u32 d1, r0, 24; add.u64 d1, d1, u0;
ld.global.v2.b32 {r1, r2}, [d1]; ld.global.v2.b32 {r3, r4}, [d1+8]; ld.global.v2.b32 {r5, r6}, [d1+16];
mov.f32 f0, 0f3F800000; mov.f32 f1, f0; mov.f32 f2, f0; mov.f32 f3, f0;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r1, r2, r3, r4}, {r5, r6}, {f0, f1, f2, f3};
mul.wide.u32 d2, r0, 16; add.u64 d2, d2, u1; st.global.v4.f32 [d2], {f0, f1, f2, f3};"""


def launch_matmul(**options) -> np.ndarray:
    """The stores of 32 lanes: an MMA of random f16 values plus ones."""
    values = aligned(np.random.default_rng(5).standard_normal((32, 12)).astype(np.float16))
    out = aligned(np.zeros((32, 4), np.float32))
    run(kernel(KERNEL, 2, declare=".reg .b64 u<2>;"), values, out, **options)
    return out


def test_sums_of_a_launch():
    """PTX runs with the order of BLAS by default; both results are close, as the ISA requires."""
    exact, other = launch_matmul(matmul_rounding="exact"), launch_matmul()
    np.testing.assert_array_equal(other, launch_matmul(matmul_rounding="blas"))
    np.testing.assert_allclose(exact, other, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match="invalid matmul_rounding 'fast'"):
        launch_matmul(matmul_rounding="fast")


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_matmul import launch_matmul
print(launch_matmul(matmul_rounding="exact").tobytes().hex())
"""


def test_results_are_independent_of_the_openblas_kernel():
    """Prescott adds in another order than Haswell; without OpenBLAS the variable has no effect."""
    results = set()
    for core in ("Prescott", "Haswell"):
        environment = {**os.environ, "OPENBLAS_CORETYPE": core}
        command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        results.add(done.stdout)
    assert len(results) == 1


def test_every_type_of_a_factor_is_known():
    assert all(np.isfinite(FLOAT_RANGES[kind].ratio) for kind in KINDS)
