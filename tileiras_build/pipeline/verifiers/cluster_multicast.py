"""Verify that the CTAs of a cluster fill each other's shared memory in step, and that their slices form the whole tile.

Values that depend on the rank of a CTA are propagated forward from ``get_cta_rank`` through a kernel, including loops
and branches. For each multicast load:

- its pipeline waits for the warps of all CTAs that fill its stages, which are all of the kernel's;
- its coordinates, and the trip counts of all operations on its pipeline, do not depend on the rank;
- the boxes of the CTAs cover each element of the tile once, and copy each element to its place in the stage (PTX ISA
9.0,
  section 5.5.7, "Swizzling modes").

For each pipeline whose stages two CTAs share (``pair``):

- the kernel has pairs of CTAs; its only dot and the tensor memory are those of a pair, and its accumulator's pipeline
includes
  both CTAs;
- a stage expects the bytes that the loads of one CTA copy, and each load loads the CTA's part: the rank, or the rank in the
  pair for the right operand, is added to exactly one coordinate of its tile;
- the trip counts of all operations on either pipeline do not depend on the rank;
- an accumulator is overwritten only after the warps of both CTAs have released it.

A violation raises ``InternalError`` with id ``cluster-verifier`` that names the load or pipeline.
"""

from __future__ import annotations

from itertools import product

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...core.errors import InternalError
from ...ir.casting import as_op, cast, defining_op, int_array_attr, int_attr, parent_op, str_attr
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, traits_of
from ...ir.layouts import SharedLayout
from ...ir.layouts.tmem_layout import PAIR
from .control_flow_paths import BRANCH, BREAK, CONTINUE, LOOPS, kernels_of

RANK, LOAD, YIELD = "nv_tileas.get_cta_rank", "nv_tileas.async.tiled_tma_load", "nv_tileas.yield"
PIPELINE, MEMORY = "nv_tileas.async.pipeline.create", "nv_tileas.create_tmem"
# Swizzling mode -> number of address bits that are XORed with those from bit 7 on, and the first of them.
SWIZZLES = {"128B": (3, 4), "64B": (2, 4), "32B": (1, 4), "none": (0, 4), "128B_ATOM_32B": (2, 5)}


