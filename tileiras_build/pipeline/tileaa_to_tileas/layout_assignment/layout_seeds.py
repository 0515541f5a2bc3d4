"""Which layouts operations ask for, how strongly, and how a layout passes through them."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import row, tile_type
from ....ir.dialects.op_definition import TableOperation
from ....ir.layouts import LinearLayout, split_warps
from ....target.targets import MmaAtom
from ...analysis.access_vectorization import ViewFacts, pointer_vector
from ...analysis.kernel_target import kernel_target
from ...analysis.mma_atom_selection import choose_atom, layout_atom, padded_shape, product_shape, tiling_for
from ...analysis.op_queries import is_tile
from . import layout_inference as rules
from .equivalence_classes import LayoutClasses, tile_size
from .layout_constraints import is_free

# How strongly anchors ask, per element: a product's accumulators are used every iteration, memory once.
DOT_WEIGHT, MEMORY_WEIGHT, SCAN_WEIGHT = 1000, 10, 5
# What a product that reads shared memory is marked with -> the layouts of its left operand and its accumulators.
FETCHED_PRODUCTS = {"warpgroup": rules.warpgroup_layouts, "tensor_memory": rules.tensor_memory_layouts}


def anchor(classes: LayoutClasses, op: Operation) -> None:
    """Have an operation vote for the layouts of its tiles, and link those that follow from each other."""
    if (asks := ANCHORS.get(op.name)) is not None:
        asks(classes, row(op))


def _anchor_tiled(classes: LayoutClasses, op: TableOperation) -> None:
    """A load or store of a view: as wide as alignment and bounds allow, lanes along the fastest dimension."""
    facts = ViewFacts(op.view, classes.analysis)
    in_bounds = facts.in_bounds()
    vector = facts.vector(op.coords, in_bounds, bytes=classes.access_bytes)
    if op.mem_semantic != "weak" or op.name.endswith("rmw"):
        vector = 1
    elif (aligned := facts.vector(op.coords, in_bounds, ragged=True)) > vector and facts.type.kind.data != "gather":
        op.ragged = True
        vector = aligned
    op.vector = vector
    op.in_bounds = in_bounds
    layout = classes.memory_layout(op.value, facts.order, vector)
    _vote_for_memory(classes, op.value, layout)
    classes.ports[op] = layout


def _anchor_pointer(classes: LayoutClasses, op: TableOperation) -> None:
    if not is_tile(op.value):
        return
    vector, fastest = pointer_vector(op, classes.analysis, classes.access_bytes)
    op.vector = vector
    order = _row_major(op.value)
    if fastest >= 0:
        # Other accesses, and products, have a say in how threads hold the tile: the code of a thread asks which way to go.
        op.fastest = None if fastest == order[0] else fastest
        order = [fastest] + [dim for dim in order if dim != fastest]
    _vote_for_memory(classes, op.value, classes.memory_layout(op.value, order, vector))


def _anchor_atomic(classes: LayoutClasses, op: TableOperation) -> None:
    if is_tile(op.value):
        _vote_for_memory(classes, op.value, classes.memory_layout(op.value, _row_major(op.value), 1))


def _row_major(value: SSAValue) -> list[int]:
    return list(range(len(tile_type(value).get_shape()) - 1, -1, -1))


def _vote_for_memory(classes: LayoutClasses, value: SSAValue, layout: LinearLayout) -> None:
    classes.vote(value, layout, MEMORY_WEIGHT * tile_size(value))


def _anchor_dot(classes: LayoutClasses, op: TableOperation) -> None:
    """The accumulator's fragment; operands are converted, unless a fused multiply-add reads them from shared memory."""
    classes.union([op.acc, op.result] if not is_free(op.acc) else [op.result])
    classes.vote(op.result, _accumulator_layout(classes, op), DOT_WEIGHT * tile_size(op.result))
    if op.warpgroup is None and (op.tensor_memory is not None or op.atom is not None):
        _vote_for_scales(classes, op)


def _accumulator_layout(classes: LayoutClasses, op: TableOperation) -> LinearLayout:
    for mark, layouts in FETCHED_PRODUCTS.items():
        if mark in op.attributes:
            return layouts(op, classes.num_warps)[1]
    atom = choose_atom(kernel_target(op, classes.job), op)
    return classes.default_layout(op.result) if atom is None else _fragment(classes, op, atom)


