"""Handlers of all operations with a lowering to LLVM IR, by name: the union of the families' tables."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation

from ....core.errors import InternalError
from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import MMA_FAMILIES
from ...analysis.op_queries import DOT
from ...mma.family import emission_of, family_of
from ...rewriting.dialect_conversion import RuleTable
from ..arith import division_by_reciprocal, elementwise, mixed_precision_add, prefix_scan, reduce
from ..data_movement import cluster_reduce, convert_layout, shape_ops, shared_memory_spills
from ..memory import atomics, global_memory, memref_and_tile_views, multimem
from ..pipelines import compute_barriers, cp_async, tma_copies, warp_partitions_and_mbarriers
from ..program import control_flow, print_and_assert, program_ids
from .kernel_emitter import KernelEmitter

FAMILIES = (
    warp_partitions_and_mbarriers,
    elementwise,
    cp_async,
    atomics,
    reduce,
    prefix_scan,
    control_flow,
    cluster_reduce,
    convert_layout,
    compute_barriers,
    print_and_assert,
    division_by_reciprocal,  # after arithmetic, whose rule it extends
    global_memory,
    mixed_precision_add,  # after arithmetic, too
    shared_memory_spills,
    program_ids,
    shape_ops,
    tma_copies,
    memref_and_tile_views,
    multimem,
)


@cache
def handlers() -> RuleTable:
    """The handlers of all operations. Families of matrix instructions are imported here: their code needs this package's."""
    table = RuleTable(otherwise=_no_handler)
    for module in (*FAMILIES, *map(emission_of, MMA_FAMILIES)):
        table.update(module.HANDLERS)
    table[DOT] = _emit_dot
    return table


def _no_handler(e: KernelEmitter, op: Operation) -> None:
    raise InternalError("emit-no-handler", f"operation {op.name} has no conversion to thread code")


def _emit_dot(e: KernelEmitter, op: TableOp) -> None:
    """A dot that threads compute: each of their families has code for it."""
    emission_of(family_of(op).name).HANDLERS[DOT](e, op)
