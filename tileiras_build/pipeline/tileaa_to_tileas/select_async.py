"""Choose the tiles that TMA fetches, and the products that warpgroups make of them.

In:    nv_tileas products in counted loops, without layouts.
Out:   ``tma`` on the tiled_loads whose tiles TMA will bring to shared memory ahead of time, ``swizzle`` where they must
       lie there in another way than others; ``warpgroup`` (a wgmma row of the target) or ``tensor_memory`` (a tcgen05
       row) on the products that read them there; ``scattered_rows`` on a warpgroup product whose left operand comes from
       there through registers; ``partial_sums`` on one whose tensor core keeps too few bits of a long sum: the columns of
       a sum of part of k, and how many of them a thread holds at a time.
After: legalize_dot (operand types are the target's). Before: assign_layouts (a warpgroup's accumulators have their own
       layout), specialize_warps (which builds the pipelines).
Sound: a load may run ahead of the program if its place follows from scalars alone, among them elements of memory that
       no token orders after anything either, and no token orders it after a write or an acquire; nothing around it but
       counted loops that run to their end decides whether it happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i32
from xdsl.ir import Operation

from ...layouts import matrix_operand, tensor_memory_tile, unpack, warpgroup_tiling
from ...layouts.matrix_descriptor import WIDE
from ...layouts.tensor_memory import ALL_COLUMNS, COLUMN_BITS, MOST_COLUMNS
from ...layouts.tensor_memory import ROWS as LANES
from ...layouts.warpgroup import ROWS, SCATTERED_SWIZZLES, WARPS, WarpgroupTiling
from ...targets import ELEMENT_BITS, TensorMemoryAtom, WarpgroupAtom
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_atoms import PARTIAL, choose_atom, scale_columns, scaled_tensor_atom
from ..analysis.operand_chains import (
    GRID_DEPENDENCY,
    ORDERED,
    ScalarSlice,
    loops_around,
    placement_after,
    runs_free,
    source_load,
)
from ..analysis.shared_rings import ring_keys
from ..analysis.tensor_maps import TensorBox, tensor_box, wide_box
from ..contracts import EdgePass
from ..job import Job
from ..shared.element_types import element_of
from ..shared.optimization_hints import hint
from .choose_warps import choose_warps, sums_fit

# Fewer warps than this leave nothing to set one aside for.
LEAST_WARPS = 4
# Bytes beside two stages: mbarriers, and what aligning a ring may cost.
LEAST_STAGES, SMALL_BYTES = 2, 1024
LEAST_COLUMNS = 32  # of a partial sum: fewer leave the tensor core waiting for its operands
MOST_STAGES = 6  # more hide no more latency
TRANSPOSED_BITS = (16, 32)
COLUMN_UNIT = {128: 16, 64: 8}  # rows of a tcgen05 product -> what its columns are a multiple of
_Found = tuple[Any, list[Operation], TensorBox]


class SelectAsync(EdgePass):
    """TMA loads and warpgroup products."""

    name = "tileas-select-async"

    def run(self, module: ModuleOp, job: Job) -> None:
        if not job.target.has("tma"):
            return
        for func in module.body.block.ops:
            if func.name == "nv_tileaa.func" and (warps := choose_warps(func, job)) >= LEAST_WARPS:
                _select(func, job, warps)


def _select(func: Operation, job: Job, warps: int) -> None:
    if not may_fetch(func):
        return
    analysis = AxisAnalysis()
    for op in func.walk():
        if op.name == "nv_tileas.dot" and may_run_ahead(op):
            _select_product(op, job, warps, analysis)


def may_fetch(func: Operation) -> bool:
    """Whether tokens say all of what loads come after: not what may be read before the grid that a kernel depends on."""
    return not any(op.name == GRID_DEPENDENCY for op in func.walk())


def may_run_ahead(op: Operation) -> bool:
    """In a loop that writes nothing and whose trips, like those of the loops around it, scalars alone decide."""
    loops = loops_around(op)
    if not loops or any(inner.name in ORDERED for inner in loops[-1].walk()):
        return False
    slice = ScalarSlice()
    return all(slice.add_loop(loop) for loop in loops)


def _select_product(op: Any, job: Job, warps: int, analysis: AxisAnalysis) -> None:
    boxes = {index: found for index in (0, 1) if (found := fetched(op, index, job, analysis)) is not None}
    bytes = sum(box.tile_bytes for _, _, box in boxes.values())
    if 1 not in boxes or LEAST_STAGES * bytes + SMALL_BYTES > job.target.max_shared_memory:
        return
    atoms = {name: atom for name, choose in FAMILIES.items() if (atom := choose(op, job, warps, boxes)) is not None}
    applied_first = op.lhs_scale is not None and choose_atom(job.target, op) is None
    if not atoms and (
        applied_first or not all(_suits_fragments(op, index, found, job) for index, found in boxes.items())
    ):
        return
    for load, _, box in boxes.values():
        load.attributes["tma"] = UnitAttr()
        if box.swizzle == WIDE:
            load.attributes["swizzle"] = StringAttr(WIDE)
    for name, atom in atoms.items():
        op.attributes[name] = StringAttr(atom.name)


def _suits_fragments(op: Any, index: int, found: _Found, job: Job) -> bool:
    """Whether warps read their fragments of an operand well from TMA's placement.

    ldmatrix does, if the memory's fastest dimension is k or elements have the 16 bits that it transposes. Other
    transposed elements are read one by one: those of 32 bits in two wavefronts, for smaller ones PipelineLoads chooses a
    placement.
    """
    _, chain, box = found
    shape = op.lhs.type.get_shape()
    if box.placement.element_bits in TRANSPOSED_BITS or choose_atom(job.target, op) is None:
        return True
    placement = placement_after(chain, box.placement, renames_only=False)
    k_dim = len(shape) - 1 - index
    return unpack(placement.bases[0], placement.shape)[k_dim] != 0


def fetched(op: Any, index: int, job: Job, analysis: AxisAnalysis) -> _Found | None:
    """The load, the chain and the box of an operand that TMA can fetch."""
    found = source_load(op, index)
    if found is None:
        return None
    load, chain = found
    slice = ScalarSlice()
    if not all(slice.add(coord) and coord.type == i32 for coord in load.coords) or not runs_free(load.token):
        return None
    if hint(load, job, "allow_tma") == 0:
        return None
    box = tensor_box(load, chain, analysis)
    return None if box is None else (load, chain, box)


def _warpgroup_atom(op: Any, job: Job, warps: int, boxes: dict[int, Any]) -> WarpgroupAtom | None:
    """The wgmma row for a product whose operands lie as the row wants them."""
    atom = warpgroup_row(op, job)
    if atom is None:
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    tiling = warpgroup_tiling(m, n, k, ELEMENT_BITS[atom.a_type], warps)
    if tiling is None:
        return None
    words = m * n * element_of(op.result.type).bits // 32
    if not sums_fit(words, _kernel_of(op), job, warps):
        return None
    in_shared = _readable(op, boxes, atom)
    if not in_shared and not _readable_through_registers(boxes, atom):
        return None
    marks = {} if in_shared else {"scattered_rows": UnitAttr()}
    if atom.partial_k:
        words += 0 if in_shared and 0 in boxes else tiling.groups_n * m * k * tiling.element_bits // 32
        partial = _partial_sums(tiling, atom.partial_k, words, _kernel_of(op), job)
        if partial is None:
            return None
        marks[PARTIAL] = DenseArrayBase.from_list(i32, partial)
    op.attributes.update(marks)
    return atom


def _partial_sums(
    tiling: WarpgroupTiling, partial_k: int, words: int, kernel: Operation, job: Job
) -> tuple[int, int] | None:
    """(columns, number) of the partial sums for which threads have registers beside so many other ``words`` of the product.

    Wide ones first, which read the left operand less often; then two, of which one is added while the other is under way.
    """
    warps = WARPS * tiling.groups_m * tiling.groups_n
    columns = tiling.columns
    while columns >= min(LEAST_COLUMNS, tiling.columns):
        parts = tiling.m_tiles * (tiling.group_n // columns) * -(-tiling.k // partial_k)
        for number in (2, 1):
            if number <= parts and sums_fit(words + number * ROWS * columns * warps // WARPS, kernel, job, warps):
                return columns, number
        columns //= 2
    return None


def warpgroup_row(op: Any, job: Job) -> WarpgroupAtom | None:
    """The wgmma row for the types of a product of matrices."""
    if op.lhs_scale is not None or len(op.lhs.type.get_shape()) != 2:
        return None
    return job.target.warpgroup_atom(*_types(op))


def _readable_through_registers(boxes: dict[int, Any], atom: WarpgroupAtom) -> bool:
    """Whether the instruction reads the right operand, and threads the left one without bank conflicts."""
    bits = ELEMENT_BITS[atom.a_type]
    return 0 in boxes and is_canonical(boxes[1], 0, atom) and is_scattered(boxes[0], 1, bits)


def is_scattered(found: _Found, k_dim: int, bits: int) -> bool:
    """Whether an operand lies with its rows in swizzled lines, as ``WarpgroupTiling`` spreads scattered rows over lanes."""
    _, chain, box = found
    placement = placement_after(chain, box.placement)
    operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
    return operand is not None and not operand.k_major and operand.swizzle in SCATTERED_SWIZZLES.get(bits, ())


def _tensor_memory_atom(op: Any, job: Job, warps: int, boxes: dict[int, Any]) -> TensorMemoryAtom | None:
    """The tcgen05 row for such a product whose accumulators, and left operand unless it is fetched, fit in tensor memory."""
    scaled = op.lhs_scale is not None
    atom = scaled_tensor_atom(job.target, op) if scaled else job.target.tensor_memory_atom(*_types(op))
    if atom is None or len(op.lhs.type.get_shape()) != 2 or not _readable(op, boxes, atom):
        return None
    (m, k), n = op.lhs.type.get_shape(), op.rhs.type.get_shape()[1]
    bits = ELEMENT_BITS[atom.a_type]
    unit = COLUMN_UNIT.get(min(m, LANES))
    if unit is None or n % unit or k < atom.k or scaled and (0 not in boxes or m < LANES or n > MOST_COLUMNS):
        return None
    tiles = [tensor_memory_tile(m, n, COLUMN_BITS, warps)]
    tiles += [] if 0 in boxes else [tensor_memory_tile(m, k, bits, warps)]
    stages = min(MOST_STAGES, job.target.max_shared_memory // sum(box.tile_bytes for _, _, box in boxes.values()))
    scales = [stages * columns.words for columns in scale_columns(op, warps)] if scaled else []
    if None in tiles:
        return None
    words = sum(tile.total_words for tile in tiles) + sum(scales)
    if words + _taken_by_others(op, atom, boxes) > ALL_COLUMNS:
        return None
    op.attributes["tensor_words"] = IntegerAttr(words, i32)
    return atom


def _kernel_of(op: Operation) -> Operation:
    while op.name != "nv_tileaa.func":
        op = op.parent_op()
    return op


def _taken_by_others(op: Any, atom: TensorMemoryAtom, boxes: dict[int, Any]) -> int:
    """Columns of the kernel's products that have tensor memory already; those that this one shares do not count."""
    others = [other for other in _kernel_of(op).walk() if "tensor_words" in other.attributes]
    op.attributes["tensor_memory"] = StringAttr(atom.name)
    *keys, own = ring_keys([*((other, _fetched_indices(other)) for other in others), (op, boxes)])
    del op.attributes["tensor_memory"]
    words = {key: other.attributes["tensor_words"].value.data for key, other in zip(keys, others) if key != own}
    return sum(words.values())


