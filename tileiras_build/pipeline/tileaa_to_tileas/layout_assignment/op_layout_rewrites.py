"""The layouts that each kind of operation requires of its operands and produces for its results."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, tile_shape, tile_size, unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_counted_loop, is_loop, is_view_like
from ....ir.layouts import LinearLayout, matrix_access
from ....ir.layouts.linear_layout import log2_exact
from ....ir.layouts.shared_access import vector_wavefronts
from ...analysis.access_vectorization import SECTOR_BYTES, ViewAccessInfo
from ...analysis.op_queries import DOT, ELEMENTWISE, FREE, POINTER, SHAPE, element_kind, is_tile, tiles
from ...analysis.scale_lines import FIRST_SCALE
from ...analysis.scan_levels import ScanLevels
from ...analysis.stored_operands import is_stored
from ...analysis.tma_operands import is_tma_operand
from ...analysis.tma_tensor_maps import tensor_box
from ...common.llvm_element_types import element_of
from ...mma.family import Storage, family_of
from . import layout_inference_rules as rules
from .apply_layouts import ConvertLayoutInserter, layout_of, set_layout
from .layout_constraints import has_free_layout, yielded

# A store from the accumulator fragment costs less than a layout conversion if it stays at least this wide.
DIRECT_STORE_BYTES = 8
GATHERED_OPS = 1024  # elements of a print that each thread gathers: above a few hundred they are in local memory


def write(writer: ConvertLayoutInserter, op: Operation) -> None:
    """Set the layouts of an operation's operands and results."""
    if is_loop(op):
        for argument in tiles(op.regions[0].blocks[0].args):
            set_layout(argument, writer.classes.layout(argument))
    if (handler := WRITES.get(op.name)) is not None:
        handler(writer, as_op(op))
    elif (of_kind := TRAIT_WRITES.get(element_kind(op))) is not None:
        of_kind(writer, op)


def _write_elementwise(writer: ConvertLayoutInserter, op: Operation) -> None:
    produced = tiles(op.results)
    involved = produced + tiles(op.operands)
    if not involved:
        return
    reference = produced[0] if produced else next((v for v in involved if not has_free_layout(v)), involved[0])
    layout = writer.classes.layout(reference)
    for index, operand in enumerate(op.operands):
        if is_tile(operand):
            writer.require(op, index, layout)
    for result in produced:
        set_layout(result, layout)


def _write_free(writer: ConvertLayoutInserter, op: Operation) -> None:
    for result in tiles(op.results):
        set_layout(result, writer.classes.layout(result))


def _write_shape(writer: ConvertLayoutInserter, op: Operation) -> None:
    layout = writer.classes.layout(op.results[0])
    writer.require(op, 0, rules.operand_layout(op, op.operands[0], layout), exact=False)
    set_layout(op.results[0], layout)


def _write_tiled_load(writer: ConvertLayoutInserter, op: TableOp) -> None:
    layout = writer.classes.ports[op]
    wanted = writer.classes.layout(op.value)
    if tile_size(op.value) <= 32 * writer.classes.num_warps or _only_scales(op.value):
        layout = wanted  # at most one element per thread, or bytes of few lines: all layouts read equally fast
    elif op.read_by_threads and (_reads_matrices(writer, op, wanted) or _reads_as_fast(writer, op, wanted, layout)):
        layout = wanted
    _require_index(writer, op, layout)
    writer.produce(op.value, layout)


def _reads_matrices(writer: ConvertLayoutInserter, op: TableOp, layout: LinearLayout) -> bool:
    """Whether threads read a tile by ldmatrix from where TMA puts it."""
    if not writer.classes.job.target.has("ldmatrix"):
        return False
    box = tensor_box(op, [], writer.classes.analysis)
    return box is not None and matrix_access(layout, box.placement) is not None


def _reads_as_fast(writer: ConvertLayoutInserter, op: TableOp, layout: LinearLayout, other: LinearLayout) -> bool:
    """Whether threads read a tile from where TMA puts it in a layout, with no more cycles of shared memory than in another one."""
    box = tensor_box(op, [], writer.classes.analysis, for_threads=True)
    if box is None or tuple(box.placement.shape) != tuple(tile_shape(op.value)):
        return False
    found, before = (vector_wavefronts(one, box.placement) for one in (layout, other))
    return found is not None and before is not None and found <= before


