"""Inputs of kernels and expected results, in NumPy only: references on sampled rows, tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SAMPLED = 48  # rows of a result that are compared
STRETCH = 4096  # elements of a vector that are compared around each sampled one


# ---- formats: how elements are stored -----------------------------------------------------------------------------
def _e4m3_values() -> np.ndarray:
    """The value of each byte: 4 bits of exponent (bias 7), 3 of mantissa, no infinity, NaN at the ends (OCP 8-bit
    floating point specification, section 5)."""
    bits = np.arange(128)
    exponent, mantissa = bits >> 3, bits & 7
    values = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7))
    values[127] = np.nan
    return np.concatenate([values, -values]).astype(np.float32)


_E4M3 = _e4m3_values()
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)  # OCP microscaling formats, section 5.3
_E2M1 = np.concatenate([_E2M1, -_E2M1])
_E8M0 = np.append(2.0 ** (np.arange(255) - 127.0), np.nan).astype(np.float32)  # the same, section 5.4


def _nearest(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The index of the step that is nearest to each magnitude."""
    return np.searchsorted((steps[1:] + steps[:-1]) / 2, np.abs(values)).astype(np.uint8)


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _from_bfloat16(stored: np.ndarray) -> np.ndarray:
    return (stored.astype(np.uint32) << 16).view(np.float32)


def _to_e4m3(values: np.ndarray) -> np.ndarray:
    return _nearest(_E4M3[:127], values) | np.where(values < 0, 128, 0).astype(np.uint8)


