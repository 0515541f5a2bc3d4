"""Verify by execution that stages in shared memory are neither read nor overwritten too early.

A kernel is executed on its stage indices only. Every loop runs 0, 1, 2 and more trips than a buffer has stages, or
groups of iterations, and every branch is taken to either side, or to the side that the induction variable selects. In
such a run:

- a stage is the target of a copy only if no thread may still be reading it: a barrier followed its last read, or an MMA that read
  it is complete: a wait for a pipeline of S stages follows the completion of the MMA after the S-th wait before;
- a stage is read only after its copy was committed, waited for, and made visible to all: a barrier followed the wait. In a buffer of warps'
  own stages (``own``) a warp reads what it copied itself, and needs a wait of the warp (``of_warp``); none where each element has one thread, the
  same in all copies and reads;
- scratch memory that overlaps a buffer is written only if no copy to its bytes is in flight and no thread may still be
  reading them; it invalidates the stages, and no copy may follow before a barrier after the last read of the scratch.

A violation raises ``InternalError`` with id ``cp-async-verifier`` that names the stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from operator import eq

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...core.errors import InternalError
from ...ir.casting import as_op, cast, defining_op, int_attr
from ...ir.dialects.cute import layout_of
from ...ir.dialects.nv_tileas.ops import LocalLoadOp, is_written_by_pair
from ...ir.dialects.nv_tileas.scheduling_attributes import LDMATRIX
from ...ir.dialects.nv_tileas.types import BufferType, PipelineType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_async_mma, traits_of
from ...ir.layouts import LinearLayout
from .control_flow_paths import AGENT_SWITCH, kernels_of
from .integer_interpreter import IntegerInterpreter
from .shared_memory_allocation import overlap

TRIPS, ARMS, GROUPS = (0, 1, 2, 3, 6, 9), (0, 1), 6
BufferBytes = tuple[SSAValue, int]
CONSUMER_WAIT = "nv_tileas.async.pipeline.consumer_wait"
ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.shrui": lambda a, b: a >> b,
    "arith.remui": lambda a, b: a % b,
}


def verify_cp_async_buffers(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return the number of stage buffers."""
    count = 0
    for kernel in kernels_of(module):
        rings = [op for op in kernel.walk() if op.name == "nv_tileas.alloc_tensor"]
        count += len(rings)
        own: dict[SSAValue, bool] = {
            ring.results[0]: _needs_wait_of_warp(ring) for ring in rings if "own" in ring.attributes
        }
        if rings:
            for trips, arm in product((*TRIPS, *_group_trip_counts(kernel)), ARMS):
                _Run(kernel, trips, arm, own).block(kernel.regions[0].blocks[0])
    return count


def _group_trip_counts(kernel: Operation) -> list[int]:
    """Trip counts after which every slot of a buffer of groups was reused, if there is one."""
    steps = [as_op(op).scale_steps for op in kernel.walk() if is_async_mma(op)]
    return [GROUPS * max(steps) + 1] if max(steps, default=1) > 1 else []


