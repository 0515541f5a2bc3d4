"""Layouts that operations prefer (seeds), the weight of each preference, and its propagation."""

from __future__ import annotations

from math import inf

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, parent_op, tile_size, tile_type, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_counted_loop
from ....ir.layouts import LinearLayout
from ....target.sm_limits import WARP
from ...analysis.access_vectorization import (
    VECTOR_BYTES,
    ViewAccessInfo,
    addition_vector,
    consecutive_elements,
    multimem_vector,
    multimem_word,
    pointer_vector,
)
from ...analysis.accumulator_slices import column_slice_layout, column_slices
from ...analysis.kernel_target import kernel_target
from ...analysis.op_queries import DOT, TILED_LOAD, is_tile
from ...analysis.scale_lines import FIRST_SCALE
from ...analysis.stored_operands import (
    MATRIX_BITS,
    is_computed_from_loads,
    is_computed_from_reduction,
    is_stored,
    source_loads,
)
from ...analysis.transposed_loads import transposing_layout
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of, family_with_fragments, fastest_family
from . import layout_inference_rules as rules
from .equivalence_classes import LayoutClasses
from .layout_constraints import has_free_layout
from .separate_addresses import is_gathered

# Vote weights of anchors, per element: a dot's accumulators are used in every iteration, memory once. A gathered operand has
# its addresses in its layout, which narrow accesses would repeat in every iteration; it passes on less, as accumulators would be converted in
# every iteration.
DOT_WEIGHT, MEMORY_WEIGHT, SCAN_WEIGHT, GATHER_WEIGHT = 1000, 10, 5, 4000
ATOMIC_WEIGHT, MIN_WEIGHT = 4 * MEMORY_WEIGHT, 1
# Of a gathered tile of one element per thread at most, as scales are, the elements that a thread may hold beside dots: each takes four
# registers for its address and offset, and as many instructions per iteration. A conversion of the tile takes fewer of both.
MOST_GATHERED = 8


def seed(classes: LayoutClasses, op: Operation) -> None:
    """Add an operation's votes for the layouts of its tiles, and link layouts that follow from each other."""
    if (asks := SEEDS.get(op.name)) is not None:
        asks(classes, as_op(op))


def _seed_tiled(classes: LayoutClasses, op: TableOp) -> None:
    """A load or store of a view: vectors as wide as alignment and bounds allow, lanes along the fastest dimension."""
    facts = ViewAccessInfo(op.view, classes.analysis)
    in_bounds, updates = facts.in_bounds(), op.name.endswith("rmw")
    most = addition_vector(op, classes.job.target) * facts.element.bytes if updates else classes.access_bytes
    vector = facts.vector(op.coords, in_bounds, bytes=most)
    boundary = facts.vector(op.coords, in_bounds, has_boundary_tile=True, bytes=min(most, VECTOR_BYTES))
    if op.mem_semantic != "weak" and not updates:
        vector = 1
    elif boundary > vector and facts.type.kind.data != "gather":
        op.has_boundary_tile = True
        vector = boundary
    op.vector = vector
    op.in_bounds = in_bounds
    narrowest = _narrowest_addition(op, vector) if updates else 1
    layout = classes.memory_layout(op.value, facts.order, vector, at_least=narrowest)
    if op.name == TILED_LOAD and op.transposed:
        layout = unwrap(transposing_layout(op, classes.num_warps))
    weight = ATOMIC_WEIGHT if narrowest > 1 else MIN_WEIGHT if _reads_alike(classes, op) else MEMORY_WEIGHT
    classes.prefer(op.value, layout, weight * tile_size(op.value))
    classes.ports[op] = layout


def _reads_alike(classes: LayoutClasses, op: TableOp) -> bool:
    """Whether a load beside dots is of one element per thread at most, as scales are: it takes as long in any layout, while a
    conversion would let all threads wait in each iteration.
    """
    return classes.multiplies and op.name == TILED_LOAD and tile_size(op.value) <= WARP * classes.num_warps


def _seed_multimem(classes: LayoutClasses, op: TableOp) -> None:
    """An access of all copies of a view: vectors where PTX has them, otherwise as a load or store of the view."""
    info = ViewAccessInfo(op.view, classes.analysis)
    in_bounds = info.in_bounds()
    vector = multimem_vector(info, op.coords, in_bounds, False)
    if (aligned := multimem_vector(info, op.coords, in_bounds, True)) > vector:
        op.has_boundary_tile = True
        vector = aligned
    op.vector, op.in_bounds = vector, in_bounds
    layout = classes.memory_layout(op.value, info.order, vector, at_least=multimem_word(info.element))
    _prefer_memory_layout(classes, op.value, layout)
    classes.ports[op] = layout