def _fragment(classes: LayoutClasses, op: TableOperation, atom: MmaAtom) -> LinearLayout:
    """The accumulators of the chosen instruction, whose name and division among warps the product notes."""
    batch, m, n, k = product_shape(op)
    rows, columns, _ = padded_shape(m, n, k, atom)
    warps = split_warps(classes.num_warps, rows, columns, layout_atom(atom), batch or 1)
    if _feeds_product(classes, op):
        warps = (classes.num_warps // warps[2], 1, warps[2])
    op.atom = atom.name
    op.warps = warps
    return rules.restricted(tiling_for(op, atom, warps).c, tuple(op.result.type.get_shape()))


def _vote_for_scales(classes: LayoutClasses, op: TableOperation) -> None:
    if op.lhs_scale is None:
        return
    layouts = rules.scale_layouts(op, classes.job.target, classes.num_warps)
    for scale, layout in zip((op.lhs_scale, op.rhs_scale), layouts):
        classes.vote(scale, layout, DOT_WEIGHT * tile_size(scale))


def _feeds_product(classes: LayoutClasses, op: TableOperation) -> bool:
    """Whether one product's result becomes another's left operand: then warps divide rows only, and it need not move."""
    dots = [row(other) for other in classes.ops if other.name == "nv_tileas.dot"]
    if len(dots) < 2:
        return False
    results = {classes.find(dot.result) for dot in dots}
    return any(classes.find(dot.lhs) in results for dot in dots)


def _anchor_scan(classes: LayoutClasses, op: TableOperation) -> None:
    axis = op.axis
    shape = tuple(op.sources[0].type.get_shape())
    classes.vote(
        op.sources[0], rules.scan_layout(shape, axis, classes.num_warps), SCAN_WEIGHT * tile_size(op.sources[0])
    )


def _anchor_view(classes: LayoutClasses, op: TableOperation) -> None:
    shapes = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    classes.link(op.source, op.result, lambda layout: layout.reshape(shapes[1]))
    classes.link(op.result, op.source, lambda layout: layout.reshape(shapes[0]))


def _anchor_permute(classes: LayoutClasses, op: TableOperation) -> None:
    permutation = list(op.permutation)
    inverse = [permutation.index(dim) for dim in range(len(permutation))]
    classes.link(op.source, op.result, lambda layout: layout.permute_dims(permutation))
    classes.link(op.result, op.source, lambda layout: layout.permute_dims(inverse))


def _anchor_broadcast(classes: LayoutClasses, op: TableOperation) -> None:
    source, target = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    classes.link(op.source, op.result, lambda layout: rules.broadcast_result(layout, target))
    classes.link(op.result, op.source, lambda layout: rules.broadcast_source(layout, source))


def _anchor_reduce(classes: LayoutClasses, op: TableOperation) -> None:
    axis = op.axis
    classes.union(list(op.sources))
    if not is_tile(op.results[0]):
        return
    classes.union(list(op.results))
    classes.link(op.sources[0], op.results[0], lambda layout: rules.reduce_result(layout, axis))


def _anchor_cat(classes: LayoutClasses, op: TableOperation) -> None:
    dim = op.dim
    classes.link(op.lhs, op.result, lambda layout: layout.cat(dim))


def _anchor_reinterpret(classes: LayoutClasses, op: TableOperation) -> None:
    narrow = rules.narrow_ratio(op)
    classes.link(op.source, op.result, lambda layout: rules.reinterpreted(layout, narrow))


ANCHORS = {
    "nv_tileas.tiled_load": _anchor_tiled,
    "nv_tileas.tiled_store": _anchor_tiled,
    "nv_tileas.tiled_atomic_rmw": _anchor_tiled,
    "nv_tileas.load": _anchor_pointer,
    "nv_tileas.store": _anchor_pointer,
    "nv_tileas.atomic_rmw": _anchor_atomic,
    "nv_tileas.atomic_cas": _anchor_atomic,
    "nv_tileas.dot": _anchor_dot,
    "nv_tileas.scan": _anchor_scan,
    "nv_tileas.view": _anchor_view,
    "nv_tileas.permute": _anchor_permute,
    "nv_tileas.broadcast": _anchor_broadcast,
    "nv_tileas.reduce": _anchor_reduce,
    "nv_tileas.cat": _anchor_cat,
    "nv_tileas.reinterpret": _anchor_reinterpret,
}
