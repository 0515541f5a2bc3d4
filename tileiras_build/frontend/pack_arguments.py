"""The parameters of a launch, as bytes: arrays and scalars as cuTile's calling convention passes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .kernel_case import Argument, Array, ArrayList, Case, Scalar, element_of, is_launch_argument, named_dtype

if TYPE_CHECKING:
    import numpy as np


def pack_arguments(
    case: Case, values: Sequence[Any], tables: list[np.ndarray] | None = None, names: Sequence[str] | None = None
) -> list[bytes]:
    """The kernel parameters of a launch, little-endian, in the order of the bytecode's entry point.

    ``values``: a NumPy array per Array, a scalar per Scalar, a list of arrays per list, a tuple per tuple; without
    constants. An n-d array becomes 1 + 2n parameters: its address (8 bytes), its n lengths, its n strides in elements (cuTile's
    calling convention v2). A list becomes the address of a table and its length; the table (one row per array, of
    the same values in 8 bytes each) is appended to ``tables``: it must live until the launch is over.
    Raises ValueError where an array violates an assumption of its ``Array``: the compiled kernel relies on it. ``names`` are
    the names of the arguments in messages, by default their indices.
    """
    packer = _Packer(case.name, tables)
    places = names or [f"launch argument {position}" for position in range(len(case.launch_arguments))]
    for place, argument, value in zip(places, case.launch_arguments, values, strict=True):
        packer.add(argument, value, place)
    return packer.packed


class _Packer:
    """Collects the parameters of one launch; ``place`` says which argument is meant."""

    def __init__(self, name: str, tables: list[np.ndarray] | None):
        self.packed: list[bytes] = []
        self._name, self._tables = name, tables

    def add(self, argument: Argument, value: Any, place: str) -> None:
        if isinstance(argument, tuple):
            passed = [part for part in argument if is_launch_argument(part)]
            for index, (part, item) in enumerate(zip(passed, value, strict=True)):
                self.add(part, item, f"{place}[{index}]")
        elif isinstance(argument, ArrayList | list):
            self._add_list(element_of(argument), value, place)
        elif isinstance(argument, Scalar):
            self.packed.append(_array(value, argument.dtype).tobytes())
        elif isinstance(argument, Array):
            address, *extents = self._integers(argument, value, place)
            self.packed.append(address.to_bytes(8, "little"))
            self.packed += [named_dtype(argument.index_dtype).type(extent).tobytes() for extent in extents]

    def _add_list(self, element: Array, values: Sequence[np.ndarray], place: str) -> None:
        if self._tables is None:
            raise ValueError(f"{self._name}: {place}: a list of arrays needs tables=, which keeps its table")
        rows = [self._integers(element, value, f"{place}[{index}]") for index, value in enumerate(values)]
        table = _array(rows, "int64").reshape(len(rows), 1 + 2 * element.ndim)
        self._tables.append(table)
        self.packed += [table.ctypes.data.to_bytes(8, "little"), _array(len(rows), "int32").tobytes()]

    def _integers(self, argument: Array, value: np.ndarray, place: str) -> list[int]:
        """The address, the lengths and the strides of an array."""
        if broken := _violated_assumption(argument, value):
            raise ValueError(f"{self._name}: {place}: {broken}")
        return [value.ctypes.data, *value.shape, *(stride // value.itemsize for stride in value.strides)]


def _violated_assumption(argument: Array, value: np.ndarray) -> str | None:
    if value.dtype != named_dtype(argument.dtype) or value.ndim != argument.ndim:
        return f"expected a {argument.ndim}-d {argument.dtype} array, got {value.ndim}-d {value.dtype}"
    if value.ctypes.data % argument.alignment:
        return f"the base is not aligned to {argument.alignment} bytes"
    for axis in range(value.ndim):
        stride = value.strides[axis] // value.itemsize
        if argument.known_strides[axis] not in (None, stride):
            return f"the stride of axis {axis} is {stride}, not 1"
        if stride % argument.stride_factors[axis]:
            return f"the stride {stride} of axis {axis} is not divisible by {argument.stride_factors[axis]}"
        if value.shape[axis] % argument.shape_factors[axis]:
            return f"the length {value.shape[axis]} of axis {axis} is not divisible by {argument.shape_factors[axis]}"
    return None


def _array(values: Any, dtype: str) -> np.ndarray:
    import numpy as np

    return np.asarray(values, dtype=named_dtype(dtype))
