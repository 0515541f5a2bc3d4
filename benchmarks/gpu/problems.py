"""What a kernel is run on and what must come out, in NumPy alone: inputs, references on sampled rows, tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SAMPLED = 48  # rows of a result that are compared
# Relative to the largest magnitude of the reference, by the type of the operands: a few units of the result's last
# place for f16 sums; tf32 operands are rounded to 11 bits, sums of fp8 may be held in 13 bits for a while.
CLOSE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-3, "float8_e4m3fn": 1e-2}


# ---- formats that NumPy lacks: arrays of bits ----------------------------------------------------------------------
def _e4m3_values() -> np.ndarray:
    """The value of each byte: 4 bits of exponent (bias 7), 3 of mantissa, no infinity, NaN at the ends."""
    bits = np.arange(128)
    exponent, mantissa = bits >> 3, bits & 7
    values = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7))
    values[127] = np.nan
    return np.concatenate([values, -values]).astype(np.float32)


_E4M3 = _e4m3_values()
STORED = {"float16": np.float16, "float32": np.float32, "bfloat16": np.uint16, "float8_e4m3fn": np.uint8}
_NAN = {
    "float16": np.float16(np.nan),
    "float32": np.float32(np.nan),
    "bfloat16": np.uint16(0x7FC0),
    "float8_e4m3fn": np.uint8(0x7F),
}


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as they are stored, rounded to nearest."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if dtype == "float8_e4m3fn":
        steps = _E4M3[:127]
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, np.abs(values)).astype(np.uint8)
        return nearest | np.where(values < 0, 128, 0).astype(np.uint8)
    return values.astype(STORED[dtype])


def decode(stored: np.ndarray, dtype: str) -> np.ndarray:
    """Stored numbers in float64."""
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return (_E4M3[stored] if dtype == "float8_e4m3fn" else stored).astype(np.float64)


# ---- arrays ----------------------------------------------------------------------------------------------------------
@dataclass
class HostArray:
    """An array as it is stored: ``memory`` is contiguous; ``view`` is what the kernel is told of it."""

    dtype: str
    memory: np.ndarray
    view: np.ndarray

    @property
    def numbers(self) -> np.ndarray:
        """Its values in float64."""
        return decode(self.view, self.dtype)


def make_arrays(row: dict, variant: dict) -> list[HostArray]:
    """Inputs in (-1, 1), always the same, and a result of NaN; unit stride along axis 0 means stored by columns."""
    generator = np.random.default_rng(0)
    arrays = []
    for shape, dtype, unit in zip(variant["shapes"], row["dtypes"], row["unit_strides"]):
        by_columns = unit == 0 and len(shape) == 2
        values = generator.random(shape[::-1] if by_columns else shape, np.float32) * 2 - 1
        memory = encode(values, dtype)
        arrays.append(HostArray(dtype, memory, memory.T if by_columns else memory))
    arrays[-1].memory[...] = _NAN[arrays[-1].dtype]
    return arrays


def parameters(arrays: list[HostArray], addresses: list[int], scalars: list[float]) -> list[bytes]:
    """cuTile's calling convention: address, lengths and strides of each array, then scalars as f32."""
    packed: list[bytes] = []
    for array, address in zip(arrays, addresses):
        strides = (stride // array.view.itemsize for stride in array.view.strides)
        packed.append(np.uint64(address).tobytes())
        packed += [np.int32(number).tobytes() for number in (*array.view.shape, *strides)]
    return packed + [np.float32(number).tobytes() for number in scalars]


# ---- references ------------------------------------------------------------------------------------------------------
Sample = tuple[object, np.ndarray]  # where in the result, and what must be there


def _rows(count: int) -> np.ndarray:
    """Rows to compare: the first, the last, and others."""
    return np.unique(np.concatenate([[0, count - 1], np.random.default_rng(1).integers(0, count, SAMPLED)]))


def _product(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    return rows, arrays[0].numbers[rows] @ arrays[1].numbers


def _attend(arrays: list[HostArray], scalars: list[float], causal: bool) -> Sample:
    rows, head = _rows(arrays[0].view.shape[1]), arrays[0].view.shape[0] - 1
    q, k, v = (decode(array.view[head], array.dtype) for array in arrays[:3])
    scores = q[rows] @ k.T * scalars[0]
    if causal:
        scores[np.arange(scores.shape[1]) > rows[:, None]] = -np.inf
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return (head, rows), powers / powers.sum(1, keepdims=True) @ v


def _layer_norm(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    x = decode(arrays[0].view[rows], arrays[0].dtype)
    centered = x - x.mean(1, keepdims=True)
    normal = centered / np.sqrt((centered**2).mean(1, keepdims=True) + scalars[0])
    return rows, normal * arrays[1].numbers + arrays[2].numbers


def _softmax(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[0].view.shape[0])
    x = decode(arrays[0].view[rows], arrays[0].dtype)
    powers = np.exp(x - x.max(1, keepdims=True))
    return rows, powers / powers.sum(1, keepdims=True)


def _transpose(arrays: list[HostArray], scalars: list[float]) -> Sample:
    rows = _rows(arrays[1].view.shape[0])
    return rows, decode(arrays[0].view[:, rows].T, arrays[0].dtype)


def _vector_add(arrays: list[HostArray], scalars: list[float]) -> Sample:
    return slice(None), arrays[0].numbers + arrays[1].numbers


REFERENCES: dict[str, Callable[[list[HostArray], list[float]], Sample]] = {
    "product": _product,
    "attention": lambda arrays, scalars: _attend(arrays, scalars, causal=False),
    "attention_causal": lambda arrays, scalars: _attend(arrays, scalars, causal=True),
    "layer_norm": _layer_norm, "softmax": _softmax, "transpose": _transpose, "vector_add": _vector_add,
}  # fmt: skip


def error_of(row: dict, variant: dict, arrays: list[HostArray], result: np.ndarray) -> float:
    """The largest error of the sampled rows, relative to the largest magnitude there; infinite where one is NaN."""
    where, want = REFERENCES[row["kind"]](arrays, variant["scalars"])
    got = decode(result[where], arrays[-1].dtype)
    error = np.abs(got - want).max() / np.abs(want).max()
    return float(error) if np.isfinite(error) else float("inf")
