"""Choose the tiles that TMA fetches, and the products that warpgroups make of them.

In:    nv_tileas products in counted loops, without layouts.
Out:   ``tma`` on the tiled_loads whose tiles TMA will bring to shared memory ahead of time; ``warpgroup`` (a wgmma row of
       the target) on the products that read them there.
After: legalize_dot (operand types are the target's). Before: assign_layouts (a warpgroup's accumulators have their own
       layout), specialize_warps (which builds the pipelines).
Sound: a load may run ahead of the program if its place follows from scalars alone and no token orders it after a
       write; nothing around it but counted loops that run to their end decides whether it happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Operation

from ...layouts import matrix_operand, warpgroup_tiling
from ...targets import ELEMENT_BITS, WarpgroupAtom
from ..analysis.axis_info import AxisAnalysis
from ..analysis.operand_chains import (
    ORDERED,
    ScalarSlice,
    follows_no_write,
    loops_around,
    placement_after,
    source_load,
)
from ..analysis.tensor_maps import TensorBox, tensor_box
from ..contracts import EdgePass
from ..job import Job
from .choose_warps import choose_warps

# Fewer warps than this leave nothing to set one aside for.
LEAST_WARPS = 4
# Bytes beside two stages: mbarriers, and what aligning a ring may cost.
LEAST_STAGES, SMALL_BYTES = 2, 1024


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
    analysis = AxisAnalysis()
    for op in func.walk():
        if op.name == "nv_tileas.dot" and _may_run_ahead(op):
            _select_product(op, job, warps, analysis)


def _may_run_ahead(op: Operation) -> bool:
    """In a loop that writes nothing and whose trips, like those of the loops around it, scalars alone decide."""
    loops = loops_around(op)
    if not loops or any(inner.name in ORDERED for inner in loops[-1].walk()):
        return False
    slice = ScalarSlice()
    return all(slice.add_loop(loop) for loop in loops)


def _select_product(op: Any, job: Job, warps: int, analysis: AxisAnalysis) -> None:
    boxes = {index: found for index in (0, 1) if (found := _fetched(op, index, analysis)) is not None}
    bytes = sum(box.tile_bytes for _, _, box in boxes.values())
    if 1 not in boxes or LEAST_STAGES * bytes + SMALL_BYTES > job.target.max_shared_memory:
        return
    atom = _warpgroup_atom(op, job, warps, boxes)
    if atom is None and job.target.has("wgmma"):
        return
    for load, _, _ in boxes.values():
        load.attributes["tma"] = UnitAttr()
    if atom is not None:
        op.attributes["warpgroup"] = StringAttr(atom.name)


def _fetched(op: Any, index: int, analysis: AxisAnalysis) -> tuple[Any, list[Operation], TensorBox] | None:
    """The load, the chain and the box of an operand that TMA can fetch."""
    found = source_load(op, index)
    if found is None:
        return None
    load, chain = found
    slice = ScalarSlice()
    if not all(slice.add(coord) for coord in load.coords) or not follows_no_write(load.token):
        return None
    box = tensor_box(load, analysis)
    return None if box is None else (load, chain, box)


def _warpgroup_atom(op: Any, job: Job, warps: int, boxes: dict[int, Any]) -> WarpgroupAtom | None:
    """The wgmma row for a product whose right operand, and left one if it is fetched too, lie as the row wants them."""
    left, right = op.lhs.type, op.rhs.type
    if len(left.get_shape()) != 2:
        return None
    types = [str(value.type.element_type) for value in (op.lhs, op.rhs, op.result)]
    atom = job.target.warpgroup_atom(*types)
    (m, k), n = left.get_shape(), right.get_shape()[1]
    if atom is None or warpgroup_tiling(m, n, k, ELEMENT_BITS[atom.a_type], warps) is None:
        return None
    if not _readable(boxes[1], 0, atom) or (0 in boxes and not _readable(boxes[0], 1, atom)):
        return None
    if 0 not in boxes and source_load(op, 0) is not None:
        return None
    return atom


def _readable(found: tuple[Any, list[Operation], TensorBox], k_dim: int, atom: WarpgroupAtom) -> bool:
    _, chain, box = found
    placement = placement_after(chain, box.placement)
    operand = matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
    return operand is not None and (operand.k_major or atom.transposable)


def products(func: Operation) -> Iterator[Any]:
    """The products that read what TMA fetches, in program order."""
    for op in func.walk():
        if op.name == "nv_tileas.dot" and any(_is_marked(op, index) for index in (0, 1)):
            yield op


def _is_marked(op: Any, index: int) -> bool:
    found = source_load(op, index)
    return found is not None and "tma" in found[0].attributes
