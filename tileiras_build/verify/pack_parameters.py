"""Pack the inputs of a reference's launch into the bytes of the kernel's parameters."""

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
from .reference_launch import is_scalar

# Element types of a manifest, and the NumPy types that are accepted for each.
_INTEGERS = {f"i{8 * size}": (f"int{8 * size}", f"uint{8 * size}") for size in (1, 2, 4, 8)}
# Sub-byte elements are not supported; types unknown to NumPy are passed as uint8.
_FLOATS = {row.name: (row.numpy or "uint8",) for row in ELEMENT_TYPES.values() if row.format and row.per_byte == 1}
DTYPES: dict[str, tuple[str, ...]] = {
    **_INTEGERS, **_FLOATS, "i1": ("bool", "int8", "uint8"), "i8": ("int8", "uint8", "bool"),
}  # fmt: skip


def pack(spec: Checked, launch: Launch, placed: GuardedArguments) -> list[bytes]:
    """The parameters; raises ValueError with a message if an argument does not fit the kernel's parameters."""
    if isinstance(spec, Case):
        try:
            return pack_arguments(spec, list(placed.values.values()), placed.tables, list(placed.values))
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
    if len(placed.values) != len(launch.arguments):
        names = ", ".join(placed.values) or "none"
        raise ValueError(f"kernel takes {len(launch.arguments)} arguments, got {len(placed.values)}: {names}")
    packed: list[bytes] = []
    for (name, value), argument in zip(placed.values.items(), launch.arguments):
        packed += _packed(name, value, argument, launch.params)
    return packed


def _packed(name: str, value: Any, argument: Argument, params: Sequence[Parameter]) -> list[bytes]:
    first = params[argument.param]
    if argument.kind == "scalar":
        return [_scalar(name, value, first)]
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name}: expected a pointer to {first.element}, got {type(value).__name__}")
    wanted = DTYPES.get(first.element or "", ())
    if wanted and value.dtype.name not in wanted:
        raise ValueError(f"{name}: expected elements of type {first.element}, got {value.dtype}")
    packed = [value.ctypes.data.to_bytes(8, "little")]
    if argument.kind == "pointer":
        return packed
    if value.ndim != argument.rank:
        raise ValueError(f"{name}: expected a {argument.rank}-d array, got {value.ndim}-d")
    sizes = [*value.shape, *(stride // value.itemsize for stride in value.strides)]
    following = params[argument.param + 1 : argument.param + argument.parameters]
    return packed + [_scalar(name, size, parameter) for size, parameter in zip(sizes, following, strict=True)]


def _scalar(name: str, value: Any, parameter: Parameter) -> bytes:
    if not is_scalar(value):
        raise ValueError(f"{name}: expected a scalar of type {parameter.kind}, got {type(value).__name__}")
    wanted = DTYPES.get(parameter.kind, ())
    if not wanted:
        raise ValueError(f"{name}: unsupported parameter type {parameter.kind}")
    for dtype in wanted:
        made = _converted(value, dtype)
        if made is not None:
            return made.tobytes()
    raise ValueError(f"{name}: {value!r} does not fit type {parameter.kind}")


def _converted(value: Any, name: str) -> np.ndarray | None:
    """The value converted to a type; None if the type cannot represent it."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(value).astype(dtype) if dtype.kind not in "iu" else np.asarray(int(value), dtype)
    except (OverflowError, ValueError, TypeError):
        return None
    return made if dtype.kind not in "iu" or made == value else None
