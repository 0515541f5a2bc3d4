"""From launch arguments to the bytes of a kernel's parameters.

An n-dimensional array fills 1 + 2n parameters: its address, its n lengths and its n strides in elements (cuTile's
calling convention); a number fills one. ``Address(array)`` passes an array's address alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

import ml_dtypes
import numpy as np

from ..errors import InvalidInput

POINTER, TENSOR_MAP = "pointer", "tensor_map"
_INTEGER_BITS = {f"i{bits}": bits for bits in (8, 16, 32, 64)}
_FLOATS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
}


@dataclass(frozen=True)
class ArrayView:
    """An array in memory: its address, lengths, strides in elements, and its device's ordinal (None: host memory)."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int | None


@dataclass(frozen=True)
class Address:
    """Passes the address of ``array`` without its lengths and strides."""

    array: object


View = Callable[[object], ArrayView]
Number = int | float | np.generic


def is_array(value: object) -> bool:
    """Whether ``value`` offers DLPack or the CUDA array interface; NumPy's scalars offer neither of the two for devices."""
    if isinstance(value, (np.generic, int, float)):
        return False
    return hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def flatten(arguments: Iterable[object], view: View) -> list[Number]:
    """One number per parameter; ``view`` looks into an array. Raises InvalidInput[launch-argument]."""
    numbers: list[Number] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, Address):
            numbers.append(view(argument.array).address)
        elif is_array(argument):
            array = view(argument)
            numbers += [array.address, *array.shape, *array.strides]
        elif isinstance(argument, (int, float, np.generic)):
            numbers.append(argument)
        else:
            message = f"argument {position} is a {type(argument).__name__}"
            raise InvalidInput("launch-argument", message, remedy="pass arrays (DLPack) and numbers")
    return numbers


def pack(entry: str, parameters: Sequence[dict], numbers: Sequence[Number]) -> list[bytes]:
    """The little-endian bytes of each ordinary parameter of kernel ``entry``.

    ``parameters`` are rows of the launch manifest. Raises InvalidInput[launch-arguments] for a wrong count,
    [launch-argument] for a number that its parameter cannot hold.
    """
    if len(numbers) != len(parameters):
        kinds = ", ".join(row["kind"] for row in parameters)
        message = f"kernel {entry} takes {len(parameters)} parameters ({kinds}), the arguments fill {len(numbers)}"
        remedy = "an n-d array fills 1 + 2n: its address, lengths and strides; Address(array) fills one"
        raise InvalidInput("launch-arguments", message, remedy=remedy)
    return [
        _pack(entry, index, row, number) for index, (row, number) in enumerate(zip(parameters, numbers, strict=True))
    ]


def _pack(entry: str, index: int, row: dict, number: Number) -> bytes:
    kind = row["kind"]
    try:
        if kind in _FLOATS:
            return np.asarray(number).astype(_FLOATS[kind]).tobytes()
        if kind == "i1":
            return bytes([bool(number)])
        if kind == POINTER:
            return _integer(number, 64, unsigned=True)
        return _integer(number, _INTEGER_BITS[kind], unsigned=isinstance(number, np.unsignedinteger))
    except KeyError:
        reason = f"is of kind {kind}, which no argument can be"
    except (OverflowError, TypeError, ValueError) as error:
        reason = f"({row['name']}, {kind}) cannot be {number!r}: {error}"
    raise InvalidInput("launch-argument", f"parameter {index} of kernel {entry} {reason}") from None


def _integer(number: Number, bits: int, *, unsigned: bool) -> bytes:
    """An integer's bytes; a length beyond a signed index is refused, what NumPy calls unsigned is taken as it is."""
    whole = number.__index__() if isinstance(number, SupportsIndex) else _refuse_fraction(float(number))
    lowest, end = (0, 1 << bits) if unsigned else (-(1 << bits - 1), 1 << bits - 1)
    if not lowest <= whole < end:
        raise OverflowError(f"it does not fit {bits} bits")
    return (whole % (1 << bits)).to_bytes(bits // 8, "little")


def _refuse_fraction(number: float) -> int:
    if not math.isfinite(number) or number != int(number):
        raise ValueError("it is no whole number")
    return int(number)
