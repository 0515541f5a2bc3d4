"""Program ids in another order than that of the grid, for kernels of nv_tileaa or nv_tileas.

Grouped: among each ``group`` rows (axis 1), the first programs of the rows (axis 0) start first, in the order in which the hardware
starts CTAs, axis 0 first. Reversed: ids along an axis are counted down. Both are bijections of the grid: for a group of r rows (the last
may have fewer), r * column + row and row * columns + column enumerate the same programs in two orders; so is counting down. A grid
whose count would not fit in 32 bits keeps its rows, for all programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, int_attr, parent_block, unwrap
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.ops import OPERATIONS
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...manifest.manifest_constants import MAX_GRID_CTAS
from .arith_builder import ArithBuilder

ACROSS, DOWN = 0, 1
MAX_EXTENT = (1 << 31) - 1
# The operations of each dialect, by their names in nv_tileaa.
DIALECTS: dict[str, Mapping[str, type[TableOp]]] = {
    "nv_tileaa": {op.name: op for op in OPERATIONS},
    "nv_tileas": COUNTERPARTS,
}


@dataclass(frozen=True)
class ProgramOrder:
    """``group`` rows whose programs start together, and the axis along which ids are counted down, if any."""

    group: int = 1
    reversed: int | None = None

    @classmethod
    def of(cls, func: Operation) -> ProgramOrder:
        """The order that a kernel's attributes record."""
        return cls(int_attr(func, "grid_swizzle", 1), as_op(func).grid_reversed)

    def record(self, func: Operation) -> None:
        """Write the order into a kernel's attributes."""
        if self.group > 1:
            as_op(func).grid_swizzle = self.group
        if self.reversed is not None:
            as_op(func).grid_reversed = self.reversed


def program_ids(func: Operation) -> list[Operation]:
    """The operations of a kernel that ask for its place in the grid."""
    return [op for op in walk(func) if op.name.endswith(".get_program_id")]


def permute_program_ids(func: Operation, order: ProgramOrder) -> None:
    """Replace the program ids of a kernel by those of an order."""
    queries = program_ids(func)
    if order == ProgramOrder() or not queries:
        return
    b = ArithBuilder.before(unwrap(func.regions[0].blocks[0].first_op))
    places = _Ids(b, DIALECTS[queries[0].name.partition(".")[0]]).permuted(order)
    for op in queries:
        if (place := places.get(int_attr(op, "axis"))) is not None:
            op.results[0].replace_all_uses_with(place)
            parent_block(op).erase_op(op)


@dataclass(frozen=True)
class _Ids:
    """Builds program ids with the operations of a dialect."""

    b: ArithBuilder
    operations: Mapping[str, type[TableOp]]

    def permuted(self, order: ProgramOrder) -> dict[int, SSAValue]:
        """The new program ids, by axis."""
        found = self._grouped(order.group) if order.group > 1 else {}
        if (axis := order.reversed) is not None:
            place = found[axis] if axis in found else self._query("get_program_id", axis)
            last = self.b.binary("sub", self._query("get_num_programs", axis), 1)
            found[axis] = self.b.binary("sub", last, place)
        return {axis: self._bounded(value, axis) for axis, value in found.items()}

    def _grouped(self, group: int) -> dict[int, SSAValue]:
        """The program ids along both axes, in groups of rows."""
        b = self.b
        row, column = (self._query("get_program_id", axis) for axis in (DOWN, ACROSS))
        rows, columns = (self._query("get_num_programs", axis) for axis in (DOWN, ACROSS))
        start = b.binary("and", row, -group)
        height = b.binary("umin", b.binary("sub", rows, start), group)
        number = b.binary("add", b.mul(b.sub(row, start), columns), column)
        down = b.binary("add", start, b.binary("urem", number, height))
        across = b.binary("udiv", number, height)
        fits = b.compare("sle", columns, MAX_EXTENT // group)
        return {DOWN: b.select(fits, down, row), ACROSS: b.select(fits, across, column)}

    def _query(self, name: str, axis: int) -> SSAValue:
        return self.b.insert(self.operations[f"nv_tileaa.{name}"].make([], [i32], axis=axis))

    def _bounded(self, value: SSAValue, axis: int) -> SSAValue:
        """The value, with the range of a program id."""
        bounds = BoundedAttr(0, MAX_GRID_CTAS[axis] - 1)
        return self.b.insert(self.operations["nv_tileaa.assume"].make([value], [i32], predicate=bounds))
