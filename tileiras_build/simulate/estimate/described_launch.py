"""A launch as the cost model sees it: lengths and strides of arrays, scalars as text, the grid; and the settings that it gives a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...manifest.launch_manifest import Argument, Launch, Parameter


@dataclass(frozen=True)
class ArrayShape:
    """An array without its elements: lengths, and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """An argument: an array, a scalar as text, both for an array without axes, or neither."""

    array: ArrayShape | None = None
    scalar: str | None = None


@dataclass(frozen=True)
class DescribedLaunch:
    """Arguments in the kernel's order, and the grid in tile blocks."""

    arguments: tuple[Description, ...]
    grid: tuple[int, int, int]


def described_settings(launch: Launch, arguments: Sequence[Description]) -> dict[str, str] | None:
    """Settings by the manifest's names, strides in elements; None if an argument is neither array nor scalar."""
    if len(arguments) != len(launch.arguments):
        return None
    found: dict[str, str] = {}
    for argument, value in zip(launch.arguments, arguments, strict=True):
        if value.array is not None and argument.kind != "scalar":
            found |= dict(_of_array(argument, value.array, launch.params))
        elif value.scalar is not None and argument.kind == "scalar":
            found[argument.name] = value.scalar
        else:
            return None
    return found


def _of_array(argument: Argument, array: ArrayShape, params: Sequence[Parameter]) -> Iterator[tuple[str, str]]:
    yield argument.name, "x".join(map(str, array.shape)) or "1"
    strides = params[argument.param + 1 + (argument.rank or 0) : argument.param + argument.parameters]
    for parameter, stride in zip(strides, array.strides, strict=False):
        yield parameter.name, str(stride)
