"""Handlers of all operations with a lowering to LLVM IR, by name: the union of the families' tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType

from xdsl.ir import Operation

from ....core.errors import InternalError
from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import MMA_FAMILIES
from ...analysis.op_queries import DOT
from ...mma.family import emission_of, family_of
from ...rewriting.dialect_conversion import Rule, RuleTable
from .kernel_emitter import KernelEmitter


def _of_every_kernel() -> Iterable[ModuleType]:
    from ..arith import division_by_reciprocal, elementwise, mixed_precision_add
    from ..memory import global_memory, memref_and_tile_views
    from ..program import control_flow, program_ids

    # The last two extend rules of elementwise operations.
    return (
        global_memory,
        memref_and_tile_views,
        control_flow,
        program_ids,
        elementwise,
        division_by_reciprocal,
        mixed_precision_add,
    )


def _of_tiles() -> Iterable[ModuleType]:
    from ..arith import prefix_scan, reduce
    from ..data_movement import convert_layout, shape_ops

    return shape_ops, convert_layout, reduce, prefix_scan


def _of_asynchronous_copies() -> Iterable[ModuleType]:
    from ..pipelines import compute_barriers, cp_async, tma_copies, warp_partitions_and_mbarriers

    return compute_barriers, cp_async, tma_copies, warp_partitions_and_mbarriers


def _of_few_kernels() -> Iterable[ModuleType]:
    from ..data_movement import cluster_reduce, shared_memory_spills
    from ..memory import atomics, multimem
    from ..program import print_and_assert

    return atomics, print_and_assert, cluster_reduce, shared_memory_spills, multimem


def _of_matrix_instructions() -> Iterable[ModuleType]:
    return map(emission_of, MMA_FAMILIES)


FAMILIES: tuple[Callable[[], Iterable[ModuleType]], ...] = (
    _of_every_kernel,
    _of_tiles,
    _of_asynchronous_copies,
    _of_matrix_instructions,
    _of_few_kernels,
)
"""Groups of modules with ``HANDLERS``. Each is imported for the first operation that no group before it has."""


class _Handlers(RuleTable):
    """The handlers of the groups that are imported. A group is added at once, since its later modules replace rules, and other threads
    may compile.
    """

    def __init__(self) -> None:
        super().__init__({DOT: _emit_dot}, otherwise=_no_handler)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self[name] is not self.otherwise

    def __missing__(self, name: str) -> Rule:
        for group in FAMILIES:
            self.update({op: rule for module in group() for op, rule in module.HANDLERS.items() if op != DOT})
            if (rule := self.get(name)) is not None:
                return rule
        return self.otherwise


@cache
def handlers() -> RuleTable:
    """The handlers of all operations."""
    return _Handlers()


def import_all() -> None:
    """Import all groups, for processes that are forked later."""
    for group in FAMILIES:
        list(group())


def _no_handler(e: KernelEmitter, op: Operation) -> None:
    raise InternalError("emit-no-handler", f"operation {op.name} has no conversion to thread code")


def _emit_dot(e: KernelEmitter, op: TableOp) -> None:
    """A dot that threads compute: each of their families has code for it."""
    emission_of(family_of(op).name).HANDLERS[DOT](e, op)
