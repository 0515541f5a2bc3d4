"""Mark loads of memory that the kernel does not write, so that ptxas may execute them ahead of stores.

In:    loads of kernels without dots, with their final layouts and cache hints.
Out:   ``read_only`` on weak loads behind a store, or in a loop with one, which become ``ld.global.nc``. One for the next iteration alone is
       not marked: ptxas would execute it behind the barriers of this one.
After: spill_to_shared: no later pass adds accesses, and lazy loads, whose place is chosen, are known. Before: the lowering
       to LLVM IR.
Sound: no token orders such a load after a write, an acquire or another grid, nor a write after it, and the kernel writes
       nothing through the same parameter. A weak access may be assumed to meet no concurrent one, be it of the same tile
       block (CUDA Tile IR, Memory Model, section Scopes): so its bytes do not change while the kernel runs, which
       ``ld.global.nc`` requires.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from ...ir.casting import as_op, int_attr, parent_block
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    MemoryEffect,
    is_async_mma,
    is_combiner_region,
    is_continue,
    is_mma,
    is_store,
    traits_of,
    waits_for_grid,
)
from ...target.sm_limits import WARP
from ..analysis.enclosing_control_flow import enclosing_loops
from ..analysis.memory_semantics import semantic_of
from ..analysis.op_queries import LOADS, is_tile
from ..analysis.peak_registers import peak_of_block
from ..analysis.pointer_origins import PointerOrigins
from ..analysis.resource_model import live_registers_fit
from ..analysis.scalar_slice import is_unordered_token, writes_after
from ..common.llvm_element_types import element_of
from ..job import Job
from ..pass_manager import EdgePass

UNROLLED = 4  # iterations: ptxas unrolls a short loop of unknown length so often
MOST_BESIDE_REDUCTION = 2  # registers of a thread for what it loads in a block that waits for reductions


class MarkReadOnlyLoads(EdgePass):
    """Loads that may run ahead of stores."""

    name = "tileas-mark-read-only-loads"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if any(is_mma(op) or is_async_mma(op) or waits_for_grid(op) for op in walk(func)):
            return
        loads = [load for load in _loads_behind_stores(func) if _is_unordered(load)]
        loads = _of_read_only_parameters(func, loads) if loads else []
        for load in loads:
            together = [other for other in loads if other.parent is load.parent]
            if _registers_allow(together, int_attr(func, "num_warps"), job):
                load.read_only = True


def _loads_behind_stores(func: TableOp) -> Iterator[TableOp]:
    """The loads that follow a store in the program, or of which a loop executes one after a store."""
    ops = list(walk(func))
    stores = [op for op in ops if is_store(op)]
    loops = {loop for store in stores for loop in enclosing_loops(store)}
    first = ops.index(stores[0]) if stores else len(ops)
    for position, op in enumerate(ops):
        if op.name in LOADS and (position > first or not loops.isdisjoint(enclosing_loops(op))):
            yield as_op(op)


def _is_unordered(load: TableOp) -> bool:
    """Whether threads execute a load at any time: no token relates it to a write, and no pass chose its place."""
    if semantic_of(load) != "weak" or not {"tma", "lazy", "read_by_threads"}.isdisjoint(load.attributes):
        return False
    if _is_for_next_iteration(load):
        return False
    return is_unordered_token(load.token) and not writes_after(load.result_token)


def _is_for_next_iteration(load: TableOp) -> bool:
    uses = list(load.value.uses)
    return bool(uses) and all(is_continue(use.operation) for use in uses)


def _of_read_only_parameters(func: TableOp, loads: list[TableOp]) -> list[TableOp]:
    """The loads through parameters through which the kernel writes nothing."""
    ops = list(walk(func))
    origins = PointerOrigins({value: index for index, value in enumerate(func.regions[0].blocks[0].args)}, ops)
    written = {root for op in ops if _writes(op) for value in op.operands for root in origins.of(value)}
    return [load for load in loads if (roots := origins.of(load.operands[0])) and written.isdisjoint(roots)]


def _writes(op: Operation) -> bool:
    return MemoryEffect.WRITE in traits_of(op).effect


def _registers_allow(loads: list[TableOp], warps: int, job: Job) -> bool:
    """Whether the tiles of some iterations fit in registers, beside what else is live in the loads' block.

    Where the block reduces its tiles, it waits for the reductions, and larger tiles that are live meanwhile only cost registers.
    """
    block, words = parent_block(loads[0]), sum(map(_registers, loads))
    if words > MOST_BESIDE_REDUCTION and any(map(is_combiner_region, block.ops)):
        return False
    ahead = (UNROLLED - 1) * words * WARP * warps
    return live_registers_fit(peak_of_block(block, job.target) + ahead, warps, job.target)


def _registers(load: TableOp) -> int:
    """32-bit registers of a thread for the tile of a load."""
    elements = layout_of(load.value).num_registers if is_tile(load.value) else 1
    return max(1, elements * element_of(load.value.type).bits // 32)
