"""Select the instructions of copies and reductions, and cache hints.

In:    local_load, atomic updates and loads from memory, with their final layouts and placements.
Out:   ``copy_atom`` on reads of a stage, ``reduce_atom`` on atomic updates, ``cache`` on loads of tiles that one CTA
       reads alone, or all CTAs read. TMA stores already have an atom, and accesses of global memory a ``vector``.
After: use_tma_stores: no later pass adds copies. Before: the lowering to LLVM IR, which makes none of these choices.
Sound: each atom is available on the target; all atoms of an operation access the same elements. Cache hints do not
       change results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import LocalLoadOp, LocalStoreOp
from ...ir.dialects.nv_tileas.scheduling_attributes import ATOM, ATOM_LOOP, LD_SHARED, LDMATRIX, ST_SHARED, STMATRIX
from ...ir.dialects.op_definition import TableOp
from ...target.targets import Target
from ..analysis.access_vectorization import SECTOR_BYTES, ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.cache_reuse import Reuse, grid_axes, load_reuse
from ..analysis.op_queries import is_own
from ..analysis.smem_load_plans import ldmatrix_plan, stmatrix_plan, vector_load_plan, vector_store_plan
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass

# Atomic updates that GPUs without a capability emulate by a compare-and-swap loop.
# The L1 eviction priority of a load (PTX ISA 9.0, section 9.7.9.2, cache eviction priorities).
CACHES = {Reuse.NONE: "L1::no_allocate", Reuse.ALL_CTAS: "L1::evict_last"}
CAS_LOOP_MODES = {("addf", "bf16"): "bf16_atomic_add"}


class SelectMemoryAtoms(EdgePass):
    """The instruction of each copy and reduction."""

    name = "tileas-select-memory-atoms"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            kernel = _Kernel(job.target, grid_axes(func))
            for op in walk(func):
                if (choose := SELECTORS.get(op.name)) is not None:
                    choose(as_op(op), kernel)


@dataclass(frozen=True)
class _Kernel:
    """Properties that all accesses of a kernel share: the target, and the grid axes in use."""

    target: Target
    grid: frozenset[int]


def _select_local_load(op: TableOp, kernel: _Kernel) -> None:
    """ldmatrix where it takes no more shared-memory cycles; its lanes read rows for each other, which have not waited for their own copies."""
    has_matrices = kernel.target.has("ldmatrix") and not is_own(op.buffer)
    matrix = ldmatrix_plan(op) if has_matrices else None
    is_better = matrix is not None and matrix.wavefronts <= vector_load_plan(op).wavefronts
    op.copy_atom = LDMATRIX if is_better else LD_SHARED


def _select_local_store(op: TableOp, kernel: _Kernel) -> None:
    """stmatrix where it takes no more shared-memory cycles."""
    has_matrices = kernel.target.has("stmatrix") and element_of(op.value.type).bits == 16
    matrix = stmatrix_plan(op) if has_matrices else None
    is_better = matrix is not None and matrix.wavefronts <= vector_store_plan(op).wavefronts
    op.copy_atom = STMATRIX if is_better else ST_SHARED


def _select_reduce_atom(op: TableOp, kernel: _Kernel) -> None:
    capability = CAS_LOOP_MODES.get((op.mode, element_of(op.value.type).name))
    op.reduce_atom = ATOM if capability is None or kernel.target.has(capability) else ATOM_LOOP


def _select_cache_hint(op: TableOp, kernel: _Kernel) -> None:
    """Do not allocate data that is read once in L1, if each access covers whole sectors."""
    if (
        op.mem_semantic == "weak"
        and (reading := load_reuse(op, kernel.grid)) in CACHES
        and (reading is Reuse.ALL_CTAS or _fills_l2_sectors(op))
    ):
        op.cache = CACHES[reading]


def _fills_l2_sectors(op: TableOp) -> bool:
    held, element = layout_of(op.value), element_of(op.value.type)
    order = ViewAccessInfo(op.view, AxisAnalysis()).order
    if not order or op.vector is None or element.per_byte > 1:
        return False
    together = min(held.contiguous(order), op.vector) << held.bits_along(order[0])["lane"].bit_count()
    return together * element.bytes >= SECTOR_BYTES


SELECTORS: dict[str, Callable[[TableOp, _Kernel], None]] = {
    LocalLoadOp.name: _select_local_load,
    LocalStoreOp.name: _select_local_store,
    "nv_tileas.tiled_load": _select_cache_hint,
    "nv_tileas.atomic_rmw": _select_reduce_atom,
    "nv_tileas.tiled_atomic_rmw": _select_reduce_atom,
}
