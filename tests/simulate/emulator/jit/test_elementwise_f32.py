"""Elementwise operations in native code: NumPy's bits, or a rejection."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from tileiras_build.simulate.emulator.jit import elementwise_f32
from tileiras_build.simulate.emulator.jit.llvm_jit import has_cpu_feature
from tileiras_build.simulate.emulator.numerics import float_arithmetic, float_formats, transcendentals

COUNT = 4096
NEVER = 1 << 62


def can(name: str) -> bool:
    """Whether this CPU has the instructions for an operation."""
    feature = elementwise_f32.OPERATIONS[name].feature
    return feature is None or has_cpu_feature(feature)


def allow(monkeypatch, before: int) -> None:
    for name, operation in list(elementwise_f32.OPERATIONS.items()):
        monkeypatch.setitem(elementwise_f32.OPERATIONS, name, dataclasses.replace(operation, before=before))


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
        allow(monkeypatch, -1)
        by_code = OPERATIONS[name](x, y)
        assert (results[-1] is not None) == can(name)
        allow(monkeypatch, NEVER)
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
    allow(monkeypatch, -1)
    x = np.ones(COUNT, np.float32)
    operands = [x] * elementwise_f32.OPERATIONS[name].operands
    assert (elementwise_f32.try_apply(name, *operands) is not None) == can(name)
    x[COUNT - 3] = value
    assert elementwise_f32.try_apply(name, *operands) is None


def test_operands_must_be_arrays_of_one_shape(monkeypatch):
    allow(monkeypatch, -1)
    x = np.ones((2, COUNT), np.float32)
    assert elementwise_f32.try_apply("add", x, np.float32(2)).shape == x.shape
    for other in (x[:1], x.astype(np.float64), np.ones((COUNT, 2), np.float32).T):
        assert elementwise_f32.try_apply("add", x, other) is None
    assert elementwise_f32.try_apply("add", x[0, :128], x[0, :128]) is None


def test_few_elements_do_not_import_llvm(monkeypatch):
    allow(monkeypatch, COUNT)
    monkeypatch.setattr(elementwise_f32, "_elements_done", type(elementwise_f32._elements_done)())
    x = np.ones(COUNT, np.float32)
    assert [elementwise_f32.try_apply("add", x, x) is None for _ in range(3)] == [True, True, False]


def test_import_of_llvm_costs_more_than_a_compilation(results, monkeypatch):
    allow(monkeypatch, COUNT)
    monkeypatch.setattr(elementwise_f32, "_elements_done", Counter())
    monkeypatch.setattr(elementwise_f32, "is_imported", lambda: False)
    x = np.ones(COUNT, np.float32)
    for _ in range(elementwise_f32.IMPORT_COST + 1):
        float_arithmetic.min_max("max", x, x)
    assert all(result is None for result in results)
    monkeypatch.setattr(elementwise_f32, "is_imported", lambda: True)
    float_arithmetic.min_max("max", x, x)
    assert results[-1] is not None


def test_cached_code_is_used_earlier(monkeypatch):
    asked = []
    monkeypatch.setattr(elementwise_f32, "_elements_done", Counter())
    monkeypatch.setattr(elementwise_f32, "is_imported", lambda: False)
    allow(monkeypatch, COUNT * elementwise_f32.CACHE_HITS_PER_COMPILE)
    x = np.ones(COUNT, np.float32)
    for kept, expected in ((None, [True] * 3), (lambda *_: 0, [False])):
        monkeypatch.setattr(elementwise_f32, "_cached", lambda *given, kept=kept: (asked.append(given), kept)[1])
        monkeypatch.setattr(elementwise_f32, "_compiled", elementwise_f32._cached)
        assert [elementwise_f32.try_apply("add", x, x) is None for _ in expected] == expected
    assert {*asked} == {("add", (True, True))} and len(asked) == 3
