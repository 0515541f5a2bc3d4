"""Infer the layouts of an operation's results from its operands, and the reverse."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, tile_type, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import LayoutTrait, traits_of
from ....ir.layouts import LinearLayout
from ....ir.layouts.linear_layout import dim_bases, log2_exact
from ...common.llvm_element_types import element_of, value_bits

LANE_BITS = 5


def operand_layout(op: Operation, operand: SSAValue, result: LinearLayout) -> LinearLayout:
    """The layout an operand must have (up to renamed and repeated registers) for the result to have ``result``."""
    if traits_of(op).layouts is LayoutTrait.ELEMENTWISE:
        return result
    source = tuple(tile_type(operand).get_shape())
    if op.name == "nv_tileas.view":
        return result.reshape(source).distinct_registers()[0]
    if op.name == "nv_tileas.broadcast":
        return broadcast_source(result, source)
    permutation = as_op(op).permutation
    return result.permute_dims([permutation.index(dim) for dim in range(len(permutation))])


def broadcast_source(layout: LinearLayout, source: tuple[int, ...]) -> LinearLayout:
    """The result's layout with the repeated dimensions removed."""
    for dim, size in enumerate(source):
        if size == 1:
            layout = layout.project(dim)
    return layout.distinct_registers()[0]


def broadcast_result(layout: LinearLayout, target: tuple[int, ...]) -> LinearLayout:
    """New coordinates are assigned to lanes and warps that hold replicas, lowest first, then to registers."""
    for dim, size in enumerate(target):
        if layout.shape[dim] != size:
            layout = layout.resize(dim, size)
            layout = _replicated(layout, dim_bases(layout.shape)[dim])
    return layout


def _replicated(layout: LinearLayout, units: list[int]) -> LinearLayout:
    remaining = list(units)
    lanes = tuple(image or (remaining.pop(0) if remaining else 0) for image in layout.lanes)
    warps = tuple(image or (remaining.pop(0) if remaining else 0) for image in layout.warps)
    return LinearLayout(layout.registers + tuple(remaining), lanes, warps, layout.shape)


def reduce_result(layout: LinearLayout, axis: int) -> LinearLayout:
    """Remove the axis, and the registers that would be replicas."""
    return layout.drop_dim(axis).distinct_registers()[0]


def shard_layout(layout: LinearLayout, dim: int, shards: int) -> LinearLayout | None:
    """The layout of each of the equal shards of a tile along a dimension; None where other than whole registers tell them apart."""
    units = dim_bases(layout.shape)[dim][-log2_exact(shards) :]
    mixed = [image for image in layout.registers if image & sum(units) and image not in units]
    part = layout.slice_registers(dim, 0, layout.shape[dim] // shards)
    return None if mixed or part is None else part[0]


def scan_layout(shape: tuple[int, ...], axis: int, num_warps: int) -> LinearLayout:
    """Neighbors along the axis in a thread, then in lanes; warps along the other dimensions, or behind the lanes where these are too small."""
    units = dim_bases(shape)
    along = list(units[axis])
    others = [unit for dim in range(len(shape) - 1, -1, -1) if dim != axis for unit in units[dim]]
    lanes = min(LANE_BITS, len(along))
    idle, others = others[: LANE_BITS - lanes], others[LANE_BITS - lanes :]
    warps, others = others[: num_warps.bit_length() - 1], others[num_warps.bit_length() - 1 :]
    behind = min(num_warps.bit_length() - 1 - len(warps), len(along) - lanes)
    thread = len(along) - lanes - behind
    return LinearLayout(
        (*along[:thread], *others),
        _padded([*along[thread : thread + lanes], *idle], LANE_BITS),
        _padded([*warps, *along[thread + lanes :]], num_warps.bit_length() - 1),
        shape,
    )


def _padded(bases: list[int], bits: int) -> tuple[int, ...]:
    """``bases`` and bits that replicate."""
    return (*bases, *[0] * (bits - len(bases)))


def is_additive(layout: LinearLayout) -> bool:
    """Whether no bit of the tile's index depends on both threads and registers."""
    threads = registers = 0
    for image in (*layout.lanes, *layout.warps):
        threads |= image
    for image in layout.registers:
        registers |= image
    return not threads & registers


def bit_width_ratio(op: TableOp) -> float:
    """Result elements per source element of a reinterpretation."""
    return value_bits(element_of(op.source.type)) / value_bits(element_of(op.result.type))


def has_neighbors(layout: LinearLayout, shift: int) -> bool:
    """Whether the lowest registers are 2**shift consecutive elements, on which no other bit depends."""
    low = (1 << shift) - 1
    others = (*layout.registers[shift:], *layout.lanes, *layout.warps)
    return layout.registers[:shift] == tuple(1 << bit for bit in range(shift)) and not any(i & low for i in others)


def reinterpreted(layout: LinearLayout, ratio: float) -> LinearLayout | None:
    """The layout after a reinterpretation between widths; None where the parts of one element are not in one thread."""
    if ratio >= 1:
        shift = int(ratio).bit_length() - 1
        size = layout.size << shift
        parts = tuple(1 << bit for bit in range(shift))
        registers = parts + tuple(image << shift for image in layout.registers)
        lanes = tuple(image << shift for image in layout.lanes)
        return LinearLayout(registers, lanes, tuple(image << shift for image in layout.warps), (size,))
    shift = int(1 / ratio).bit_length() - 1
    if not has_neighbors(layout, shift):
        return None
    registers = tuple(image >> shift for image in layout.registers[shift:])
    lanes = tuple(image >> shift for image in layout.lanes)
    return LinearLayout(registers, lanes, tuple(image >> shift for image in layout.warps), (layout.size >> shift,))


def wide_source_layout(layout: LinearLayout, ratio: float, result: LinearLayout) -> LinearLayout:
    """A layout of the narrow elements whose lowest registers are the parts of one wide element."""
    return unwrap(reinterpreted(result.distinct_registers()[0], 1 / ratio))
