"""Proof by running that the agents of a kernel agree: what one fetches, the other reads, stage by stage and phase by phase.

Each agent of an ``agent_switch`` is run on its integers only, with every loop going round 0, 1, 2 and more times than a
pipeline has stages, and every branch taken to either side. A pipeline of S stages is a queue of items; item n lies in
stage n mod S with phase (n div S) mod 2. Along such a run:

- the n-th acquire, and the n-th wait, is for item n, and both agents have as many;
- an item is read only after its wait and before its release, and released only when no product that reads it is under way;
- releases come in order, and early enough: item n is waited for after item n - S is released, else nobody fills it;
- a sum in tensor memory is waited for after what fills it was issued, each time with the other phase.

Every check raises ``InternalError`` with id ``pipeline-proof`` and says what is wrong with which item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from .program_paths import LOOPS, kernels_of
from .program_runs import ProgramRun

TRIPS, ARMS = (0, 1, 2, 3, 7, 13), (0, 1)
PIPELINE = "nv_tileas.async.pipeline."
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "slt": lambda a, b: a < b, "ult": lambda a, b: a < b,
    "sge": lambda a, b: a >= b, "uge": lambda a, b: a >= b,
}  # fmt: skip
ARITHMETIC = {"arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.shrui": lambda a, b: a >> b}


def check_pipelines(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; how many pipelines were looked at."""
    count = 0
    for kernel in kernels_of(module):
        switches = [op for op in kernel.walk() if op.name == "nv_tileas.agent_switch"]
        count += sum(op.name == PIPELINE + "create" for op in kernel.walk())
        for switch in switches:
            for trips, arm in product(TRIPS, ARMS):
                _check(kernel, switch, trips, arm)
    return count


def _check(kernel: Operation, switch: Operation, trips: int, arm: int) -> None:
    agents = [_Agent(kernel, trips, arm) for _ in switch.regions]
    for agent, region in zip(agents, switch.regions):
        agent.block(region.blocks[0])
    fetching, computing = agents
    for pipeline, acquired in fetching.acquired.items():
        if acquired != computing.waited[pipeline]:
            fetching.fail(f"{acquired} items are fetched, {computing.waited[pipeline]} are waited for")
    for pipeline, waited in computing.waited.items():
        if pipeline not in computing.filled and fetching.acquired[pipeline] != waited:
            computing.fail(f"{waited} items are waited for, {fetching.acquired[pipeline]} are fetched")


