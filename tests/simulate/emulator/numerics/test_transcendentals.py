"""ex2, lg2, sin, cos and tanh are correctly rounded, and so independent of the CPU."""

import os
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest

from tileiras_build.simulate.emulator.numerics import transcendentals
from tileiras_build.simulate.emulator.numerics.transcendentals import FUNCTIONS, evaluate, round_correctly


def arguments(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    far = rng.standard_normal(count) * 10.0 ** rng.uniform(-37, 37, count)
    x = np.concatenate([rng.uniform(-10, 10, count), far]).astype(np.float32)
    return np.abs(x) if name == "lg2" else x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_decimal_arithmetic_agrees_with_float64(name):
    with np.errstate(all="ignore"):
        x = arguments(name, 40)
        x = x[np.isfinite(evaluate(name, x))]
        quick = evaluate(name, x)
    exact = np.array([round_correctly(name, value) for value in x.tolist()])
    np.testing.assert_array_equal(quick.view(np.uint32), exact.view(np.uint32))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_last_bits_of_float64_do_not_matter(name, monkeypatch):
    """With errors of some units in float64, and if every result counts as near a midpoint."""
    compute, exactly = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        x = arguments(name, 4000)
        x = x[np.isfinite(evaluate(name, x))]
        before = evaluate(name, x)
        for factor in (1 - 2.0**-50, 1 + 2.0**-50):
            monkeypatch.setitem(FUNCTIONS, name, (lambda v, factor=factor: compute(v) * factor, exactly))
            np.testing.assert_array_equal(evaluate(name, x), before)
        monkeypatch.setattr(transcendentals, "is_near_midpoint", lambda wide, out: np.ones(wide.shape, bool))
        np.testing.assert_array_equal(evaluate(name, x[::80]), before[::80])


def half_way(bits: int) -> float:
    """A float64 just below the midpoint of two float32."""
    below, above = (np.array([bits + i], np.uint32).view(np.float32).astype(np.float64)[0] for i in (0, 1))
    return float((below + above) / 2 * (1 - 2.0**-52))


def test_midpoints_are_found():
    for bits in (0x3F800000, 0x42F00001, 0x00800000, 0x00000007, 0x80000007):
        wide = np.array([half_way(bits), half_way(bits) * 1.01])
        assert transcendentals.is_near_midpoint(wide, wide.astype(np.float32)).tolist() == [True, False]


def test_results_that_are_exact_or_not_finite():
    with np.errstate(all="ignore"):
        assert evaluate("ex2", np.float32([-np.inf, -200, -149, 0, 10, 128, np.inf])).tolist() == [
            0, 0, 2.0**-149, 1, 1024, np.inf, np.inf]  # fmt: skip
        assert evaluate("lg2", np.float32([0, 2.0**-149, 1, 8, np.inf])).tolist() == [-np.inf, -149, 0, 3, np.inf]
        assert np.isnan(evaluate("lg2", np.float32([-1, np.nan]))).all() and np.isnan(
            evaluate("sin", np.float32(np.inf))
        )
    assert np.signbit(evaluate("sin", np.float32(-0.0))) and evaluate("tanh", np.float32(20)) == 1


def test_decimal_pi_and_its_multiples():
    with localcontext(transcendentals.CONTEXT):
        known = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
        assert abs(transcendentals.pi() - known) < Decimal(10) ** -85
        assert [round(transcendentals.sine(known * i / 6), 60) for i in (1, 3, 5, 7, 9, 13)] == [
            Decimal(n) / 2 for n in (1, 2, 1, -1, -2, 1)]  # fmt: skip


SCRIPT = """
import numpy as np
from tileiras_build.simulate.emulator.numerics.transcendentals import FUNCTIONS, evaluate
x = np.abs(np.random.default_rng(3).standard_normal(20000)).astype(np.float32)
print([evaluate(name, x).tobytes().hex() for name in FUNCTIONS])
"""


def test_results_do_not_depend_on_the_instruction_set():
    """With the CPU's vector instructions disabled in NumPy, if NumPy supports it."""
    results = []
    for disabled in ("", "X86_V4", "X86_V3 X86_V4", "AVX512F", "AVX2 FMA3 AVX512F"):
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
        results += [done.stdout] if done.returncode == 0 else []
    assert len(set(results)) == 1 and results[0]