class _Run(IntegerInterpreter):
    """One run: the state of every stage."""

    error_id, arithmetic, compare = "cp-async-verifier", ARITHMETIC, {"eq": eq}

    def __init__(self, kernel: Operation, trips: int, arm: int, own: Mapping[SSAValue, bool]):
        """``own``: whether each buffer of warps' own stages needs waits of the warp."""
        super().__init__(kernel, trips, arm)
        self.own = own
        self.reading: set[BufferBytes] = set()
        # Stages that an MMA in flight may read: the pipeline that was waited for last, and how often.
        self.multiplying: dict[BufferBytes, tuple[SSAValue | None, int]] = {}
        self.last_wait: tuple[SSAValue | None, int] = (None, 0)
        self.waits: dict[SSAValue, int] = {}
        self.scratch: range = range(0)
        self.uncommitted: set[BufferBytes] = set()
        self.groups: list[set[BufferBytes]] = []
        self.landed: set[BufferBytes] = set()
        self.visible: set[BufferBytes] = set()

    def indices(self, op: Operation) -> Iterable[int | None]:
        """Known if a loop starts at a constant and has a constant step."""
        lower, _, step = self._known(op.operands[:3])
        if lower is None or step is None:
            return super().indices(op)
        return range(lower, lower + self.trips * step, step) if step else [lower] * self.trips

    def step(self, op: Operation) -> None:
        """Evaluate integers, and update the state of stages."""
        if op.name == AGENT_SWITCH:  # one partition copies
            for partition in op.regions:
                self.block(partition.blocks[0])
        elif "scratch_offset" in op.attributes:
            self._use_scratch(op)
        elif is_async_mma(op) or MmaRole.WAIT in traits_of(op).mma:
            self.multiply(op)
        elif (step := STEPS.get(op.name)) is not None:
            step(self, op)
        elif (number := self.evaluate(op)) is not None:
            self.known_integers[op.results[0]] = number

    # ---- events --------------------------------------------------------------------------------------------------
    def _place(self, op: Operation) -> BufferBytes:
        buffer, stage = as_op(op).buffer, self.known_integers.get(as_op(op).stage)
        if stage is None or not 0 <= stage < buffer.type.stages.data:
            self.fail(f"{op.name} uses stage {stage}")
        return buffer, stage

    def _use_scratch(self, op: Operation) -> None:
        """Write, synchronize and read scratch, by all threads."""
        start = int_attr(op, "scratch_offset")
        region = range(start, start + int_attr(op, "scratch_bytes"))
        if "sync_before" in op.attributes:
            self._barrier()
        in_flight = self.uncommitted.union(self.landed, *self.groups)
        for place in self.reading | in_flight:
            if overlap(region, _bytes_of(place)):
                self.fail(f"{op.name} writes over stage {place[1]} while it may be copied to or read")
        self._barrier()
        self.visible = {place for place in self.visible if not overlap(region, _bytes_of(place))}
        self.scratch = region

    def copy(self, op: Operation) -> None:
        place = self._place(op)
        if overlap(self.scratch, _bytes_of(place)):
            self.fail(f"stage {place[1]} is copied to while scratch in its bytes may still be read")
        if place in self.reading or place in self.multiplying:
            self.fail(f"stage {place[1]} is copied to while it may still be read")
        self.visible.discard(place)
        self.landed.discard(place)
        self.uncommitted.add(place)

    def commit(self, op: Operation) -> None:
        self.groups.append(self.uncommitted)
        self.uncommitted = set()

    def wait(self, op: Operation) -> None:
        pending = int_attr(op, "pending")
        done = self.groups[: len(self.groups) - pending]
        self.groups = self.groups[len(done) :]
        self.landed |= set().union(*done)
        of_warp = "of_warp" in op.attributes
        self.visible |= {place for place in self.landed if self.own.get(place[0]) in (False, of_warp)}
        if of_warp:
            self.reading = {place for place in self.reading if place[0] not in self.own}

    def _barrier(self, op: Operation | None = None) -> None:
        self.reading.clear()
        self.scratch = range(0)
        self.visible |= self.landed
        self.landed = set()

    def hand_over(self, op: Operation) -> None:
        """The thread that issues MMAs waits for what the warps of a pair have written: it is visible to MMAs, and not to other threads."""
        if is_written_by_pair(as_op(op).pipeline):
            self.visible |= self.landed
            self.landed = set()

    def read(self, op: Operation) -> None:
        if _is_filled_by_tma(as_op(op).buffer):
            return  # ``mbarrier_pipelines`` proves that it was waited for
        place = self._place(op)
        if place not in self.visible:
            self.fail(f"stage {place[1]} is read before every thread's copies to it are complete and visible")
        if self.own.get(place[0], True):
            self.reading.add(place)

    def multiply(self, op: Operation) -> None:
        """Issue an MMA, and wait until at most ``pending`` are in flight."""
        if is_async_mma(op):
            mma = as_op(op)
            for buffer, stage in ((mma.lhs, mma.lhs_stage), (mma.rhs, mma.rhs_stage)):
                if stage is not None and _is_copied(buffer):
                    self._multiply_stage((buffer, self.known_integers.get(stage)))
        if op.attributes.get("pending") is not None and int_attr(op, "pending") == 0:
            self.reading.update(self.multiplying)  # other warps may not have waited
            self.multiplying.clear()

    def _multiply_stage(self, place: tuple[SSAValue, int | None]) -> None:
        buffer, stage = place
        if stage is None or (buffer, stage) not in self.visible:
            self.fail(f"stage {stage} is multiplied before every thread's copies to it are complete and visible")
        self.multiplying[buffer, stage] = self.last_wait

    def wait_for_pipeline(self, op: Operation) -> None:
        """Wait until a stage of a pipeline is full, or empty for those who read it."""
        wait = as_op(op)
        pipeline = wait.pipeline
        if wait.by_issuer if op.name == CONSUMER_WAIT else not (wait.by_readers or is_written_by_pair(pipeline)):
            return
        count = self.waits[pipeline] = self.waits.get(pipeline, 0) + 1
        stages = cast(PipelineType, pipeline.type).stages.data
        complete = _is_of_accumulators(pipeline)
        self.multiplying = {
            place: (waited, before)
            for place, (waited, before) in self.multiplying.items()
            if not complete and (waited is not pipeline or before + stages > count)
        }
        if not complete:
            self.last_wait = pipeline, count


