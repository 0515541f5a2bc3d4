"""The emulator as a device: arrays in the process's own memory, launches that are over when they return."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...emulator import Memory, launch
from ...errors import InvalidInput
from ...runtime.arguments import ArrayView, pack_number
from ...targets import find_target
from ..arguments import Array, ArrayTable, Value, numbers_of
from ..stand_in import install_driver, shown_as_device

if TYPE_CHECKING:
    import numpy as np

    from ..compiled import Compiled
    from . import Fast


class CpuDevice:
    """Runs kernels in the emulator."""

    stop_at = "ptx"

    def __init__(self, target: str | None):
        if target is None:
            raise InvalidInput("cutile-device", "the emulator is of no GPU of its own", remedy="name one: enable('sm_90', device='cpu')")  # fmt: skip
        row = find_target(target)
        self.target, self.number = f"sm_{row.number}", row.number
        install_driver()

    def shown(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Arrays as if they were in a GPU's memory."""
        return tuple(self._shown(argument) for argument in arguments)

    def _shown(self, argument: Any) -> object:
        if type(argument) in (tuple, list):
            return type(argument)(self._shown(part) for part in argument)
        return shown_as_device(self.view(argument, None)) if hasattr(argument, "__dlpack__") else argument

    def view(self, array: Any, stream: object) -> ArrayView:
        """Through NumPy."""
        found = _as_numpy(array)
        strides = tuple(stride // found.itemsize for stride in found.strides)
        return ArrayView(found.ctypes.data, found.shape, strides, 0, found.dtype, not found.flags.writeable)

    def launch(
        self, compiled: Compiled, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Run a kernel in the emulator."""
        memory, tables = Memory(), []
        for view in _views(values):
            if size := _span(view):
                memory.map(view.address, size)

        def place(table: ArrayTable) -> int:
            rows = table.rows()
            held = (ctypes.c_int64 * len(rows))(*rows)
            tables.append(held)
            memory.map(ctypes.addressof(held), ctypes.sizeof(held))
            return ctypes.addressof(held)

        numbers = numbers_of(values, place)
        params = [
            pack_number(param.kind, number) for param, number in zip(compiled.launch.ordinary, numbers, strict=True)
        ]
        launch(compiled, compiled.entry, tuple(grid), params, memory=memory)

    def fast(self, compiled: Compiled, signature: Any, arguments: tuple[object, ...]) -> Fast | None:
        """None: the emulator takes longer than any way to it."""
        return None

    def synchronize(self, stream: object = None) -> None:
        """Launches are over when they return."""


def _as_numpy(array: Any) -> np.ndarray:
    import numpy

    if isinstance(array, numpy.ndarray):
        return array
    try:
        return numpy.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        message = f"an argument cannot be read as an array: {error}"
        raise InvalidInput("launch-argument", message, remedy="pass an array in the computer's own memory") from None


def _views(values: Sequence[Value]) -> list[ArrayView]:
    arrays = [value.view for value in values if isinstance(value, Array)]
    return arrays + [view for value in values if isinstance(value, ArrayTable) for view in value.views]


def _span(view: ArrayView) -> int:
    """Bytes from the first element to behind the last."""
    assert view.dtype is not None
    if 0 in view.shape:
        return 0
    return (1 + sum((length - 1) * stride for length, stride in zip(view.shape, view.strides))) * view.dtype.itemsize
