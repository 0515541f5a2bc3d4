"""What the roles of a warp-specialized kernel share: pipelines, their state, and the mainloop of each dot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, parent_block, type_as, unwrap
from ....ir.dialects.nv_tileas.ops import (
    AdvanceOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerTailOp,
)
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_loop
from ....ir.layouts.tmem_layout import ROWS, WARPS
from ...analysis.axis_info import AxisAnalysis
from ...analysis.dot_operand_chains import dot_operand_load
from ...analysis.enclosing_control_flow import (
    enclosing_control_flow,
    enclosing_kernel,
    only_accumulates,
    summed_dots,
)
from ...analysis.scale_stage_counts import warp_loaded_scale_groups
from ...analysis.stored_operands import loads_by_threads, own_sources
from ...analysis.tma_operands import is_tma_operand
from ...mma.family import Storage, TmemMmaOps, family_of, tmem_mma_ops
from ...mma.tmem_tiles import tmem_tiles
from ..op_insertion import Inserter, insertion_before
from .operand_tiles import StoredOperand, TmaOperandLoad

if TYPE_CHECKING:
    from .producer import ScaleLoad

MIN_BUFFERS_OF_TWO_MMAS = 5  # with fewer, an operand would be copied too few iterations ahead
Operands = dict[str, SSAValue | None]  # of an operation, by name


# ---- pipelines -----------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Pipeline:
    """Stages that one role fills and another one reads and releases."""

    pipeline: SSAValue

    @property
    def stage_count(self) -> int:
        return type_as(self.pipeline, PipelineType).stages.data


@dataclass(eq=False)
class ScaleStages(Pipeline):
    """Stages of block scales, each for a group of iterations: a buffer and tensor memory columns for each operand."""

    buffers: list[SSAValue]
    tiles: list[SSAValue]


@dataclass(eq=False)
class LhsChunks(Pipeline):
    """A left operand that warps write to tensor memory in chunks along k, each a stage."""


@dataclass(eq=False)
class TmemAccumulator(Pipeline):
    """The accumulators of one dot in tensor memory; a stage is full when they are complete.

    ``adds``: to those of the dot before; ``is_added_to``: by the dot after, which waits for both. ``shares_columns``: the dots of other
    loops have the same columns (``shared_columns.py``).
    ``carried_in_tmem``: they stay there for all of the innermost loop. ``is_waited_each_iteration``: the left operand
    of the next dot overwrites that of the previous one. If the MMA issuer issues the dots, the accumulators are multibuffered and the consumers release
    them, or ``lhs_written`` is the pipeline through which the consumers pass the left operand. ``parts``: those of each tile of
    rows, where each has an issuer and a warpgroup; the pipelines of the whole are then those of a thread's warpgroup.
    """

    carried_in_tmem: bool
    is_waited_each_iteration: bool
    tile: SSAValue
    lhs_tile: SSAValue | None
    scales: list[SSAValue] = field(default_factory=list)
    lhs_written: LhsChunks | None = None
    parts: list[TmemAccumulator] = field(default_factory=list)
    adds: bool = False
    is_added_to: bool = False
    shares_columns: bool = False

    @property
    def is_waited(self) -> bool:
        """Whether threads wait for each MMA."""
        return self.is_waited_each_iteration or not (self.carried_in_tmem or self.is_added_to)


@dataclass(frozen=True)
class PipelineState:
    """Where a role inserts operations, and the token (stage and phase) that it has of each pipeline there.

    A producer acquires a stage, fills it and commits it; a consumer waits for it, reads it and releases it. Both advance.
    """

    insert: Inserter
    tokens: dict[Pipeline, SSAValue]

    def at(self, insert: Inserter) -> PipelineState:
        """The same tokens at another insertion point."""
        return PipelineState(insert, self.tokens)

    def before(self, place: Operation) -> PipelineState:
        return self.at(insertion_before(place))

    def inside(self, insert: Inserter, carried: Iterable[tuple[Pipeline, SSAValue]] = ()) -> PipelineState:
        """The state in a region, which has the tokens ``carried`` of its own."""
        return PipelineState(insert, self.tokens | dict(carried))

    def stage(self, pipeline: Pipeline) -> SSAValue:
        """The stage that a token names."""
        if pipeline.stage_count == 1:
            return self.insert.constant(0)
        return self.insert.binary("lshr", self.tokens[pipeline], 1)

    def acquire(self, pipeline: Pipeline, kind: type[TableOp] = ProducerAcquireOp, **values: int | None) -> None:
        """Wait until the stage is empty."""
        self._act(kind, pipeline, **values)

    def commit(self, pipeline: Pipeline, kind: type[TableOp] = ProducerCommitOp) -> None:
        """The stage is full once what the role has written is visible."""
        self._act(kind, pipeline)

    def tail(self, pipeline: Pipeline) -> None:
        """Wait until all stages are released."""
        self._act(ProducerTailOp, pipeline)

    def wait(self, pipeline: Pipeline, **values: bool) -> None:
        """Wait until the stage is full."""
        self._act(ConsumerWaitOp, pipeline, **values)

    def release(self, pipeline: Pipeline, kind: type[TableOp] = ConsumerReleaseOp) -> None:
        """The stage is empty once all warps, or all MMAs that were issued before, are done with it."""
        self._act(kind, pipeline)

    def release_previous(self, pipeline: Pipeline, enabled: SSAValue) -> None:
        """Release the stage before this one."""
        self._act(ConsumerReleaseOp, pipeline, enabled, previous_stage=True)

    def advance(self, pipeline: Pipeline, condition: SSAValue | None = None) -> None:
        """Go to the next stage, under a condition if there is one."""
        token = self.tokens[pipeline]
        following = self.insert(AdvanceOp.make([pipeline.pipeline, token], [i32]))
        self.tokens[pipeline] = following if condition is None else self.insert.select(condition, following, token)

    def _act(self, kind: type[TableOp], pipeline: Pipeline, *operands: SSAValue, **values: Any) -> None:
        self.insert(kind.make([pipeline.pipeline, self.tokens[pipeline], *operands], [], **values))


# ---- operands of dots ----------------------------------------------------------------------------------------------
@dataclass(eq=False)
class StationaryOperand:
    """A left operand that TMA loads before the loops of its dots: a buffer of one stage.

    ``enclosing_ops``: the loops around its load, in each iteration of which it is loaded again, and the branches.
    """

    operand_load: TmaOperandLoad
    enclosing_ops: list[TableOp]
    loaded: Pipeline | None = None

    @property
    def stages(self) -> Pipeline:
        return unwrap(self.loaded)

    @property
    def loops(self) -> list[TableOp]:
        return [around for around in self.enclosing_ops if is_loop(around)]


@dataclass(eq=False)
class Mainloop:
    """The stages of one dot, and its accumulators if they are in tensor memory.

    ``readers``: the dots of an iteration that read its stage, in program order (``shared_stages.py``): the first waits for it,
    the last releases it.
    ``sources``: tiles that threads read from stages, to compute operands; ``stored``: operands that threads write.

    Dots of other loops, or of the next iteration of an outer one, use the same stages (``is_reused``) and accumulators
    (``reuses_accumulator``). ``enclosing_ops``: the loops and branches
    around its dot; the innermost one is a counted loop. ``in_cluster``: other CTAs may share stages and accumulators.
    ``continues``: it adds to what a dot of the loop before has left in its accumulators.
    ``rows``: the tile of rows that an issuer has of its dot, and the number of tiles.
    ``written``: the pipeline by which the threads of a pair of CTAs hand over the operands that they write to the one that issues MMAs; its
    stages are those of the operands. ``waits_at_once``: no MMA stays in flight into the next iteration (``mma_waits.py``).
    """

    dot: TableOp
    operand_loads: list[TmaOperandLoad]
    sources: list[TmaOperandLoad]
    stored: list[StoredOperand]
    enclosing_ops: list[TableOp]
    in_cluster: bool
    loaded: Pipeline | None = None
    tmem_accumulator: TmemAccumulator | None = None
    is_reused: bool = False
    reuses_accumulator: bool = False
    continues: bool = False
    stationary: StationaryOperand | None = None
    scale_loads: list[ScaleLoad] = field(default_factory=list)
    scale_buffers: ScaleStages | None = None
    rows: tuple[int, int] | None = None
    readers: list[Mainloop] = field(default_factory=list)
    written: Pipeline | None = None
    waits_at_once: bool = False

    def __post_init__(self) -> None:
        self.readers = self.readers or [self]

    @classmethod
    def of(cls, dot: TableOp) -> Mainloop:
        """The mainloop of a dot whose operands TMA loads."""
        analysis = AxisAnalysis()
        operand_loads = []
        for index in (0, 1):
            found = dot_operand_load(dot, index)
            if found is not None and is_tma_operand(dot, index):
                operand_loads.append(TmaOperandLoad.of(index, *found, analysis))
        sources = [TmaOperandLoad.of(-1, load, [], analysis) for load in own_sources(dot)]
        stored = [StoredOperand.of(dot, index) for index in dot.stored or ()]
        in_cluster = as_op(enclosing_kernel(dot)).num_ctas is not None
        return cls(dot, operand_loads, sources, stored, unwrap(enclosing_control_flow(dot)), in_cluster)

    @property
    def loops(self) -> list[TableOp]:
        """The loops around its dot."""
        return [around for around in self.enclosing_ops if is_loop(around)]

    @property
    def consumers(self) -> int | None:
        """The arrivals that release a stage: one commit for tensor memory; None for one arrival of each warp."""
        return 1 if family_of(self.dot).accumulator is Storage.TENSOR else None

    @property
    def tmem_ops(self) -> TmemMmaOps:
        """The operations that issue its dot, whose accumulators are in tensor memory."""
        return tmem_mma_ops(self.dot)

    @property
    def is_written_by_pair(self) -> bool:
        """Whether the threads of both CTAs of a pair write operands."""
        return bool(self.dot.pair and self.stored)

    @property
    def reads_stages_of_pair(self) -> bool:
        """Whether the threads of each CTA of a pair read tiles from stages, and so wait for all that TMA loads for it."""
        return self.is_written_by_pair and bool(self.sources)

    @property
    def releases_accumulator(self) -> bool:
        """Whether the warps of both CTAs of a pair release the accumulator to the thread that issues the next MMA."""
        return self.reuses_accumulator and bool(self.dot.pair)

    @property
    def is_first_reader(self) -> bool:
        return self.readers[0].dot is self.dot

    @property
    def is_last_reader(self) -> bool:
        return self.readers[-1].dot is self.dot

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage, of all its readers."""
        copied = (one.bytes * reader._buffers_by_stage(one) for reader, one in self.stored_of_stage if one.is_copied)
        return self.written_bytes + sum(copied) + self.loaded_bytes

    @property
    def loaded_bytes(self) -> int:
        """Those of them for tiles that TMA loads."""
        return sum(load.box.tile_bytes for load in self.tma_loads)

    @property
    def written_bytes(self) -> int:
        """Those of them for tiles that threads write."""
        stored = ((reader, one) for reader, one in self.stored_of_stage if not one.is_copied)
        return sum(one.bytes * reader._buffers_by_stage(one) for reader, one in stored)

    @property
    def stored_of_stage(self) -> list[tuple[Mainloop, StoredOperand]]:
        """The operands that threads write to shared memory, of all readers of a stage."""
        return [(reader, stored) for reader in self.readers for stored in reader.stored if not stored.columns]

    def _buffers_by_stage(self, operand: StoredOperand) -> int:
        """The buffers that an operand has for each stage in the budget of shared memory."""
        return 0 if operand.is_invariant or operand.first else 2 if operand.is_copied and self.loads else 1

    def pipeline_stages(self, count: int) -> int:
        """The stages of the pipeline where shared memory holds so many: where threads write all operands, those whose MMAs may
        be in flight.
        """
        if self.is_written_behind_wait:
            return 1
        least = MIN_BUFFERS_OF_TWO_MMAS if any(operand.is_copied for operand in self.stored) else 2
        return count if self.is_loaded else min(count, 2 if count >= least else 1)

    @property
    def is_written_behind_wait(self) -> bool:
        """Whether threads write all operands, from no tile that is copied ahead, and have read the result of the MMA before they do so again."""
        if self.is_loaded or any(operand.is_copied for operand in self.stored):
            return False
        return not only_accumulates(self.dot) and summed_dots(self.dot)[-1] is self.dot

    def buffers_of(self, operand: StoredOperand, count: int) -> int:
        """The buffers of an operand that threads write."""
        if operand.is_copied:
            return count * self._buffers_by_stage(operand)
        return 1 if operand.is_invariant else self.pipeline_stages(count)

    @property
    def loads(self) -> list[TmaOperandLoad]:
        """The loads of its own tiles."""
        return [*self.operand_loads, *self.sources]

    @property
    def is_loaded(self) -> bool:
        """Whether TMA loads tiles of its stage, for it or other readers."""
        return any(reader.loads for reader in self.readers)

    @property
    def computes_from_stages(self) -> bool:
        """Whether threads compute an operand in each iteration, of nothing that they load themselves: that takes as long as an MMA."""
        computed = [one.index for one in self.stored if not (one.is_invariant or one.is_copied)]
        return self.is_loaded and bool(computed) and not any(loads_by_threads(self.dot, index) for index in computed)

    @property
    def tma_loads(self) -> list[TmaOperandLoad]:
        """The loads of a stage, in program order, each tile once."""
        order = {op: place for place, op in enumerate(parent_block(self.dot).ops)}
        loads = (load for reader in self.readers for load in reader.loads if load.first is None)
        return sorted(loads, key=lambda one: order[one.load])

    @property
    def loads_by_operand(self) -> dict[tuple[int, int], TmaOperandLoad]:
        """The loads of a stage by the place of its reader and the operand."""
        return {
            (place, load.index): load
            for place, reader in enumerate(self.readers)
            for load in reader.loads
            if load.first is None
        }

    @property
    def resident_bytes(self) -> int:
        """Shared memory for operands that are written before the loop."""
        return sum(operand.bytes for operand in self.stored if operand.is_invariant)

    @property
    def stages(self) -> Pipeline:
        return unwrap(self.loaded)

    @property
    def accumulator(self) -> TmemAccumulator:
        return unwrap(self.tmem_accumulator)

    @property
    def scale_groups(self) -> int:
        """Stages of block scales: as many as hide the latency of loads, and as the dot has columns for."""
        acc_columns = tmem_tiles(self.dot, WARPS)[1].total_tmem_columns
        columns = (self.dot.tmem_columns - acc_columns) // sum(copy.columns.tmem_columns for copy in self.scale_loads)
        return max(1, min(warp_loaded_scale_groups(self.dot.scale_steps), columns))

    @property
    def scales(self) -> ScaleStages:
        return unwrap(self.scale_buffers)

    @property
    def ops_around_accumulator(self) -> list[TableOp]:
        """The loops and branches around the wait for the accumulator."""
        waits_after_loop = self.accumulator.carried_in_tmem and not self.accumulator.is_waited_each_iteration
        return self.enclosing_ops[:-1] if waits_after_loop else self.enclosing_ops

    def of_rows(self, index: int) -> Mainloop:
        """The mainloop of one of the tiles of rows that have accumulators of their own."""
        parts = self.accumulator.parts
        return replace(self, tmem_accumulator=parts[index], rows=(index, len(parts)))

    def replace(self, old: Operation, new: TableOp) -> None:
        """Replace a loop or branch around the dot by ``new``."""
        self.enclosing_ops = [new if around is old else around for around in self.enclosing_ops]


