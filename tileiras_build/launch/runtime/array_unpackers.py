"""Code of launch stubs that reads the arrays of each library (``generate_launch_stub.py``).

An unpacker generates lines that assign an array's address, lengths and strides (in elements) to local names, and guards
that detect an array of another kind than the stub was generated for.

A stub for packages is also ordered (``Wanted.stream_order``): where the array's producer may have work on another stream than
the launch's, a guard fails, and the driver's ``view`` makes the stream wait.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .pack_arguments import ArrayView


@dataclass
class UnpackCode:
    """``lines`` run before ``guards``; a guard that is true means an array of another kind. ``names`` are objects that both use."""

    lines: list[str]
    guards: list[str]
    names: dict[str, object] = field(default_factory=dict)


class Names(NamedTuple):
    """The names of an array in the generated code: ``value`` itself, its address, lengths and strides.

    ``has_axes``: whether lengths and strides are read.
    """

    value: str
    address: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    has_axes: bool = True

    def axes(self, shape: str, strides: str) -> list[str]:
        """The lines that read lengths and strides from these expressions."""
        return [f"{tuple_code(self.shape)} = {shape}", f"{tuple_code(self.strides)} = {strides}"] * self.has_axes


class Wanted(NamedTuple):
    """What the launch needs of an array: writable memory, the order of streams, and the device of its address.

    ``home_of`` returns the device of an address; None on machines with one GPU.
    """

    written: bool = False
    stream_order: bool = False
    home_of: Callable[[int], int | None] | None = None


def unpack_code(array: Any, view: ArrayView, names: Names, wanted: Wanted) -> UnpackCode:
    """The code that reads arrays like ``array``, whose view is ``view``."""
    for is_kind, read in UNPACKERS:
        if is_kind(array, wanted):
            return read(array, view, names, wanted)
    return _by_view(array, view, names, wanted)


def tuple_code(names: Iterable[str]) -> str:
    """A tuple of names in the generated code: "(x0, x1,)"."""
    return "(" + "".join(f"{name}, " for name in names).rstrip() + ")"


def is_torch(array: object) -> bool:
    """Whether it is a torch tensor; torch need not be installed."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _current_stream() -> Callable[[int], int] | None:
    """torch's function from a device to the handle of its current stream, which builds for CUDA have (Triton calls it too)."""
    return getattr(getattr(sys.modules.get("torch"), "_C", None), "_cuda_getCurrentRawStream", None)


def _is_readable_torch(array: object, wanted: Wanted) -> bool:
    return is_torch(array) and (not wanted.stream_order or _current_stream() is not None)


def _torch(array: Any, view: ArrayView, names: Names, wanted: Wanted) -> UnpackCode:
    value, dtype = names.value, f"{names.value}_dtype"
    lines = [
        f"{names.address} = {value}.data_ptr()",
        *names.axes(f"{value}.shape", f"{value}.stride()"),
    ]
    guards = [f"{value}.dtype is not {dtype}", f"{value}.get_device() != {view.device}"]
    if wanted.stream_order:
        guards.append(f"torch_stream({view.device}) != handle")
    return UnpackCode(lines, guards, {dtype: array.dtype, "torch_stream": _current_stream()})


def _has_interface(array: object, wanted: Wanted) -> bool:
    return getattr(array, "__cuda_array_interface__", None) is not None


def _by_interface(array: Any, view: ArrayView, names: Names, wanted: Wanted) -> UnpackCode:
    value, face = names.value, f"{names.value}_face"
    typestr: str = array.__cuda_array_interface__["typestr"]  # such as "<f4": byte order, kind, bytes
    lines = [
        f"{face} = {value}.__cuda_array_interface__",
        f"{names.address}, {value}_readonly = {face}['data']",
    ]
    if names.has_axes:
        lines += [
            f"{tuple_code(names.shape)} = {face}['shape']",
            f"{value}_bytes = {face}.get('strides')",
            f"if {value}_bytes is None:",
            *[f" {line}" for line in _row_major(names.shape, names.strides)],
            "else:",
            f" {tuple_code(names.strides)} = {value}_bytes",
            *[f" {stride} //= {int(typestr[2:])}" for stride in names.strides],
        ]
    guards = [f"{face}['typestr'] != {typestr!r}"]
    if wanted.written:
        guards.append(f"{value}_readonly")
    if wanted.stream_order:
        # No stream: no pending writes. The default stream is 0 for the driver, 1 in the interface.
        guards.append(f"'stream' in {face} and ({face}['stream'] or handle or 1) != (handle or 1)")
    if wanted.home_of is not None:
        guards.append(f"home_of({names.address}) != {view.device}")
    return UnpackCode(lines, guards, {"home_of": wanted.home_of})


def _row_major(shape: tuple[str, ...], strides: tuple[str, ...]) -> list[str]:
    lines, step = [], "1"
    for stride, length in zip(reversed(strides), reversed(shape), strict=True):
        lines.append(f"{stride} = {step}")
        step = length if step == "1" else f"{stride} * {length}"
    return lines or ["pass"]


def _by_view(array: Any, view: ArrayView, names: Names, wanted: Wanted) -> UnpackCode:
    value = names.value
    shape, strides, home, dtype, readonly = (
        f"{value}_{part}" for part in ("shape", "strides", "home", "type", "readonly")
    )
    lines = [
        f"{names.address}, {shape}, {strides}, {home}, {dtype}, {readonly} = view({value}, handle)",
        *names.axes(shape, strides),
    ]
    guards = [f"{home} != {view.device}", f"{dtype} != {value}_dtype", *([readonly] if wanted.written else [])]
    return UnpackCode(lines, guards, {f"{value}_dtype": view.dtype})


Unpacker = Callable[[Any, ArrayView, Names, Wanted], UnpackCode]
UNPACKERS: tuple[tuple[Callable[[object, Wanted], bool], Unpacker], ...] = (
    (_is_readable_torch, _torch),
    (_has_interface, _by_interface),
)
