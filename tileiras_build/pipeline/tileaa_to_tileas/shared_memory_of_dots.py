"""Whether shared memory has space for the operands of a dot beside those of others, before any of them has stages.

A tile that threads write for several dots, or that TMA loads for a dot and for threads, takes its bytes once, as in
``warp_specialization/shared_stages.py``; tiles that threads write in loops one after another take the same bytes, as in
``disjoint_stages.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.op_definition import TableOp
from ..analysis.chained_dots import is_computed_by_dot
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.enclosing_control_flow import enclosing_kernel, enclosing_loops
from ..analysis.op_queries import dots_in
from ..analysis.resource_model import STAGES_SMEM_OVERHEAD, two_stages_fit
from ..analysis.scratch_memory_sizes import ALIGNMENT
from ..analysis.stored_operands import (
    is_invariant,
    is_stored,
    own_sources,
    shares_stages,
    source_loads,
    stored_bytes,
    tile_bytes,
)
from ..analysis.tma_operands import is_tma_operand, tile_key
from ..job import Job
from ..mma.family import MmaFamily, family_of
from ..schedule.schedule import CHUNK_BYTES


def stages_fit(op: TableOp, bytes: int, held: Collection[int], job: Job, resident: int = 0) -> bool:
    """Whether shared memory has space for two stages of so many bytes, and for a stage of each dot of ``_sharing_dots``, or for these
    alone beside ``resident`` bytes of operands from before the loop: threads would reload those for other instructions. ``held``: the
    operands that shared memory is to hold.
    """
    own = sum(tile_bytes(op.operands[index]) for index in held if _has_stages(op, index))
    extra = resident + max(0, bytes - own) + CHUNK_BYTES[-1]
    if not two_stages_fit(bytes, job, used_bytes=resident) and not resident:
        return False
    for dots in _sharing_dots(op):
        beside = sum(_resident_bytes(dot) for dot in dots if dot is not op) + _pipeline_bytes(dots)
        if _stage_bytes(dots, {op: held}, in_turn=True) + beside + extra <= job.target.max_shared_memory:
            return True
    return False


def all_stages_fit(op: TableOp, job: Job) -> bool:
    """Whether shared memory has space for a stage of each dot of the kernel, wherever its operands come from."""
    dots = dots_in(enclosing_kernel(op))
    return _stage_bytes(dots, in_turn=True) + _bytes_beside_stages(dots) <= job.target.max_shared_memory


def _sharing_dots(op: TableOp) -> list[list[TableOp]]:
    """The dots that shared memory must have space for beside a dot: all of the kernel. Where it has none for all of them, those that were
    selected before, if the loop computes the right operand: for fragments, too, it would pass through shared memory. A loaded one is
    copied ahead for fragments, and threads wait for no MMA.
    """
    dots = dots_in(enclosing_kernel(op))
    if dot_operand_load(op, 1) is not None or is_invariant(op, 1):
        return [dots]
    return [dots, [dot for dot in dots if dot is op or _is_async(dot)]]


def leaves_shared_memory(op: TableOp, bytes: int, family: MmaFamily, job: Job) -> bool:
    """Whether shared memory has space for the operands that are loaded for an instruction of a family beside the dots that were selected
    before, where it has none for all dots: threads load them to registers otherwise.
    """
    dots = dots_in(enclosing_kernel(op))
    if not any(map(_is_async, dots)) or _all_fit(op, bytes, dots, family, job):
        return True
    taken = [dot for dot in dots if _is_async(dot) or any(is_tma_operand(dot, index) for index in (0, 1))]
    used = _stage_bytes(taken) + sum(map(_resident_bytes, taken)) + STAGES_SMEM_OVERHEAD * (len(taken) + 1)
    return bytes + used + CHUNK_BYTES[-1] <= job.target.max_shared_memory


def _is_async(dot: TableOp) -> bool:
    """Whether an asynchronous instruction has been selected for a dot."""
    return dot.mma is not None and family_of(dot).async_ops is not None


def _all_fit(op: TableOp, bytes: int, dots: Sequence[TableOp], family: MmaFamily, job: Job) -> bool:
    """Whether shared memory has space for a stage of each dot of a kernel, beside operands from before the loop. Dots of one family share
    tiles: fragments have stages of their own.
    """
    sharing, own = (dots, 0) if family.async_ops is not None else ([dot for dot in dots if dot is not op], bytes)
    needed = _stage_bytes(sharing) + own + _bytes_beside_stages(dots)
    return needed + STAGES_SMEM_OVERHEAD <= job.target.max_shared_memory


def _bytes_beside_stages(dots: Sequence[TableOp]) -> int:
    """The bytes of operands from before the loop, of mbarriers, and of a chunk of scratch."""
    return sum(map(_resident_bytes, dots)) + _pipeline_bytes(dots) + CHUNK_BYTES[-1]


def _stage_bytes(
    dots: Sequence[TableOp], held: Mapping[TableOp, Collection[int]] | None = None, *, in_turn: bool = False
) -> int:
    """The bytes of one stage of the operands of some dots, and of what threads read to write them, those of the same tile once. ``held``: the
    operands of a dot that shared memory holds; of others, those that it might. ``in_turn``: loops one after another share those that
    threads write.
    """
    loaded, by_loop, known = dict[Hashable, int](), dict[TableOp | None, dict[Hashable, int]](), held or {}
    in_turn = in_turn and loops_in_turn(list(map(enclosing_loops, dots)), enclosing_kernel(dots[0]))
    for dot in dots:
        loop = enclosing_loops(dot)[-1] if in_turn else None
        of_loaded, of_written = _tiles(dot, known.get(dot, (0, 1)))
        loaded |= of_loaded
        by_loop.setdefault(loop, {}).update(of_written)
    return sum(loaded.values()) + max((sum(written.values()) for written in by_loop.values()), default=0)


def loops_in_turn(loops: Sequence[Sequence[TableOp]], kernel: Operation) -> bool:
    """Whether one CTA runs the innermost of the loops around each dot one after another: none is inside another one."""
    if not all(loops) or as_op(kernel).num_ctas is not None:
        return False
    innermost = {around[-1] for around in loops}
    return all(innermost.isdisjoint(around[:-1]) for around in loops)


def _pipeline_bytes(dots: Sequence[TableOp]) -> int:
    """The mbarriers of accumulators, and of stages: one for all dots that share tiles; and the address of tensor memory."""
    tiles, count = set[Hashable](), 1
    for dot in dots:
        own = set[Hashable]().union(*_tiles(dot, (0, 1)))
        count += 1 + tiles.isdisjoint(own)
        tiles |= own
    return count * ALIGNMENT


def _tiles(dot: TableOp, held: Collection[int]) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
    """The tiles of a dot's stage that are loaded or copied, and those that threads write, with the bytes of each. A tile that threads write is
    that of other dots, too, where TMA loads tiles for all of them.
    """
    loaded = {tile_key(load): tile_bytes(load.value) for load in _read_by_threads(dot)}
    written, is_loaded = (
        dict[Hashable, int](),
        bool(own_sources(dot)) or any(is_tma_operand(dot, one) for one in (0, 1)),
    )
    for index in (index for index in held if _has_stages(dot, index)):
        found = None if is_stored(dot, index) else dot_operand_load(dot, index)
        key = dot.operands[index] if is_loaded and shares_stages(dot) else (dot, index)
        is_written = found is None and index not in (dot.copied or ())
        place = written if is_written else loaded
        place[key if found is None else tile_key(found[0])] = tile_bytes(dot.operands[index])
    return loaded, written


def _read_by_threads(dot: TableOp) -> list[TableOp]:
    """The loads of stages that threads read, to compute operands of a dot."""
    sources = [load for index in (0, 1) if not is_invariant(dot, index) for load in source_loads(dot, index)]
    return [load for load in sources if load.tma and load.read_by_threads]


def _resident_bytes(dot: TableOp) -> int:
    """The bytes of operands from before the loop that threads write to shared memory, or that TMA loads to it once."""
    loaded = tile_bytes(dot.lhs) if dot.stationary else 0
    return loaded + sum(stored_bytes(dot, index) for index in dot.stored or () if is_invariant(dot, index))


def _has_stages(dot: TableOp, index: int) -> bool:
    """Whether each iteration puts an operand into shared memory, as far as is known: that is where the instruction reads it."""
    if _is_async(dot) and index == 0 and not (is_stored(dot, 0) or is_tma_operand(dot, 0) or dot.copied):
        return False
    return not is_invariant(dot, index) and not (index == 0 and is_computed_by_dot(dot.lhs, parent_block(dot)))
