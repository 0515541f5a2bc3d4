"""The vector width of memory accesses, and the dimensions along which a tile is in bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...ir.casting import defining_op, defining_table_op, view_type
from ...ir.dialects.op_definition import TableOp
from ...target.targets import Target
from ..common.llvm_element_types import Element, element_of
from .axis_facts import MAX_DIVISIBILITY, group_starts, power_of_two
from .axis_info import AxisAnalysis

VECTOR_BYTES = 16
SECTOR_BYTES = 32  # of DRAM and L2 accesses
WIDE_ACCESS_BYTES = 32  # on GPUs with loads and stores of eight words
# Element -> (capability, elements that one instruction adds to memory), most first (PTX ISA 9.0, section 9.7.13.6, red).
VECTOR_ADDITIONS = {
    "f32": (("atomic_vector", 4),),
    "f16": (("atomic_vector", 8), ("atomic_add_f16x2", 2)),
    "bf16": (("atomic_vector", 8),),
}


def dims_by_stride(strides: Sequence[object]) -> list[int]:
    """Dimensions fastest first: known strides ascending, unknown ones in row-major order after a known unit stride."""
    rank = len(strides)
    unit = [dim for dim in range(rank) if strides[dim] == 1]
    rest = [dim for dim in range(rank - 1, -1, -1) if dim not in unit[-1:]]
    return unit[-1:] + rest


def dims_from(fastest: int, rank: int) -> list[int]:
    """The dimension with consecutive addresses, then the others in row-major order."""
    return [fastest, *(dim for dim in range(rank - 1, -1, -1) if dim != fastest)]


def pointer_order(op: TableOp, rank: int) -> list[int]:
    """The dimensions of a tile of pointers, the one with consecutive addresses first."""
    return dims_from(rank - 1 if op.fastest is None else op.fastest, rank)


class ViewAccessInfo:
    """The vector widths and bounds that are known for tiles of one view."""

    def __init__(self, view: SSAValue, analysis: AxisAnalysis):
        self.view, self.type = view, view_type(view)
        self.memref = defining_table_op(defining_op(view).operands[0])
        memory = self.type.source
        self.analysis = analysis
        self.element = element_of(memory.element_type)
        sizes, strides = self.memref.sizes, self.memref.strides
        self.sizes = self._divisors(memory.shape, sizes)
        self.strides = self._divisors(memory.strides, strides)
        self.order = dims_by_stride([memory.strides[dim] for dim in self.type.dim_map])

    def _divisors(self, static: tuple[int | None, ...], dynamic: Iterable[SSAValue]) -> list[int]:
        """The known power-of-two divisor of each extent."""
        remaining = iter(dynamic)
        return [
            self.analysis(next(remaining)).divisibility if extent is None else power_of_two(extent) for extent in static
        ]

    def in_bounds(self) -> list[bool]:
        """For each tile dimension whether tiles end where the tensor ends, so that no tile of the grid crosses the end."""
        kind = self.type.kind.data
        return [
            kind == "partition" and self.sizes[source] % tile == 0
            for source, tile in zip(self.type.dim_map, self.type.tile)
        ]

    def vector(
        self,
        coords: Sequence[SSAValue],
        in_bounds: list[bool],
        *,
        has_boundary_tile: bool = False,
        bytes: int = VECTOR_BYTES,
    ) -> int:
        """Elements per access of at most ``bytes``, along the fastest dimension; 1 if memory is not contiguous there.

        ``has_boundary_tile``: the access may end inside a vector, so only alignment counts.
        """
        if not self.order:
            return 1
        fastest = self.order[0]
        source = self.type.dim_map[fastest]
        if self.type.source.strides[source] != 1 or self.type.sparse.data == fastest:
            return 1
        size, per_byte = self.element.bytes, self.element.per_byte
        base = self.analysis(self.memref.operands[0]).divisibility // size
        limit = min(max(bytes // size, 1) * per_byte, self.type.tile[fastest], max(base, 1) * per_byte)
        start = power_of_two(self.type.steps[fastest]) * self.analysis(coords[fastest]).divisibility
        limit = min(
            limit,
            start,
            MAX_DIVISIBILITY if in_bounds[fastest] or has_boundary_tile else max(self.sizes[source], per_byte),
        )
        others = [self.strides[self.type.dim_map[dim]] for dim in range(len(self.type.tile)) if dim != fastest]
        return max(min([limit, *others]), 1)


def multimem_vector(info: ViewAccessInfo, coords: Sequence[SSAValue], in_bounds: list[bool], boundary: bool) -> int:
    """Elements per multimem access of a tile: vectors of f32 and of pairs of 16-bit floats, single ones of other types.

    ``boundary``: as ``has_boundary_tile`` of ``ViewAccessInfo.vector`` (PTX ISA 9.0, section 9.7.9.14, multimem).
    """
    if not info.element.is_float or info.element.bits == 64:
        return 1
    return max(info.vector(coords, in_bounds, has_boundary_tile=boundary), multimem_word(info.element))


def multimem_word(element: Element) -> int:
    """Elements of the narrowest multimem access: 32 bits."""
    return max(32 // element.bits, 1)


def addition_vector(op: TableOp, target: Target) -> int:
    """Elements that one instruction of an atomic update adds at most; 1 for updates that are no additions of floats."""
    rows = VECTOR_ADDITIONS.get(element_of(op.value.type).name, ()) if op.mode == "addf" else ()
    return next((elements for capability, elements in rows if target.has(capability)), 1)


def pointer_vector(op: TableOp, analysis: AxisAnalysis, bytes: int = VECTOR_BYTES) -> tuple[int, int]:
    """(elements per access of at most ``bytes``, fastest dimension) of a load or store through a tile of pointers."""
    if not isinstance(op.value.type, TensorType) or op.mem_semantic != "weak":
        return 1, -1
    return consecutive_elements(op, analysis, bytes)


def consecutive_elements(op: TableOp, analysis: AxisAnalysis, bytes: int) -> tuple[int, int]:
    """(consecutive elements of at most ``bytes`` with one mask, fastest dimension) of a tile of pointers."""
    pointers, element = analysis(op.pointer), element_of(op.value.type)
    masks = analysis(op.mask) if op.mask is not None else None
    best, fastest = 1, len(pointers.contiguity) - 1
    for dim, run in enumerate(pointers.contiguity):
        # Along one dimension: in the others, an access may begin anywhere in a group.
        along = tuple(run if other == dim else 1 for other in range(len(pointers.contiguity)))
        aligned = group_starts(pointers, along, element.bytes) // element.bytes
        limit = min(run, max(aligned, 1), max(bytes // element.bytes, 1))
        if masks is not None:
            limit = min(limit, power_of_two(masks.constancy[dim]))
        if run > 1 and (limit > best or dim == fastest):
            best, fastest = max(limit, 1), dim
    return best, fastest