def _seed_pointer(classes: LayoutClasses, op: TableOp) -> None:
    if not is_tile(op.value):
        return
    vector, fastest = pointer_vector(op, classes.analysis, classes.access_bytes)
    op.vector = vector
    layout = classes.memory_layout(op.value, _pointer_order(op, fastest), vector)
    size = tile_size(op.value)
    if is_gathered(op):
        classes.prefer(op.value, layout, GATHER_WEIGHT * size, most_passed_on=DOT_WEIGHT * size)
    else:
        classes.prefer(op.value, layout, MEMORY_WEIGHT * size)
        if classes.multiplies and is_counted_loop(parent_op(op)) and size <= WARP * classes.num_warps:
            classes.limit(op.value, MOST_GATHERED)


def _pointer_order(op: TableOp, fastest: int) -> list[int]:
    """The dimensions of a tile of pointers; ``fastest`` with consecutive addresses, if there is one, first.

    Other accesses and dots also vote on the layout; the lowering of the access chooses the order.
    """
    order = _row_major(op.value)
    if fastest < 0:
        return order
    op.fastest = None if fastest == order[0] else fastest
    return [fastest] + [dim for dim in order if dim != fastest]


def _seed_atomic(classes: LayoutClasses, op: TableOp) -> None:
    if not is_tile(op.value):
        return
    vector, order = 1, _row_major(op.value)
    if op.name.endswith("rmw") and not op.results[0].uses and (most := addition_vector(op, classes.job.target)) > 1:
        bytes = most * element_of(op.value.type).bytes
        vector, fastest = consecutive_elements(op, classes.analysis, bytes)
        op.vector, order = vector, _pointer_order(op, fastest)
    layout = classes.memory_layout(op.value, order, vector, at_least=_narrowest_addition(op, vector))
    classes.prefer(op.value, layout, ATOMIC_WEIGHT * tile_size(op.value))


