"""Let the dots of an iteration that read the same tile read it from one stage: one that TMA loads, or that threads write.

In:    the mainloops of a kernel, each with a stage of its own.
Out:   ``stationary`` of those whose left operand stays in shared memory. ``readers`` of the mainloops, which then have one stage, of
       all their tiles; ``first`` of the loads of a tile that an earlier dot loads, and of the operands that are written for one. TMA
       loads such a tile once, as a left or a right operand, or for threads, and threads write it once.
Sound: the loads have the same view and coordinates, and TMA was selected for each: no write comes before them. A full
       mbarrier counts the bytes of all tiles of the stage, before the first of its dots. The last one arrives at the empty mbarrier: MMAs of
       tensor memory complete in the order in which one thread issues them; other dots are complete where the next one starts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import inf, prod

from xdsl.ir import Operation

from ....ir.casting import as_op, parent_block, unwrap
from ....ir.dialects.op_definition import TableOp
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import stationary_lhs_load
from ...analysis.dot_buffer_sharing import (
    accumulator_sharing_class,
    continued_within,
    stage_sharing_class,
    summed_within,
)
from ...analysis.enclosing_control_flow import (
    enclosing_control_flow,
    enclosing_kernel,
    only_accumulates,
    summed_dots,
)
from ...analysis.integer_ranges import trips_of
from ...analysis.stored_operands import shares_stages
from ...analysis.tma_operands import tile_key
from ...mma.family import family_of
from .operand_tiles import StoredOperand, TmaOperandLoad
from .pipelines import Mainloop, Pipeline, StationaryOperand
from .producer import scale_loads


def share_stages(mainloops: list[Mainloop]) -> None:
    """Set the readers of each stage, and the operands that stay in shared memory."""
    _set_stationary_operands(mainloops)
    sharing = [one for one in mainloops if shares_stages(one.dot) or _shares_with_dots(one)]
    for position, mainloop in enumerate(sharing):
        for load in mainloop.loads:
            found = next(_loads_of_tile(load, mainloop, sharing[: position + 1]), None)
            if found is not None:
                other, load.first = found
                _unite(other, mainloop)
        _share_written(mainloop, sharing[: position + 1])
    for position, mainloop in enumerate(sharing):
        _share_written(mainloop, sharing[: position + 1])


def _share_written(mainloop: Mainloop, earlier: list[Mainloop]) -> None:
    """Let a dot read the operands that threads have written for ``earlier`` ones."""
    for stored in (one for one in mainloop.stored if one.first is None):
        if (written := next(_written_before(stored, mainloop, earlier), None)) is not None:
            other, stored.first = written
            _unite(other, mainloop)


def _shares_with_dots(mainloop: Mainloop) -> bool:
    """Whether a dot of a cluster may read tiles from stages that other dots read, too, but no threads; or a dot without a cluster whose scales
    threads write to tensor memory, behind the wait for the stage: all MMAs that have read the columns are complete then.
    """
    dot = mainloop.dot
    if dot.lhs_scale is not None and (as_op(enclosing_kernel(dot)).num_ctas is not None or scale_loads(dot)):
        return False
    return not (mainloop.sources or dot.copied)


def _set_stationary_operands(mainloops: list[Mainloop]) -> None:
    """Set the stationary operand of dots that are marked ``stationary``."""
    found: dict[Operation, StationaryOperand] = {}
    analysis = AxisAnalysis()
    for mainloop in (one for one in mainloops if one.dot.stationary):
        load, chain = unwrap(stationary_lhs_load(mainloop.dot))
        if load not in found:
            around = unwrap(enclosing_control_flow(load))
            found[load] = StationaryOperand(TmaOperandLoad.of(0, load, chain, analysis), around)
        mainloop.stationary = found[load]


def _loads_of_tile(
    load: TmaOperandLoad, mainloop: Mainloop, earlier: list[Mainloop]
) -> Iterator[tuple[Mainloop, TmaOperandLoad]]:
    """The mainloops that load a tile before one of its loads, for dots of the same family in the same iteration."""
    for other in earlier:
        for one in other.loads:
            if one is load:
                return
            same = tile_key(one.load) == tile_key(load.load) and one.box == load.box and one.first is None
            if same and family_of(other.dot) is family_of(mainloop.dot):
                yield other, one


def _written_before(
    stored: StoredOperand, mainloop: Mainloop, earlier: list[Mainloop]
) -> Iterator[tuple[Mainloop, StoredOperand]]:
    """The mainloops that write an operand before one of its own, for dots of the same family in the same iteration, or for this one."""
    tile = mainloop.dot.operands[stored.index]
    for other in earlier:
        if other.dot.parent is not mainloop.dot.parent or family_of(other.dot) is not family_of(mainloop.dot):
            continue
        if other is not mainloop and not _united(other, mainloop)[0].loads:
            continue  # no producer fills the stages, and threads wait for the MMAs of each instead
        for one in () if stored.is_invariant else other.stored:
            if one is stored:
                break
            if other.dot.operands[one.index] is tile and one.placement == stored.placement and one.first is None:
                yield other, one


def _unite(one: Mainloop, other: Mainloop) -> None:
    united = _united(one, other)
    for reader in united:
        reader.readers = united


def _united(one: Mainloop, other: Mainloop) -> list[Mainloop]:
    """The readers of the stages of two dots, in program order."""
    order = {op: place for place, op in enumerate(parent_block(one.dot).ops)}
    return sorted(dict.fromkeys([*one.readers, *other.readers]), key=lambda reader: order[reader.dot])


# ---- buffers that loops share ------------------------------------------------------------------------
def stage_sharing_groups(mainloops: list[Mainloop]) -> list[list[Mainloop]]:
    """The first readers of stages whose loops use the same buffers, each in a loop of its own, in program order."""
    boxes = ((one.dot, {load.index: load.box for load in one.operand_loads}) for one in mainloops)
    keys = dict(zip(mainloops, stage_sharing_class(boxes), strict=True))
    firsts = [one for one in mainloops if one.is_first_reader]
    return _grouped(firsts, [_key_of_readers(one, keys) for one in firsts])


def _key_of_readers(mainloop: Mainloop, keys: Mapping[Mainloop, Hashable]) -> Hashable:
    """The key of all readers of a stage; one of its own where threads read it, too."""
    read_by_threads = any(reader.sources for reader in mainloop.readers)
    return mainloop if read_by_threads else (*mainloop.loads_by_operand, *(keys[one] for one in mainloop.readers))


def most_tiles(group: list[Mainloop]) -> float:
    """The tiles that are ever loaded to the stages that mainloops share: more stages would stay empty. Infinite where it is not known."""
    return sum(prod(map(trips, mainloop.loops)) for mainloop in group)


def trips(loop: TableOp) -> float:
    """The trips of a loop; infinite where its bounds are not constants."""
    trips = trips_of(loop)
    return inf if trips is None else trips


def accumulator_sharing_groups(mainloops: list[Mainloop]) -> list[list[Mainloop]]:
    """The dots that share accumulators, each in a loop of its own, in program order."""
    loaded = ((one.dot, [operand_load.index for operand_load in one.operand_loads]) for one in mainloops)
    return _grouped(mainloops, accumulator_sharing_class(loaded))


def _grouped(mainloops: list[Mainloop], keys: Sequence[Hashable]) -> list[list[Mainloop]]:
    groups: dict[Hashable, list[Mainloop]] = {}
    for key, mainloop in zip(keys, mainloops, strict=True):
        groups.setdefault(key, []).append(mainloop)
    return list(groups.values())


def set_stages(mainloop: Mainloop, stages: Pipeline, is_reused: bool) -> None:
    """Set the stages of all readers, and the buffers of tiles that other loads fill."""
    for reader in mainloop.readers:
        reader.loaded, reader.is_reused = stages, is_reused
        for load in reader.loads:
            load.buffer = load.buffer if load.first is None else load.first.buffer


def summed_in_tmem(mainloop: Mainloop, mainloops: list[Mainloop]) -> list[TableOp]:
    """The dots that accumulate one after the other in tensor memory, of which a dot is one."""
    return summed_within(mainloop.dot, _consumed_dots(mainloops))


def stays_in_tmem(mainloop: Mainloop, mainloops: list[Mainloop]) -> bool:
    """Whether an accumulator stays in tensor memory for all of a loop: no instruction that accumulates elsewhere adds to it."""
    dot = mainloop.dot
    return only_accumulates(dot) and summed_in_tmem(mainloop, mainloops) == summed_dots(dot) and not dot.rescaled


def continued_mainloop(mainloop: Mainloop, mainloops: list[Mainloop]) -> Mainloop | None:
    """The mainloop of the loop before whose accumulators in tensor memory a dot takes over."""
    before = continued_within(mainloop.dot, _consumed_dots(mainloops))
    return next((one for one in mainloops if one.dot is before), None)


def _consumed_dots(mainloops: list[Mainloop]) -> set[TableOp]:
    return {one.dot for one in mainloops if one.consumers}
