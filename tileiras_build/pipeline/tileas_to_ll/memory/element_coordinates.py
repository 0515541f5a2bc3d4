"""The coordinates of the elements that a thread's registers hold."""

from __future__ import annotations

from ....ir.layouts import LinearLayout
from ....ir.layouts.linear_layout import unpack
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter


class ElementCoordinates:
    """The coordinates of a thread's registers along each dimension: a part of the thread plus a constant.

    Where bases of threads and registers share bits, the parts are combined by XOR, otherwise by addition.
    """

    def __init__(self, e: KernelEmitter, layout: LinearLayout):
        self.e, self.layout = e, layout
        shape = layout.shape
        lanes = [unpack(image, shape) for image in layout.lanes]
        warps = [unpack(image, shape) for image in layout.warps]
        self.thread: list[Value] = [
            e.threads.linear(tuple(image[dim] for image in lanes), tuple(image[dim] for image in warps))
            for dim in range(layout.rank)
        ]
        self.registers = [unpack(offset, shape) for offset in layout.register_offsets]
        threads = 0
        for image in (*layout.lanes, *layout.warps):
            threads |= image
        registers = 0
        for image in layout.registers:
            registers |= image
        self.additive = not threads & registers

    def coordinate(self, register: int, dim: int) -> tuple[Value, int]:
        """(thread part, constant): added, they are the coordinate."""
        part = self.thread[dim]
        return part if self.additive else self.e.b.xor(part, self.registers[register][dim]), self.constant(
            register, dim
        )

    def constant(self, register: int, dim: int) -> int:
        """The constant of ``coordinate``."""
        return self.registers[register][dim] if self.additive else 0
