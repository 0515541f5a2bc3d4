"""Proof by running that the agents of a kernel agree: what one fills, another reads, stage by stage and phase by phase.

Each agent of an ``agent_switch`` is run on its integers only, with every loop going round 0, 1, 2 and more times than a
pipeline has stages (loops inside others as often, or another number of times), and every branch taken to either side. A pipeline of S stages is a queue of items; item n lies in
stage n mod S with phase (n div S) mod 2. Along such a run:

- the n-th acquire, and the n-th wait, is for item n, and two agents have as many of them;
- an item is read only after its wait and before its release, and released only when no product that reads it is under way;
- releases come in order, and early enough: item n is waited for after item n - S is released, else nobody fills it;
- where commits release items, the agent that fills the stages ends behind the last of them: an arrival may come late;
- a sum in tensor memory is waited for after what fills it was issued, each time with the other phase;
- where nobody acquires a stage of a pipeline (sums, left operands that warps write part by part), it is filled again only by an agent
  that has waited for what came after the last item was waited for;
- scales in tensor memory are those of a product's iteration, and not overwritten too early (``tmem_scale_factors.py``);
- where an agent of its own issues products, its sums are items too: a product adds to the one that is acquired and not
  yet filled, each is filled once, and the agents that compute read one that they waited for and did not release. All
  agents together, each going on as far as mbarriers let it, come to their ends.

Every check raises ``InternalError`` with id ``pipeline-verifier`` and says what is wrong with which item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, cast, defining_op, int_attr, unwrap
from ...ir.dialects.nv_tileas.types import PipelineType
from ...ir.dialects.op_definition import TableOp
from .control_flow_paths import kernels_of
from .integer_interpreter import IntegerInterpreter
from .loop_bound_assumptions import assumed_bounds
from .tmem_scale_factors import TmemScaleFactors

# How often the outermost loops of a run go round, and those inside them.
TRIPS = (*((trips, trips) for trips in (0, 1, 2, 3, 7, 13)), (1, 0), (3, 0), (2, 1), (5, 2))
BRANCHES = (0, 1)
PIPELINE = "nv_tileas.async.pipeline."
MULTIPLY, COMMIT = "nv_tileas.async.umma", "nv_tileas.async.umma_commit"
TMEM_LOAD, TMEM_STORE = "nv_tileas.tmem_load", "nv_tileas.tmem_store"
STORE_SCALES, COPY_SCALES = "nv_tileas.store_scales", "nv_tileas.async.copy_scales"
GROUPS = 4  # of iterations that share scales, after which their ring has turned
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "slt": lambda a, b: a < b, "ult": lambda a, b: a < b,
    "sge": lambda a, b: a >= b, "uge": lambda a, b: a >= b,
}  # fmt: skip
ARITHMETIC = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
    "arith.shrui": lambda a, b: a >> b, "arith.andi": lambda a, b: a & b, "arith.remui": lambda a, b: a % b,
}  # fmt: skip


def verify_pipelines(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; how many pipelines were looked at."""
    count = 0
    for kernel in kernels_of(module):
        switches = [op for op in kernel.walk() if op.name == "nv_tileas.agent_switch"]
        count += sum(op.name == PIPELINE + "create" for op in kernel.walk())
        for switch in switches:
            places = _Resources(_pipelines_of(kernel), _accumulator_pipelines(kernel), _acquired_pipelines(kernel))
            for trips in (*TRIPS, *_group_trip_counts(kernel)):
                bounds = assumed_bounds(kernel, trips)
                for arm in BRANCHES:
                    agents = [_Partition(kernel, trips, arm, places, bounds) for _ in switch.regions]
                    _check(switch, agents)
    return count


def _group_trip_counts(kernel: Operation) -> list[tuple[int, int]]:
    """Trips after which a ring of groups of iterations has turned, where there is one."""
    most = max((as_op(op).scale_steps for op in kernel.walk() if op.name == MULTIPLY), default=1)
    return [(GROUPS * most + 1, 3), (3, GROUPS * most + 1)] if most > 1 else []


def _check(switch: Operation, partitions: list[_Partition]) -> None:
    for agent, region in zip(partitions, switch.regions):
        agent.block(region.blocks[0])
    for pipeline in {pipeline for agent in partitions for pipeline in (*agent.acquired, *agent.waited)}:
        _check_balance(pipeline, partitions)
    for pipeline in {pipeline for agent in partitions for pipeline in agent.committed}:
        if not any(pipeline in agent.outlasted for agent in partitions):
            partitions[0].fail("commits give stages back, and nobody waits for the last of them")
    _check_deadlock(partitions)
    _check_overwrites(partitions)


