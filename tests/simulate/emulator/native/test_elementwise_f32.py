"""Elementwise operations in native code: NumPy's bits, or a rejection."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use_kernels, use_numpy
from tileiras_build.simulate.emulator.native import elementwise_f32
from tileiras_build.simulate.emulator.numerics import float_arithmetic, float_formats, transcendentals

COUNT = 4096


@pytest.fixture
def results(monkeypatch):
    """What native code has returned."""
    found, apply = [], elementwise_f32.try_apply

    def noted(name, *operands):
        found.append(apply(name, *operands))
        return found[-1]

    monkeypatch.setattr(elementwise_f32, "try_apply", noted)
    return found


def finite(rng) -> np.ndarray:
    """Values of all exponents, and zeros of both signs."""
    bits = rng.integers(0, 1 << 32, COUNT, np.uint32)
    bits[(bits >> 23 & 255) == 255] ^= np.uint32(1 << 30)
    bits[:64] &= np.uint32(1 << 31)
    return bits.view(np.float32)


def ties(x: np.ndarray) -> np.ndarray:
    """Midpoints of two bfloat16."""
    return (x.view(np.uint32) & np.uint32(0xFFFF0000) | np.uint32(0x8000)).view(np.float32)


OPERATIONS = {
    "ex2": lambda x, y: transcendentals.evaluate(
        "ex2", np.concatenate([x, np.linspace(-126, 130, COUNT, dtype=np.float32)])
    ),
    "ex2.ftz": lambda x, y: float_arithmetic.approximate_flushed("ex2", np.concatenate([x, 200 * np.sin(y)])),
    "fma": lambda x, y: float_arithmetic.fma32(x / 8, np.float32(1.5), y / 8),
    "max": lambda x, y: float_arithmetic.min_max("max", x, np.where(np.arange(COUNT) < 64, -x, y)),
    "min": lambda x, y: float_arithmetic.min_max("min", x, np.where(np.arange(COUNT) < 64, -x, y)),
    "add": lambda x, y: float_arithmetic.f32x2_operation("add", x, y),
    "sub": lambda x, y: float_arithmetic.f32x2_operation("sub", x, y),
    "mul": lambda x, y: float_arithmetic.f32x2_operation("mul", x, y / 4),
    "f16": lambda x, y: float_formats.narrow("f16", np.concatenate([x, np.sin(y), np.sin(y) / 40000])),
    "bf16": lambda x, y: float_formats.narrow("bf16", np.concatenate([x, ties(x)])),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_bits_equal_numpys(name, monkeypatch, results):
    rng = np.random.default_rng(len(name))
    x, y = finite(rng), finite(rng)
    with np.errstate(all="ignore"):
        x = np.where((x > -160) & (x < -126), 1, x) if name == "ex2" else x  # whose powers are subnormal
        use_kernels(monkeypatch)
        by_code = OPERATIONS[name](x, y)
        assert results[-1] is not None
        use_numpy(monkeypatch)
        by_numpy = OPERATIONS[name](x, y)
    assert results[-1] is None
    assert by_code.dtype == by_numpy.dtype and by_code.tobytes() == by_numpy.tobytes()


NEAR_MIDPOINT = float.fromhex("-0x1.3e53bcp-3")  # its power of two is within 2^-50 of the midpoint of two float32


def test_power_near_a_midpoint():
    dropped = int(np.exp2(np.float64(NEAR_MIDPOINT)).view(np.uint64)) & (1 << 29) - 1
    assert abs(dropped - (1 << 28)) < 8


@pytest.mark.parametrize(
    ("name", "value"),
    [("ex2", np.nan), ("ex2", -130.0), ("ex2", NEAR_MIDPOINT), ("ex2.ftz", NEAR_MIDPOINT),
     ("fma", np.nan), ("max", np.nan), ("add", np.nan), ("f16", np.nan), ("bf16", np.nan)],
)  # fmt: skip
def test_numpy_computes_rejected_elements(name, value, monkeypatch):
    use_kernels(monkeypatch)
    x = np.ones(COUNT, np.float32)
    operands = [x] * {"fma": 3, "max": 2, "add": 2}.get(name, 1)
    assert elementwise_f32.try_apply(name, *operands) is not None
    x[COUNT - 3] = value
    assert elementwise_f32.try_apply(name, *operands) is None


def test_operands_are_broadcast(monkeypatch):
    use_kernels(monkeypatch)
    x = np.arange(12 * COUNT, dtype=np.float32).reshape(12, COUNT)
    for other in (np.float32(2), np.array(np.float32(2)), x[:1], x[:, :1].copy(), x[:1, :1].copy()):
        assert elementwise_f32.try_apply("add", other, x).tobytes() == (x + other).tobytes()


def test_other_operands_are_numpys(monkeypatch):
    use_kernels(monkeypatch)
    x = np.ones((2, COUNT), np.float32)
    for other in (x.astype(np.float64), np.float64(1), np.ones((COUNT, 2), np.float32).T, x[:, : COUNT // 2].copy()):
        assert elementwise_f32.try_apply("add", x, other) is None
    assert elementwise_f32.try_apply("add", x[0, :32], x[0, :32]) is None
    assert elementwise_f32.try_apply("add", x[None], x[None]) is None
