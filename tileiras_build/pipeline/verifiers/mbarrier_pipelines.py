"""Verify by execution that the warp partitions of a kernel agree on its pipelines, stage by stage and phase by phase.

Each partition of an ``agent_switch`` is executed on its integers only. Every loop runs 0, 1, 2 and more trips than a
pipeline has stages (inner loops the same or another number), and every branch is taken to either side. A pipeline of S
stages is a queue of items. Item n is in stage n mod S with phase (n div S) mod 2. In such a run:

- The n-th acquire and the n-th wait are for item n, and both partitions have equally many.
- An item is read only after its wait and before its release. It is released only when no MMA that reads it is in flight.
- TMA copies as many bytes to an item as its acquire expects.
- Releases are in order and in time: the wait for item n follows the release of item n - S, else no partition could
  fill it.
- If commits or other CTAs release items, the partition that fills the stages drains the pipeline before it ends, as an
  arrival may be late.
- The wait for an accumulator in tensor memory follows the issue of the MMAs that fill it, each time with the
  other phase.
- If no partition acquires the stages of a pipeline (accumulators, left operands that warps write in chunks), a stage is
  refilled only by a partition that has waited for something that follows the last wait for that stage.
- If one partition releases what another one waits for, reads or writes, that happens before; no MMA reads an operand before threads
  have written it.
- Threads access tensor memory, and operands, only where the MMAs of other partitions that access them are complete (``mma_access_order.py``).
- Scales in tensor memory are those of an MMA's iteration, and are not overwritten too early (``tmem_scale_hazards.py``).
- If a partition of its own issues MMAs, its accumulators are items, too: an MMA accumulates into an item that is
  acquired and not yet filled, each item is filled once, and consumers read items that they waited for and have not released.
- All partitions together, each advancing as far as mbarriers allow, reach their ends.

``partition_interpreter.py`` checks the conditions on a single partition, this module those on all of them. A violation
raises ``InternalError`` with id ``pipeline-verifier`` that names the item.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue

from ...ir.casting import as_op, defining_op, int_attr, unwrap
from ...ir.dialects.op_traits import is_async_mma
from .assumed_loop_bounds import assumed_bounds
from .control_flow_paths import kernels_of
from .kernel_pipelines import OF_WARPGROUP, PIPELINE, KernelPipelines, RegionPipelines
from .mma_access_order import check_mma_access_order
from .partition_interpreter import PartitionInterpreter, stages_of
from .pipeline_events import EventCounts, PipelineEvent, advance_all
from .tmem_column_lifetimes import TmemColumnLifetimes, unread

# Trip counts of the outermost loops of a run, and of inner loops.
TRIP_COUNTS = (*((trips, trips) for trips in (0, 1, 2, 3, 7, 13)), (1, 0), (3, 0), (2, 1), (5, 2))
BRANCHES = (0, 1)
SCALE_GROUPS = 4  # groups of iterations that share scales, after which every slot was reused


def verify_pipelines(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return how many pipelines it has."""
    count = 0
    for kernel in kernels_of(module):
        count += sum(op.name == PIPELINE + "create" for op in kernel.walk())
        for switch in (op for op in kernel.walk() if op.name == "nv_tileas.agent_switch"):
            pipelines, partitions = KernelPipelines.of(kernel), _partitions(kernel, switch)
            columns: list[TmemColumnLifetimes] = []
            for trips in (*TRIP_COUNTS, *_trip_counts_of_scale_groups(kernel)):
                bounds = assumed_bounds(kernel, trips)
                for arm in BRANCHES:
                    runs = [
                        (PartitionInterpreter(kernel, trips, arm, pipelines, bounds, of_region, group), region)
                        for region, of_region, group in partitions
                    ]
                    _check(runs)
                    columns += [run.columns for run, _ in runs]
            for op in unread(columns):
                runs[0][0].fail(f"the columns of tensor memory that {op.name} writes are never read")
    return count


def _partitions(kernel: Operation, switch: Operation) -> list[tuple[Region, RegionPipelines, int]]:
    """The regions of a switch, their pipelines, and a warpgroup that runs each; the consumer's with each that has pipelines of its own."""
    own = (len(op.operands) for op in kernel.walk() if op.name == OF_WARPGROUP)
    *others, consumer = switch.regions
    groups = [*((region, 0) for region in others), *((consumer, group) for group in range(next(own, 1)))]
    return [(region, RegionPipelines.of(region), group) for region, group in groups]


def _trip_counts_of_scale_groups(kernel: Operation) -> list[tuple[int, int]]:
    """Trip counts after which every slot of scales was reused, if iterations share scales."""
    most = max((as_op(op).scale_steps for op in kernel.walk() if is_async_mma(op)), default=1)
    return [(SCALE_GROUPS * most + 1, 3), (3, SCALE_GROUPS * most + 1)] if most > 1 else []


