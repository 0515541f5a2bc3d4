"""Simulates the timeline of one CTA that has the SM to itself: when its warps issue, and what they wait for.

Each warp issues in order. An instruction waits for the scoreboards of its control code, its scheduler and its pipe; the next
one issues after the stall cycles of the control code. At barriers, mbarriers, and waits for copy and wgmma groups, a warp
waits until the awaited event has happened, at the addresses in its trace. Loads take the latency of L2 or DRAM, weighted by
the share of bytes from each, and the transfer time at one SM's share of the bandwidth.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...target.gpu_models import GpuModel
from ...target.gpu_rates import CLUSTER_BYTES_PER_CLOCK, CLUSTER_LATENCY, SM_PARTITIONS, TMA_LATENCY
from ...target.sm_limits import WARP
from .bytes_in_flight import copy_bytes, max_bytes_in_flight
from .constant_bank_values import Launch
from .cta_work_counts import ASYNC_LOADS, CtaWork, expected_bytes
from .instruction_costs import CLUSTER_WAIT, SCOREBOARDS, SYNCHRONIZING, InstructionCost
from .instruction_throughput import TENSOR, mma_shape
from .mbarrier_phases import (
    RANK_BITS,
    MbarrierPhases,
    ObservedWords,
    expected_arrivals,
    init_stores,
    multicast_arrivals,
)
from .memory_load import IDLE, MemoryLoad, latency_and_rate
from .memory_transactions import ASYNC, LOADS, SECTOR_BYTES, SHARED, Transactions
from .sass_parser import Instruction, MachineCode
from .trace_warps import WarpTrace, path_id

# Result latencies in cycles that target/gpu_rates.py does not have [Jia et al., arXiv 1804.06826, table
# 4.1, and Luo et al., arXiv 2402.13499: between 18 and 30 on all generations].
_MEDIUM_LATENCY, _MMA_LATENCY, _BARRIER_LATENCY = 22.0, 33.0, 20.0
_ISSUE_SLACK = 4.0  # cycles by which the simulation of a warp may be ahead of the others


@dataclass(frozen=True)
class Timeline:
    """Cycles of a single CTA: in total, before its first MMA and after its last one; the maximum bytes in flight; waits that
    were forced to end because no warp or copy in the model ends them.
    """

    clocks: float = 0.0
    prologue: float = 0.0
    epilogue: float = 0.0
    in_flight: float = 0.0
    forced_waits: int = 0


def average(found: Sequence[Timeline]) -> Timeline:
    """The mean of several timelines."""
    count = len(found)
    clocks, prologue, epilogue = (
        sum(getattr(one, name) for one in found) / count for name in ("clocks", "prologue", "epilogue")
    )
    most = max(one.in_flight for one in found)
    return Timeline(clocks, prologue, epilogue, most, sum(one.forced_waits for one in found))


@dataclass
class _WarpState:
    """The state of one warp: its position in its trace, and what it waits for."""

    trace: WarpTrace
    block: int  # CTA rank in the cluster
    partition: int
    step: int = 0
    inside: int = 0
    time: float = 0.0
    ready: list[float] = field(default_factory=lambda: [0.0] * SCOREBOARDS)
    copy_end: float = 0.0
    copy_group_ends: list[float] = field(default_factory=list)
    wgmma_group_ends: list[float] = field(default_factory=list)
    last_mma_end: float = 0.0
    observed_index: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    waits: object = None


class _ClusterSimulation:
    """The simulation of a cluster's CTAs."""

    def __init__(self, code: MachineCode, machine: GpuModel, launch: Launch, latency: float, rate: float):
        self.code, self.gpu, self.launch = code, machine, launch
        self.latency, self.rate = latency, rate
        self.free: dict[tuple, float] = defaultdict(float)
        self.barriers: dict[object, list[tuple[_WarpState, float]]] = defaultdict(list)
        self.phases: dict[int, MbarrierPhases] = defaultdict(MbarrierPhases)
        self.waiting: dict[object, list[_WarpState]] = defaultdict(list)
        self.queue: list[tuple[float, int, _WarpState]] = []
        self.copied: dict[tuple[int, int], float] = {}
        self.first, self.last, self.forced_waits = float("inf"), 0.0, 0
        self.exchanged = 0.0  # the end of the last access to the shared memory of another CTA
        self.transfers: list[tuple[float, float]] = []

    @cached_property
    def initializing(self) -> frozenset[int]:
        """The stores that initialize mbarriers."""
        return init_stores(self.code)

    @cached_property
    def steps(self) -> list[list[InstructionCost]]:
        """The instruction costs of each basic block."""
        return [[InstructionCost(self.code.instructions[n], self.gpu) for n in block] for block in self.code.blocks]

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self, running: list[_WarpState]) -> float:
        """Run until all warps have exited; return the cycles."""
        for number, warp in enumerate(running):
            heapq.heappush(self.queue, (0.0, number, warp))
        order = {id(warp): number for number, warp in enumerate(running)}
        self.order = order
        left = set(order)
        end = 0.0
        while left:
            if not self.queue:
                self._force_progress()
                continue
            _, _, warp = heapq.heappop(self.queue)
            if self._pass_block(warp):
                left.discard(id(warp))
                end = max(end, warp.time)
            elif warp.waits is None:
                self._wake(warp)
        return end

    def _wake(self, warp: _WarpState) -> None:
        warp.waits = None
        heapq.heappush(self.queue, (warp.time, self.order[id(warp)], warp))

    def _force_progress(self) -> None:
        """Nothing in the model ends the current waits: let the first waiting warp continue."""
        self.forced_waits += 1
        waiting = [warp for running in self.waiting.values() for warp in running]
        warp = min(waiting, key=lambda one: (one.time, self.order[id(one)]))
        for running in self.waiting.values():
            if warp in running:
                running.remove(warp)
        warp.inside += 1
        self._wake(warp)

    def _pass_block(self, warp: _WarpState) -> bool:
        """Issue the rest of a basic block, up to a wait for other warps; return whether the warp has exited."""
        if warp.step == len(warp.trace.blocks):
            return True
        steps = self.steps[warp.trace.blocks[warp.step]]
        while warp.inside < len(steps):
            cost = steps[warp.inside]
            warp.time = self._ready(warp, cost)
            if self.queue and warp.time > self.queue[0][0] + _ISSUE_SLACK:
                # Other warps are behind: they use schedulers and pipes first.
                return False
            if not self._issue(warp, cost):
                return False
            warp.inside += 1
        warp.step, warp.inside = warp.step + 1, 0
        return False

    def _ready(self, warp: _WarpState, cost: InstructionCost) -> float:
        """The earliest issue time of a warp's next instruction, from its scoreboards, scheduler and pipe."""
        places: list[tuple] = [(warp.block, warp.partition)]
        if cost.pipe is not None:
            places.append((warp.block, warp.partition, cost.pipe))
        waited = [warp.ready[number] for number in cost.waits]
        return max(warp.time, *waited, *(self.free[place] for place in places))

    def _issue(self, warp: _WarpState, cost: InstructionCost) -> bool:
        start = warp.time
        self.free[(warp.block, warp.partition)] = start + 1
        if cost.pipe is not None:
            self.free[(warp.block, warp.partition, cost.pipe)] = start + cost.clocks
        done = start + _MEDIUM_LATENCY
        if cost.special:
            answer = self._special(warp, cost, start)
            if answer is None:
                return False
            done = answer
        if cost.writes is not None:
            warp.ready[cost.writes] = max(warp.ready[cost.writes], done)
        if cost.reads is not None:
            warp.ready[cost.reads] = max(warp.ready[cost.reads], start + _MEDIUM_LATENCY)
        warp.time = max(warp.time, start) + cost.stall
        return True

    # ---- long latencies ----------------------------------------------------------------------------------------------
    def _special(self, warp: _WarpState, cost: InstructionCost, start: float) -> float | None:
        """The time of the result; None if the warp must wait and issue the instruction again."""
        one = cost.one
        if cost.is_mma:
            return self._multiply(warp, cost, start)
        if one.number in self.initializing:
            self._initialize(warp, one)
        if cost.is_memory:
            return self._access(warp, one, start)
        if one.opcode in SYNCHRONIZING or one.opcode in ASYNC_LOADS:
            return self._synchronize(warp, one, start)
        if one.opcode == "LDGDEPBAR":
            warp.copy_group_ends.append(warp.copy_end)
        elif one.opcode == "UTMACMDFLUSH":
            warp.copy_group_ends.append(start + self.gpu.l2_latency)
        elif one.opcode == CLUSTER_WAIT:
            warp.time = max(warp.time, self.exchanged)
        return start + _MEDIUM_LATENCY

    def _multiply(self, warp: _WarpState, cost: InstructionCost, start: float) -> float:
        whole = cost.in_tensor_memory
        clocks = self._clocks_in_tensor_memory(warp, cost.one) if whole else cost.mma_cycles
        units = _tensor_pipes(warp.block, cost.one) if whole else [(warp.block, warp.partition, TENSOR)]
        begins = max(start, *(self.free[unit] for unit in units))
        self.free |= dict.fromkeys(units, begins + clocks)
        self.first, self.last = min(self.first, begins), max(self.last, begins + clocks)
        if not whole and not cost.is_group:
            # A warp-level MMA issues when the pipe accepts it.
            warp.time = max(warp.time, begins)
        warp.last_mma_end = max(warp.last_mma_end, begins + clocks + _MMA_LATENCY)
        if cost.ends_group:
            warp.wgmma_group_ends.append(warp.last_mma_end)
        return begins + clocks + _MMA_LATENCY

    def _clocks_in_tensor_memory(self, warp: _WarpState, one: Instruction) -> float:
        words = self._next_observed(warp, one)
        shape = mma_shape(one, words.get("idesc")) if words else None
        return shape.clocks(self.gpu.rates) if shape else 0.0

    def _access(self, warp: _WarpState, one: Instruction, start: float) -> float:
        seen = warp.trace.observed.get(one.number)
        if seen is None or not seen.accesses:
            return start + _MEDIUM_LATENCY
        taken = next((taken for taken in seen.accesses if not taken.is_fill), seen.accesses[0])
        done = start + self.gpu.shared_latency
        if one.opcode in SHARED:
            unit = (warp.block, "shared")
            begins = max(start, self.free[unit])
            self.free[unit] = begins + taken.wavefronts
            return begins + taken.wavefronts + self.gpu.shared_latency
        if taken.peer_bytes:
            done = self._exchange(warp, start, taken.peer_bytes)
        elif one.opcode in ASYNC:
            done = self._copy_to_shared(warp, one, start, taken)
        elif one.opcode in LOADS or one.opcode.startswith("ATOM"):
            done = self._load(warp, start, sum(taken.sectors.values()) * 32.0)
        else:
            done = start + _MEDIUM_LATENCY
        return done

    def _copy_to_shared(self, warp: _WarpState, one: Instruction, start: float, taken: Transactions) -> float:
        """A copy of a group that the warp waits for; it loads nothing where it only writes zeros."""
        warp.observed_index[one.number] += 1
        is_fill = warp.observed_index[one.number] in warp.trace.observed[one.number].fills
        sectors = sum(taken.sectors.values())
        done = start + self.gpu.shared_latency if is_fill else self._load(warp, start, sectors * SECTOR_BYTES)
        warp.copy_end = max(warp.copy_end, done)
        return done

    def _exchange(self, warp: _WarpState, start: float, size: float) -> float:
        """An access to the shared memory of another CTA; a warp waits until the ones before have left its SM, and at the next barrier
        of the cluster for the last.
        """
        unit = (warp.block, "cluster")
        begins = warp.time = max(start, self.free[unit])
        self.free[unit] = begins + size / CLUSTER_BYTES_PER_CLOCK
        done = self.free[unit] + CLUSTER_LATENCY
        self.exchanged = max(self.exchanged, done)
        return done

    def _load(self, warp: _WarpState, start: float, size: float) -> float:
        unit = (warp.block, "memory")
        begins = max(start, self.free[unit])
        self.free[unit] = begins + size / self.rate
        done = begins + size / self.rate + self.latency
        self.transfers += [(start, size), (done, -size)]
        return done

    def _next_observed(self, warp: _WarpState, one: Instruction) -> dict[str, int | None] | None:
        seen = warp.trace.observed.get(one.number)
        place = warp.observed_index[one.number]
        warp.observed_index[one.number] = place + 1
        return seen.recorded_words[place] if seen and place < len(seen.recorded_words) else None

    # ---- synchronization ---------------------------------------------------------------------------------------------
    def _synchronize(self, warp: _WarpState, one: Instruction, start: float) -> float | None:
        if one.opcode == "WARPGROUP":
            return (
                self._wait_for_groups(warp, one, warp.wgmma_group_ends, start) if "DEPBAR" in one.modifiers else start
            )
        words = self._next_observed(warp, one)
        if words is None:
            return start + 1
        if one.opcode == "DEPBAR":
            return self._wait_for_groups(warp, one, warp.copy_group_ends, start)
        if one.opcode == "BAR":
            return self._barrier(warp, one, words, start)
        if one.opcode in ASYNC_LOADS:
            return self._complete_copy(warp, one, words, start)
        if one.opcode == "SYNCS":
            return self._mbarrier(warp, one, words, start)
        if one.opcode == "UTCBAR":
            words = multicast_arrivals(one, words)
        self._arrive(warp, words, max(start, self._done_before(warp, one)) + _MEDIUM_LATENCY)
        return start + _MEDIUM_LATENCY

    def _done_before(self, warp: _WarpState, one: Instruction) -> float:
        """The completion time of the operations before an asynchronous arrival."""
        return warp.copy_end if one.opcode == "ARRIVES" else self.free[(warp.block, TENSOR)]

    def _wait_for_groups(self, warp: _WarpState, one: Instruction, groups: list[float], start: float) -> float:
        left = next((operand.number for operand in reversed(one.operands) if operand.kind == "number"), 0)
        finished = groups[: len(groups) - left] if left else groups
        if finished:
            warp.time = max(warp.time, *finished)
            del groups[: len(finished)]
        return warp.time

    def _barrier(self, warp: _WarpState, one: Instruction, observed: ObservedWords, start: float) -> float | None:
        key = ("barrier", warp.block, observed.get("id"))
        here = self.barriers[key]
        here.append((warp, start))
        count = -(-(observed.get("count") or self.launch.threads) // WARP)
        if len(here) >= count:
            opened = max(time for _, time in here) + _BARRIER_LATENCY
            del self.barriers[key]
            self._release(key, opened)
            warp.time = start if "ARV" in one.modifiers else opened
            return warp.time
        if "ARV" in one.modifiers:
            return start
        self.waiting[key].append(warp)
        warp.waits = key
        return None

    def _release(self, key: object, opened: float) -> None:
        """Let the warps that wait at a barrier continue."""
        for other in self.waiting.pop(key, []):
            other.time = max(other.time, opened)
            other.inside += 1
            self._wake(other)

    def _mbarrier(self, warp: _WarpState, one: Instruction, observed: ObservedWords, start: float) -> float | None:
        place = observed.get("place")
        if place is None:
            return start + _MEDIUM_LATENCY
        phases = self.phases[place]
        if "EXCH" in one.modifiers:
            phases.count = expected_arrivals(observed)
        elif "PHASECHK" in one.modifiers:
            return self._wait_for_phase(warp, one, observed, phases, start)
        else:
            phases.bytes += expected_bytes(one, observed)
            self._arrive(warp, observed, start + 1)
        return start + _MEDIUM_LATENCY

    def _initialize(self, warp: _WarpState, one: Instruction) -> None:
        words = self._next_observed(warp, one)
        if words is not None and (place := words.get("place")) is not None:
            self.phases[place].count = expected_arrivals(words)

    def _wait_for_phase(
        self, warp: _WarpState, one: Instruction, observed: ObservedWords, phases: MbarrierPhases, start: float
    ) -> float | None:
        parity = (observed.get("word") or 0) >> 31 & 1
        done = len(phases.completed)
        if phases.count is None or done % 2 != parity:
            when = phases.completed[-1] if done else 0.0
            warp.time = max(warp.time, when)
            return warp.time + _MEDIUM_LATENCY
        # The wait is issued again: the trace has one record for it.
        warp.observed_index[one.number] -= 1
        key = ("mbarrier", observed.get("place"))
        self.waiting[key].append(warp)
        warp.waits = key
        return None

    def _arrive(self, warp: _WarpState, observed: ObservedWords, time: float) -> None:
        """Count arrivals: one for each lane, or one for a tensor core commit."""
        for number in ("", *range(1, WARP)):
            if (place := observed.get(f"place{number}")) is None:
                return
            phases = self.phases[place]
            phases.arrivals += observed.get(f"lanes{number}") or 1
            self._update_phase(place, phases, time + _mbarrier_latency(warp.block, place))

    def _complete_copy(self, warp: _WarpState, one: Instruction, observed: ObservedWords, start: float) -> float:
        barrier = observed.get("barrier")
        size = 0.0 if barrier is None else self.copied.get((one.number, barrier), 0.0)
        done = self._load(warp, start, size) + TMA_LATENCY
        if barrier is not None:
            phases = self.phases[barrier]
            phases.bytes -= size
            self._update_phase(barrier, phases, done + _mbarrier_latency(warp.block, barrier))
        return start + _MEDIUM_LATENCY

    def _update_phase(self, place: int, phases: MbarrierPhases, time: float) -> None:
        phases.latest = max(phases.latest, time)
        if phases.complete_phases():
            for other in self.waiting.pop(("mbarrier", place), []):
                self._wake(other)


def _tensor_pipes(block: int, one: Instruction) -> list[tuple]:
    """The tensor pipes of a tcgen05 MMA: of its CTA, or of both CTAs of a pair."""
    return [(block, TENSOR), *([(block ^ 1, TENSOR)] if "2CTA" in one.modifiers else [])]


def _mbarrier_latency(block: int, place: int) -> float:
    """The latency of an arrival at an mbarrier of the CTA itself or of a peer."""
    return 0.0 if place >> RANK_BITS == block else CLUSTER_LATENCY


def simulate_clusters(
    code: MachineCode,
    machine: GpuModel,
    launch: Launch,
    clusters: list[list[list[WarpTrace]]],
    work: CtaWork,
    read: float,
    load: MemoryLoad = IDLE,
) -> list[Timeline]:
    """The timelines of clusters, where the launch reads ``read`` bytes from DRAM; equal paths are simulated once."""
    memory = latency_and_rate(machine, launch, work, read, load)
    found: dict[int, Timeline] = {}
    keys = list(map(path_id, clusters))
    for key, cluster in zip(keys, clusters, strict=True):
        if key not in found:
            found[key] = _simulate_cluster(code, machine, launch, cluster, memory)
    return [found[key] for key in keys]


def _simulate_cluster(
    code: MachineCode, machine: GpuModel, launch: Launch, cluster: list[list[WarpTrace]], memory: tuple[float, float]
) -> Timeline:
    simulation = _ClusterSimulation(code, machine, launch, *memory)
    simulation.copied = copy_bytes(code, cluster)
    running = [_WarpState(trace, block, number % SM_PARTITIONS) for block, warps in enumerate(cluster)
               for number, trace in enumerate(warps)]  # fmt: skip
    clocks = simulation.run(running)
    has_mma = simulation.last > 0
    prologue, epilogue = (simulation.first, max(clocks - simulation.last, 0.0)) if has_mma else (0.0, 0.0)
    return Timeline(
        clocks, prologue, epilogue, max_bytes_in_flight(simulation.transfers) / len(cluster), simulation.forced_waits
    )
