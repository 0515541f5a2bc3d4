"""The arguments of a reference's launch in the form of ``tileiras-build estimate --set``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..frontend.kernel_case import Values
from ..manifest.launch_manifest import Argument, Launch, Parameter
from .reference_launch import is_scalar


def settings_of(launch: Launch, values: Values) -> dict[str, str] | None:
    """Settings by the manifest's names, strides in elements; None if an argument is neither array nor scalar."""
    if len(values) != len(launch.arguments):
        return None
    found: dict[str, str] = {}
    for argument, value in zip(launch.arguments, values.values(), strict=True):
        if isinstance(value, np.ndarray) and argument.kind != "scalar":
            found |= dict(_of_array(argument, value, launch.params))
        elif is_scalar(value) and argument.kind == "scalar":
            found[argument.name] = _number_text(value)
        else:
            return None
    return found


def _of_array(argument: Argument, array: np.ndarray, params: Sequence[Parameter]) -> Iterator[tuple[str, str]]:
    yield argument.name, "x".join(map(str, array.shape)) or "1"
    strides = params[argument.param + 1 + (argument.rank or 0) : argument.param + argument.parameters]
    for parameter, stride in zip(strides, array.strides, strict=False):
        yield parameter.name, str(stride // array.itemsize)


def _number_text(value: Any) -> str:
    number = np.asarray(value)
    return str(int(number)) if number.dtype.kind in "biu" else repr(float(number))
