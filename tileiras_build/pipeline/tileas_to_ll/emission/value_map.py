"""The thread-level values of each SSA value of a kernel.

A tile is a list of scalars, one for each register of its layout. A scalar is the same in every thread. A view is a
descriptor (``compile_time_memrefs.py``). A token orders operations and has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult, SSAValue

from ....core.errors import InternalError
from ....ir.casting import cast, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.fast_xdsl import VALUES
from ....ir.layouts import LinearLayout
from .compile_time_memrefs import MemRef, TiledView
from .function_builder import Value
from .instruction_builder import InstructionBuilder
from .register_values import UNMATERIALIZED, RegisterValue, materialize

SCALARS = (int, *VALUES)
MappedValue: TypeAlias = RegisterValue | Sequence[RegisterValue] | MemRef | TiledView | None
T = TypeVar("T")


class ValueMap:
    """The thread-level values of SSA values; ``b`` materializes those that are lazy."""

    def __init__(self, b: InstructionBuilder):
        self.b = b
        self._mapped: dict[SSAValue, MappedValue] = {}

    def __getitem__(self, value: SSAValue) -> MappedValue:
        return self._mapped[value]

    def __setitem__(self, value: SSAValue, mapped: MappedValue) -> None:
        self._mapped[value] = mapped

    def get(self, value: SSAValue) -> MappedValue:
        return self._mapped.get(value)

    # ---- tiles -------------------------------------------------------------------------------------
    def registers(self, value: SSAValue) -> list[Value]:
        """The scalars of a tile; a scalar has one."""
        mapped = self._mapped[value]
        if not isinstance(mapped, list):
            return [self._scalar(mapped)]
        # The result is not stored: a value extracted in one arm of a branch does not dominate the other arm.
        return [entry if entry.__class__ is OpResult else materialize(self.b, entry) for entry in mapped]

    def packed(self, value: SSAValue) -> list[RegisterValue]:
        """The registers of a tile; elements of one word may still be its ``PackedLane``."""
        mapped = self._mapped[value]
        return mapped if isinstance(mapped, list) else [self._scalar(mapped)]

    def registers_as(self, value: SSAValue, layout: LinearLayout) -> list[Value]:
        """The registers of a tile in the order of ``layout``, which may only permute and repeat them."""
        return self._permuted(value, layout, self.registers(value))

    def packed_as(self, value: SSAValue, layout: LinearLayout) -> list[RegisterValue]:
        """``registers_as`` without extracting elements from words."""
        return self._permuted(value, layout, self.packed(value))

    def _permuted(self, value: SSAValue, layout: LinearLayout, registers: list[T]) -> list[T]:
        present = layout_of(value)
        if present == layout:
            return registers
        permutation = present.register_permutation(layout)
        if permutation is None:
            raise InternalError("layout-mismatch", f"a tile has layout {present} where {layout} is needed")
        return [registers[register] for register in permutation]

    def set(self, value: SSAValue, registers: Sequence[RegisterValue]) -> None:
        """Map a tile to its registers. A scalar has one register, or several if it is a combination of elements."""
        self._mapped[value] = registers if isinstance(value.type, TensorType) or len(registers) > 1 else registers[0]

    def set_from(self, value: SSAValue, layout: LinearLayout, registers: Sequence[RegisterValue]) -> None:
        """Map a tile to its registers, which are in the order of ``layout``."""
        names = range(len(registers)) if layout is layout_of(value) else layout.register_permutation(layout_of(value))
        self.set(value, [registers[register] for register in unwrap(names)])

    # ---- scalars and views -------------------------------------------------------------------------
    def scalar(self, value: SSAValue) -> Value:
        mapped = self._mapped[value]
        return self._scalar(mapped[0] if isinstance(mapped, list) else mapped)

    def _scalar(self, mapped: MappedValue) -> Value:
        if isinstance(mapped, SCALARS):
            return mapped
        if isinstance(mapped, UNMATERIALIZED):
            return mapped.materialize(self.b)
        raise InternalError("ir-shape", f"expected a scalar, found {type(mapped).__name__}")

    def memref(self, value: SSAValue) -> MemRef:
        return cast(MemRef, self._mapped[value])

    def view(self, value: SSAValue) -> TiledView:
        return cast(TiledView, self._mapped[value])
