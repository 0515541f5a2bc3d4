"""Give each dot a load of its own, of a tile that it reads as it is, and that other dots or threads read, too.

In:    nv_tileas loads by TMA, of tiles that become operands of dots of the same iteration, or of no loop, and from which threads may
       compute; loads by cp.async, of tiles of a loop that only dots read, and of scales of dots in tensor memory.
Out:   a load, and the operations that rename its elements, for each of these dots, where its instruction reads operands in shared
       memory. Otherwise threads would write the operands of all dots but one. One TMA load serves all of them, and the threads, where they
       read the tile from the same placement (``warp_specialization/shared_stages.py``).
After: choose_cta_shape. Before: select_mma_and_tma (it selects operands dot by dot, and undoes this where none is read from a stage).
Sound: the loads depend on the same token, and no token orders a write after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, next_op, parent_block, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ..analysis.axis_info import AxisAnalysis
from ..analysis.copied_operands import (
    MIN_CP_ASYNC_BYTES,
    RENAMING,
    copied_bytes,
    has_other_readers,
    is_loaded_ahead,
    least_copied_bytes,
    leaves_columns,
)
from ..analysis.enclosing_control_flow import enclosing_kernel, is_in_counted_loop
from ..analysis.op_queries import DOT, TILED_LOAD, has_dots
from ..analysis.scalar_slice import writes_after
from ..analysis.scale_lines import FIRST_SCALE
from ..analysis.stored_operands import tile_bytes
from ..analysis.tma_operands import is_prefetchable_once, may_prefetch_in_loop, tma_loads_allowed, with_tma_box
from ..job import Job
from ..mma.dots import dot_shape
from ..mma.family import MmaFamily, Storage, fastest_family
from ..pass_manager import EdgePass
from .op_insertion import insert_before

# Multiplications for each loaded byte from which on L2 delivers a tile twice in the time that wgmma takes, for CTAs of clusters,
# whose dots share no stages with threads. Tensor memory gains in any case: its MMAs take less time than threads to write an operand.
MIN_INTENSITY = 64
SCALES = (FIRST_SCALE, FIRST_SCALE + 1)  # operands of a dot


class _Reader(NamedTuple):
    """A dot, which of its operands a tile becomes, and the operations that rename its elements."""

    dot: TableOp
    side: int
    chain: list[Operation]


class LoadForEachDot(EdgePass):
    """A load for each dot that reads a tile."""

    name = "tileas-load-for-each-dot"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if fastest_family(job.target).async_ops is None or not has_dots(func) or not tma_loads_allowed(func):
            return
        for load in [as_op(op) for op in walk(func) if op.name == TILED_LOAD]:
            readers = _readers(load.value)
            again = readers if has_other_readers(load.value) else readers[1:]
            if again and _may_load_again(load, readers, job):
                _load_again(load, again)
            elif len(scaled := _readers(load.value, SCALES)) > 1 and _may_copy_scales_again(load, scaled, job):
                _load_again(load, scaled[1:])


def _readers(tile: SSAValue, sides: Sequence[int] = (0, 1)) -> list[_Reader]:
    """The dots that read a tile as it is, as one of these operands."""
    found: list[_Reader] = []
    for use in tile.uses:
        user = use.operation
        if user.name == DOT and use.index in sides:
            found.append(_Reader(as_op(user), use.index, []))
        elif user.name in RENAMING:
            found += [_Reader(one.dot, one.side, [user, *one.chain]) for one in _readers(user.results[0], sides)]
    return found


def _may_load_again(load: TableOp, readers: Sequence[_Reader], job: Job) -> bool:
    """Whether TMA or cp.async may load a tile several times, and gains by it."""
    if writes_after(load.result_token):
        return False
    if with_tma_box(load, [], job, AxisAnalysis()) is None:
        return _may_copy_again(load, readers, job)
    if not all(one.dot.parent is load.parent and _may_prefetch(one.dot) for one in readers):
        return False
    if as_op(enclosing_kernel(load)).num_ctas is None:
        return True
    if has_other_readers(load.value):
        return False  # the dots of a cluster share no stages with threads
    if fastest_family(job.target).accumulator is Storage.TENSOR:
        return True
    again = (len(readers) - 1) * tile_bytes(load.value)
    return _multiplications(parent_block(load)) >= MIN_INTENSITY * (_loaded_bytes(parent_block(load)) + again)


def _may_prefetch(dot: TableOp) -> bool:
    return may_prefetch_in_loop(dot) or is_prefetchable_once(dot)


def _may_copy_again(load: TableOp, readers: Sequence[_Reader], job: Job) -> bool:
    """Whether cp.async may copy a tile several times, each time to a stage from which an instruction reads it."""
    if has_other_readers(load.value) or as_op(enclosing_kernel(load)).num_ctas is not None:
        return False
    family = fastest_family(job.target)
    if not leaves_columns(parent_block(load), family):
        return False
    if not all(_reads_copies(one.dot, load, family) for one in readers):
        return False
    if not is_loaded_ahead(load, parent_block(load), readers[0].chain):
        return False
    return copied_bytes(load) >= least_copied_bytes(family)


def _may_copy_scales_again(load: TableOp, readers: Sequence[_Reader], job: Job) -> bool:
    """Whether cp.async may copy the scales of a loop's dots, for each of them, ahead of its iteration: threads store them to tensor memory
    from there, and of a tile with several readers each warp would load all rows that its lanes store.
    """
    if fastest_family(job.target).accumulator is not Storage.TENSOR:
        return False
    is_in_loop = all(one.dot.parent is load.parent and is_in_counted_loop(one.dot) for one in readers)
    return is_in_loop and not writes_after(load.result_token) and copied_bytes(load) >= MIN_CP_ASYNC_BYTES


def _reads_copies(dot: TableOp, load: TableOp, family: MmaFamily) -> bool:
    """Whether a dot of the load's loop has rows for the instructions of a family."""
    rows = tile_type(dot.result).get_shape()[-2]
    return dot.parent is load.parent and is_in_counted_loop(dot) and rows % family.tile_steps[0][0] == 0


def _multiplications(block: Block) -> int:
    return sum(prod(dot_shape(as_op(op))[1:]) for op in block.ops if op.name == DOT)


def _loaded_bytes(block: Block) -> int:
    return sum(tile_bytes(as_op(op).value) for op in block.ops if op.name == TILED_LOAD)


def _load_again(load: TableOp, readers: Sequence[_Reader]) -> None:
    """Give each of these readers a load of its own."""
    place = next_op(load)
    for reader in readers:
        value = insert_before(_copy(load, load.operands), place)
        for link in reader.chain:
            value = insert_before(_copy(link, [value]), place)
        reader.dot.operands[reader.side] = value
        for link in reversed(reader.chain):
            if not list(link.results[0].uses):
                link.detach()
                link.erase()


def _copy(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    types, properties = [result.type for result in op.results], dict(op.properties)
    return type(op).create(operands=operands, result_types=types, properties=properties, attributes=dict(op.attributes))
