"""The arguments of a launch in the form of ``tileiras-build estimate --set``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontend.kernel_case import Values
from ..manifest.launch_manifest import Launch
from ..simulate.estimate.described_launch import ArrayShape, Description, described_settings
from .reference_launch import is_scalar


def settings_of(launch: Launch, values: Values) -> dict[str, str] | None:
    """Settings by the manifest's names, strides in elements; None if an argument is neither array nor scalar."""
    return described_settings(launch, list(map(describe, values.values())))


def describe(value: object) -> Description:
    """A launch argument without the elements of its array."""
    array = _shape(value) if isinstance(value, np.ndarray) else None
    return Description(array, _number_text(value) if is_scalar(value) else None)


def _shape(array: np.ndarray) -> ArrayShape:
    return ArrayShape(array.shape, tuple(stride // array.itemsize for stride in array.strides))


def _number_text(value: Any) -> str:
    number = np.asarray(value)
    return str(int(number)) if number.dtype.kind in "biu" else repr(float(number))