def _needs_wait_of_warp(ring: Operation) -> bool:
    """Whether lanes read of a buffer of warps' own stages what others have copied. An error where warps do."""
    accesses = [as_op(use.operation) for use in ring.results[0].uses]
    layouts = list(dict.fromkeys(map(_layout_of_access, accesses)))
    copies = cast(BufferType, ring.results[0].type).placement.data.size // layouts[0].size
    if copies < 1 << layouts[0].free_bits("warp").bit_count() or any(
        _of_warps(layout) != _of_warps(layouts[0]) for layout in layouts[1:]
    ):
        raise InternalError("cp-async-verifier", "warps share elements of a buffer of their own stages")
    reads_matrices = any(op.name == LocalLoadOp.name and op.copy_atom == LDMATRIX for op in accesses)
    return reads_matrices or len(layouts) > 1 or layouts[0].free_bits("lane") != 0


def _of_warps(layout: LinearLayout) -> list[frozenset[int]]:
    """The elements of each warp."""
    return [frozenset(warp.ravel().tolist()) for warp in layout.as_array()[0]]


def _layout_of_access(op: TableOp) -> LinearLayout:
    if op.name == LocalLoadOp.name:
        return layout_of(op.result)
    return layout_of(op.pointer) if op.name == "nv_tileas.async_load" else op.layout


def _is_copied(buffer: SSAValue) -> bool:
    return any(use.operation.name in ("nv_tileas.async_tiled_load", "nv_tileas.async_load") for use in buffer.uses)


def _is_of_accumulators(pipeline: SSAValue) -> bool:
    """Whether a stage of a pipeline is full once all MMAs are complete."""
    return any(
        MmaRole.COMMIT in traits_of(use.operation).mma
        or (is_async_mma(use.operation) and not use.operation.results and as_op(use.operation).ready is pipeline)
        for use in pipeline.uses
    )


def _is_filled_by_tma(buffer: SSAValue) -> bool:
    """Whether TMA fills a ring."""
    return any(use.operation.name == "nv_tileas.async.tiled_tma_load" for use in buffer.uses)


def _bytes_of(place: BufferBytes) -> range:
    """The bytes of a stage; none before offsets are assigned."""
    ring, stage = place
    if "shared_offset" not in defining_op(ring).attributes:
        return range(0)
    size = cast(BufferType, ring.type).stage_bytes
    start = int_attr(defining_op(ring), "shared_offset") + stage * size
    return range(start, start + size)


STEPS = {
    "nv_tileas.async_tiled_load": _Run.copy,
    "nv_tileas.async_load": _Run.copy,
    CONSUMER_WAIT: _Run.wait_for_pipeline,
    "nv_tileas.async.pipeline.producer_acquire": _Run.wait_for_pipeline,
    "nv_tileas.async_commit": _Run.commit,
    "nv_tileas.async_wait": _Run.wait,
    "nv_tileas.barrier": _Run._barrier,
    "nv_tileas.async.pipeline.producer_commit": _Run.hand_over,
    "nv_tileas.local_load": _Run.read,
}
