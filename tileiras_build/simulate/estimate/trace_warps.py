"""Traces the paths of a CTA's warps: the executed instructions, their counts, and their memory transactions.

A warp is traced from its first instruction to its last. Only the backward slice of branches and addresses is evaluated
(``backward_slice.py``), from the launch's constants; other instructions are counted. Addresses are evaluated in the first few
executions of a basic block and assumed to continue alike. Waits succeed at once. Divergent lanes run one group after the
other, the group with the lowest program counter first, and reconverge when they reach the same instruction, as in hardware.
A branch whose condition depends on memory is assumed not taken, so that slow paths are skipped and loops end; such branches
are reported. One around a call is taken: ptxas calls functions of its own for operands out of an approximation's range, such as the
denormal ones of a reciprocal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...core.errors import InvalidInput
from ...target.sm_limits import WARP
from .backward_slice import addresses, backward_slice, predicates, read, results_of, width_of
from .constant_bank_values import Constants, Launch, Shape
from .lane_values import ALL_LANES, LANES, Truth
from .mbarrier_phases import init_stores
from .memory_transactions import (
    ASYNC,
    GLOBAL,
    SHARED,
    Transactions,
    address_operands,
    count_transactions,
    read_predicate,
)
from .sass_operands import Operand
from .sass_parser import BYTES, Instruction, MachineCode
from .sass_semantics import Handler, handler_of
from .tensor_memory_columns import allocations
from .warp_registers import Warp

MAX_BASIC_BLOCKS = 200_000  # limit of basic blocks executed by one warp
SAMPLED_ACCESSES = 3  # executions of an instruction whose addresses are evaluated, per warp
MEMORY_OPCODES = (*GLOBAL, *SHARED, *ASYNC)
# Instructions whose register operands are recorded, as they set sizes, counts or addresses.
_RECORDED_OPCODES = ("SYNCS", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UBLKCP", "BAR", "UTMALDG", "UTMASTG", "ARRIVES", "UTCBAR",
         "DEPBAR")  # fmt: skip
JUMPS = ("BRA", "JMP", "BRX", "BRXU", "JMX", "CALL", "RET", "EXIT", "KILL")


@dataclass
class Observed:
    """One instruction in one warp: its executions, sampled accesses, and recorded operand words.

    ``recorded_words``: for each execution, words by meaning, such as an mbarrier's expected bytes; None if no lane was active.
    ``fills``: the passes of its block in which a copy to shared memory only writes zeros.
    """

    executions: int = 0
    accesses: list[Transactions] = field(default_factory=list)
    recorded_words: list[dict[str, int | None] | None] = field(default_factory=list)
    fills: set[int] = field(default_factory=set)

    @property
    def share(self) -> float:
        """The executions that each sampled access of global memory stands for."""
        sampled = sum(not one.is_fill for one in self.accesses)
        return (self.executions - len(self.fills)) / sampled if sampled else 0.0


@dataclass
class WarpTrace:
    """The path of one warp: basic blocks in order, observations by instruction number, and data-dependent branches."""

    blocks: list[int] = field(default_factory=list)
    observed: dict[int, Observed] = field(default_factory=dict)
    unknown_branches: Counter[int] = field(default_factory=Counter)

    def passes(self) -> Counter[int]:
        """The execution count of each basic block."""
        return Counter(self.blocks)


def path_id(cluster: list[list[WarpTrace]]) -> int:
    """A hash that is equal for clusters whose warps take the same paths."""
    return hash(tuple(tuple(trace.blocks) for warps in cluster for trace in warps))


@dataclass(eq=False)
class _LaneGroup:
    """Converged lanes at instruction ``place``; ``returns`` is their call stack."""

    place: int
    lanes: np.ndarray
    returns: tuple[int, ...] = ()


class Tracer:
    """Traces warps of one kernel in one launch; ``trips`` are trip counts of data-dependent loops by branch
    address.
    """

    def __init__(self, code: MachineCode, launch: Launch, constants: Constants, trips: dict[int, int] | None = None):
        self.code, self.launch, self.constants, self.trips = code, launch, constants, trips or {}
        self.recorded_opcodes = self._recorded()
        everything = _slice_with_spills(code, self._slice_roots)
        decisions = _slice_with_spills(code, self._branch_roots)
        self.steps = [self._block_steps(block, everything) for block in code.blocks]
        self.decisions = [self._block_steps(block, decisions) for block in code.blocks]

    def _recorded(self) -> frozenset[int]:
        """The instructions whose operands are recorded."""
        by_opcode = (one.number for one in self.code.instructions if one.opcode in _RECORDED_OPCODES)
        return init_stores(self.code) | allocations(self.code) | frozenset(by_opcode)

    def _block_steps(self, block: range, sliced: frozenset[int]) -> list[tuple[Instruction, Handler | None]]:
        ones = (self.code.instructions[number] for number in block)
        return [(one, (handler_of(one) or _forget) if one.number in sliced else None) for one in ones
                if one.number in sliced or one.opcode in MEMORY_OPCODES or one.number in self.recorded_opcodes]  # fmt: skip

    def _slice_roots(self, one: Instruction) -> int:
        """The registers that an instruction needs as a root of the slice, as a bit set."""
        if one.opcode in JUMPS or one.number in self.recorded_opcodes:
            return read(one)
        return addresses(one) if one.opcode in MEMORY_OPCODES else 0

    def _branch_roots(self, one: Instruction) -> int:
        """The same without addresses, for executions after the sampled ones."""
        if one.opcode not in MEMORY_OPCODES or one.number in self.recorded_opcodes:
            return self._slice_roots(one)
        return predicates(one)

    def warp(self, place: Shape, number: int) -> WarpTrace:
        """The trace of warp ``number`` of the CTA at ``place`` in the grid."""
        return WarpWalk(self, place, number).run()


class WarpWalk:
    """The trace of one warp in progress."""

    def __init__(self, tracer: Tracer, place: Shape, number: int):
        self.tracer, self.code = tracer, tracer.code
        self.warp = Warp(_special(tracer.launch, place, number), tracer.constants)
        self.groups = [_LaneGroup(0, number * WARP + LANES < tracer.launch.threads)]
        self.trace = WarpTrace()
        self.taken: Counter[int] = Counter()
        self.passed: Counter[int] = Counter()

    def run(self) -> WarpTrace:
        """Trace until all lanes have exited."""
        while self.groups:
            if len(self.trace.blocks) > MAX_BASIC_BLOCKS:
                raise InvalidInput(
                    "estimate-endless",
                    f"{self.code.name}: trace limit of {MAX_BASIC_BLOCKS} basic blocks reached",
                    remedy="use a smaller problem",
                )
            self._pass_block(self._next())
        return self.trace

    def _next(self) -> _LaneGroup:
        """The lane group with the lowest program counter, merged from all groups there."""
        if len(self.groups) == 1:
            return self.groups[0]
        place = min(group.place for group in self.groups)
        here = [group for group in self.groups if group.place == place]
        first = here[0]
        for group in here[1:]:
            first.lanes = first.lanes | group.lanes
            self.groups.remove(group)
        return first

    def _pass_block(self, group: _LaneGroup) -> None:
        number = self.code.block_at[group.place]
        self.trace.blocks.append(number)
        is_full = bool(group.lanes.all())
        self.passed[number] += 1
        sampled = self.passed[number] <= SAMPLED_ACCESSES
        for one, handler in (self.tracer.steps if sampled else self.tracer.decisions)[number]:
            self._execute(one, handler, group.lanes, is_full)
        self._leave(group, self.code.instructions[self.code.blocks[number][-1]])

    def _execute(self, one: Instruction, handler: Handler | None, lanes: np.ndarray, is_full: bool) -> None:
        truth: Truth = True if one.guard is None else self.warp.predicate(one.guard)
        self.warp.active = None if is_full and truth is True else lanes & (True if truth is None else truth)
        if self.warp.active is not None and not self.warp.active.any():
            if one.number in self.tracer.recorded_opcodes:
                self.trace.observed.setdefault(one.number, Observed()).recorded_words.append(None)
            return
        if one.opcode in MEMORY_OPCODES or one.number in self.tracer.recorded_opcodes:
            self._observe(one)
        if handler is not None:
            handler(self.warp, one)
            if truth is None:
                _forget(self.warp, one)

    def _observe(self, one: Instruction) -> None:
        seen = self.trace.observed.setdefault(one.number, Observed())
        seen.executions += 1
        if one.number in self.tracer.recorded_opcodes:
            seen.recorded_words.append(_record_words(self.warp, one))
        if one.opcode in MEMORY_OPCODES:
            self._observe_access(one, seen)

    def _observe_access(self, one: Instruction, seen: Observed) -> None:
        reading = self._reading_lanes(one)
        if not reading.any():
            seen.fills.add(self.passed[self.trace.blocks[-1]])
        if len(seen.accesses) < SAMPLED_ACCESSES:
            far, near = (None if place is None else self.warp.address(place) for place in address_operands(one))
            seen.accesses.append(count_transactions(one, far, near, self.warp.lanes, reading))
        elif reading.any() and all(taken.is_fill for taken in seen.accesses):
            # Addresses are not evaluated any more.
            seen.accesses.append(count_transactions(one, None, None, self.warp.lanes, reading))

    def _reading_lanes(self, one: Instruction) -> np.ndarray:
        """The active lanes without those in which a copy to shared memory only writes zeros."""
        predicate = read_predicate(one)
        truth: Truth = True if predicate is None else self.warp.predicate(predicate)
        return self.warp.lanes & (True if truth is None else truth)

    # ---- control flow ----------------------------------------------------------------------------------------------
    def _leave(self, group: _LaneGroup, last: Instruction) -> None:
        if not last.ends_block:
            group.place = last.number + 1
            return
        branching = self._branching_lanes(last, group.lanes)
        falling_through = group.lanes & ~branching
        self.groups.remove(group)
        if falling_through.any():
            self._arrive(_LaneGroup(last.number + 1, falling_through, group.returns))
        if branching.any():
            self._jump(last, _LaneGroup(0, branching, group.returns))

    def _branching_lanes(self, last: Instruction, lanes: np.ndarray) -> np.ndarray:
        """The lanes that take the branch or exit."""
        branching = lanes
        for operand in (last.guard, *_conditions(last)):
            truth = True if operand is None else self.warp.predicate(operand)
            branching = branching & (self._guess(last) if truth is None else truth)
        return branching

    def _guess(self, last: Instruction) -> bool:
        if last.address not in self.tracer.trips and self._is_around_call(last):
            return True
        self.trace.unknown_branches[last.number] += 1
        self.taken[last.number] += 1
        return self.taken[last.number] % (self.tracer.trips.get(last.address, 1)) != 0

    def _is_around_call(self, last: Instruction) -> bool:
        """Whether a branch leads around a call of a function of this kernel."""
        if (
            last.target is None
            or last.target <= last.number
            or (number := self.code.block_at.get(last.number + 1)) is None
        ):
            return False
        end = self.code.instructions[self.code.blocks[number][-1]]
        return end.opcode == "CALL" and end.target is not None and end.number < last.target

    def _jump(self, last: Instruction, group: _LaneGroup) -> None:
        if last.opcode in ("EXIT", "KILL"):
            return
        if last.opcode == "RET":
            if group.returns:
                self._arrive(_LaneGroup(group.returns[-1], group.lanes, group.returns[:-1]))
            return
        if last.opcode == "CALL":
            inside = last.target is not None
            group.place = last.target if last.target is not None else last.number + 1
            group.returns = (*group.returns, last.number + 1) if inside else group.returns
            return self._arrive(group)
        place = last.target if last.target is not None else self._computed(last)
        if place is None or place == last.number:
            return None
        group.place = place
        return self._arrive(group)

    def _computed(self, last: Instruction) -> int | None:
        """The place that a table holds for the first lane; the first of the table where it is not known."""
        base = (
            self.warp.wide(last.operands[0]) if "64" in last.operands[0].selected else self.warp.value(last.operands[0])
        )
        offset = last.operands[1].number if len(last.operands) > 1 else 0
        if base is None:
            self.trace.unknown_branches[last.number] += 1
            return last.jump_table[0] if last.jump_table else None
        low = int(base[self.warp.first]) if isinstance(base, np.ndarray) else base
        return (low + offset + last.address + BYTES & 0xFFFFFFFF) // BYTES

    def _arrive(self, group: _LaneGroup) -> None:
        if group.place not in self.code.block_at:
            raise InvalidInput(
                "estimate-jump", f"{self.code.name} branches to {group.place * BYTES:#x}, not a basic block start"
            )
        self.groups.append(group)


def _forget(warp: Warp, one: Instruction) -> None:
    """Mark the results of an instruction as unknown."""
    for operand in results_of(one):
        warp.set_predicate(operand, None)
        for further in range(width_of(one)):
            warp.set(operand, None, further)


def _conditions(last: Instruction) -> tuple[Operand, ...]:
    """The condition operands of a branch."""
    return tuple(operand for operand in last.operands if operand.is_predicate) if last.opcode in ("BRA", "JMP") else ()


def _slice_with_spills(code: MachineCode, wanted: Callable[[Instruction], int]) -> frozenset[int]:
    """The slice, including spills to stack slots that an instruction of the slice reloads."""
    slots: set[int] = set()

    def is_spilled(one: Instruction) -> bool:
        return one.opcode == "STL" and bool(slots & _slots(one))

    while True:
        kept = backward_slice(code, lambda one: read(one) if is_spilled(one) else wanted(one))
        restored = (code.instructions[number] for number in kept if code.instructions[number].opcode == "LDL")
        needed = {slot for one in restored for slot in _slots(one)}
        if needed <= slots:
            return kept | {one.number for one in code.instructions if is_spilled(one)}
        slots |= needed


def _slots(one: Instruction) -> set[int]:
    """The stack slots of an instruction, assuming a constant stack pointer."""
    place = next((operand.number for operand in one.operands if operand.kind == "memory"), 0)
    return {place + 4 * further for further in range(width_of(one))}


def _record_words(warp: Warp, one: Instruction) -> dict[str, int | None]:
    """The operand words of an instruction by meaning: addresses by space, and the last register as ``word``."""
    found: dict[str, int | None] = {}
    if one.opcode == "BAR":
        return dict(
            zip(("id", "count"), (first_lane(warp, warp.value(operand)) for operand in one.operands), strict=False)
        )
    if one.opcode in ("UTMALDG", "UBLKCP"):
        # The register after the shared memory address is the mbarrier's.
        place = one.operands[0].parts[:1]
        return {name: first_lane(warp, warp.raw(part, n)) for part in place for n, name in enumerate(("to", "barrier"))}
    for operand in one.operands:
        if operand.kind == "memory":
            found[operand.text or "place"] = first_lane(warp, warp.address(operand))
        elif operand.is_register and not operand.is_predicate:
            found["word"] = first_lane(warp, warp.value(operand))
    found["lanes"] = int(warp.lanes.sum())
    if "ARRIVE" in one.modifiers:
        found |= _arrivals(warp, one)
    return found


def _arrivals(warp: Warp, one: Instruction) -> dict[str, int | None]:
    """The mbarriers at which lanes arrive and the lane counts: ``place`` and ``lanes``, then ``place1`` and ``lanes1``, …"""
    address = next((warp.address(operand) for operand in one.operands if operand.kind == "memory"), None)
    if not isinstance(address, np.ndarray):
        return {}
    found: dict[str, int | None] = {}
    for number, (place, lanes) in enumerate(zip(*np.unique(address[warp.lanes], return_counts=True), strict=True)):
        found |= {f"place{number or ''}": int(place), f"lanes{number or ''}": int(lanes)}
    return found


def first_lane(warp: Warp, value: object) -> int | None:
    """The value in the first active lane; None if it is unknown."""
    if isinstance(value, np.ndarray):
        return int(value[warp.first])
    return value if isinstance(value, int) else None


def _special(launch: Launch, place: Shape, number: int) -> dict[str, int | np.ndarray | None]:
    """The values of a warp's special registers."""
    flat = np.minimum(number * WARP + LANES, launch.threads - 1)
    x, y, _ = launch.block
    within = [at % extent for at, extent in zip(place, launch.cluster, strict=True)]
    rank = within[0] + launch.cluster[0] * (within[1] + launch.cluster[1] * within[2])
    found: dict[str, int | np.ndarray | None] = {"SRZ": 0, "SR_LANEID": LANES.copy(), "SR_CgaCtaId": rank}
    found |= {"SR_TID.X": flat % x, "SR_TID.Y": flat // x % y, "SR_TID.Z": flat // (x * y)}
    for axis, name in enumerate("XYZ"):
        found[f"SR_CTAID.{name}"] = place[axis]
        found[f"SR_NCTAID.{name}"] = launch.grid[axis]
    found["SR_CgaSize"] = (
        1  # constants at offsets that depend on it are those of single-CTA clusters (target/gpu_rates.py, BankLayout)
    )
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: int | np.ndarray | None) -> int | np.ndarray | None:
    """An int if all lanes hold the same value."""
    if isinstance(value, np.ndarray) and (value == value[0]).all():
        return int(value[0])
    return value.astype(np.int64) if isinstance(value, np.ndarray) else value


__all__ = ["ALL_LANES", "JUMPS", "Observed", "Tracer", "WarpTrace", "WarpWalk", "first_lane", "path_id"]