def stationary_operands_of(mainloops: list[Mainloop]) -> list[StationaryOperand]:
    """The left operands that stay in shared memory. Several dots may read one."""
    return list(dict.fromkeys(loop.stationary for loop in mainloops if loop.stationary is not None))


def accumulators_stay_in_tmem(mainloops: list[Mainloop]) -> bool:
    """Whether accumulators are rescaled in tensor memory. All dots of the kernel are then chained."""
    return any(mainloop.dot.rescaled for mainloop in mainloops)


def query_tiles_of(mainloops: list[Mainloop]) -> int:
    """The tiles of 128 rows that chained dots have, each with accumulators, an issuer and a warpgroup of its own."""
    rows = mainloops[0].dot.result.type.get_shape()[0]
    return rows // ROWS if accumulators_stay_in_tmem(mainloops) else 1


# ---- the pipelines that a role has a token of: all, or those used inside ``place``, a loop or a branch ----------------
def stages_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The stages of operands."""
    users: list[Mainloop | StationaryOperand] = [*stationary_operands_of(mainloops), *mainloops]
    return _used_inside(place, ((user.stages, user.enclosing_ops) for user in users))


def written_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The operands that the threads of a pair of CTAs write."""
    return _used_inside(place, ((one.written, one.enclosing_ops) for one in mainloops))


def scales_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The block scales that scale loaders load."""
    return _used_inside(place, ((one.scales, one.enclosing_ops) for one in mainloops if one.scale_loads))


def accumulators_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The accumulators in tensor memory, where they are waited for."""
    found = (one for one in mainloops if one.tmem_accumulator is not None)
    return _used_inside(place, ((one.accumulator, one.ops_around_accumulator) for one in found))


def lhs_chunks_of(mainloops: list[Mainloop], place: Operation | None = None) -> list[Pipeline]:
    """The left operands that warps write chunk by chunk."""
    found = (one for one in mainloops if one.tmem_accumulator is not None)
    return _used_inside(place, ((one.accumulator.lhs_written, one.enclosing_ops) for one in found))


def _used_inside(place: Operation | None, users: Iterable[tuple[Pipeline | None, list[TableOp]]]) -> list[Pipeline]:
    return list(dict.fromkeys(one for one, around in users if one and (place is None or place in around)))