def _to_e2m1(values: np.ndarray) -> np.ndarray:
    """Six times as much, two to a byte along the last axis, the first in the low bits."""
    codes = _nearest(_E2M1[:8], 6 * values) | np.where(values < 0, 8, 0).astype(np.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4


def _from_e2m1(stored: np.ndarray) -> np.ndarray:
    return _E2M1[np.stack([stored & 15, stored >> 4], axis=-1).reshape(*stored.shape[:-1], -1)]


@dataclass(frozen=True)
class Format:
    """How elements of an array are stored. ``encode`` takes values in (-1, 1), of which scales are made where the format
    is one of scales; ``decode`` gives f32, which holds every format's values. A stored element holds ``values`` of
    them, and counts as ``told`` elements in the arguments of a kernel."""

    stored: type
    encode: Callable[[np.ndarray], np.ndarray]
    decode: Callable[[np.ndarray], np.ndarray]
    nan: int | float = 0
    values: int = 1
    told: int = 1


def _same(stored: np.ndarray) -> np.ndarray:
    return stored.astype(np.float32)


FORMATS = {
    "float16": Format(np.float16, lambda values: values.astype(np.float16), _same, np.nan),
    "float32": Format(np.float32, lambda values: values.astype(np.float32), _same, np.nan),
    "bfloat16": Format(np.uint16, _to_bfloat16, _from_bfloat16, 0x7FC0),
    "float8_e4m3fn": Format(np.uint8, _to_e4m3, _E4M3.__getitem__, 0x7F),
    # Scales: powers of two from 1/8 to 1, and fp8 without a sign.
    "float8_e8m0fnu": Format(np.uint8, lambda values: (126 + 2 * values).astype(np.uint8), _E8M0.__getitem__, 0xFF),
    "scale_e4m3": Format(np.uint8, lambda values: _to_e4m3(np.abs(values)), _E4M3.__getitem__, 0x7F),
    # fp4, which kernels know as bytes or as elements.
    "uint8": Format(np.uint8, _to_e2m1, _from_e2m1, values=2),
    "float4_e2m1fn": Format(np.uint8, _to_e2m1, _from_e2m1, values=2, told=2),
}


# ---- arrays ----------------------------------------------------------------------------------------------------------
@dataclass
class HostArray:
    """An array as it is stored: ``memory`` is contiguous; ``view`` has the axes of the kernel's argument."""

    dtype: str
    memory: np.ndarray
    view: np.ndarray

    @property
    def format(self) -> Format:
        """How its elements are stored."""
        return FORMATS[self.dtype]

    @property
    def told(self) -> tuple[list[int], list[int]]:
        """Lengths and strides of the kernel's argument, in elements."""
        factor, view = self.format.told, self.view
        shape, strides = list(view.shape), [stride // view.itemsize * factor for stride in view.strides]
        if factor > 1:
            shape[-1], strides[-1] = shape[-1] * factor, 1
        return shape, strides

    def decoded(self, where: object = ...) -> np.ndarray:
        """Its values, or some of its rows, in float64."""
        return self.format.decode(self.view[where]).astype(np.float64)


def make_arrays(row: dict, variant: dict) -> list[HostArray]:
    """Inputs in (-1, 1), always the same, and a result of NaN; unit stride along axis 0 means stored by columns."""
    generator = np.random.default_rng(0)
    arrays = []
    for shape, dtype, unit in zip(variant["shapes"], row["dtypes"], row["unit_strides"]):
        by_columns, known = unit == 0 and len(shape) == 2, FORMATS[dtype]
        drawn = [*shape[:-1], shape[-1] * known.values // known.told]
        values = generator.random(drawn[::-1] if by_columns else drawn, np.float32) * 2 - 1
        memory = known.encode(values)
        arrays.append(HostArray(dtype, memory, memory.T if by_columns else memory))
    arrays[-1].memory[...] = arrays[-1].format.nan
    return arrays


def parameters(arrays: list[HostArray], addresses: list[int], scalars: list[float]) -> list[bytes]:
    """cuTile's calling convention: address, lengths and strides of each array, then scalars as f32."""
    packed: list[bytes] = []
    for array, address in zip(arrays, addresses):
        shape, strides = array.told
        packed.append(np.uint64(address).tobytes())
        packed += [np.int32(number).tobytes() for number in (*shape, *strides)]
    return packed + [np.float32(number).tobytes() for number in scalars]


# ---- references ------------------------------------------------------------------------------------------------------
Where = object  # an index of the result
Sample = tuple[Where, np.ndarray]  # where in the result, and what must be there


def _rows(count: int) -> np.ndarray:
    """Rows to compare: the first, the last, and one of each of as many stretches as are sampled, so that no tile is
    left out."""
    starts = np.linspace(0, count, SAMPLED + 1).astype(int)
    return np.unique(
        [0, count - 1, *np.random.default_rng(1).integers(starts[:-1], np.maximum(starts[1:], starts[:-1] + 1))]
    )


def _matmul(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    return rows, arrays[0].decoded(rows) @ arrays[1].decoded()


def _matmul_gelu(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows, total = _matmul(arrays, scalars)
    x = total + arrays[2].decoded()
    return rows, x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _matmul_residual(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows, total = _matmul(arrays, scalars)
    return rows, total + arrays[2].decoded(rows)


def _scaled(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    left, right = (_with_scales(*arrays[i : i + 2], where) for i, where in ((0, rows), (2, ...)))
    return rows, left @ right.T


def _with_scales(array: HostArray, scales: HostArray, where: Where) -> np.ndarray:
    values, factors = array.decoded(where), scales.decoded(where)
    return values * np.repeat(factors, values.shape[1] // factors.shape[1], axis=1)


def _attend(arrays: list[HostArray], scalars: list[float], causal: bool) -> Sample:
    heads, length = arrays[0].view.shape[:2]
    rows, sampled = _rows(length), np.unique([0, heads - 1])
    attended = [_attend_head(arrays, scalars[0], head, rows, causal) for head in sampled]
    return (sampled[:, None], rows[None, :]), np.stack(attended)


def _attend_head(arrays: list[HostArray], scale: float, head: int, rows: np.ndarray, causal: bool) -> np.ndarray:
    q, k, v = (array.decoded(head) for array in arrays[:3])
    scores = q[rows] @ k.T * scale
    if causal:
        scores[np.arange(scores.shape[1]) > rows[:, None]] = -np.inf
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True) @ v


def _layer_norm(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    x = arrays[0].decoded(rows)
    centered = x - x.mean(1, keepdims=True)
    normal = centered / np.sqrt((centered**2).mean(1, keepdims=True) + scalars[0])
    return rows, normal * arrays[1].decoded() + arrays[2].decoded()


def _softmax(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    x = arrays[0].decoded(rows)
    powers = np.exp(x - x.max(1, keepdims=True))
    return rows, powers / powers.sum(1, keepdims=True)


def _transpose(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[1].view.shape[0])
    return rows, arrays[0].decoded((slice(None), rows)).T


def _vector_add(arrays: list[HostArray], scalars: list[float]) -> Sample:
    count = len(arrays[0].view)
    near = _rows(count)[:, None] + np.arange(-STRETCH // 2, STRETCH // 2)
    where = np.unique(near.clip(0, count - 1))
    return where, arrays[0].decoded(where) + arrays[1].decoded(where)


@dataclass(frozen=True)
class Kind:
    """What must come out, and how close: relative to the largest magnitude there, by the type of the first operand."""

    reference: Callable[[list[HostArray], list[float]], Sample]
    close: dict[str, float]


# Half a unit in the last place of a number near the largest is 2**-11 of it in f16, 2**-8 in bf16; dot products are
# held in f32, whose errors are far below that. tf32 operands are rounded to 11 bits. sm_90 holds fp8 accumulators in 14 bits
# for a while. The weights of attention are rounded to f16 as well. Copies are exact, one addition is rounded once.
_MATMUL = {"float16": 2e-3, "bfloat16": 8e-3, "float32": 2e-3, "float8_e4m3fn": 1e-2}
_SCALED = {"float8_e4m3fn": 1e-2, "uint8": 4e-3, "float4_e2m1fn": 4e-3}
_ROWS, _ATTENTION = {"float16": 2e-3}, {"float16": 4e-3}
_EXACT, _ADD = {"float16": 0.0, "float32": 0.0}, {"float16": 2.0**-11, "float32": 2.0**-24}
KINDS = {
    "matmul": Kind(_matmul, _MATMUL),
    "matmul_gelu": Kind(_matmul_gelu, _MATMUL),
    "matmul_residual": Kind(_matmul_residual, _MATMUL),
    "scaled": Kind(_scaled, _SCALED),
    "attention": Kind(lambda arrays, scalars: _attend(arrays, scalars, causal=False), _ATTENTION),
    "attention_causal": Kind(lambda arrays, scalars: _attend(arrays, scalars, causal=True), _ATTENTION),
    "layer_norm": Kind(_layer_norm, _ROWS),
    "softmax": Kind(_softmax, _ROWS),
    "transpose": Kind(_transpose, _EXACT),
    "vector_add": Kind(_vector_add, _ADD),
}


class Reference:
    """What a launch of a row's variant must make."""

    def __init__(self, row: dict, variant: dict, arrays: list[HostArray]):
        kind = KINDS[row["kind"]]
        self.where, self.want = kind.reference(arrays, variant["scalars"])
        self.close, self.format = kind.close[row["dtypes"][0]], arrays[-1].format

    def error(self, result: np.ndarray) -> float:
        """The largest error of the sampled rows, relative to the largest magnitude there; infinite where one is NaN."""
        got = self.format.decode(result[self.where]).astype(np.float64)
        error = np.abs(got - self.want).max() / np.abs(self.want).max()
        return float(error) if np.isfinite(error) else float("inf")

    def faults(self, result: np.ndarray) -> list[str]:
        """What is wrong with a result, of which every element was NaN before; empty if nothing is."""
        error, unwritten = self.error(result), int(np.isnan(self.format.decode(result)).sum())
        wrong = [] if error <= self.close else [f"error {error:.1e} of the largest value, at most {self.close:.0e}"]
        return wrong + ([f"{unwritten} elements are NaN or were never written"] if unwritten else [])