def _check_balance(pipeline: SSAValue, partitions: list[_Partition]) -> None:
    """As many items are filled as are waited for."""
    acquired, filled, waited = (
        sum(counts(agent).get(pipeline, 0) for agent in partitions)
        for counts in (lambda agent: agent.acquired, lambda agent: agent.filled, lambda agent: agent.waited)
    )
    reused, producers = any(pipeline in agent.acquired for agent in partitions), _producers(pipeline)
    if acquired != producers * waited and (reused or not filled):
        partitions[0].fail(f"{acquired} items are acquired, {waited} are waited for")
    if reused and filled and filled != acquired:
        partitions[0].fail(f"{acquired} items are acquired, {filled} are filled")


def _check_deadlock(partitions: list[_Partition]) -> None:
    """Let each agent go on while what it waits for has happened: it waits in vain only if all are at their ends."""
    done = _EventCounts(partitions)
    at = _advance_all(partitions, done, [len(agent.events) for agent in partitions], [0] * len(partitions))
    for number, agent in enumerate(partitions):
        if at[number] < len(agent.events):
            event = agent.events[at[number]]
            agent.fail(f"{event.kind} of item {done.count(event.kind, event.pipeline)} waits for ever")


def _advance_all(partitions: list[_Partition], done: _EventCounts, ends: list[int], begun: list[int]) -> list[int]:
    """How many of their events agents come to, each of them up to an end, where so many have happened."""
    at = list(begun)
    moving = True
    while moving:
        moving = False
        for number, agent in enumerate(partitions):
            while at[number] < ends[number] and agent.events[at[number]].may_happen(done):
                done.add(number, agent.events[at[number]])
                at[number] += 1
                moving = True
    return at


def _check_overwrites(partitions: list[_Partition]) -> None:
    """Hold an agent before it waits for an item that nobody acquires: no other fills the stage of that item again."""
    for number, agent in enumerate(partitions):
        if any(map(agent.waits_without_acquire, agent.events)):
            _stall(partitions, number)


def _stall(partitions: list[_Partition], number: int) -> None:
    """Step by step one agent, and before each step the others as far as they come."""
    held, done = partitions[number], _EventCounts(partitions)
    ends, at = [len(agent.events) for agent in partitions], [0] * len(partitions)
    for place, event in enumerate(held.events):
        if held.waits_without_acquire(event):
            at = _advance_all(partitions, done, [*ends[:number], place, *ends[number + 1 :]], at)
            if done.count("fill", event.pipeline) >= event.count + _stages(event.pipeline):
                held.fail(f"item {event.count - 1} is filled again before it is waited for")


class _EventCounts:
    """How many events of a kind have happened in a pipeline: in each of the agents in which there are some."""

    def __init__(self, agents: list[_Partition]):
        self.counts: dict[tuple[str, SSAValue], dict[int, int]] = defaultdict(dict)
        for number, agent in enumerate(agents):
            for event in agent.events:
                self.counts[event.kind, event.pipeline][number] = 0

    def add(self, partition: int, event: _Event) -> None:
        self.counts[event.kind, event.pipeline][partition] += 1

    def count(self, kind: str, pipeline: SSAValue) -> int:
        return min(self.counts[kind, pipeline].values(), default=0)


@dataclass(frozen=True)
class _Event:
    """What an agent does to a pipeline, after ``count`` events of the kind ``needs``."""

    kind: str
    pipeline: SSAValue
    needs: str = ""
    count: int = 0

    def may_happen(self, done: _EventCounts) -> bool:
        return self.count <= 0 or done.count(self.needs, self.pipeline) >= self.count


@dataclass(frozen=True)
class _Resources:
    """The pipelines of a kernel's buffers, and of its tiles of sums that have stages; those that somebody acquires stages of."""

    pipelines: dict[SSAValue, SSAValue]
    accumulators: dict[SSAValue, SSAValue]
    acquired: set[SSAValue]


