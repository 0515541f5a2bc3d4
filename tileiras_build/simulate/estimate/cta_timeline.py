"""One block with the GPU's memory to itself: when its warps issue what, and for what they wait.

Each warp issues in order. An instruction waits for the scoreboards that ptxas has told it to, for its scheduler and its pipe;
then the warp goes on after as many clocks as ptxas has written down. Barriers, mbarriers, groups of copies and of products let
a warp go on when what it waits for has happened, at addresses that the paths are known to have. Loads take the latency of L2 or
DRAM, as far as their bytes come from there, and the time that the bytes need at the rate of one multiprocessor's share.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...target.gpu_rates import CLUSTER_LATENCY, L2_BYTES_PER_CLOCK, SM_PARTITIONS, GpuModel
from ...target.sm_limits import WARP
from .bytes_in_flight import copy_bytes, max_bytes_in_flight
from .cta_resource_usage import ASYNC_LOADS, ASYNC_STORES, CtaWork, expected_bytes
from .instruction_throughput import TENSOR, is_mma, mma_shape, pipe_clocks
from .launch_and_constant_banks import Launch
from .mbarrier_phases import (
    RANK_BITS,
    MbarrierPhases,
    ObservedWords,
    expected_arrivals,
    init_stores,
    multicast_arrivals,
)
from .memory_transactions import GLOBAL, LOADS, SHARED
from .sass_parser import NO_BARRIER, Instruction, MachineCode
from .warp_trace import WarpTrace

SCOREBOARDS = 6
# Clocks until a result is there, of instructions whose time no table of machines.py has [Jia et al., arXiv 1804.06826, table
# 4.1, and Luo et al., arXiv 2402.13499: between 18 and 30 on all generations].
_MEDIUM_LATENCY, _MMA_LATENCY, _BARRIER_LATENCY = 22.0, 33.0, 20.0
_ISSUE_SLACK = 4.0  # clocks by which a warp may be followed ahead of the others
_SYNCHRONIZING = ("BAR", "SYNCS", "DEPBAR", "WARPGROUP", "UTCBAR", "ARRIVES")


@dataclass(frozen=True)
class Timeline:
    """Clocks of a block alone: all, before its first product and behind its last; bytes under way at most; waits that the model
    had to cut short because it did not see who ends them.
    """

    clocks: float = 0.0
    prologue: float = 0.0
    epilogue: float = 0.0
    in_flight: float = 0.0
    forced_waits: int = 0


def average(found: Sequence[Timeline]) -> Timeline:
    """The mean of several blocks."""
    count = len(found)
    clocks, prologue, epilogue = (
        sum(getattr(one, name) for one in found) / count for name in ("clocks", "prologue", "epilogue")
    )
    most = max(one.in_flight for one in found)
    return Timeline(clocks, prologue, epilogue, most, sum(one.forced_waits for one in found))


@dataclass
class _WarpState:
    """One warp: where on its path it is, and what it waits for."""

    trace: WarpTrace
    block: int  # of the cluster
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


class _InstructionCost:
    """What an instruction costs wherever it stands."""

    def __init__(self, one: Instruction, machine: GpuModel):
        self.one = one
        self.opcode = one.opcode
        control = one.control
        self.stall = max(control.stall, 1)
        self.waits = tuple(n for n in range(SCOREBOARDS) if control.waits >> n & 1)
        self.writes = None if control.writes == NO_BARRIER else control.writes
        self.reads = None if control.reads == NO_BARRIER else control.reads
        found = pipe_clocks(one, machine.rates)
        self.pipe = found[0] if found else None
        self.clocks = found[1] * SM_PARTITIONS if found else 0.0
        self.is_mma = is_mma(one)
        self.in_tensor_memory = self.is_mma and one.opcode.startswith("UTC")
        self.is_group = "GMMA" in one.opcode
        self.ends_group = any(operand.text.startswith("gsb") for operand in one.operands)
        made = mma_shape(one) if self.is_mma and not self.in_tensor_memory else None
        self.mma_cycles = made.clocks(machine.rates) * SM_PARTITIONS if made else 0.0
        self.is_memory = one.opcode in (*GLOBAL, *SHARED, "LDGSTS")
        self.special = self.is_memory or self.is_mma or one.opcode in (*_SYNCHRONIZING, *ASYNC_LOADS, *ASYNC_STORES,
                                                                          "LDGDEPBAR", "UTMACMDFLUSH")  # fmt: skip


class _ClusterSimulation:
    """The blocks of a cluster while they run."""

    def __init__(self, code: MachineCode, machine: GpuModel, launch: Launch, latency: float, rate: float):
        self.code, self.gpu, self.launch = code, machine, launch
        self.latency, self.rate = latency, rate
        self.free: dict[tuple, float] = defaultdict(float)
        self.barriers: dict[object, list[tuple[_WarpState, float]]] = defaultdict(list)
        self.phases: dict[int, MbarrierPhases] = defaultdict(MbarrierPhases)
        self.waiting: dict[object, list[_WarpState]] = defaultdict(list)
        self.queue: list[tuple[float, int, _WarpState]] = []
        self.copied: dict[int, float] = {}
        self.first, self.last, self.forced_waits = float("inf"), 0.0, 0
        self.flights: list[tuple[float, float]] = []

    @cached_property
    def initializing(self) -> frozenset[int]:
        """The stores that make mbarriers."""
        return init_stores(self.code)

    @cached_property
    def steps(self) -> list[list[_InstructionCost]]:
        """The instructions of each basic block."""
        return [[_InstructionCost(self.code.instructions[n], self.gpu) for n in block] for block in self.code.blocks]

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self, runners: list[_WarpState]) -> float:
        """Until all warps have ended; the clocks that it took."""
        for number, runner in enumerate(runners):
            heapq.heappush(self.queue, (0.0, number, runner))
        order = {id(runner): number for number, runner in enumerate(runners)}
        self.order = order
        left = set(order)
        end = 0.0
        while left:
            if not self.queue:
                self._force_progress()
                continue
            _, _, runner = heapq.heappop(self.queue)
            if self._pass_block(runner):
                left.discard(id(runner))
                end = max(end, runner.time)
            elif runner.waits is None:
                self._wake(runner)
        return end

    def _wake(self, runner: _WarpState) -> None:
        runner.waits = None
        heapq.heappush(self.queue, (runner.time, self.order[id(runner)], runner))

    def _force_progress(self) -> None:
        """Nobody that the model sees ends these waits: the first warp goes on as if somebody had."""
        self.forced_waits += 1
        waiting = [runner for runners in self.waiting.values() for runner in runners]
        runner = min(waiting, key=lambda one: (one.time, self.order[id(one)]))
        for runners in self.waiting.values():
            if runner in runners:
                runners.remove(runner)
        runner.inside += 1
        self._wake(runner)

    def _pass_block(self, runner: _WarpState) -> bool:
        """Issue the rest of a basic block; whether the warp has ended. It stops where it has to wait for other warps."""
        if runner.step == len(runner.trace.blocks):
            return True
        steps = self.steps[runner.trace.blocks[runner.step]]
        while runner.inside < len(steps):
            static = steps[runner.inside]
            runner.time = self._ready(runner, static)
            if self.queue and runner.time > self.queue[0][0] + _ISSUE_SLACK:
                # Others are behind: what they take of schedulers and pipes comes first.
                return False
            if not self._issue(runner, static):
                return False
            runner.inside += 1
        runner.step, runner.inside = runner.step + 1, 0
        return False

    def _ready(self, runner: _WarpState, static: _InstructionCost) -> float:
        """When a warp's next instruction can issue, as far as others have gone: while it waits, they have its scheduler."""
        places: list[tuple] = [(runner.block, runner.partition)]
        if static.pipe is not None:
            places.append((runner.block, runner.partition, static.pipe))
        waited = [runner.ready[number] for number in static.waits]
        return max(runner.time, *waited, *(self.free[place] for place in places))

    def _issue(self, runner: _WarpState, static: _InstructionCost) -> bool:
        start = runner.time
        self.free[(runner.block, runner.partition)] = start + 1
        if static.pipe is not None:
            self.free[(runner.block, runner.partition, static.pipe)] = start + static.clocks
        done = start + _MEDIUM_LATENCY
        if static.special:
            answer = self._special(runner, static, start)
            if answer is None:
                return False
            done = answer
        if static.writes is not None:
            runner.ready[static.writes] = max(runner.ready[static.writes], done)
        if static.reads is not None:
            runner.ready[static.reads] = max(runner.ready[static.reads], start + _MEDIUM_LATENCY)
        runner.time = max(runner.time, start) + static.stall
        return True

    # ---- what takes longer -------------------------------------------------------------------------------------------
    def _special(self, runner: _WarpState, static: _InstructionCost, start: float) -> float | None:
        """When the result is there; None where the warp has to wait and is to issue this once more."""
        one = static.one
        if static.is_mma:
            return self._multiply(runner, static, start)
        if one.number in self.initializing:
            self._initialize(runner, one)
        if static.is_memory:
            return self._access(runner, one, start)
        if one.opcode in _SYNCHRONIZING or one.opcode in ASYNC_LOADS:
            return self._synchronize(runner, one, start)
        if one.opcode == "LDGDEPBAR":
            runner.copy_group_ends.append(runner.copy_end)
        elif one.opcode == "UTMACMDFLUSH":
            runner.copy_group_ends.append(start + self.gpu.l2_latency)
        return start + _MEDIUM_LATENCY

    def _multiply(self, runner: _WarpState, static: _InstructionCost, start: float) -> float:
        whole = static.in_tensor_memory
        clocks = self._clocks_in_tensor_memory(runner, static.one) if whole else static.mma_cycles
        units = _tensor_pipes(runner.block, static.one) if whole else [(runner.block, runner.partition, TENSOR)]
        begins = max(start, *(self.free[unit] for unit in units))
        self.free |= dict.fromkeys(units, begins + clocks)
        self.first, self.last = min(self.first, begins), max(self.last, begins + clocks)
        if not whole and not static.is_group:
            # A warp's product is issued when the pipe takes it.
            runner.time = max(runner.time, begins)
        runner.last_mma_end = max(runner.last_mma_end, begins + clocks + _MMA_LATENCY)
        if static.ends_group:
            runner.wgmma_group_ends.append(runner.last_mma_end)
        return begins + clocks + _MMA_LATENCY

    def _clocks_in_tensor_memory(self, runner: _WarpState, one: Instruction) -> float:
        told = self._next_observed(runner, one)
        made = mma_shape(one, told.get("idesc")) if told else None
        return made.clocks(self.gpu.rates) if made else 0.0

    def _access(self, runner: _WarpState, one: Instruction, start: float) -> float:
        seen = runner.trace.observed.get(one.number)
        if seen is None or not seen.accesses:
            return start + _MEDIUM_LATENCY
        taken = seen.accesses[0]
        done = start + self.gpu.shared_latency
        if one.opcode in SHARED:
            unit = (runner.block, "shared")
            begins = max(start, self.free[unit])
            self.free[unit] = begins + taken.wavefronts
            return begins + taken.wavefronts + self.gpu.shared_latency
        if one.opcode in LOADS or one.opcode.startswith("ATOM"):
            done = self._fetch(runner, start, sum(taken.sectors.values()) * 32.0)
        else:
            done = start + _MEDIUM_LATENCY
        if one.opcode == "LDGSTS":
            runner.copy_end = max(runner.copy_end, done)
        return done

    def _fetch(self, runner: _WarpState, start: float, size: float) -> float:
        unit = (runner.block, "memory")
        begins = max(start, self.free[unit])
        self.free[unit] = begins + size / self.rate
        done = begins + size / self.rate + self.latency
        self.flights += [(start, size), (done, -size)]
        return done

    def _next_observed(self, runner: _WarpState, one: Instruction) -> dict[str, int | None] | None:
        seen = runner.trace.observed.get(one.number)
        place = runner.observed_index[one.number]
        runner.observed_index[one.number] = place + 1
        return seen.recorded_words[place] if seen and place < len(seen.recorded_words) else None

    # ---- waiting for others ------------------------------------------------------------------------------------------
    def _synchronize(self, runner: _WarpState, one: Instruction, start: float) -> float | None:
        if one.opcode == "WARPGROUP":
            return (
                self._wait_for_groups(runner, one, runner.wgmma_group_ends, start)
                if "DEPBAR" in one.modifiers
                else start
            )
        told = self._next_observed(runner, one)
        if told is None:
            return start + 1
        if one.opcode == "DEPBAR":
            return self._wait_for_groups(runner, one, runner.copy_group_ends, start)
        if one.opcode == "BAR":
            return self._barrier(runner, one, told, start)
        if one.opcode in ASYNC_LOADS:
            return self._deliver(runner, told, start)
        if one.opcode == "SYNCS":
            return self._mbarrier(runner, one, told, start)
        if one.opcode == "UTCBAR":
            told = multicast_arrivals(one, told)
        self._arrive(runner, told, max(start, self._done_before(runner, one)) + _MEDIUM_LATENCY)
        return start + _MEDIUM_LATENCY

    def _done_before(self, runner: _WarpState, one: Instruction) -> float:
        """When all has happened that an asynchronous arrival comes after."""
        return runner.copy_end if one.opcode == "ARRIVES" else self.free[(runner.block, TENSOR)]

    def _wait_for_groups(self, runner: _WarpState, one: Instruction, groups: list[float], start: float) -> float:
        left = next((operand.number for operand in reversed(one.operands) if operand.kind == "number"), 0)
        finished = groups[: len(groups) - left] if left else groups
        if finished:
            runner.time = max(runner.time, *finished)
            del groups[: len(finished)]
        return runner.time

    def _barrier(self, runner: _WarpState, one: Instruction, observed: ObservedWords, start: float) -> float | None:
        key = ("barrier", runner.block, observed.get("id"))
        here = self.barriers[key]
        here.append((runner, start))
        count = -(-(observed.get("count") or self.launch.threads) // WARP)
        if len(here) >= count:
            opened = max(time for _, time in here) + _BARRIER_LATENCY
            del self.barriers[key]
            self._release(key, opened)
            runner.time = start if "ARV" in one.modifiers else opened
            return runner.time
        if "ARV" in one.modifiers:
            return start
        self.waiting[key].append(runner)
        runner.waits = key
        return None

    def _release(self, key: object, opened: float) -> None:
        """The warps at a barrier go on behind it."""
        for other in self.waiting.pop(key, []):
            other.time = max(other.time, opened)
            other.inside += 1
            self._wake(other)

    def _mbarrier(self, runner: _WarpState, one: Instruction, observed: ObservedWords, start: float) -> float | None:
        place = observed.get("place")
        if place is None:
            return start + _MEDIUM_LATENCY
        phases = self.phases[place]
        if "EXCH" in one.modifiers:
            phases.count = expected_arrivals(observed)
        elif "PHASECHK" in one.modifiers:
            return self._wait_for_phase(runner, one, observed, phases, start)
        else:
            phases.bytes += expected_bytes(one, observed)
            self._arrive(runner, observed, start + 1)
        return start + _MEDIUM_LATENCY

    def _initialize(self, runner: _WarpState, one: Instruction) -> None:
        told = self._next_observed(runner, one)
        if told is not None and (place := told.get("place")) is not None:
            self.phases[place].count = expected_arrivals(told)

    def _wait_for_phase(
        self, runner: _WarpState, one: Instruction, observed: ObservedWords, phases: MbarrierPhases, start: float
    ) -> float | None:
        parity = (observed.get("word") or 0) >> 31 & 1
        done = len(phases.completed)
        if phases.count is None or done % 2 != parity:
            when = phases.completed[-1] if done else 0.0
            runner.time = max(runner.time, when)
            return runner.time + _MEDIUM_LATENCY
        # To be asked again: the path has one answer only.
        runner.observed_index[one.number] -= 1
        key = ("mbarrier", observed.get("place"))
        self.waiting[key].append(runner)
        runner.waits = key
        return None

    def _arrive(self, runner: _WarpState, observed: ObservedWords, time: float) -> None:
        """Each lane that executes an arrival is one; that of tensor cores is one in any case."""
        for number in ("", *range(1, WARP)):
            if (place := observed.get(f"place{number}")) is None:
                return
            phases = self.phases[place]
            phases.arrivals += observed.get(f"lanes{number}") or 1
            self._settle(place, phases, time + _mbarrier_latency(runner.block, place))

    def _deliver(self, runner: _WarpState, observed: ObservedWords, start: float) -> float:
        barrier = observed.get("barrier")
        size = self.copied.get(barrier, 0.0) if barrier is not None else 0.0
        done = self._fetch(runner, start, size)
        if barrier is not None:
            phases = self.phases[barrier]
            phases.bytes -= size
            self._settle(barrier, phases, done + _mbarrier_latency(runner.block, barrier))
        return start + _MEDIUM_LATENCY

    def _settle(self, place: int, phases: MbarrierPhases, time: float) -> None:
        phases.latest = max(phases.latest, time)
        if phases.complete_phases():
            for other in self.waiting.pop(("mbarrier", place), []):
                self._wake(other)


def _tensor_pipes(block: int, one: Instruction) -> list[tuple]:
    """Those that a product in tensor memory takes: of its block, or of the pair that it is in."""
    return [(block, TENSOR), *([(block ^ 1, TENSOR)] if "2CTA" in one.modifiers else [])]


def _mbarrier_latency(block: int, place: int) -> float:
    """How long word takes from a block to an mbarrier in its own shared memory or another's."""
    return 0.0 if place >> RANK_BITS == block else CLUSTER_LATENCY


def simulate_clusters(
    code: MachineCode,
    machine: GpuModel,
    launch: Launch,
    clusters: list[list[list[WarpTrace]]],
    work: CtaWork,
    read: float,
) -> list[Timeline]:
    """The timelines of clusters' blocks, where DRAM reads ``read`` bytes in the whole launch; equal paths are followed once."""
    found: dict[int, Timeline] = {}
    keys = list(map(path_id, clusters))
    for key, cluster in zip(keys, clusters, strict=True):
        if key not in found:
            found[key] = _simulate_cluster(code, machine, launch, cluster, work, read)
    return [found[key] for key in keys]


def path_id(cluster: list[list[WarpTrace]]) -> int:
    """A number that is the same for clusters whose warps take the same ways."""
    return hash(tuple(tuple(trace.blocks) for warps in cluster for trace in warps))


def _simulate_cluster(
    code: MachineCode, machine: GpuModel, launch: Launch, cluster: list[list[WarpTrace]], work: CtaWork, read: float
) -> Timeline:
    asked = (sum(work.read.values()) + work.fetched) * launch.blocks
    far = min(read / asked, 1.0) if asked else 1.0
    latency = far * machine.dram_latency + (1 - far) * machine.l2_latency
    busy = min(launch.blocks, machine.sm_count)
    rate = min(L2_BYTES_PER_CLOCK, machine.dram_bytes / busy / far if far else L2_BYTES_PER_CLOCK)
    runs = _ClusterSimulation(code, machine, launch, latency, rate)
    runs.copied = copy_bytes(code, cluster)
    runners = [_WarpState(trace, block, number % SM_PARTITIONS) for block, warps in enumerate(cluster)
               for number, trace in enumerate(warps)]  # fmt: skip
    clocks = runs.run(runners)
    has_products = runs.last > 0
    prologue, epilogue = (runs.first, max(clocks - runs.last, 0.0)) if has_products else (0.0, 0.0)
    return Timeline(clocks, prologue, epilogue, max_bytes_in_flight(runs.flights) / len(cluster), runs.forced_waits)