def _narrowest_addition(op: TableOp, vector: int) -> int:
    """Elements that a thread has at least: pairs of 16-bit floats, as ptxas makes a loop for a single one."""
    return min(vector, max(32 // element_of(op.value.type).bits, 1))


def _row_major(value: SSAValue) -> list[int]:
    return list(range(len(tile_type(value).get_shape()) - 1, -1, -1))


def _prefer_memory_layout(classes: LayoutClasses, value: SSAValue, layout: LinearLayout) -> None:
    classes.prefer(value, layout, MEMORY_WEIGHT * tile_size(value))


def _seed_dot(classes: LayoutClasses, op: TableOp) -> None:
    """Vote for the accumulator fragment. Operands are converted, unless an FMA dot reads them from shared memory."""
    classes.union([op.acc, op.result] if not has_free_layout(op.acc) else [op.result])
    if op.mma is None:
        target = kernel_target(op, classes.job)
        family = family_with_fragments(op, target)
        family.divide(op, target, classes.num_warps, rows_only=_feeds_dot(classes, op))
    layouts = family_of(op).layouts(op, classes.num_warps)
    accumulator = classes.default_layout(op.result) if layouts is None else layouts.c
    classes.prefer(op.result, accumulator, DOT_WEIGHT * tile_size(op.result))
    if layouts is not None and layouts.a is not None and _is_lhs_from_stages(op):
        classes.prefer(op.lhs, layouts.a, DOT_WEIGHT * tile_size(op.lhs))
    for index, layout in enumerate(layouts.scales if layouts else (), FIRST_SCALE):
        # What follows from a reduction is computed in its layout, of which a thread has less, and converted at last, in bytes.
        if not is_computed_from_reduction(op, index):
            classes.prefer(op.operands[index], layout, DOT_WEIGHT * tile_size(op.operands[index]))


def _is_lhs_from_stages(op: TableOp) -> bool:
    """Whether an instruction reads a left operand from registers that threads compute from tiles in stages alone, read as matrices."""
    loads = source_loads(op, 0) if not is_stored(op, 0) and is_computed_from_loads(op, 0) else []
    return (
        bool(op.staged)
        or bool(loads)
        and all(load.read_by_threads and element_of(load.value.type).bits == MATRIX_BITS for load in loads)
    )


def _feeds_dot(classes: LayoutClasses, op: TableOp) -> bool:
    """Whether a dot's result becomes the left operand of another.

    Warps then split rows only, which avoids a conversion.
    """
    dots = [as_op(other) for other in classes.ops if other.name == DOT]
    if len(dots) < 2:
        return False
    results = {classes.find(dot.result) for dot in dots}
    return any(classes.find(dot.lhs) in results for dot in dots)


def _seed_scan(classes: LayoutClasses, op: TableOp) -> None:
    axis = op.axis
    shape = tuple(op.sources[0].type.get_shape())
    classes.prefer(
        op.sources[0], rules.scan_layout(shape, axis, classes.num_warps), SCAN_WEIGHT * tile_size(op.sources[0])
    )


def _seed_view(classes: LayoutClasses, op: TableOp) -> None:
    shapes = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    classes.propagate_to(op.source, op.result, lambda layout: layout.reshape(shapes[1]))
    classes.propagate_to(op.result, op.source, lambda layout: layout.reshape(shapes[0]))


def _seed_permute(classes: LayoutClasses, op: TableOp) -> None:
    permutation = list(op.permutation)
    inverse = [permutation.index(dim) for dim in range(len(permutation))]
    classes.propagate_to(op.source, op.result, lambda layout: layout.permute_dims(permutation))
    classes.propagate_to(op.result, op.source, lambda layout: layout.permute_dims(inverse))


def _seed_broadcast(classes: LayoutClasses, op: TableOp) -> None:
    """The smaller tile counts for what its conversion would cost. Integers, of which addresses are made, have the layout of the access."""
    source, target = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    most = MEMORY_WEIGHT * tile_size(op.source) if element_of(op.source.type).is_float else inf
    classes.propagate_to(op.source, op.result, lambda layout: rules.broadcast_result(layout, target), most)
    classes.propagate_to(op.result, op.source, lambda layout: rules.broadcast_source(layout, source))


def _seed_reduce(classes: LayoutClasses, op: TableOp) -> None:
    axis = op.axis
    classes.union(list(op.sources))
    if not is_tile(op.results[0]):
        return
    classes.union(list(op.results))
    classes.propagate_to(op.sources[0], op.results[0], lambda layout: rules.reduce_result(layout, axis))


def _seed_cluster_reduce(classes: LayoutClasses, op: TableOp) -> None:
    dim, shards = op.dim, tile_size(op.value) // tile_size(op.result)
    classes.propagate_to(op.value, op.result, lambda layout: rules.shard_layout(layout, dim, shards))


def _seed_cat(classes: LayoutClasses, op: TableOp) -> None:
    dim = op.dim
    classes.propagate_to(op.lhs, op.result, lambda layout: layout.cat(dim))


def _seed_reinterpret(classes: LayoutClasses, op: TableOp) -> None:
    narrow = rules.bit_width_ratio(op)
    classes.propagate_to(op.source, op.result, lambda layout: rules.reinterpreted(layout, narrow))


def _seed_extract_slice(classes: LayoutClasses, op: TableOp) -> None:
    """A slice of the columns of accumulators in tensor memory is read from there."""
    if fastest_family(classes.job.target).accumulator is Storage.TENSOR and column_slices(op.source):
        classes.propagate_to(op.source, op.result, lambda layout: column_slice_layout(op, layout, classes.num_warps))


SEEDS = {
    "nv_tileas.tiled_load": _seed_tiled,
    "nv_tileas.tiled_store": _seed_tiled,
    "nv_tileas.tiled_atomic_rmw": _seed_tiled,
    "nv_tileas.multimem_load_reduce": _seed_multimem,
    "nv_tileas.multimem_reduce": _seed_multimem,
    "nv_tileas.multimem_store": _seed_multimem,
    "nv_tileas.load": _seed_pointer,
    "nv_tileas.store": _seed_pointer,
    "nv_tileas.atomic_rmw": _seed_atomic,
    "nv_tileas.atomic_cas": _seed_atomic,
    "nv_tileas.dot": _seed_dot,
    "nv_tileas.scan": _seed_scan,
    "nv_tileas.view": _seed_view,
    "nv_tileas.permute": _seed_permute,
    "nv_tileas.broadcast": _seed_broadcast,
    "nv_tileas.reduce": _seed_reduce,
    "nv_tileas.cluster_reduce": _seed_cluster_reduce,
    "nv_tileas.cat": _seed_cat,
    "nv_tileas.extract_slice": _seed_extract_slice,
    "nv_tileas.reinterpret": _seed_reinterpret,
}