class _Agent(ProgramRun):
    """One run of one agent: how far it is in each pipeline."""

    proof, arithmetic, compare = "pipeline-proof", ARITHMETIC, COMPARE

    def __init__(self, kernel: Operation, trips: int, arm: int):
        super().__init__(kernel, trips, arm)
        self.acquired: dict[SSAValue, int] = defaultdict(int)
        self.waited: dict[SSAValue, int] = defaultdict(int)
        self.released: dict[SSAValue, int] = defaultdict(int)
        self.filled: dict[SSAValue, int] = defaultdict(int)
        self.under_way: list[set[tuple[SSAValue, int]]] = []
        self.pipelines = _pipelines_of(kernel)
        self.assumed = _assumed_bounds(kernel, trips)
        for op in kernel.regions[0].blocks[0].ops:
            self.step(op)

    def indices(self, op: Operation) -> range:
        """From the loop's own bounds, as known or assumed."""
        lower, upper, step = self._known(op.operands[:3])
        return range(lower, upper, max(step, 1))

    def _known(self, values: Iterable[SSAValue]) -> list[int | None]:
        """What the run knows, else what it assumes."""
        return [self.assumed.get(value) if self.numbers.get(value) is None else self.numbers[value] for value in values]

    def step(self, op: Operation) -> None:
        """Follow the integers and the items of the pipelines."""
        if (step := STEPS.get(op.name)) is not None:
            step(self, op)
        elif len(op.results) == 1:
            self.numbers[op.results[0]] = self.number(op)

    # ---- events ------------------------------------------------------------------------------------------------
    def advance(self, op: Any) -> None:
        token, stages = self.numbers.get(op.token), op.pipeline.type.stages.data
        if token is not None:
            following = token + 2
            token = (token & 1) ^ 1 if following >= 2 * stages else following
        self.numbers[op.results[0]] = token

    def _expect(self, op: Any, item: int) -> None:
        stages = op.pipeline.type.stages.data
        want = 2 * (item % stages) + (item // stages) % 2
        if (token := self.numbers.get(op.token)) != want:
            self.fail(f"{op.name} of item {item} has token {token}, not {want}")

    def acquire(self, op: Any) -> None:
        self._expect(op, self.acquired[op.pipeline])
        self.acquired[op.pipeline] += 1

    def wait(self, op: Any) -> None:
        pipeline, item = op.pipeline, self.waited[op.pipeline]
        self._expect(op, item)
        if pipeline in self.filled and self.filled[pipeline] <= item:
            self.fail(f"sum {item} is waited for before its products are issued")
        stages = pipeline.type.stages.data
        if pipeline not in self.filled and item - self.released[pipeline] >= stages:
            self.fail(f"item {item} is waited for while {stages} others are not released")
        self.waited[pipeline] += 1

    def release(self, op: Any) -> None:
        if op.enabled is not None and self.numbers.get(op.enabled) == 0:
            return
        pipeline, behind = op.pipeline, int("behind" in op.attributes)
        token, stages = self.numbers.get(op.token), op.pipeline.type.stages.data
        item = self.released[pipeline]
        if token is None or (token // 2 - behind) % stages != item % stages:
            self.fail(f"the release after {item} others names token {token}{' (the one behind)' * behind}")
        if item >= self.waited[pipeline]:
            self.fail(f"item {item} is released before it is waited for")
        if any((pipeline, item) in group for group in self.under_way):
            self.fail(f"item {item} is released while a product that reads it is under way")
        self.released[pipeline] += 1

    def _items(self, op: Any) -> set[tuple[SSAValue, int]]:
        """What an operation reads: the item of each stage it names, which must be there."""
        found = set()
        stages = [op.stage] if hasattr(op, "stage") else [op.lhs_stage, op.rhs_stage]
        for value in stages:
            if value is not None:
                found.add(self._item(op, self.numbers.get(value)))
        return found

    def _item(self, op: Any, stage: int | None) -> tuple[SSAValue, int]:
        buffers = [value for value in op.operands if value.type.name == "nv_tileas.buffer"]
        pipeline = self.pipelines[buffers[0]]
        held = range(self.released[pipeline], self.waited[pipeline])
        item = next((item for item in held if item % pipeline.type.stages.data == stage), None)
        if item is None:
            self.fail(f"{op.name} reads stage {stage}, which holds no item that was waited for and is not released")
        return pipeline, item

    def read(self, op: Any) -> None:
        self._items(op)

    def multiply(self, op: Any) -> None:
        self.under_way.append(self._items(op))
        self.finish(op)

    def finish(self, op: Any) -> None:
        """At most ``pending`` products stay under way; one that does not say waits for none."""
        if "pending" not in op.attributes:
            return
        pending = op.attributes["pending"].value.data
        self.under_way = self.under_way[len(self.under_way) - pending :] if pending else []

    def issue(self, op: Any) -> None:
        """A commit gives the stage back once the product is done, so nothing is under way for the program."""
        self._items(op)
        self._expect(op, self.released[op.pipeline])
        self.released[op.pipeline] += 1
        if op.ready is not None:
            self.filled[op.ready] += 1

    def reuse(self, op: Any) -> None:
        """Accumulators are overwritten: their last sum was read and released."""
        pipeline = op.pipeline
        self._expect(op, self.filled[pipeline])
        if self.released[pipeline] + pipeline.type.stages.data <= self.filled[pipeline]:
            self.fail(f"the accumulators of sum {self.filled[pipeline]} still hold one that is not released")

    def commit(self, op: Any) -> None:
        self.filled[op.ready] += 1


def _assumed_bounds(kernel: Operation, trips: int) -> dict[SSAValue, int]:
    """Numbers for the bounds that nothing tells: from 0 in steps of 1, with ``trips`` trips from the first bound.

    A loop may start some steps later than another of the same program, at a sum of that one's bound.
    """
    assumed: dict[SSAValue, int] = {}
    for loop in (op for op in kernel.walk() if op.name == LOOPS[0]):
        lower, upper, step = loop.operands[:3]
        for value, number in ((lower, 0), (_first(lower), 0), (step, 1)):
            assumed.setdefault(value, number)
        first, width = (_constant(value, assumed[value]) for value in (_first(lower), step))
        assumed.setdefault(upper, first + trips * width)
    return assumed


def _first(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, Operation) and value.owner.name == "arith.addi":
        value = value.owner.operands[0]
    return value


def _constant(value: SSAValue, other: int) -> int:
    """A constant's number, or the other one."""
    if not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return other
    return value.owner.properties["value"].value.data


def _pipelines_of(kernel: Operation) -> dict[SSAValue, SSAValue]:
    """The pipeline of each buffer: the one whose stages the loads to it fill."""
    return {op.buffer: op.pipeline for op in kernel.walk() if op.name == "nv_tileas.async.tiled_tma_load"}


STEPS = {
    PIPELINE + "advance": _Agent.advance,
    PIPELINE + "producer_acquire": _Agent.acquire,
    PIPELINE + "consumer_wait": _Agent.wait,
    PIPELINE + "consumer_release": _Agent.release,
    "nv_tileas.local_load": _Agent.read,
    "nv_tileas.async.dot": _Agent.multiply,
    "nv_tileas.async.dot_wait": _Agent.finish,
    "nv_tileas.async.umma": _Agent.issue,
    "nv_tileas.async.umma_commit": _Agent.commit,
    "nv_tileas.async.umma_acquire": _Agent.reuse,
}
