"""Choose the instructions by which copies and reductions of memory are made.

In:    local_load, updates and loads of memory, with the layouts and places that they keep.
Out:   ``copy_atom`` on what reads a stage, ``reduce_atom`` on what updates memory, ``cache`` on loads of tiles that one block
       reads alone, or all read. Stores by TMA have theirs, and accesses of global memory what they move at a time (``vector``).
After: store_by_tma: no copy is made any more. Before: thread code, which chooses no instruction of these by itself.
Sound: an atom is one that the target has; all atoms of an operation read and write the same elements. What caches keep changes
       no number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import row
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ATOM, ATOM_LOOP, LD_SHARED, LDMATRIX, LocalLoadOp
from ...ir.dialects.op_definition import TableOperation
from ...target.targets import Target
from ..analysis.access_vectorization import SECTOR_BYTES, ViewFacts
from ..analysis.axis_info import AxisAnalysis
from ..analysis.cache_reuse import Reading, grid_axes, reading_of
from ..analysis.local_load_plans import matrix_reading, plain_reading
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass

# Updates that GPUs without a capability make by swapping the new value in while the old one is still there.
# What L1 is told of a load (PTX ISA 9.0, section 9.7.9.2, cache eviction priorities).
CACHES = {Reading.ONCE: "L1::no_allocate", Reading.BY_ALL: "L1::evict_last"}
SWAPPED = {("addf", "bf16"): "bf16_atomic_add"}


class ChooseAtoms(EdgePass):
    """The instruction of each copy and reduction."""

    name = "tileas-choose-atoms"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            kernel = _Kernel(job.target, grid_axes(func))
            for op in walk(func):
                if (choose := CHOICES.get(op.name)) is not None:
                    choose(row(op), kernel)


@dataclass(frozen=True)
class _Kernel:
    """What all accesses of a kernel share: the target, and the axes of the grid that it asks for."""

    target: Target
    grid: frozenset[int]


def _choose_reading(op: TableOperation, kernel: _Kernel) -> None:
    """Matrices where they take no more cycles of shared memory."""
    matrix = matrix_reading(op) if kernel.target.has("ldmatrix") else None
    is_better = matrix is not None and matrix.wavefronts <= plain_reading(op).wavefronts
    op.copy_atom = LDMATRIX if is_better else LD_SHARED


def _choose_update(op: TableOperation, kernel: _Kernel) -> None:
    capability = SWAPPED.get((op.mode, element_of(op.value.type).name))
    op.reduce_atom = ATOM if capability is None or kernel.target.has(capability) else ATOM_LOOP


def _choose_cache(op: TableOperation, kernel: _Kernel) -> None:
    """What passes through takes no place in L1, where each access fills the sectors that it touches."""
    if (
        op.mem_semantic == "weak"
        and (reading := reading_of(op, kernel.grid)) in CACHES
        and (reading is Reading.BY_ALL or _fills_sectors(op))
    ):
        op.cache = CACHES[reading]


def _fills_sectors(op: TableOperation) -> bool:
    held, element = layout_of(op.value), element_of(op.value.type)
    order = ViewFacts(op.view, AxisAnalysis()).order
    if not order or op.vector is None or element.per_byte > 1:
        return False
    together = min(held.contiguous(order), op.vector) << held.bits_along(order[0])["lane"].bit_count()
    return together * element.bytes >= SECTOR_BYTES


CHOICES: dict[str, Callable[[TableOperation, _Kernel], None]] = {
    LocalLoadOp.name: _choose_reading,
    "nv_tileas.tiled_load": _choose_cache,
    "nv_tileas.atomic_rmw": _choose_update,
    "nv_tileas.tiled_atomic_rmw": _choose_update,
}
