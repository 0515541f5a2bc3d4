"""Interpret one warp partition as a sequence of steps in its pipelines.

The interpreter evaluates integers only. It checks the conditions on the partition alone: each token is that of its
item, only items that were waited for and not released are read, and nothing is released that an MMA in flight still
reads. ``mbarrier_pipelines.py`` checks the conditions on all partitions of a kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, cast, defining_op, int_attr, unwrap
from ...ir.dialects.nv_tileas.ops import is_written_by_pair
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, traits_of_name
from .integer_interpreter import IntegerInterpreter
from .kernel_pipelines import LOCAL_STORE, OF_WARPGROUP, PIPELINE, STORE_SCALES, KernelPipelines, RegionPipelines
from .mma_access_order import MmaAccesses
from .pipeline_events import PipelineEvent
from .shared_memory_allocation import overlap, scratch_region, stage_region
from .tmem_column_lifetimes import TmemColumnLifetimes, is_staged, is_tracked
from .tmem_scale_hazards import TmemScaleFactors

TMEM_LOAD, TMEM_STORE, TMEM_SCALE = (f"nv_tileas.tmem_{name}" for name in ("load", "store", "scale"))
COPY_SCALES = "nv_tileas.async.copy_scales"
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "slt": lambda a, b: a < b, "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a % 2**32 < b % 2**32, "uge": lambda a, b: a % 2**32 >= b % 2**32,
}  # fmt: skip
ARITHMETIC = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
    "arith.shrui": lambda a, b: a >> b, "arith.andi": lambda a, b: a & b, "arith.remui": lambda a, b: a % b,
}  # fmt: skip


class PartitionInterpreter(IntegerInterpreter):
    """One run of one warp partition: its position in each pipeline."""

    error_id, arithmetic, compare = "pipeline-verifier", ARITHMETIC, COMPARE

    def __init__(
        self,
        kernel: Operation,
        trips: tuple[int, int],
        arm: int,
        kernel_pipelines: KernelPipelines,
        assumed: dict[SSAValue, int],
        region: RegionPipelines,
        group: int = 0,
    ):
        super().__init__(kernel, trips[0], arm)
        self.acquired: dict[SSAValue, int] = defaultdict(int)
        self.waited: dict[SSAValue, int] = defaultdict(int)
        self.released: dict[SSAValue, int] = defaultdict(int)
        self.filled: dict[SSAValue, int] = defaultdict(int)
        self.committed: set[SSAValue] = set()  # pipelines whose items a commit releases
        self.drained: set[SSAValue] = set()  # pipelines whose last release this partition waits for
        # The bytes that the item acquired last expects, and those that TMA copies to it.
        self.expected: dict[SSAValue, int] = {}
        self.copied_bytes: dict[SSAValue, int] = defaultdict(int)
        self.in_flight: list[set[tuple[SSAValue, int]]] = []
        self.group, self.region = group, region
        self.own: dict[SSAValue, SSAValue] = {}  # the pipelines of this warpgroup
        self.scales = TmemScaleFactors(self)
        self.columns, self.shared_columns = TmemColumnLifetimes(self), kernel_pipelines.shared_columns
        self.accesses = MmaAccesses(self)
        self.multiplied: dict[SSAValue, int] = {}  # operands, by the last MMA in tensor memory that reads them
        self.readers: dict[tuple[SSAValue, int], dict] = {}  # the MMAs that had read scales when an item was filled
        self.copied: dict[SSAValue, SSAValue] = {}  # the pipeline of each tile of scales that tcgen05.cp fills
        self.events: list[PipelineEvent] = []
        self.unsynchronized: set[SSAValue] = set()  # buffers that threads have written since the last barrier
        self.released_elsewhere = kernel_pipelines.released - region.released
        self.without_items, self.filled_by_readers = kernel_pipelines.without_items, kernel_pipelines.filled_by_readers
        self.pipelines, self.accumulators = kernel_pipelines.pipelines, kernel_pipelines.accumulators
        self.reused, self.assumed = kernel_pipelines.acquired, assumed
        for op in kernel.regions[0].blocks[0].ops:
            self.step(op)

    def indices(self, op: Operation) -> range:
        """The loop's own bounds, known or assumed."""
        lower, upper, step = (unwrap(bound) for bound in self._known(op.operands[:3]))
        return range(lower, upper, max(step, 1))

    def _known(self, values: Iterable[SSAValue]) -> list[int | None]:
        """The known integers, else the assumed ones."""
        return [
            self.assumed.get(value) if self.known_integers.get(value) is None else self.known_integers[value]
            for value in values
        ]

    def step(self, op: Operation) -> None:
        """Evaluate integers, and follow the items of pipelines."""
        if "scratch_offset" in op.attributes:  # all threads synchronize in it
            self._check_scratch(op)
            self.columns.barrier()
        if (step := _step_of(op)) is not None:
            step(self, as_op(op))
        elif len(op.results) == 1:
            self.known_integers[op.results[0]] = self.evaluate(op)

    def is_guarded(self, event: PipelineEvent) -> bool:
        """Whether the event must happen before another partition releases an item."""
        return event.item is not None and self._is_released_elsewhere(event.pipeline)

    def waits_without_acquire(self, event: PipelineEvent) -> bool:
        """Whether the event waits for an item of another partition in a pipeline whose stages no partition acquires."""
        return event.kind == "wait" and event.pipeline not in self.reused and event.pipeline not in self.filled

    def choose_pipeline(self, op: TableOp) -> None:
        self.own[op.result] = op.pipelines[self.group]

    def _pipeline(self, value: SSAValue) -> SSAValue:
        """The pipeline that this warpgroup has at an operand."""
        return self.own.get(value, value)

    # ---- events ------------------------------------------------------------------------------------------------
    def advance(self, op: TableOp) -> None:
        token, stages = self.known_integers.get(op.token), op.pipeline.type.stages.data
        if token is not None:
            following = token + 2
            token = (token & 1) ^ 1 if following >= 2 * stages else following
        self.known_integers[op.results[0]] = token

    def _expect(self, op: TableOp, item: int, pipeline: TableOp | None = None) -> None:
        stages = (pipeline or op.pipeline).type.stages.data
        want = 2 * (item % stages) + (item // stages) % 2
        if (token := self.known_integers.get(op.token)) != want:
            self.fail(f"{op.name} of item {item} has token {token}, not {want}")

    def acquire(self, op: TableOp) -> None:
        self.check_copies(op.pipeline)
        self.overwrite(op)
        of_threads = op.by_readers or is_written_by_pair(op.pipeline)
        self.expected[op.pipeline] = 0 if of_threads else op.bytes or int_attr(defining_op(op.pipeline), "bytes")
        self.copied_bytes[op.pipeline] = 0
        if not is_written_by_pair(op.pipeline):  # else a commit fills the stage
            self.events.append(PipelineEvent("fill", op.pipeline))
        if op.by_readers:  # of the stage: they wait for nobody to fill it
            self.columns.acquired.add((op.pipeline, self.waited[op.pipeline]))
            self.waited[op.pipeline] += 1

    def copy(self, op: TableOp) -> None:
        """Copy a tile to the item that was acquired last."""
        self._expect(op, self.acquired[op.pipeline] - 1)
        self.copied_bytes[op.pipeline] += op.buffer.type.placement.data.size_bytes

    def check_copies(self, pipeline: SSAValue) -> None:
        """Check that the last item of a pipeline is full once TMA has copied its tiles."""
        expected, copied = self.expected.get(pipeline, 0), self.copied_bytes.get(pipeline, 0)
        if expected != copied:
            self.fail(f"item {self.acquired[pipeline] - 1} expects {expected} bytes, and TMA copies {copied} to it")

    def overwrite(self, op: TableOp) -> None:
        """A stage or an accumulator may be overwritten once its previous item is released."""
        pipeline, item = op.pipeline, self.acquired[op.pipeline]
        self._expect(op, item)
        guarded = item if self._is_released_elsewhere(pipeline) else None
        self.events.append(PipelineEvent("acquire", pipeline, "release", item + 1 - pipeline.type.stages.data, guarded))
        self.acquired[pipeline] += 1

    def drain(self, op: TableOp) -> None:
        """The partition continues once every item it acquired is released."""
        pipeline, count = op.pipeline, self.acquired[op.pipeline]
        self._expect(op, count)
        self.drained.add(pipeline)
        self.events.append(PipelineEvent("drain", pipeline, "release", count))

    def wait(self, op: TableOp) -> None:
        pipeline = self._pipeline(op.pipeline)
        item = self.waited[pipeline]
        self._expect(op, item)
        if pipeline in self.filled and self.filled[pipeline] <= item:
            self.fail(f"accumulator {item} is waited for before its MMAs are issued")
        stages = stages_of(pipeline)
        elsewhere = self._is_released_elsewhere(pipeline)
        held = 0 if elsewhere else item - self.released[pipeline]
        if pipeline in self.reused and pipeline not in self.filled and held >= stages:
            self.fail(f"item {item} is waited for while {stages} others are not released")
        self.events.append(PipelineEvent("wait", pipeline, "fill", item + 1, item if elsewhere else None))
        self.scales.finish(self.readers.pop((pipeline, item), {}))
        if not op.by_issuer:
            self.columns.wait((pipeline, item), stages)
        self.waited[pipeline] += 1

    def release(self, op: TableOp) -> None:
        if op.enabled is not None and self.known_integers.get(op.enabled) == 0:
            return
        pipeline, lag = self._pipeline(op.pipeline), int("previous_stage" in op.attributes)
        token, stages = self.known_integers.get(op.token), op.pipeline.type.stages.data
        item = self.released[pipeline]
        if token is None or (token // 2 - lag) % stages != item % stages:
            self.fail(f"the release after {item} others names token {token}{' (the previous stage)' * lag}")
        if item >= self.waited[pipeline]:
            self.fail(f"item {item} is released before it is waited for")
        if any((pipeline, item) in group for group in self.in_flight):
            self.fail(f"item {item} is released while an MMA that reads it is in flight")
        self._release_item(pipeline)

    def _release_item(self, pipeline: SSAValue) -> None:
        self.released[pipeline] += 1
        self.events.append(PipelineEvent("release", pipeline))

    def _release_by_commit(self, pipeline: SSAValue) -> None:
        self.committed.add(pipeline)
        self.columns.release((pipeline, self.released[pipeline]))
        self._release_item(pipeline)

    def _fill_item(self, pipeline: SSAValue) -> None:
        self.readers[pipeline, self.filled[pipeline]] = dict(self.scales.readers)
        self.columns.complete_with((pipeline, self.filled[pipeline]))
        self.filled[pipeline] += 1
        self.events.append(PipelineEvent("fill", pipeline))

    def _fill_by_commit(self, pipeline: SSAValue) -> None:
        self.columns.commit((pipeline, self.filled[pipeline]), stages_of(pipeline))
        self._fill_item(pipeline)

    def _items(self, op: TableOp) -> set[tuple[SSAValue, int]]:
        """The item of each stage that an operation reads. Each must be waited for and not released."""
        if hasattr(op, "stage"):
            return {self._item(op, op.dest if is_staged(op) else op.buffer, self.known_integers.get(op.stage))}
        operands = [(op.lhs, op.lhs_stage), (op.rhs, op.rhs_stage)]
        if any(buffer in self.unsynchronized for buffer, _ in operands):
            self.fail(f"{op.name} reads an operand that other threads may still write")
        return {
            self._item(op, buffer, self.known_integers.get(stage))
            for buffer, stage in operands
            if stage is not None and buffer not in self.without_items
        }

    def _item(self, op: TableOp, buffer: SSAValue, stage: int | None) -> tuple[SSAValue, int]:
        pipeline = self.pipelines[buffer]
        item = next((item for item in self._held(pipeline) if item % stages_of(pipeline) == stage), None)
        if item is None:
            self.fail(f"{op.name} reads stage {stage}, which holds no item that was waited for and is not released")
        stores = op.name == LOCAL_STORE or is_staged(op)
        if stores or buffer not in self.region.written:
            self.events.append(PipelineEvent("store" if stores else "read", pipeline, item=item, buffer=buffer))
        return pipeline, item

    def _held(self, pipeline: SSAValue) -> range:
        """The items that a partition may access. Other threads tell the one that only releases them what they have filled."""
        waited, stages = self.waited.get(pipeline, 0), stages_of(pipeline)
        if self._is_released_elsewhere(pipeline):
            return range(max(0, waited - stages), waited)
        first = self.released.get(pipeline, 0)
        told = pipeline in self.filled_by_readers and pipeline not in self.region.waited
        return range(first, first + stages if told else waited)

    def _is_released_elsewhere(self, pipeline: SSAValue) -> bool:
        """Whether a partition that fills stages, or waits for them, has them released by another one."""
        return pipeline in self.region.waited and pipeline in self.released_elsewhere

    def read(self, op: TableOp) -> None:
        """Read a stage that another partition fills; ``cp_async_buffers`` checks stages that this one fills."""
        if op.buffer in self.pipelines:
            self._items(op)

    def store_operand(self, op: TableOp) -> None:
        """Write an operand, to a stage that others read until a barrier and an MMA follow."""
        self.unsynchronized.add(op.buffer)
        if op.pipeline is not None and is_written_by_pair(op.pipeline):
            self._check_acquired("operands", op, op.pipeline)
        elif op.pipeline is not None:
            self._items(op)
        else:
            self.accesses.add_threads(op)

    def mma(self, op: TableOp) -> None:
        self.in_flight.append(self._items(op))
        self.finish(op)

    def finish(self, op: TableOp) -> None:
        """Complete MMAs until at most ``pending`` are in flight; the default is 0."""
        if "pending" not in op.attributes:
            return
        pending = int_attr(op, "pending")
        self.in_flight = self.in_flight[len(self.in_flight) - pending :] if pending else []

    def issue(self, op: TableOp) -> None:
        """Issue MMAs.

        A commit releases the stage once they are complete, so the partition has none in flight to wait for. Of several that read a
        stage, the last one releases it.
        """
        self._items(op)
        self.columns.issued += 1
        self.accesses.add_mma(op)
        self.multiplied.update(dict.fromkeys((op.lhs, op.rhs), self.columns.issued))
        if is_tracked(op, self.shared_columns):
            self.columns.issue(op)
        if op.pipeline is not None:
            self._release_stage(op)
        if op.ready is not None:
            self._fill_by_commit(op.ready)

    def _check_scratch(self, op: Operation) -> None:
        """Check that no MMA in tensor memory that this partition has issued still reads the bytes of an operation's scratch."""
        in_flight = (buffer for buffer, number in self.multiplied.items() if number > self.columns.complete)
        rings = (defining_op(buffer) for buffer in in_flight if isinstance(buffer.type, BufferType))
        if any(overlap(stage_region(ring), scratch_region(op)) for ring in rings):
            self.fail(f"{op.name} writes over an operand of an MMA that is not waited for")

    def _release_stage(self, op: TableOp) -> None:
        self._expect(op, self.released[op.pipeline])
        if op.lhs_scale is not None:
            self._use_scales(op)
        self._release_by_commit(op.pipeline)
        if op.acc_stage is not None:
            self._accumulate(op)

    def _accumulate(self, op: TableOp) -> None:
        """Check that the accumulator of an MMA is acquired and not yet filled."""
        if (pipeline := self.accumulators.get(op.acc)) is None:
            self.fail("an MMA accumulates into an accumulator that no commit fills")
        item, stages = self.filled[pipeline], stages_of(pipeline)
        if self.acquired[pipeline] != item + 1 or self.known_integers.get(op.acc_stage) != item % stages:
            self.fail(
                f"an MMA accumulates into item {item} in stage {self.known_integers.get(op.acc_stage)}, which is not acquired"
            )

    def commit(self, op: TableOp) -> None:
        item = self.filled[op.ready]
        if op.token is not None:
            self._expect(op, item, op.ready)
            if self.acquired[op.ready] != item + 1:
                self.fail(f"accumulator {item} is filled and not acquired")
        self._fill_by_commit(op.ready)

    # ---- scales ------------------------------------------------------------------------------------------------
    def commit_copies(self, op: TableOp) -> None:
        """Fill the item that this warp acquired last."""
        item = self.filled[op.pipeline]
        self._expect(op, item)
        if op.pipeline in self.reused and self.acquired[op.pipeline] != item + 1:
            self.fail(f"item {item} is filled and not acquired")
        self._fill_item(op.pipeline)
        self.unsynchronized -= {buffer for buffer in self.unsynchronized if self.pipelines.get(buffer) is op.pipeline}

    def store_scales(self, op: TableOp) -> None:
        self._check_acquired("scales", op, self.pipelines[op.buffer])

    def _check_acquired(self, written: str, op: TableOp, pipeline: SSAValue) -> None:
        item, stage = self.filled[pipeline], self.known_integers.get(op.stage)
        if self.acquired[pipeline] != item + 1 or stage != item % stages_of(pipeline):
            self.fail(f"{written} are written to stage {stage}, which is not acquired for item {item}")

    def copy_scales(self, op: TableOp) -> None:
        stage = self.known_integers.get(op.stage)
        self._item(op, op.source, stage)
        self.scales.copy(op.dest, stage)
        self.copied[op.dest] = self.pipelines[op.source]

    def _use_scales(self, op: TableOp) -> None:
        """Check that scales that tcgen05.cp copied are in a stage that is not released."""
        stage = self.scales.use(op, self.released[op.pipeline])
        if (pipeline := self.copied.get(op.lhs_scale)) is not None:
            held = range(self.released[pipeline], self.waited[pipeline])
            if all(item % stages_of(pipeline) != stage for item in held):
                self.fail(f"an MMA reads scales of stage {stage}, which is already released")

    def release_scales(self, op: TableOp) -> None:
        """Release the stage of scales; a commit does so once the earlier MMAs are complete."""
        item = self.released[op.pipeline]
        self._expect(op, item)
        if item >= self.waited[op.pipeline]:
            self.fail(f"item {item} is released before it is waited for")
        self._release_by_commit(op.pipeline)

    def barrier(self, op: TableOp) -> None:
        self.scales.barrier()
        self.columns.barrier()
        self.unsynchronized.clear()

    def use_accumulator(self, op: TableOp) -> None:
        """Check that the stage of a tile in tensor memory holds an item that was waited for and is not released."""
        if "line_dim" in op.attributes:
            return self.scales.store(op)
        if is_tracked(op, self.shared_columns):
            self.columns.store(op) if op.name == TMEM_STORE else self.columns.load(op)
        if op.name == TMEM_STORE and op.filled is not None:
            self._items(op) if is_staged(op) else self._fill_chunk(op)
            self.unsynchronized |= {op.dest} if is_staged(op) else set()
        tile = op.dest if op.name == TMEM_STORE else op.operands[0]
        self.accesses.add_threads(op)
        if tile not in self.accumulators:
            return
        pipeline, stage = self.accumulators[tile], None if op.stage is None else self.known_integers.get(op.stage)
        held = range(self.released[pipeline], self.waited[pipeline])
        if all(item % stages_of(pipeline) != stage for item in held):
            self.fail(f"{op.name} of stage {stage}, which holds no accumulator that was waited for and is not released")

    def scale_accumulator(self, op: TableOp) -> None:
        if is_tracked(op, self.shared_columns):
            self.columns.scale(op)
        self.accesses.add_threads(op)

    def _fill_chunk(self, op: TableOp) -> None:
        pipeline = self._pipeline(op.filled)
        if (item := self.filled[pipeline]) % stages_of(pipeline) != op.chunk:
            self.fail(f"chunk {op.chunk} is written as item {item}")
        self._fill_item(pipeline)


def stages_of(pipeline: SSAValue) -> int:
    return cast(PipelineType, pipeline.type).stages.data


STEPS = {
    OF_WARPGROUP: PartitionInterpreter.choose_pipeline,
    PIPELINE + "advance": PartitionInterpreter.advance,
    PIPELINE + "producer_acquire": PartitionInterpreter.acquire,
    "nv_tileas.async.tiled_tma_load": PartitionInterpreter.copy,
    PIPELINE + "producer_tail": PartitionInterpreter.drain,
    PIPELINE + "consumer_wait": PartitionInterpreter.wait,
    PIPELINE + "consumer_release": PartitionInterpreter.release,
    PIPELINE + "producer_commit": PartitionInterpreter.commit_copies,
    STORE_SCALES: PartitionInterpreter.store_scales,
    COPY_SCALES: PartitionInterpreter.copy_scales,
    "nv_tileas.barrier": PartitionInterpreter.barrier,
    LOCAL_STORE: PartitionInterpreter.store_operand,
    "nv_tileas.local_load": PartitionInterpreter.read,
    TMEM_LOAD: PartitionInterpreter.use_accumulator,
    TMEM_STORE: PartitionInterpreter.use_accumulator,
    TMEM_SCALE: PartitionInterpreter.scale_accumulator,
}
# By the role of an operation in an MMA that completes later; one whose accumulator is in tensor memory has no result.
MMA_STEPS = {
    MmaRole.RELEASE: PartitionInterpreter.release_scales,
    MmaRole.WAIT: PartitionInterpreter.finish,
    MmaRole.COMMIT: PartitionInterpreter.commit,
    MmaRole.ACQUIRE: PartitionInterpreter.overwrite,
}


def _step_of(op: Operation) -> Callable[[PartitionInterpreter, TableOp], None] | None:
    return _step_of_name(op.name, bool(op.results))


@cache
def _step_of_name(name: str, has_results: bool) -> Callable[[PartitionInterpreter, TableOp], None] | None:
    role = traits_of_name(name).mma
    if MmaRole.ISSUE in role:
        return PartitionInterpreter.mma if has_results else PartitionInterpreter.issue
    return STEPS.get(name) or MMA_STEPS.get(role)
