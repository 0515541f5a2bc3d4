"""Coordinates of copies by a map of the array in which a tensor lies (``analysis/tensor_windows.py``).

In a dimension of E elements in the map, of which the tensor has L left from the start of the tile, a copy begins at E - min(L, E), so that
TMA sees min(L, E) elements. The last two coordinates are the distance in bytes from the array's address to that element which would be
at the start of the map's other dimensions, in units of 16 bytes and of 16 GiB.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.op_definition import TableOp
from ...analysis.tensor_windows import UNIT_BYTES, UNITS, narrow_strides
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import I32, I64
from ..emission.compile_time_memrefs import MemRef, TiledView
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter


class MappedTensor:
    """The tensor of a copy, and the memory reference of its map."""

    def __init__(self, e: KernelEmitter, op: TableOp):
        self.b: InstructionBuilder = e.b
        self.view: TiledView = e.values.view(op.view)
        self.mapped: MemRef = e.values.memref(op.desc.owner.source)
        self.is_window = len(self.mapped.sizes) > len(self.view.memory.sizes)
        self.narrow = narrow_strides(op.view)

    @property
    def known_sizes(self) -> list[SSAValue]:
        """The extents at run time that the map has, too."""
        sizes = self.view.memory.sizes
        return [size for dim, size in enumerate(sizes) if isinstance(size, SSAValue) and not self._is_cut(dim)]

    def extents(self, extents: list[int]) -> list[int]:
        """Those of a tile in the dimensions of the map."""
        return [*extents, *[1] * (len(self.mapped.sizes) - len(self.view.memory.sizes))]

    def coordinates(self, starts: Sequence[Value], tile_dims: Sequence[int]) -> list[Value]:
        """The coordinates of a tile in the map, from its first element along each dimension."""
        if not self.is_window:
            return list(starts)
        found, distance = list(starts), self._distance()
        for place, tile_dim in enumerate(tile_dims):
            dim = self.view.type.dim_map[tile_dim]
            if self._is_cut(dim):
                found[place] = self._shifted(starts[place], dim)
                elements = self.b.widen(self.b.binary("sub", starts[place], found[place]))
                distance = self.b.add(distance, self.b.mul(elements, self._units(dim), I64), I64)
        far = self.b.binary("lshr", distance, UNITS.bit_length() - 1, I64)
        return [*found, *(self.b.and_(self.b.cast("trunc", one, I32), UNITS - 1) for one in (distance, far))]

    def _is_cut(self, dim: int) -> bool:
        return self.view.memory.type.shape[dim] is None and self.mapped.type.shape[dim] is not None

    def _shifted(self, start: Value, dim: int) -> Value:
        """Where a copy begins; behind the map's end where the tensor has no elements left."""
        b, size = self.b, self.view.memory.size(self.b, dim, I32)
        most = unwrap(self.mapped.type.shape[dim])
        left = b.binary("sub", size, start)
        has_most = b.compare("uge", left, most)
        left = b.select(b.compare("ult", start, size), b.select(has_most, most, left, I32), 0, I32)
        return b.binary("sub", most, left)

    def _distance(self) -> Value:
        """Units from the array's address to that of the tensor."""
        from_, to = (self.b.cast("ptrtoint", one.base, I64) for one in (self.mapped, self.view.memory))
        return self._in_units(self.b.binary("sub", to, from_, I64))

    def _units(self, dim: int) -> Value:
        """Units between neighbors along a dimension: of 32 bits as the stride is, which multiplications to 64 bits take."""
        memory = self.view.memory
        bytes = self.b.mul(memory.strides[dim], element_of(memory.type.element_type).bytes, I64)
        if isinstance(bytes, int):
            return bytes // UNIT_BYTES
        units = self._in_units(bytes)
        return self.b.widen(self.b.cast("trunc", units, I32)) if dim in self.narrow else units

    def _in_units(self, bytes: SSAValue) -> SSAValue:
        return self.b.binary("ashr", bytes, UNIT_BYTES.bit_length() - 1, I64)
