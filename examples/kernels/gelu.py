"""GELU, with erf and with tanh.

Tile IR has exp and tanh but no erf, so erf is Abramowitz and Stegun's formula 7.1.26 (a polynomial in 1 / (1 + p|x|)
times exp(-x^2), absolute error below 1.5e-7). exp and tanh are calls into libdevice.
"""

import math

import cuda.tile as ct
import numpy as np

from tileiras_build.cases import Array, Case, Tolerance, Values, epsilon, first_tiles, place, poisoned, wide

LENGTH, TILE = 700, 256
ERF_ERROR = 1.5e-7
ERF_P = 0.3275911
ERF_COEFFICIENTS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)  # a5 … a1
INVERSE_SQRT_2 = 1 / math.sqrt(2)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def erf(x):
    """erf of an f32 tile, absolute error below 1.5e-7 plus rounding."""
    size = ct.abs(x)
    t = 1.0 / (1.0 + ERF_P * size)
    series = ct.zeros(x.shape, dtype=ct.float32)
    for coefficient in ct.static_iter(ERF_COEFFICIENTS):
        series = (series + coefficient) * t
    positive = 1.0 - series * ct.exp(-size * size)
    return ct.where(x < 0, -positive, positive)


@ct.kernel
def gelu_erf(x, out, TILE: ct.Constant[int]):
    """out = x / 2 * (1 + erf(x / sqrt 2)) of shape (n,)."""
    tile = ct.load(x, (ct.bid(0),), (TILE,)).astype(ct.float32)
    result = 0.5 * tile * (1.0 + erf(tile * INVERSE_SQRT_2))
    ct.store(out, (ct.bid(0),), result.astype(out.dtype))


@ct.kernel
def gelu_tanh(x, out, TILE: ct.Constant[int]):
    """out = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of shape (n,)."""
    tile = ct.load(x, (ct.bid(0),), (TILE,)).astype(ct.float32)
    inner = SQRT_2_OVER_PI * (tile + 0.044715 * tile * tile * tile)
    ct.store(out, (ct.bid(0),), (0.5 * tile * (1.0 + ct.tanh(inner))).astype(out.dtype))


def reference_erf(values: Values) -> Values:
    x = wide(values["x"])
    exact = np.array([math.erf(number * INVERSE_SQRT_2) for number in x])
    return {"out": (0.5 * x * (1 + exact)).astype(values["out"].dtype)}


def reference_tanh(values: Values) -> Values:
    x = wide(values["x"])
    inner = SQRT_2_OVER_PI * (x + 0.044715 * x**3)
    return {"out": (0.5 * x * (1 + np.tanh(inner))).astype(values["out"].dtype)}


def _activation(name: str, kernel, check, dtype: str, formula_error: float) -> Case:
    def make_inputs(rng: np.random.Generator) -> Values:
        return {"x": place(rng.uniform(-5, 5, LENGTH), dtype), "out": poisoned((LENGTH,), dtype)}

    vector = Array(dtype, 1)
    # |x| <= 5 multiplies both the formula's error and the rounding of 1 + f(x), where f(x) may be near -1.
    close = Tolerance(epsilon(dtype), 2.5 * (formula_error + 8 * epsilon("float32")))
    return Case(
        name,
        kernel,
        (vector, vector, TILE),
        grid=first_tiles("x", TILE),
        inputs=make_inputs,
        reference=check,
        tolerance=close,
    )


CASES = [
    _activation("gelu_erf_f32", gelu_erf, reference_erf, "float32", ERF_ERROR),
    _activation("gelu_erf_bf16", gelu_erf, reference_erf, "bfloat16", ERF_ERROR),
    _activation("gelu_tanh_f32", gelu_tanh, reference_tanh, "float32", 0.0),
    _activation("gelu_tanh_f16", gelu_tanh, reference_tanh, "float16", 0.0),
]
