"""Reload accumulators from tensor memory where they would wait in registers beside too many other tiles.

In:    blocks of the consumer partition, behind all its MMAs, that read an accumulator (tmem_load) and use it several times.
Out:   where more tiles are live between two uses than threads have registers for, the later ones use a read of their own.
After: overlap_mmas and hoist_async_mma_issue (no later pass moves MMAs or reads). Before: limit_conversion_scratch, select_memory_atoms
       (tiles are final).
Sound: no operation between the two reads stores to tensor memory, or tells another partition that an MMA may be issued; none is
       issued by this one.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import ancestor_in, as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import TmemLoadOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_agent_switch
from ..analysis.accumulator_reads import behind_mmas, leaves_tensor_memory
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.peak_registers import live_registers
from ..analysis.resource_model import exceeds_registers_of_partition
from ..job import Job
from ..pass_manager import EdgePass
from .issue_behind import ops_between


class ReloadAccumulators(EdgePass):
    """Reads of an accumulator for each of its uses."""

    name = "tileas-reload-accumulators"

    def run(self, module: ModuleOp, job: Job) -> None:
        for switch in [op for op in walk(module) if is_agent_switch(op)]:
            behind = reversed(behind_mmas(switch.regions[-1].blocks[0]))
            for load in [as_op(op) for top in behind for op in walk(top) if op.name == TmemLoadOp.name]:
                _reload(load, job)


def _reload(load: TableOp, job: Job) -> None:
    """Give the uses behind the first place with too many live tiles a read of their own."""
    block = parent_block(load)
    places = {op: place for place, op in enumerate(block.ops)}
    users = sorted({unwrap(ancestor_in(use.operation, block)) for use in load.result.uses}, key=places.__getitem__)
    if len(users) < 2 or len(users) < len(list(load.result.uses)):
        return
    live, kernel = live_registers(block, job.target), enclosing_kernel(load)
    for before, after in pairwise(users):
        between = range(places[before], places[after])
        if any(exceeds_registers_of_partition(live[place], as_op(kernel), job) for place in between):
            if all(map(leaves_tensor_memory, ops_between(load, after))):
                _read_again(load, [user for user in users if places[user] >= places[after]])
            return


def _read_again(load: TableOp, users: list[Operation]) -> None:
    again = load.clone()
    parent_block(load).insert_op_before(again, users[0])
    for user in users:
        for index, operand in enumerate(user.operands):
            if operand is load.result:
                user.operands[index] = again.results[0]
