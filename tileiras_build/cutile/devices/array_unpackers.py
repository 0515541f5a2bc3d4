"""Code of launch stubs that reads the arrays of each library (``launch_stub.py``).

An unpacker generates lines that assign an array's address, lengths and strides (in elements) to local names, and guards
that detect an array of another kind than the stub was generated for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...launch.runtime.generate_bind_stub import tuple_code
from ...launch.runtime.pack_arguments import ArrayView


@dataclass
class UnpackCode:
    """``lines`` run before ``guards``; a guard that is true means an array of another kind. ``names`` are objects that both use."""

    lines: list[str]
    guards: list[str]
    names: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """The names of an array in the generated code: ``value`` itself, its address, lengths and strides."""

    value: str
    address: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]


def unpack_code(array: Any, view: ArrayView, names: Names, itemsize: int) -> UnpackCode:
    """The code that reads arrays like ``array``, whose view is ``view``; ``itemsize`` is in bytes."""
    for is_kind, read in UNPACKERS:
        if is_kind(array):
            return read(array, view, names, itemsize)
    return _by_view(array, view, names, itemsize)


def is_torch(array: object) -> bool:
    """Whether it is a torch tensor; torch need not be installed."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _torch(array: Any, view: ArrayView, names: Names, itemsize: int) -> UnpackCode:
    value, dtype = names.value, f"{names.value}_dtype"
    lines = [
        f"{names.address} = {value}.data_ptr()",
        f"{tuple_code(names.shape)} = {value}.shape",
        f"{tuple_code(names.strides)} = {value}.stride()",
    ]
    return UnpackCode(
        lines, [f"{value}.dtype is not {dtype}", f"{value}.get_device() != {view.device}"], {dtype: array.dtype}
    )


def _has_interface(array: object) -> bool:
    return getattr(array, "__cuda_array_interface__", None) is not None


def _by_interface(array: Any, view: ArrayView, names: Names, itemsize: int) -> UnpackCode:
    value, face = names.value, f"{names.value}_face"
    found = array.__cuda_array_interface__
    lines = [
        f"{face} = {value}.__cuda_array_interface__",
        f"{names.address}, _ = {face}['data']",
        f"{tuple_code(names.shape)} = {face}['shape']",
        f"{value}_bytes = {face}.get('strides')",
        f"if {value}_bytes is None:",
        *[f" {line}" for line in _row_major(names)],
        "else:",
        f" {tuple_code(names.strides)} = {value}_bytes",
        *[f" {stride} //= {itemsize}" for stride in names.strides],
    ]
    return UnpackCode(lines, [f"{face}['typestr'] != {found['typestr']!r}"])


def _row_major(names: Names) -> list[str]:
    lines = [f"{names.strides[-1]} = 1"] if names.strides else ["pass"]
    for axis in reversed(range(len(names.shape) - 1)):
        lines.append(f"{names.strides[axis]} = {names.strides[axis + 1]} * {names.shape[axis + 1]}")
    return lines


def _by_view(array: Any, view: ArrayView, names: Names, itemsize: int) -> UnpackCode:
    value = names.value
    home, dtype = f"{value}_home", f"{value}_type"
    lines = [
        f"{names.address}, {tuple_code(names.shape)}, {tuple_code(names.strides)}, {home}, {dtype}, _ = view({value}, stream)"
    ]
    guards = [f"{home} != {view.device}", f"{dtype} != {value}_dtype"]
    return UnpackCode(lines, guards, {f"{value}_dtype": view.dtype})


Unpacker = Callable[[Any, ArrayView, Names, int], UnpackCode]
UNPACKERS: tuple[tuple[Callable[[object], bool], Unpacker], ...] = ((is_torch, _torch), (_has_interface, _by_interface))
