"""Compile-time descriptors of memory references and tiled views: a base pointer with sizes and strides.

Sizes count elements in ``index_type`` (i32, or i64 if any size is i64); strides count elements in i64.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.nv_tileaa import MemRefType, TiledViewType
from ...analysis.access_vectorization import dims_by_stride
from .function_builder import Value
from .instruction_builder import InstructionBuilder


@dataclass
class MemRef:
    """A strided object: base pointer, sizes and strides (ints where known)."""

    type: MemRefType
    base: SSAValue
    sizes: list[Value]
    size_types: list[Attribute]
    strides: list[Value]
    index_type: Attribute

    def size(self, b: InstructionBuilder, dim: int, type: Attribute) -> Value:
        """The extent of a dimension as ``type``."""
        value = self.sizes[dim]
        if isinstance(value, int) or self.size_types[dim] == type:
            return value
        return b.widen(value)


@dataclass
class TiledView:
    """A memory reference partitioned into tiles of ``type``."""

    type: TiledViewType
    memory: MemRef

    @property
    def order(self) -> list[int]:
        """Tile dimensions from the fastest in memory to the slowest: known unit strides first, then row-major."""
        strides = [self.memory.strides[dim] for dim in self.type.dim_map]
        return dims_by_stride(strides)