def _only_scales(value: SSAValue) -> bool:
    """Whether a tile is used only as block scales, under any element type."""
    for use in value.uses:
        op = use.operation
        if is_view_like(op) and not _only_scales(op.results[0]):
            return False
        if not is_view_like(op) and (op.name != DOT or use.index < FIRST_SCALE):
            return False
    return True


def _require_index(writer: ConvertLayoutInserter, op: TableOp, layout: LinearLayout) -> None:
    """The index tile of a gather has the layout of the tile along the sparse dimension."""
    sparse = op.view.type.sparse.data
    if sparse < 0:
        return
    wanted = layout
    for dim in range(layout.rank - 1, -1, -1):
        if dim != sparse:
            wanted = wanted.drop_dim(dim)
    index = list(op.operands).index(op.coords[sparse])
    writer.require(op, index, wanted.distinct_registers()[0], exact=False)


def _write_tiled_store(writer: ConvertLayoutInserter, op: TableOp) -> None:
    order = ViewAccessInfo(op.view, writer.classes.analysis).order
    small = tile_size(op.value) <= 32 * writer.classes.num_warps
    if element_of(op.value.type).per_byte > 1 or not small and _stores_narrowly(op, order):
        writer.require(op, list(op.operands).index(op.value), writer.classes.ports[op])
    _require_index(writer, op, layout_of(op.value))


def _write_multimem_load(writer: ConvertLayoutInserter, op: TableOp) -> None:
    writer.produce(op.value, writer.classes.ports[op])


def _write_multimem_store(writer: ConvertLayoutInserter, op: TableOp) -> None:
    writer.require(op, list(op.operands).index(op.value), writer.classes.ports[op])


def _stores_narrowly(op: TableOp, order: list[int]) -> bool:
    """Whether storing a tile in its present layout would write partial sectors."""
    held, bytes = layout_of(op.value), element_of(op.value.type).bytes
    width = min(held.contiguous(order), op.vector) * bytes
    sector = width << (held.bits_along(order[0])["lane"].bit_count() if order else 0)
    return width < DIRECT_STORE_BYTES or sector < SECTOR_BYTES or bytes < 4


def _write_dot(writer: ConvertLayoutInserter, op: TableOp) -> None:
    layouts = family_of(op).layouts(op, writer.classes.num_warps)
    if layouts is None:
        layout = writer.classes.layout(op.result)
        writer.require(op, 2, layout)
        set_layout(op.result, layout)
        return
    if layouts.a is not None and _is_lhs_in_registers(op):
        writer.require(op, 0, layouts.a, exact=False)
    if layouts.b is not None:
        writer.require(op, 1, layouts.b, exact=False)
    writer.require(op, 2, layouts.c, exact=layouts.fixed)
    for index, layout in enumerate(layouts.scales, FIRST_SCALE):
        writer.require(op, index, layout, exact=False)
    writer.produce(op.result, layouts.c)


def _is_lhs_in_registers(op: TableOp) -> bool:
    """Whether a dot's left operand passes through registers: its instruction does not read it from where TMA puts it."""
    if Storage.SHARED not in family_of(op).a_storage or op.a_via_registers:
        return True
    return not op.stationary and not is_stored(op, 0) and not is_tma_operand(op, 0)


def _write_reduce(writer: ConvertLayoutInserter, op: TableOp) -> None:
    axis = op.axis
    layout = layout_of(op.sources[0])
    if not layout.is_separable(axis):
        layout = writer.classes.default_layout(op.sources[0])
    for index in range(len(op.sources)):
        writer.require(op, index, layout)
    for result in tiles(op.results):
        writer.produce(result, rules.reduce_result(layout, axis))


def _write_cluster_reduce(writer: ConvertLayoutInserter, op: TableOp) -> None:
    """A thread has the same elements of all shards, of which it sends others to the same thread of other CTAs."""
    layout, shards = layout_of(op.value), tile_size(op.value) // tile_size(op.result)
    shard = rules.shard_layout(layout, op.dim, shards)
    if shard is None:
        shard = layout = writer.classes.default_layout(op.result)
        for _ in range(log2_exact(shards)):
            layout = layout.cat(op.dim)
        writer.require(op, 0, layout)
    writer.produce(op.result, shard)