def _check(runs: list[tuple[PartitionInterpreter, Region]]) -> None:
    for partition, region in runs:
        partition.block(region.blocks[0])
    partitions = [partition for partition, _ in runs]
    for run in partitions:
        for pipeline in run.acquired:
            run.check_copies(pipeline)
    for pipeline in {pipeline for run in partitions for pipeline in (*run.acquired, *run.waited)}:
        _check_balance(pipeline, partitions)
    _check_commits(partitions)
    _check_drained(partitions)
    _check_deadlock(partitions)
    _check_overwrites(partitions)
    check_mma_access_order(partitions)


def _check_drained(partitions: list[PartitionInterpreter]) -> None:
    """Check that a partition waits for the last releases by commits and by other CTAs."""
    late = {pipeline for run in partitions for pipeline in run.committed}
    late |= {pipeline for run in partitions for pipeline in run.acquired if _is_shared_by_ctas(pipeline)}
    if not all(any(pipeline in run.drained for run in partitions) for pipeline in late):
        partitions[0].fail("commits or other CTAs release stages, and no partition waits for the last of them")


def _check_commits(partitions: list[PartitionInterpreter]) -> None:
    """Check that as many partitions release a stage by commits as its mbarrier expects."""
    for pipeline in {pipeline for run in partitions for pipeline in run.committed}:
        releasing = sum(pipeline in run.committed for run in partitions)
        if releasing != int_attr(defining_op(pipeline), "consumers"):
            partitions[0].fail(f"{releasing} partitions release a stage by commits, and its mbarrier expects others")


def _is_shared_by_ctas(pipeline: SSAValue) -> bool:
    return int_attr(defining_op(pipeline), "ctas", absent=1) > 1


def _check_balance(pipeline: SSAValue, partitions: list[PartitionInterpreter]) -> None:
    """Check that equally many items are filled and waited for, by each partition that waits."""
    acquired, filled = (
        sum(counts(run).get(pipeline, 0) for run in partitions)
        for counts in (lambda run: run.acquired, lambda run: run.filled)
    )
    waits = {run.waited[pipeline] for run in partitions if pipeline in run.waited}
    waited = max(waits, default=0)
    if len(waits) > 1:
        partitions[0].fail(f"one partition waits for {waited} items, another for {min(waits)}")
    reused, producers = any(pipeline in run.acquired for run in partitions), _producers(pipeline)
    if acquired != producers * waited and (reused or not filled):
        partitions[0].fail(f"{acquired} items are acquired, {waited} are waited for")
    if reused and filled and filled != acquired:
        partitions[0].fail(f"{acquired} items are acquired, {filled} are filled")


def _check_deadlock(partitions: list[PartitionInterpreter]) -> None:
    """Check that every partition reaches its end, if each advances as far as mbarriers allow."""
    runs = [run.events for run in partitions]
    done = EventCounts(runs)
    at = advance_all(runs, done, [*map(len, runs)], [0] * len(runs))
    for number, run in enumerate(partitions):
        if at[number] < len(run.events):
            event = run.events[at[number]]
            run.fail(f"deadlock: {event.kind} of item {done.count(event.kind, event.pipeline)} waits forever")


def _check_overwrites(partitions: list[PartitionInterpreter]) -> None:
    """Check that no partition refills a stage while another is stalled before its wait, in pipelines without acquires, and that
    none releases an item while another is stalled before its wait for it, or its access to it.
    """
    for number, run in enumerate(partitions):
        if any(run.waits_without_acquire(event) or run.is_guarded(event) for event in run.events):
            _stall(partitions, number)


def _stall(partitions: list[PartitionInterpreter], number: int) -> None:
    """Advance one partition step by step, and before each of its steps all others as far as possible."""
    stalled, runs = partitions[number], [run.events for run in partitions]
    done, limits, at = EventCounts(runs), [*map(len, runs)], [0] * len(runs)
    for position, event in enumerate(stalled.events):
        refilled, released = stalled.waits_without_acquire(event), stalled.is_guarded(event)
        if not refilled and not released:
            continue
        at = advance_all(runs, done, [*limits[:number], position, *limits[number + 1 :]], at)
        if refilled and done.count("fill", event.pipeline) >= event.count + stages_of(event.pipeline):
            stalled.fail(f"item {event.count - 1} is filled again before it is waited for")
        if released:
            others = [one for index, run in enumerate(partitions) if index != number for one in run.events[: at[index]]]
            _check_released(stalled, event, done.count("release", event.pipeline), others)


def _check_released(
    stalled: PartitionInterpreter, event: PipelineEvent, released: int, others: list[PipelineEvent]
) -> None:
    """Check that no other partition has released an item before this event, or read what it stores."""
    if released > unwrap(event.item):
        stalled.fail(f"item {event.item} is released before the {event.kind} of other threads")
    read = ((one.buffer, one.item) for one in others if one.kind == "read")
    if event.kind == "store" and (event.buffer, event.item) in read:
        stalled.fail(f"item {event.item} is read before other threads store it")


def _producers(pipeline: SSAValue) -> int:
    return int_attr(defining_op(pipeline), "producers", absent=1)