def verify_cluster_multicast(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return the number of multicast loads and shared pipelines."""
    count = 0
    for kernel in kernels_of(module):
        loads = [as_op(op) for op in kernel.walk() if op.name == LOAD and "multicast" in op.attributes]
        pairs = [as_op(op) for op in kernel.walk() if op.name == PIPELINE and "pair" in op.attributes]
        count += len(loads) + len(pairs)
        differing = _rank_dependent_values(kernel) if loads or pairs else set()
        for load in loads:
            _check_load(kernel, load, differing)
        for pair in pairs:
            _check_pair(kernel, pair, differing)
    return count


def _fail(op: Operation, message: str) -> None:
    raise InternalError("cluster-verifier", f"{op.name} for several CTAs: {message}", remedy="report this as a bug")


# ---- rank-dependent values ---------------------------------------------------------------------------------
def _rank_dependent_values(kernel: Operation) -> set[SSAValue]:
    """The values that may differ between the CTAs of a cluster."""
    found: set[SSAValue] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for op in kernel.walk():
            _propagate(op, found)
    return found


def _propagate(op: Operation, found: set[SSAValue]) -> None:
    if op.name == RANK or (not op.regions and any(operand in found for operand in op.operands)):
        found.update(op.results)
    if op.name in (CONTINUE, BREAK, YIELD):
        around = _terminator_successor(op)
        for index, operand in enumerate(op.operands):
            if operand in found:
                _mark_rank_dependent(around, index, found)
    first = 3 if op.name == LOOPS[0] else 0
    if op.name in LOOPS:
        for index, operand in enumerate(op.operands[first:]):
            if operand in found:
                _mark_rank_dependent(op, index, found)
    if op.name in LOOPS and any(operand in found for operand in op.operands[:first]):
        found.update((*op.results, *op.regions[0].blocks[0].args))
    if op.name == BRANCH and op.operands[0] in found:
        found.update(op.results)


def _terminator_successor(op: Operation) -> Operation:
    """The operation to whose results, or next iteration, a terminator's operands flow."""
    around = parent_op(op)
    while op.name != YIELD and around.name not in LOOPS:
        around = parent_op(around)
    return around


def _mark_rank_dependent(op: Operation, index: int, found: set[SSAValue]) -> None:
    if index < len(op.results):
        found.add(op.results[index])
    if op.name in LOOPS:
        args = op.regions[0].blocks[0].args
        position = index + (op.name == LOOPS[0])
        if position < len(args):
            found.add(args[position])


# ---- multicast loads -------------------------------------------------------------------------------------------
def _check_load(kernel: Operation, load: TableOp, differing: set[SSAValue]) -> None:
    ctas = int_attr(kernel, "num_ctas", 1)
    waits_for = load.pipeline.owner.attributes.get("ctas")
    if ctas < 2 or waits_for is None or waits_for.value.data != ctas:
        _fail(load, f"a stage that {ctas} CTAs fill is waited for by {waits_for.value.data if waits_for else 1}")
    if any(value in differing for value in (load.view, *load.coords)):
        _fail(load, "its tile is not the same in every CTA")
    _check_stage_phases(kernel, load.pipeline, differing)
    _check_multicast_slices(load, ctas)


def _check_stage_phases(kernel: Operation, pipeline: SSAValue, differing: set[SSAValue]) -> None:
    for op in kernel.walk():
        if pipeline in op.operands and _differs_around(op, kernel, differing):
            _fail(defining_op(pipeline), f"{op.name} does not execute equally often in every CTA")


def _differs_around(op: Operation, kernel: Operation, differing: set[SSAValue]) -> bool:
    around = parent_op(op)
    while around is not kernel:
        deciding = (
            around.operands[:3] if around.name == LOOPS[0] else around.operands[:1] if around.name == BRANCH else ()
        )
        if any(value in differing for value in deciding):
            return True
        around = parent_op(around)
    return False


# ---- slices ----------------------------------------------------------------------------------------------------
def _check_multicast_slices(load: TableOp, ctas: int) -> None:
    """Copy the tile element by element, as the CTAs do."""
    placement, view = load.buffer.type.placement.data, load.view.type
    places: dict[tuple[int, ...], int] = {}
    for coordinates, place in _copied_elements(load, ctas):
        if coordinates in places:
            _fail(load, f"element {coordinates} is loaded twice")
        places[coordinates] = place
    for coordinates in product(*map(range, view.tile)):
        index = 0
        for extent, coordinate in zip(view.tile, coordinates):
            index = index * extent + coordinate
        if places.get(coordinates) != placement.offset(index):
            _fail(load, f"element {coordinates} is at {places.get(coordinates)}, not at {placement.offset(index)}")


def _copied_elements(load: TableOp, ctas: int):
    """(coordinates in the tile, element offset in the stage) of all elements that the CTAs load."""
    descriptor, view, placement = load.desc.owner, load.view.type, load.buffer.type.placement.data
    order = [view.dim_map.index(dim) for dim in descriptor.attributes["dims"].get_values()]
    box, shared = int_array_attr(descriptor, "box"), int_attr(load, "multicast")
    for rank in range(ctas):
        ranges = []
        for dim, step in zip(order, box):
            part = view.tile[dim] // ctas if dim == shared else view.tile[dim]
            first = rank * part if dim == shared else 0
            ranges.append(range(first, first + part, step))
        for corner in product(*ranges):
            yield from _box(dict(zip(order, corner)), dict(zip(order, box)), view.tile, placement, descriptor)


def _box(
    corner: dict[int, int], box: dict[int, int], tile: tuple[int, ...], placement: SharedLayout, descriptor: Operation
):
    """The elements of a box from its start, fastest dimension first, with TMA's swizzle of their addresses."""
    index = 0
    for dim, extent in enumerate(tile):
        index = index * extent + corner[dim]
    start, (bits, first) = placement.offset(index), SWIZZLES[str_attr(descriptor, "swizzle_mode")]
    slowest_first = list(box)[::-1]
    for number, inside in enumerate(product(*(range(box[dim]) for dim in slowest_first))):
        address = (start + number) * placement.element_bits // 8
        address ^= (address >> 7 & (1 << bits) - 1) << first
        coordinates = {dim: corner[dim] + step for dim, step in zip(slowest_first, inside)}
        yield tuple(coordinates[dim] for dim in range(len(tile))), address * 8 // placement.element_bits


# ---- pairs -----------------------------------------------------------------------------------------------------
def _check_pair(kernel: Operation, pipeline: TableOp, differing: set[SSAValue]) -> None:
    multiplies, commits, acquires = (
        [as_op(op) for op in kernel.walk() if role in traits_of(op).mma]
        for role in (MmaRole.ISSUE, MmaRole.COMMIT, MmaRole.ACQUIRE)
    )
    memory = [op for op in kernel.walk() if op.name == MEMORY]
    alike = all("pair" in op.attributes for op in multiplies + memory)
    if (ctas := int_attr(kernel, "num_ctas", 1)) % PAIR or (len(multiplies), len(commits), alike) != (1, 1, True):
        _fail(pipeline, "not one dot of two CTAs in tensor memory of both")
    loads = [as_op(op) for op in kernel.walk() if op.name == LOAD and as_op(op).pipeline is pipeline.results[0]]
    loaded_bytes = sum(load.buffer.type.placement.data.size_bytes for load in loads)
    if loaded_bytes != int_attr(pipeline, "bytes"):
        _fail(pipeline, f"a stage of {loaded_bytes} bytes expects {int_attr(pipeline, 'bytes')}")
    for load in loads:
        in_pair = ctas > PAIR and load.buffer is multiplies[0].rhs
        if sorted(_rank_factor(coord, in_pair) for coord in load.coords) != [*[0] * (len(load.coords) - 1), 1]:
            _fail(load, "its tile is not this CTA's part")
    [commit] = commits
    if (awaited := commit.ready.owner.attributes.get("ctas")) is None or awaited.value.data != PAIR:
        _fail(commit, "the accumulator is complete in one CTA only")
    if parent_op(commit).name in LOOPS and not any(op.pipeline is commit.ready for op in acquires):
        _fail(commit, "accumulators are overwritten before both CTAs have read them")
    for turning in (pipeline.results[0], commit.ready):
        _check_stage_phases(kernel, turning, differing)


def _rank_factor(value: SSAValue, in_pair: bool) -> int:
    """The factor of the CTA's rank in an integer, or of its rank in a pair."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return 0
    if owner.name == RANK:
        return int(not in_pair)
    if owner.name == "arith.andi" and in_pair:
        return _rank_factor(owner.operands[0], in_pair=False) * int(_constant_of(owner.operands[1]) == PAIR - 1)
    if owner.name == "arith.addi":
        return sum(_rank_factor(operand, in_pair) for operand in owner.operands)
    if owner.name == "arith.muli":
        (first, second), (a, b) = owner.operands, (_constant_of(operand) for operand in owner.operands)
        return _rank_factor(first, in_pair) * b if b is not None else _rank_factor(second, in_pair) * (a or 0)
    return 0


def _constant_of(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "arith.constant":
        return None
    return cast(IntegerAttr, owner.properties["value"]).value.data