def _fetched_indices(op: Any) -> list[int]:
    return [index for index in (0, 1) if _is_marked(op, index)]


def _types(op: Any) -> list[str]:
    return [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]


def _readable(op: Any, boxes: dict[int, Any], atom: Any) -> bool:
    """Whether what is fetched lies as the instruction reads it, and a left operand that is not is computed, not loaded.

    ``boxes`` become those in which it does.
    """
    if 0 not in boxes and source_load(op, 0) is not None:
        return False
    found = {index: _canonical(boxes[index], 1 - index, atom) for index in boxes}
    if None in found.values():
        return False
    boxes.update(found)
    return True


def _canonical(found: _Found, k_dim: int, atom: Any) -> _Found | None:
    load, chain, box = found
    for one in (box, wide_box(load, box)):
        placement = None if one is None else placement_after(chain, one.placement)
        operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
        if operand is not None and (operand.k_major or operand.swizzle in atom.mn_major):
            return load, chain, one
    return None


def is_canonical(found: _Found, k_dim: int, atom: Any) -> bool:
    """Whether an instruction can read an operand where TMA puts it."""
    return _canonical(found, k_dim, atom) is not None


# What a product is marked with -> who chooses its row; a target has one family at most.
FAMILIES = {"warpgroup": _warpgroup_atom, "tensor_memory": _tensor_memory_atom}


def products(func: Operation) -> Iterator[Any]:
    """The products that read what TMA fetches, in program order."""
    for op in func.walk():
        if op.name == "nv_tileas.dot" and any(_is_marked(op, index) for index in (0, 1)):
            yield op


def _is_marked(op: Any, index: int) -> bool:
    found = source_load(op, index)
    return found is not None and "tma" in found[0].attributes
