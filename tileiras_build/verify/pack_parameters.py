"""The bytes of a launch's parameters, from what a row's ``inputs`` has made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..frontend.kernel_case import Case, Checked
from ..frontend.pack_arguments import pack_arguments
from ..manifest.launch_manifest import Argument, Launch, Parameter
from ..target.element_types import ELEMENT_TYPES
from .guarded_arrays import GuardedArguments
from .reference_launch import is_number

# What a manifest calls element types, and the NumPy types whose arrays may stand for them.
_INTEGERS = {f"i{8 * size}": (f"int{8 * size}", f"uint{8 * size}") for size in (1, 2, 4, 8)}
# Elements of less than a byte are in no array here; what NumPy has no type for is in bytes.
_FLOATS = {row.name: (row.numpy or "uint8",) for row in ELEMENT_TYPES.values() if row.format and row.per_byte == 1}
DTYPES: dict[str, tuple[str, ...]] = {
    **_INTEGERS, **_FLOATS, "i1": ("bool", "int8", "uint8"), "i8": ("int8", "uint8", "bool"),
}  # fmt: skip


def pack(spec: Checked, launch: Launch, placed: GuardedArguments) -> list[bytes]:
    """The parameters; raises ValueError, in words, where an argument is not what the kernel's parameters ask for."""
    if isinstance(spec, Case):
        try:
            return pack_arguments(spec, list(placed.values.values()), placed.tables, list(placed.values))
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
    if len(placed.values) != len(launch.arguments):
        given = ", ".join(placed.values) or "nothing"
        raise ValueError(f"the kernel has {len(launch.arguments)} arguments, and these are {given}")
    packed: list[bytes] = []
    for (name, value), argument in zip(placed.values.items(), launch.arguments):
        packed += _packed(name, value, argument, launch.params)
    return packed


def _packed(name: str, value: Any, argument: Argument, params: Sequence[Parameter]) -> list[bytes]:
    first = params[argument.param]
    if argument.kind == "scalar":
        return [_number(name, value, first)]
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name}: a {type(value).__name__} for a pointer to {first.element}")
    wanted = DTYPES.get(first.element or "", ())
    if wanted and value.dtype.name not in wanted:
        raise ValueError(f"{name}: elements of type {value.dtype} for a pointer to {first.element}")
    packed = [value.ctypes.data.to_bytes(8, "little")]
    if argument.kind == "pointer":
        return packed
    if value.ndim != argument.rank:
        raise ValueError(f"{name}: a {value.ndim}-d array for one of {argument.rank} dimensions")
    numbers = [*value.shape, *(stride // value.itemsize for stride in value.strides)]
    following = params[argument.param + 1 : argument.param + argument.parameters]
    return packed + [_number(name, number, parameter) for number, parameter in zip(numbers, following, strict=True)]


def _number(name: str, value: Any, parameter: Parameter) -> bytes:
    if not is_number(value):
        raise ValueError(f"{name}: a {type(value).__name__} for a number of type {parameter.kind}")
    wanted = DTYPES.get(parameter.kind, ())
    if not wanted:
        raise ValueError(f"{name}: numbers of type {parameter.kind} cannot be passed")
    for dtype in wanted:
        made = _converted(value, dtype)
        if made is not None:
            return made.tobytes()
    raise ValueError(f"{name}: {value!r} is no number of type {parameter.kind}")


def _converted(value: Any, name: str) -> np.ndarray | None:
    """The number in a type; None where that has no such number."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(value).astype(dtype) if dtype.kind not in "iu" else np.asarray(int(value), dtype)
    except (OverflowError, ValueError, TypeError):
        return None
    return made if dtype.kind not in "iu" or made == value else None
