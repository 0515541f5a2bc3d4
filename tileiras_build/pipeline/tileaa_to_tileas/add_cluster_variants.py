"""Add the cluster variant of a kernel: one more kernel, for launches whose grid its clusters divide.

In:    nv_tileas without layouts; kernels whose signature allows variants, and that have no schedule file.
Out:   before each kernel of which clusters of neighbouring tile programs take less time (``schedule/candidates.py``), a copy
       that requests ``grid_cluster``. Its name ends in SUFFIX, and its signature names the kernel whose variant it is. A
       kernel that has an aligned variant gets none, but that variant does.
After: request_schedule, pack_fp4 (operands of dots are final). Before: plan_cta_cluster, cluster_grid, which make the cluster.
Sound: the manifest records the cluster (``grid.cluster``). A launcher takes the copy only for grids whose extent along axis 0
       is a multiple of it, and the kernel for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ...frontend.argument_names_in_producer import note_of
from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.kernel_parameters import SIGNATURE, signature_of, variant_of
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.candidates import NEIGHBOURS, Candidates
from ..schedule.schedule_attribute import schedule_of, set_knobs

SUFFIX = f"__cluster{NEIGHBOURS}"


class AddClusterVariants(EdgePass):
    """Kernels for grids that clusters divide."""

    name = "tileas-add-cluster-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.schedule or not job.target.has("tma_multicast"):
            return
        for func in list(most_specific(module)):
            found = Candidates.of(func, job)
            if found is not None and found.best_neighbours() is not None:
                _add_variant(func)


def most_specific(module: ModuleOp) -> Iterator[TableOp]:
    """The kernels that may have variants, but none so far except for some grids."""
    kernels = [op for op in module.body.block.ops if is_function(op) and not schedule_of(op).grid_cluster]
    general = set(map(variant_of, kernels))
    for func in kernels:
        signature = signature_of(func)
        if signature is not None and signature.variants and as_op(func).sym_name not in general:
            yield as_op(func)


def variant_of_kernel(func: TableOp, suffix: str, most_programs: int | None = None) -> TableOp:
    """A copy of a kernel whose signature names the kernel, or the one that this is a variant of. ``most_programs``: ``Parameters``."""
    copy, signature = as_op(func.clone()), unwrap(signature_of(func))
    copy.sym_name = func.sym_name + suffix
    general, most = signature.variant_of or func.sym_name, most_programs or signature.most_programs
    copy.attributes[SIGNATURE] = StringAttr(note_of(replace(signature, variant_of=general, most_programs=most)))
    return copy


def _add_variant(func: TableOp) -> None:
    copy = variant_of_kernel(func, SUFFIX)
    set_knobs(copy, grid_cluster=NEIGHBOURS)
    parent_block(func).insert_op_before(copy, func)