def _write_scan(writer: ConvertLayoutInserter, op: TableOp) -> None:
    axis = op.axis
    layout = layout_of(op.sources[0])
    if ScanLevels.of(layout, axis) is None:
        layout = rules.scan_layout(tuple(op.sources[0].type.get_shape()), axis, writer.classes.num_warps)
    for index in range(len(op.sources)):
        writer.require(op, index, layout)
    for result in op.results:
        writer.produce(result, layout)


def _write_cat(writer: ConvertLayoutInserter, op: TableOp) -> None:
    dim = op.dim
    part = layout_of(op.lhs).distinct_registers()[0]
    writer.require(op, 0, part)
    writer.require(op, 1, part)
    writer.produce(op.result, part.cat(dim))


def _write_slice(writer: ConvertLayoutInserter, op: TableOp) -> None:
    """Slices go through shared memory, so any layouts are possible if registers and threads share no index bits."""
    for result in tiles(op.results):
        layout = writer.classes.layout(result)
        writer.produce(result, layout if rules.is_additive(layout) else writer.classes.default_layout(result))
    if op.name.endswith("insert_slice"):
        writer.require(op, 0, writer.classes.default_layout(op.operands[0]))
        writer.require(op, 1, layout_of(op.results[0]))


def _write_reinterpret(writer: ConvertLayoutInserter, op: TableOp) -> None:
    ratio = rules.bit_width_ratio(op)
    layout = layout_of(op.source).distinct_registers()[0]
    if ratio < 1:
        wide = rules.wide_source_layout(layout, ratio, writer.classes.layout(op.result))
        writer.require(op, 0, wide)
        layout = wide
    else:
        writer.require(op, 0, layout)
    writer.produce(op.result, unwrap(rules.reinterpreted(layout, ratio)))


def _write_loop(writer: ConvertLayoutInserter, op: TableOp) -> None:
    counted = is_counted_loop(op)
    arguments = op.regions[0].blocks[0].args[1 if counted else 0 :]
    for index, argument in enumerate(arguments):
        if is_tile(argument):
            writer.require(op, index + (3 if counted else 0), writer.classes.layout(argument))
    for result in tiles(op.results):
        set_layout(result, writer.classes.layout(result))


def _write_yield(writer: ConvertLayoutInserter, op: TableOp) -> None:
    for index, (value, target) in enumerate(yielded(op)):
        if is_tile(value):
            writer.require(op, index, writer.classes.layout(target))


def _write_print(writer: ConvertLayoutInserter, op: TableOp) -> None:
    """Every thread holds the whole tile and one prints it. Tiles with too many registers for that keep their layout."""
    shapes: dict[tuple, LinearLayout] = {}
    if sum(tile_size(value) for value in tiles(op.operands)) <= GATHERED_OPS:
        shapes |= {
            shape: LinearLayout.replicated(shape, writer.classes.num_warps)
            for shape in map(tile_shape, tiles(op.operands))
        }
    for index, value in enumerate(op.operands):
        if is_tile(value):
            writer.require(op, index, shapes.setdefault(tile_shape(value), layout_of(value)))


WRITES = {
    "nv_tileas.tiled_load": _write_tiled_load,
    "nv_tileas.tiled_store": _write_tiled_store,
    "nv_tileas.tiled_atomic_rmw": _write_tiled_store,
    "nv_tileas.multimem_load_reduce": _write_multimem_load,
    "nv_tileas.multimem_reduce": _write_multimem_store,
    "nv_tileas.multimem_store": _write_multimem_store,
    "nv_tileas.dot": _write_dot,
    "nv_tileas.reduce": _write_reduce,
    "nv_tileas.cluster_reduce": _write_cluster_reduce,
    "nv_tileas.scan": _write_scan,
    "nv_tileas.cat": _write_cat,
    "nv_tileas.extract_slice": _write_slice,
    "nv_tileas.insert_slice": _write_slice,
    "nv_tileas.reinterpret": _write_reinterpret,
    "nv_tileas.for": _write_loop,
    "nv_tileas.loop": _write_loop,
    "nv_tileas.if": _write_free,
    "nv_tileas.yield": _write_yield,
    "nv_tileas.break": _write_yield,
    "nv_tileas.continue": _write_yield,
    "nv_tileas.print": _write_print,
}


TRAIT_WRITES = {
    ELEMENTWISE: _write_elementwise,
    POINTER: _write_elementwise,
    FREE: _write_free,
    SHAPE: _write_shape,
}
