"""Choose the instructions by which copies and reductions of memory are made.

In:    local_load and updates of memory, with the layouts and places that they keep.
Out:   ``copy_atom`` on what reads a stage, ``reduce_atom`` on what updates memory. Stores by TMA have theirs, and accesses
       of global memory what they move at a time (``vector``).
After: store_by_tma: no copy is made any more. Before: thread code, which chooses no instruction of these by itself.
Sound: an atom is one that the target has; all atoms of an operation read and write the same elements.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ...dialects.definition import TableOperation
from ...dialects.ir import walk
from ...dialects.nv_tileas.ops import ATOM, ATOM_LOOP, LD_SHARED, LDMATRIX, LocalLoadOp
from ...targets import Target
from ..analysis.stage_readings import matrix_reading, plain_reading
from ..contracts import EdgePass
from ..job import Job
from ..shared.accessors import row
from ..shared.element_types import element_of

# Updates that GPUs without a capability make by swapping the new value in while the old one is still there.
SWAPPED = {("addf", "bf16"): "bf16_atomic_add"}


class ChooseAtoms(EdgePass):
    """The instruction of each copy and reduction."""

    name = "tileas-choose-atoms"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if (choose := CHOICES.get(op.name)) is not None:
                choose(row(op), job.target)


def _choose_reading(op: TableOperation, target: Target) -> None:
    """Matrices where they take no more cycles of shared memory."""
    matrix = matrix_reading(op) if target.has("ldmatrix") else None
    is_better = matrix is not None and matrix.wavefronts <= plain_reading(op).wavefronts
    op.copy_atom = LDMATRIX if is_better else LD_SHARED


def _choose_update(op: TableOperation, target: Target) -> None:
    capability = SWAPPED.get((op.mode, element_of(op.value.type).name))
    op.reduce_atom = ATOM if capability is None or target.has(capability) else ATOM_LOOP


CHOICES: dict[str, Callable[[TableOperation, Target], None]] = {
    LocalLoadOp.name: _choose_reading,
    "nv_tileas.atomic_rmw": _choose_update,
    "nv_tileas.tiled_atomic_rmw": _choose_update,
}
