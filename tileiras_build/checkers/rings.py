"""Proof by running that rings of buffers in shared memory are neither read too early nor overwritten too early.

A kernel is run on its stage numbers only, with every loop going round 0, 1, 2 and more times than a ring has stages,
and every branch taken to either side. Along such a run:

- a stage is copied to only if no thread may still be reading it: a barrier came after its last reading;
- a stage is read only after its copy was committed, waited for, and seen by all: a barrier came after the wait;
- scratch memory over a ring is written only where no copy to its bytes is under way and no thread may still be reading
  them; it ends what the stages held, and no copy may follow before a barrier has ended the reading of the scratch.

Every check raises ``InternalError`` with id ``ring-proof`` and says what is wrong with which stage.
"""

from __future__ import annotations

from itertools import product

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..errors import InternalError
from .program_paths import BRANCH, BREAK, CONTINUE, LOOPS, kernels_of

TRIPS, ARMS = (0, 1, 2, 3, 6, 9), (0, 1)
Place = tuple[SSAValue, int]
ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}


def check_rings(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; how many rings were looked at."""
    count = 0
    for kernel in kernels_of(module):
        rings = [op for op in kernel.walk() if op.name == "nv_tileas.alloc_tensor"]
        count += len(rings)
        if rings:
            for trips, arm in product(TRIPS, ARMS):
                _Run(kernel, trips, arm).block(kernel.regions[0].blocks[0])
    return count


class _Run:
    """One run: the integers known, and the state of every stage."""

    def __init__(self, kernel: Operation, trips: int, arm: int):
        self.kernel, self.trips, self.arm = kernel, trips, arm
        self.numbers: dict[SSAValue, int | None] = {}
        self.reading: set[Place] = set()
        self.scratch: range = range(0)
        self.uncommitted: set[Place] = set()
        self.groups: list[set[Place]] = []
        self.landed: set[Place] = set()
        self.visible: set[Place] = set()

    def block(self, block: Block) -> Operation | None:
        """Run a block; the break or continue that left it, or None."""
        for op in block.ops:
            if op.name in (BREAK, CONTINUE):
                return op
            if op.name in LOOPS:
                self._loop(op)
            elif op.name == BRANCH:
                if (left := self._branch(op)) is not None:
                    return left
            else:
                self._step(op)
        return None

    def _loop(self, op: Operation) -> None:
        counted = op.name == LOOPS[0]
        block = op.regions[0].blocks[0]
        values = [self.numbers.get(value) for value in (op.operands[3:] if counted else op.operands)]
        for _ in range(self.trips if counted else max(self.trips, 1)):
            self.numbers.update(zip(block.args[1:] if counted else block.args, values))
            left = self.block(block)
            if left is not None:
                values = [self.numbers.get(value) for value in left.operands]
                if left.name == BREAK:
                    break
        self.numbers.update(zip(op.results, values))

    def _branch(self, op: Operation) -> Operation | None:
        block = op.regions[self.arm].blocks[0]
        left = self.block(block)
        if left is None and block.last_op is not None:
            self.numbers.update(zip(op.results, (self.numbers.get(value) for value in block.last_op.operands)))
        return left

    def _step(self, op: Operation) -> None:
        if "scratch_offset" in op.attributes:
            self._use_scratch(op)
        elif (step := STEPS.get(op.name)) is not None:
            step(self, op)
        elif (number := self._number(op)) is not None:
            self.numbers[op.results[0]] = number

    # ---- integers ----------------------------------------------------------------------------------------------
    def _number(self, op: Operation) -> int | None:
        if op.name == "arith.constant":
            value = op.properties["value"]
            return value.value.data if isinstance(value, IntegerAttr) else None
        values = [self.numbers.get(value) for value in op.operands]
        if op.name == "arith.select" and values[0] is not None:
            return values[1] if values[0] else values[2]
        if None in values or not values:
            return None
        if op.name == "arith.cmpi" and op.attributes["predicate"].data == "eq":
            return int(values[0] == values[1])
        return ARITHMETIC[op.name](*values) if op.name in ARITHMETIC else None

    # ---- events --------------------------------------------------------------------------------------------------
    def _place(self, op: Operation) -> Place:
        stage = self.numbers.get(op.stage)
        if stage is None or not 0 <= stage < op.buffer.type.stages.data:
            self._fail(f"{op.name} uses stage {stage}")
        return op.buffer, stage

    def _use_scratch(self, op: Operation) -> None:
        """All threads write, meet, and read."""
        start = op.attributes["scratch_offset"].value.data
        region = range(start, start + op.attributes["scratch_bytes"].value.data)
        if "sync_before" in op.attributes:
            self._barrier()
        under_way = self.uncommitted.union(self.landed, *self.groups)
        for place in self.reading | under_way:
            if _common(region, _bytes_of(place)):
                self._fail(f"{op.name} writes over stage {place[1]} while it may be copied to or read")
        self._barrier()
        self.visible = {place for place in self.visible if not _common(region, _bytes_of(place))}
        self.scratch = region

    def copy(self, op: Operation) -> None:
        place = self._place(op)
        if _common(self.scratch, _bytes_of(place)):
            self._fail(f"stage {place[1]} is copied to while scratch in its bytes may still be read")
        if place in self.reading:
            self._fail(f"stage {place[1]} is copied to while it may still be read")
        self.visible.discard(place)
        self.landed.discard(place)
        self.uncommitted.add(place)

    def commit(self, op: Operation) -> None:
        self.groups.append(self.uncommitted)
        self.uncommitted = set()

    def wait(self, op: Operation) -> None:
        pending = op.attributes["pending"].value.data
        done = self.groups[: len(self.groups) - pending]
        self.groups = self.groups[len(done) :]
        self.landed |= set().union(*done)

    def _barrier(self, op: Operation | None = None) -> None:
        self.reading.clear()
        self.scratch = range(0)
        self.visible |= self.landed
        self.landed = set()

    def read(self, op: Operation) -> None:
        place = self._place(op)
        if place not in self.visible:
            self._fail(f"stage {place[1]} is read before every thread's copies to it have landed and been seen")
        self.reading.add(place)

    def _fail(self, message: str) -> None:
        name = self.kernel.attributes["sym_name"].data
        raise InternalError(
            "ring-proof", f"kernel {name}, loops run {self.trips} times: {message}", remedy="report this as a bug"
        )


def _bytes_of(place: Place) -> range:
    """Where a stage lies; nowhere before rings have a place."""
    ring, stage = place
    if "shared_offset" not in ring.owner.attributes:
        return range(0)
    size = ring.type.stage_bytes
    start = ring.owner.attributes["shared_offset"].value.data + stage * size
    return range(start, start + size)


def _common(first: range, second: range) -> bool:
    return first.start < second.stop and second.start < first.stop


STEPS = {
    "nv_tileas.async_tiled_load": _Run.copy,
    "nv_tileas.async_commit": _Run.commit,
    "nv_tileas.async_wait": _Run.wait,
    "nv_tileas.barrier": _Run._barrier,
    "nv_tileas.local_load": _Run.read,
}