class _Partition(IntegerInterpreter):
    """One run of one agent: how far it is in each pipeline."""

    error_id, arithmetic, compare = "pipeline-verifier", ARITHMETIC, COMPARE

    def __init__(
        self, kernel: Operation, trips: tuple[int, int], arm: int, places: _Resources, assumed: dict[SSAValue, int]
    ):
        super().__init__(kernel, trips[0], arm)
        self.acquired: dict[SSAValue, int] = defaultdict(int)
        self.waited: dict[SSAValue, int] = defaultdict(int)
        self.released: dict[SSAValue, int] = defaultdict(int)
        self.filled: dict[SSAValue, int] = defaultdict(int)
        self.committed: set[SSAValue] = set()  # pipelines whose items are released by commits
        self.outlasted: set[SSAValue] = set()
        self.under_way: list[set[tuple[SSAValue, int]]] = []
        self.scales = TmemScaleFactors(self)
        self.readers: dict[tuple[SSAValue, int], dict] = {}  # of scales, when an item was filled
        self.copied: dict[SSAValue, SSAValue] = {}  # the pipeline of each tile of scales that is copied
        self.events: list[_Event] = []
        self.pipelines, self.accumulators, self.reused, self.assumed = (
            places.pipelines,
            places.accumulators,
            places.acquired,
            assumed,
        )
        for op in kernel.regions[0].blocks[0].ops:
            self.step(op)

    def indices(self, op: Operation) -> range:
        """From the loop's own bounds, as known or assumed."""
        lower, upper, step = (unwrap(number) for number in self._known(op.operands[:3]))
        return range(lower, upper, max(step, 1))

    def _known(self, values: Iterable[SSAValue]) -> list[int | None]:
        """What the run knows, else what it assumes."""
        return [
            self.assumed.get(value) if self.known_integers.get(value) is None else self.known_integers[value]
            for value in values
        ]

    def step(self, op: Operation) -> None:
        """Follow the integers and the items of the pipelines."""
        if (step := STEPS.get(op.name)) is not None:
            step(self, as_op(op))
        elif len(op.results) == 1:
            self.known_integers[op.results[0]] = self.evaluate(op)

    def waits_without_acquire(self, event: _Event) -> bool:
        """Whether it waits for what another agent fills and nobody acquires."""
        return event.kind == "wait" and event.pipeline not in self.reused and event.pipeline not in self.filled

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
        self.overwrite(op)
        self.events.append(_Event("fill", op.pipeline))

    def overwrite(self, op: TableOp) -> None:
        """A stage, or accumulators, that are overwritten: what they held before was read and released."""
        pipeline, item = op.pipeline, self.acquired[op.pipeline]
        self._expect(op, item)
        self.events.append(_Event("acquire", pipeline, "release", item + 1 - pipeline.type.stages.data))
        self.acquired[pipeline] += 1

    def drain(self, op: TableOp) -> None:
        """All that was acquired is released before the agent goes on."""
        pipeline, count = op.pipeline, self.acquired[op.pipeline]
        self._expect(op, count)
        self.outlasted.add(pipeline)
        self.events.append(_Event("outlast", pipeline, "release", count))

    def wait(self, op: TableOp) -> None:
        pipeline, item = op.pipeline, self.waited[op.pipeline]
        self._expect(op, item)
        if pipeline in self.filled and self.filled[pipeline] <= item:
            self.fail(f"sum {item} is waited for before its products are issued")
        stages = pipeline.type.stages.data
        if pipeline in self.reused and pipeline not in self.filled and item - self.released[pipeline] >= stages:
            self.fail(f"item {item} is waited for while {stages} others are not released")
        self.events.append(_Event("wait", pipeline, "fill", item + 1))
        self.scales.finish(self.readers.pop((pipeline, item), {}))
        self.waited[pipeline] += 1

    def release(self, op: TableOp) -> None:
        if op.enabled is not None and self.known_integers.get(op.enabled) == 0:
            return
        pipeline, behind = op.pipeline, int("previous_stage" in op.attributes)
        token, stages = self.known_integers.get(op.token), op.pipeline.type.stages.data
        item = self.released[pipeline]
        if token is None or (token // 2 - behind) % stages != item % stages:
            self.fail(f"the release after {item} others names token {token}{' (the one behind)' * behind}")
        if item >= self.waited[pipeline]:
            self.fail(f"item {item} is released before it is waited for")
        if any((pipeline, item) in group for group in self.under_way):
            self.fail(f"item {item} is released while a product that reads it is under way")
        self._release_item(pipeline)

    def _release_item(self, pipeline: SSAValue) -> None:
        self.released[pipeline] += 1
        self.events.append(_Event("release", pipeline))

    def _release_by_commit(self, pipeline: SSAValue) -> None:
        self.committed.add(pipeline)
        self._release_item(pipeline)

    def _fill_item(self, pipeline: SSAValue) -> None:
        self.readers[pipeline, self.filled[pipeline]] = dict(self.scales.readers)
        self.filled[pipeline] += 1
        self.events.append(_Event("fill", pipeline))

    def _items(self, op: TableOp) -> set[tuple[SSAValue, int]]:
        """What an operation reads: the item of each stage it names, which must be there."""
        if hasattr(op, "stage"):
            return {self._item(op, op.buffer, self.known_integers.get(op.stage))}
        places = ((op.lhs, op.lhs_stage), (op.rhs, op.rhs_stage))
        return {self._item(op, buffer, self.known_integers.get(stage)) for buffer, stage in places if stage is not None}

    def _item(self, op: TableOp, buffer: SSAValue, stage: int | None) -> tuple[SSAValue, int]:
        pipeline = self.pipelines[buffer]
        held = range(self.released[pipeline], self.waited[pipeline])
        item = next((item for item in held if item % _stages(pipeline) == stage), None)
        if item is None:
            self.fail(f"{op.name} reads stage {stage}, which holds no item that was waited for and is not released")
        return pipeline, item

    def read(self, op: TableOp) -> None:
        """A stage that the other agent fills; ``rings`` looks at those that this one copies to."""
        if op.buffer in self.pipelines:
            self._items(op)

    def mma(self, op: TableOp) -> None:
        self.under_way.append(self._items(op))
        self.finish(op)

    def finish(self, op: TableOp) -> None:
        """At most ``pending`` products stay under way; one that does not say waits for none."""
        if "pending" not in op.attributes:
            return
        pending = int_attr(op, "pending")
        self.under_way = self.under_way[len(self.under_way) - pending :] if pending else []

    def issue(self, op: TableOp) -> None:
        """A commit gives the stage back once the product is done, so nothing is under way for the program."""
        self._items(op)
        if op.pipeline is None:
            return  # of several parts, the last one gives the stage back
        self._expect(op, self.released[op.pipeline])
        if op.lhs_scale is not None:
            self._use_scales(op)
        self._release_by_commit(op.pipeline)
        if op.ready is not None:
            self._fill_item(op.ready)
        if op.acc_stage is not None:
            self._adds(op)

    def _adds(self, op: TableOp) -> None:
        """The sum that a product adds to is acquired and not filled."""
        if (pipeline := self.accumulators.get(op.acc)) is None:
            self.fail("a product adds to a sum that is never filled")
        item, stages = self.filled[pipeline], _stages(pipeline)
        if self.acquired[pipeline] != item + 1 or self.known_integers.get(op.acc_stage) != item % stages:
            self.fail(
                f"a product adds to sum {item} in stage {self.known_integers.get(op.acc_stage)}, which is not acquired"
            )

    def commit(self, op: TableOp) -> None:
        item = self.filled[op.ready]
        if op.token is not None:
            self._expect(op, item, op.ready)
            if self.acquired[op.ready] != item + 1:
                self.fail(f"sum {item} is filled and not acquired")
        self._fill_item(op.ready)

    # ---- scales ------------------------------------------------------------------------------------------------
    def commit_copies(self, op: TableOp) -> None:
        """What this warp fills is what it acquired last."""
        item = self.filled[op.pipeline]
        self._expect(op, item)
        if self.acquired[op.pipeline] != item + 1:
            self.fail(f"item {item} is filled and not acquired")
        self._fill_item(op.pipeline)

    def store_scales(self, op: TableOp) -> None:
        pipeline = self.pipelines[op.buffer]
        item, stage = self.filled[pipeline], self.known_integers.get(op.stage)
        if self.acquired[pipeline] != item + 1 or stage != item % _stages(pipeline):
            self.fail(f"scales are written to stage {stage}, which is not acquired for item {item}")

    def copy_scales(self, op: TableOp) -> None:
        stage = self.known_integers.get(op.stage)
        self._item(op, op.source, stage)
        self.scales.copy(op.dest, stage)
        self.copied[op.dest] = self.pipelines[op.source]

    def _use_scales(self, op: TableOp) -> None:
        """Those of a copied stage are there until it is given back."""
        stage = self.scales.use(op, self.released[op.pipeline])
        if (pipeline := self.copied.get(op.lhs_scale)) is not None:
            held = range(self.released[pipeline], self.waited[pipeline])
            if all(item % _stages(pipeline) != stage for item in held):
                self.fail(f"a product reads scales in place {stage}, which holds none that were not given back")

    def empty(self, op: TableOp) -> None:
        """A commit gives the stage of scales back, once the products before it are done."""
        item = self.released[op.pipeline]
        self._expect(op, item)
        if item >= self.waited[op.pipeline]:
            self.fail(f"item {item} is released before it is waited for")
        self._release_by_commit(op.pipeline)

    def barrier(self, op: TableOp) -> None:
        self.scales.barrier()

    def use_accumulator(self, op: TableOp) -> None:
        """A tile in tensor memory that has stages is that of an item which was waited for and is not released."""
        if "line_dim" in op.attributes:
            return self.scales.store(op)
        if op.name == TMEM_STORE and op.chunk is not None:
            self._fill_chunk(op)
        tile = op.dest if op.name == TMEM_STORE else op.operands[0]
        if tile not in self.accumulators:
            return
        pipeline, stage = self.accumulators[tile], None if op.stage is None else self.known_integers.get(op.stage)
        held = range(self.released[pipeline], self.waited[pipeline])
        if all(item % _stages(pipeline) != stage for item in held):
            self.fail(f"{op.name} of stage {stage}, which holds no sum that was waited for and is not released")

    def _fill_chunk(self, op: TableOp) -> None:
        if (item := self.filled[op.filled]) % _stages(op.filled) != op.chunk:
            self.fail(f"part {op.chunk} is written as item {item}")
        self._fill_item(op.filled)


def _producers(pipeline: SSAValue) -> int:
    return int_attr(defining_op(pipeline), "producers", absent=1)


def _stages(pipeline: SSAValue) -> int:
    return cast(PipelineType, pipeline.type).stages.data


def _pipelines_of(kernel: Operation) -> dict[SSAValue, SSAValue]:
    """The pipeline of each buffer: the one whose stages the loads to it fill, or of scales what is told behind the store."""
    loads = [as_op(op) for op in kernel.walk() if op.name == "nv_tileas.async.tiled_tma_load"]
    stores = [as_op(op) for op in kernel.walk() if op.name == STORE_SCALES]
    told = {store.buffer: as_op(store.next_op).pipeline for store in stores}
    return {load.buffer: load.pipeline for load in loads} | told


def _acquired_pipelines(kernel: Operation) -> set[SSAValue]:
    """The pipelines of which an agent waits until a stage is empty."""
    return {
        as_op(op).pipeline for op in kernel.walk() if STEPS.get(op.name) in (_Partition.acquire, _Partition.overwrite)
    }


def _accumulator_pipelines(kernel: Operation) -> dict[SSAValue, SSAValue]:
    """The pipeline of each tile of sums that has stages: what the first commit after its products fills."""
    found: dict[SSAValue, SSAValue] = {}
    acc = None
    for op in kernel.walk():
        if op.name == MULTIPLY:
            acc = as_op(op).acc
        elif op.name == COMMIT and as_op(op).token is not None and acc is not None:
            found[acc] = as_op(op).ready
    return found


STEPS = {
    PIPELINE + "advance": _Partition.advance,
    PIPELINE + "producer_acquire": _Partition.acquire,
    PIPELINE + "producer_tail": _Partition.drain,
    PIPELINE + "consumer_wait": _Partition.wait,
    PIPELINE + "consumer_release": _Partition.release,
    PIPELINE + "producer_commit": _Partition.commit_copies,
    STORE_SCALES: _Partition.store_scales,
    COPY_SCALES: _Partition.copy_scales,
    "nv_tileas.async.umma_release": _Partition.empty,
    "nv_tileas.barrier": _Partition.barrier,
    "nv_tileas.local_load": _Partition.read,
    "nv_tileas.async.dot": _Partition.mma,
    "nv_tileas.async.dot_wait": _Partition.finish,
    MULTIPLY: _Partition.issue,
    COMMIT: _Partition.commit,
    "nv_tileas.async.umma_acquire": _Partition.overwrite,
    TMEM_LOAD: _Partition.use_accumulator,
    TMEM_STORE: _Partition.use_accumulator,
}
