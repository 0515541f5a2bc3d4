"""Tensor maps (TMA descriptors) of a launch: evaluate the manifest's specifications for the driver's encoder.

A row names the fields of ``cuTensorMapEncodeTiled``, fastest dimension first; a length or stride is a number,
``{"param": i}`` or ``{"param": i, "times": n, "over": d}``: the value of an integer parameter, times ``n``, divided by ``d``.
The limits are those of the CUDA Driver API reference, "Tensor Map Object Management".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.errors import InvalidInput
from ...target.element_types import MAP_TYPES

if TYPE_CHECKING:
    from ...manifest.launch_manifest import TensorMapSpec, Value

SWIZZLE_SPAN = {"32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
SIZE, ALIGNMENT = 128, 64
_MAX_STRIDE, _MAX_LENGTH, _MAX_BOX, _MAX_ELEMENT_STRIDE = 1 << 40, 1 << 32, 256, 8


@dataclass(frozen=True)
class TensorMap:
    """The fields of one descriptor: ``shape`` and ``box`` in elements, ``strides`` in bytes (rank - 1)."""

    element: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    interleave: str
    fill: str
    l2_promotion: str


def resolve(entry: str, index: int, manifest_row: TensorMapSpec, values: Sequence[Any]) -> TensorMap:
    """Descriptor ``index`` of kernel ``entry`` for these values of its parameters; raises InvalidInput[tensor-map]."""
    made = TensorMap(
        manifest_row.element,
        values[manifest_row.base.param],
        # The driver refuses empty tensors; no tile of one is loaded, as the loops over it have no iterations.
        tuple(_value(number, values) or 1 for number in manifest_row.shape),
        tuple(_value(number, values) for number in manifest_row.strides),
        tuple(manifest_row.box),
        tuple(manifest_row.element_strides),
        *(manifest_row.swizzle, manifest_row.interleave, manifest_row.fill, manifest_row.l2_promotion),
    )
    for problem in _problems(made):
        message = f"cannot encode tensor map {index} of kernel {entry}: {problem}"
        raise InvalidInput("tensor-map", message, remedy="TMA requires a 16-byte aligned base address and strides")
    return made


def _value(number: int | Value, values: Sequence[Any]) -> int:
    return number if isinstance(number, int) else values[number.param] * number.times // number.over


def _problems(made: TensorMap) -> Iterator[str]:
    """The errors that the driver would report, in the order of its parameters."""
    rank, bytes = len(made.shape), MAP_TYPES[made.element].bytes
    if not 1 <= rank <= 5:
        yield f"its rank is {rank}, not 1 to 5"
    if made.address % 16:
        yield f"its address {made.address:#x} is not a multiple of 16"
    for dim, length in enumerate(made.shape):
        if not 0 < length <= _MAX_LENGTH:
            yield f"dimension {dim} has {length} elements"
    for dim, stride in enumerate(made.strides, 1):
        if stride % 16 or not 0 <= stride < _MAX_STRIDE:
            yield f"the stride of dimension {dim} is {stride} bytes, not a multiple of 16 below 2**40"
    for dim, (length, step) in enumerate(zip(made.box, made.element_strides, strict=True)):
        if not 0 < length <= _MAX_BOX or not 0 < step <= _MAX_ELEMENT_STRIDE:
            yield f"its box has {length} elements along dimension {dim}, at steps of {step}"
    yield from _inner_problems(made, made.box[0] * bytes)


def _inner_problems(made: TensorMap, inner: int) -> Iterator[str]:
    span = SWIZZLE_SPAN.get(made.swizzle, inner)
    if made.interleave == "none" and inner > span:
        yield f"its box has {inner} bytes along dimension 0, more than the swizzle's {span}"
    if made.interleave == "none" and inner % 16:
        yield f"its box has {inner} bytes along dimension 0, not a multiple of 16"
