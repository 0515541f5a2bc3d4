"""The modelled cost of a schedule: cycles of an SM for one tile program, on a GPU that is full of them.

Each pipe and memory has the cycles of what a tile program demands of it; none can take less. A CTA alone takes longer: before
its loop, in what the stages of the loop do not hide, and after it. CTAs that share an SM overlap (``target/shared_sm.py``). Rates are those of ``target/``, which ``tileiras-build estimate`` uses for the finished code; the GPU
is the target's default one. The cost is modelled, never measured: it ranks schedules of one kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import ceil

from ...ir.layouts.tmem_layout import PAIR
from ...target.gpu_models import DEFAULT_GPUS, GPUS, GpuModel, dram_efficiency
from ...target.gpu_rates import (
    CLUSTER_BYTES_PER_CLOCK,
    CLUSTER_LATENCY,
    L2_BYTES_PER_CLOCK,
    SHARED_BYTES_PER_CLOCK,
    SM_PARTITIONS,
)
from ...target.occupancy import occupancy
from ...target.shared_sm import batch_clocks
from ...target.sm_limits import RESERVED_SHARED_MEMORY, WARP
from ...target.targets import Target
from ..analysis.loop_trips import ASSUMED_EXTENT
from ..analysis.resource_model import (
    MAX_REGISTERS,
    MIN_WARPS_FOR_SETMAXNREG,
    SYNC_MMA_REG_OVERHEAD,
    UNSPILLABLE_REG_OVERHEAD,
    registers_at_launch,
)
from ..mma.family import MmaFamily, Storage, families_of, family_named
from .kernel import Dot, Kernel
from .schedule import Schedule
from .stage_waits import (
    BARRIER_LATENCY,
    LOADED_LATENCY,
    MMA_LATENCY,
    STEP_OVERHEAD,
    fill_clocks,
    trip_at_once,
    trip_in_flight,
)

TENSOR, FMA, ALU, SPECIAL = "tensor pipe", "FMA pipe", "ALU pipe", "special functions"
ISSUE, SHARED, L2, DRAM, LATENCY = "issue slots", "shared memory", "L2", "DRAM", "latency"
PIPES = {"tensor": TENSOR, "FMA": FMA}  # of families
THREADS = (FMA, ALU, SPECIAL, ISSUE)  # what threads do between MMAs: at the same time, as others issue where one waits
ITERATIONS = 4  # the clock depends on the load, and that on the clock
LATENCY_BINDS = 1.15  # times the largest demand: what takes longer waits
FEWEST_LATE_WORDS = 8  # of a thread: two accesses of 16 bytes
STEP_BYTES = 32  # of a row of operands, in one instruction of a warp
# Cycles of a trip until the MMAs of a partition's only warp run, where fragments are read ahead: from `estimate`, on sm_120.
FIRST_FRAGMENT = 100
CHAIN_LATENCY = 400  # cycles of a trip in which asynchronous chained dots wait: fitted (benchmarks/schedule_cost.py)
LAUNCH_OVERHEAD = 500  # cycles of a CTA before its first load: parameters, barriers, descriptors
# Instructions of each warp besides those of its elements: parameters, indices, addresses; and its part of a reduction: shuffles,
# shared memory, the partial results of other warps. From `estimate`.
WARP_INSTRUCTIONS, REDUCTION_INSTRUCTIONS = 24, 32
ACCUMULATOR_BYTES = WORD = 4
REDUCTION_LATENCY = 250  # cycles of a reduction over warps: shuffles, shared memory, two barriers


@dataclass(frozen=True)
class Cost:
    """``clocks`` of an SM for one tile program; ``demands`` of its pipes and memories for it; ``ctas`` share the SM, which holds
    ``clock_mhz`` under this load. ``tail``: how much longer the busiest SM works than the average one, as a fraction. ``alone``:
    clocks of a CTA that has the SM to itself.
    """

    clocks: float
    demands: Mapping[str, float]
    ctas: int
    clock_mhz: float
    tail: float = 0.0
    alone: float = 0.0

    @property
    def nanoseconds(self) -> float:
        """The time of an SM for one tile program, as the clock depends on the schedule."""
        return self.clocks / self.clock_mhz * 1e3

    @property
    def nanoseconds_with_tail(self) -> float:
        """The part of the time of a grid: what schedules are compared by."""
        return self.nanoseconds * (1 + self.tail)

    @property
    def bound(self) -> str:
        """What binds: the busiest pipe or memory, or latency where all of them wait."""
        name = max(self.demands, key=lambda name: self.demands[name])
        return LATENCY if self.clocks > LATENCY_BINDS * self.demands[name] else name

    def busy(self, name: str) -> float:
        """The share of the time in which a pipe is busy."""
        return min(1.0, self.demands.get(name, 0.0) / self.clocks)

    @property
    def shares(self) -> dict[str, float]:
        """The share of the time in which each pipe is busy, the busiest first."""
        busy = {name: round(self.busy(name), 3) for name, clocks in self.demands.items() if clocks}
        return dict(sorted(busy.items(), key=lambda item: -item[1]))


@cache
def default_gpu(target: Target) -> GpuModel | None:
    """The GPU that costs are for; None for a target without published rates."""
    name = DEFAULT_GPUS.get(target.number)
    return None if name is None else GPUS[name]


def cost(kernel: Kernel, schedule: Schedule, target: Target) -> Cost | None:
    """The modelled cost; None for a target without published rates, and where a tile has fewer rows than CTAs divide."""
    if (gpu := default_gpu(target)) is None:
        return None
    model = _Model(kernel, schedule, target, gpu)
    return model.cost() if all(dot.m for dot in model.kernel.dots) else None


class _Model:
    def __init__(self, kernel: Kernel, schedule: Schedule, target: Target, gpu: GpuModel):
        self.schedule, self.target, self.gpu, self.rates = schedule, target, gpu, gpu.rates
        if (parts := schedule.split_k or 1) != kernel.split_k:
            kernel = kernel.with_split_k(parts)
        kernel = kernel.with_slices(schedule.tile_slices or 1)
        wanted = schedule.num_ctas or kernel.ctas
        self.kernel = kernel if wanted <= kernel.ctas else kernel.divided(wanted // kernel.ctas)
        neighbours = schedule.grid_cluster or 1
        self.sharing = max(self.kernel.ctas, neighbours)  # CTAs of a cluster
        self.ctas_of_program = max(1, self.kernel.ctas // neighbours)
        self.warps = schedule.num_warps or kernel.warps
        self.families = _families(self.kernel, schedule, target)
        self._dots = list(zip(self.kernel.dots, self.families, strict=True))
        self.is_async = any(family.async_ops is not None for family in self.families)
        self.clock_mhz = gpu.clock_mhz
        self.stages = schedule.num_stages or max(schedule.cp_async_stages or (0,))

    def cost(self) -> Cost:
        for _ in range(ITERATIONS):
            found, before = self._cost(), self.clock_mhz
            self.clock_mhz = (before + self.gpu.sustained_mhz(found.busy(TENSOR), found.busy(FMA))) / 2
            if self.clock_mhz == before:  # as where DRAM limits a kernel
                break
        return found

    def _cost(self) -> Cost:
        """The cost at the clock so far."""
        loop, rest = self._loop_demands(), self._rest_demands()
        demands = {name: loop.get(name, 0.0) + rest.get(name, 0.0) for name in loop | rest}
        groups, ctas, kernel_ctas = self._groups(), self._resident_ctas(), self.ctas_of_program
        inner = self._loop_alone(loop | {L2: loop[L2] * self._l2_share}, groups)
        outer = self._rest_alone({name: clocks / (self.schedule.query_tiles or 1) for name, clocks in rest.items()})
        overlaps = self.schedule.mma_warp and self.kernel.is_persistent
        alone = max(inner, outer) if overlaps else inner + outer
        together = batch_clocks(ctas * groups, alone, [clocks / groups for clocks in demands.values()])
        clocks = kernel_ctas * max(together / ctas, *demands.values())
        tail = self._tail() if self.kernel.dots else self._tail_of_rows(alone, demands, clocks)
        demands = {name: kernel_ctas * each for name, each in demands.items()}
        return Cost(clocks, demands, ctas, self.clock_mhz, tail, alone)

    def _tail(self) -> float:
        """Of the grid of a matmul with a result of the assumed extents: on average, half of an SM's last CTA has nothing to do."""
        if len(self.kernel.dots) != 1:
            return 0.0
        [dot] = self.kernel.dots
        ctas_of_sm = self.kernel.split_k * ASSUMED_EXTENT**2 / (dot.m * dot.n) / self.gpu.sm_count
        return 0.5 / ctas_of_sm

    def _tail_of_rows(self, alone: float, demands: Mapping[str, float], clocks: float) -> float:
        """Of a grid with a tile program for each of the assumed rows: the mean of what the last CTAs of an SM take longer than as many
        among others, as fewer of them hide each other's latency.
        """
        ctas, program = self._resident_ctas(), self.ctas_of_program
        last = [
            program * batch_clocks(count, alone, self._of_busiest_partition(demands, count)) - count * clocks
            for count in range(1, ctas + 1)
        ]
        return max(0.0, sum(last) / ctas) * self.gpu.sm_count / (ASSUMED_EXTENT * clocks)

    def _of_busiest_partition(self, demands: Mapping[str, float], ctas: int) -> list[float]:
        """The demands of a CTA where that many share an SM: CTAs of fewer warps than partitions may leave some of them idle."""
        share = ctas * self.warps / SM_PARTITIONS
        factor = ceil(share) / share if self.warps < SM_PARTITIONS else 1.0
        return [clocks * factor if name in THREADS else clocks for name, clocks in demands.items()]

    def _loop_demands(self) -> dict[str, float]:
        found = self._work(self.kernel.loop)
        shared = instructions = loaded = converted = 0.0
        for dot, family in self._dots:
            pipe = PIPES[family.pipe]
            found[pipe] = found.get(pipe, 0.0) + dot.trips * self._clocks(family, dot)
            copied, from_l2 = self._copied(dot)
            moved = dot.written * self._expands + 2 * dot.transposed_bytes
            shared += dot.trips * (copied + moved + self._read(family, dot))
            loaded += dot.trips * from_l2
            converted += dot.trips * self._converted_again(family, dot)
            instructions += dot.trips * family.instructions(dot, self.warps)
        found[ALU] += converted / self.rates.alu
        found[ISSUE] = found.get(ISSUE, 0.0) + (instructions + converted / WARP) / SM_PARTITIONS
        shared = (shared + 2 * self._sources) / SHARED_BYTES_PER_CLOCK
        return found | {SHARED: shared, L2: loaded / self._l2_rate}

    def _rest_demands(self) -> dict[str, float]:
        kernel, found = self.kernel, self._work(self.kernel.rest)
        own = self.warps * (WARP_INSTRUCTIONS + kernel.reductions * REDUCTION_INSTRUCTIONS)
        through_shared = 2 * (kernel.stored + self._sent) if self.kernel.dots else 0.0
        total, loaded = kernel.loaded + kernel.stored, kernel.loaded - kernel.reused
        efficiency = dram_efficiency(loaded, kernel.stored) if loaded + kernel.stored else 1.0
        dram = self.gpu.dram_gb_per_s * 1e3 / self.clock_mhz / self.gpu.sm_count * efficiency
        return found | {
            ISSUE: found[ISSUE] + own / SM_PARTITIONS,
            SHARED: through_shared / SHARED_BYTES_PER_CLOCK,
            L2: total / self._l2_rate,
            DRAM: (loaded + kernel.stored) / dram,
        }

    def _work(self, instructions: Mapping[str, float]) -> dict[str, float]:
        """The pipes of instructions of single threads."""
        count, rates = instructions.get, self.rates
        found = {
            FMA: count("float32", 0) / rates.float32 + count("half2", 0) / rates.half2,
            ALU: (count("alu", 0) + count("maxima", 0)) / rates.alu,
            SPECIAL: count("special", 0) / rates.exponential,
        }
        if count("float64", 0):
            found[FMA] += count("float64", 0) / rates.float64
        return found | {ISSUE: sum(instructions.values()) / (WARP * SM_PARTITIONS)}

    def _converted_again(self, family: MmaFamily, dot: Dot) -> float:
        """The instructions of warps that convert what others convert, too: each its fragments of tiles that are copied ahead."""
        a, b = family.replication(dot, self.warps)
        return (a - 1) * dot.a_work * bool(dot.a_bytes) + (b - 1) * dot.b_work * bool(dot.b_bytes)

    def _clocks(self, family: MmaFamily, dot: Dot) -> float:
        """The cycles that the pipe takes for a dot's tile; a pair computes one of twice the rows on two SMs."""
        if not self.schedule.two_cta_mma:
            return family.clocks(dot, self.rates)
        return family.clocks(replace(dot, m=PAIR * dot.m), self.rates) / PAIR

    def _copied(self, dot: Dot) -> tuple[float, float]:
        """Bytes that a trip's loads write to shared memory, and those that come from L2."""
        right = dot.b_bytes / (2 if self.schedule.two_cta_mma else 1)
        shared_by = self.sharing if self.schedule.multicast and not self.schedule.two_cta_mma else 1
        shared = dot.a_bytes if self.kernel.shares_left else right
        return dot.a_bytes + right, dot.a_bytes + right - shared * (1 - 1 / shared_by)

    def _read(self, family: MmaFamily, dot: Dot) -> float:
        """Bytes of shared memory that a trip's instructions read; each CTA of a pair has half of the columns."""
        halved = dot.b_size() * max(1, dot.m // 128) / 2 if self.schedule.two_cta_mma else 0.0
        return family.shared_bytes(dot, self.warps) - halved

    @property
    def _l2_rate(self) -> float:
        return min(L2_BYTES_PER_CLOCK, self.gpu.l2_gb_per_s * 1e3 / self.clock_mhz / self.gpu.sm_count)

    @property
    def _l2_share(self) -> float:
        """How much less a CTA takes of L2 than all of them together leave to each other."""
        return self._l2_rate / L2_BYTES_PER_CLOCK

    # ---- latency -------------------------------------------------------------------------------
    def _loop_alone(self, demands: Mapping[str, float], groups: int) -> float:
        """The cycles of the loop of dots for a group of warps that has the SM to itself."""
        trips = max(self.kernel.trips, 1.0)
        return trips * self._trip({name: clocks / trips / groups for name, clocks in demands.items()})

    def _trip(self, busy: Mapping[str, float]) -> float:
        """The cycles of one trip: its pipes, one after the other where each waits for the last, and the wait for its stage."""
        if not self.kernel.dots:
            return 0.0
        if self._expands:
            computed = self._written_trip(busy)
        elif self.kernel.is_chained:
            computed = self._chain(busy) + STEP_OVERHEAD
        else:
            waits = self.is_async and not self._in_tensor_memory and any(dot.written for dot in self.kernel.dots)
            computed = busy.get(TENSOR, 0.0) + max(busy[name] for name in THREADS) if waits else max(busy.values())
            computed += STEP_OVERHEAD + self._transposition
        if not self.is_async and not self._expands:
            computed = max(computed, busy.get(TENSOR, 0.0) * max(1.0, SM_PARTITIONS / self.warps)) + self._fragments()
        return max(computed, *(self._stage_wait(dot, computed) for dot in self.kernel.dots))

    def _chain(self, busy: Mapping[str, float]) -> float:
        """The cycles of chained dots with the softmax between. In tensor memory the left operand of the last takes the columns of the first."""
        softmax, tensor = self._softmax(busy), max(busy.get(TENSOR, 0.0), busy.get(SHARED, 0.0) * self.is_async)
        if not self._overlaps:
            found = tensor + softmax
        elif self.schedule.tmem_accumulators:
            whole = sum(dot.trips * dot.multiply_adds for dot in self.kernel.dots)
            first = sum(dot.trips * dot.multiply_adds for dot in self.kernel.dots if not dot.has_lhs_in_registers)
            found = max(tensor, softmax) + tensor * first / whole
        else:
            found = max(softmax, *busy.values())
        return found + CHAIN_LATENCY * self.is_async

    def _softmax(self, busy: Mapping[str, float]) -> float:
        """The cycles of threads between chained dots: a row's maximum is known before its other instructions start."""
        maxima = self.kernel.loop.get("maxima", 0.0) / max(self.kernel.trips, 1.0) / self._groups()
        issued = {ALU: maxima / self.rates.alu, ISSUE: maxima / (WARP * SM_PARTITIONS)}
        return issued[ALU] + max(busy[name] - issued.get(name, 0.0) for name in THREADS)

    def _written_trip(self, busy: Mapping[str, float]) -> float:
        """The cycles of one trip in which threads compute operands from what they load, write them to shared memory, wait for each other,
        and multiply; they do not wait for accumulators in tensor memory. Tiles whose rows are too short for TMA are loaded in the same trip.
        """
        kernel, trips = self.kernel, max(self.kernel.trips, 1.0)
        moved = (sum(dot.written for dot in kernel.dots) + self._sources / trips) / SHARED_BYTES_PER_CLOCK
        multiplied = max(busy.get(TENSOR, 0.0), busy[SHARED] - moved)
        loaded = 0.0 if self.schedule.num_stages else kernel.reused / trips / L2_BYTES_PER_CLOCK
        waits = LOADED_LATENCY * self.gpu.l2_latency + 2 * BARRIER_LATENCY + STEP_OVERHEAD
        computed = waits + loaded + max(busy[name] for name in THREADS) + moved
        return max(computed, multiplied) if self._in_tensor_memory else computed + multiplied

    @property
    def _transposition(self) -> float:
        """The cycles of one trip in which threads transpose an operand, and wait for each other, before they multiply it."""
        if not (bytes := sum(dot.transposed_bytes for dot in self.kernel.dots)):
            return 0.0
        return 2 * bytes / SHARED_BYTES_PER_CLOCK + BARRIER_LATENCY

    @property
    def _sources(self) -> float:
        """Bytes of the tiles from which threads compute operands, where TMA writes them to stages, and threads read them there."""
        return self.kernel.reused if self.schedule.num_stages and self._expands else 0.0

    @property
    def _expands(self) -> bool:
        """Whether threads load, in each trip, some of the tiles from which they compute operands."""
        loads = self.kernel.has_short_rows or not self.schedule.num_stages
        return loads and any(dot.written for dot in self.kernel.dots)

    def _stage_wait(self, dot: Dot, trip: float) -> float:
        """The cycles of a trip as far as loads of a dot's operands allow: a stage is filled, and held until it is read."""
        bytes = dot.a_bytes + dot.b_bytes + self._sources / max(self.kernel.trips, 1.0)
        if not bytes:
            return 0.0
        filled, stages = self._fill(bytes), max(self.stages, 1)
        if self.is_async and self.families[0].accumulator is Storage.REGISTERS and not dot.is_chained and stages > 1:
            at_once = trip_at_once(trip, filled, stages, max(1, self.warps // SM_PARTITIONS))
            in_flight = trip_in_flight(trip, filled, stages)
            return in_flight if dot.written else min(in_flight, at_once)
        held = trip * dot.multiply_adds / sum(other.multiply_adds for other in self.kernel.dots)
        return (filled + held) / stages

    @property
    def _overlaps(self) -> bool:
        """Whether a dot of a chain runs while threads compute the operand of another."""
        one = self.schedule
        return bool(one.rotate or one.ping_pong or one.issue_ahead or one.tmem_accumulators)

    def _fragments(self) -> float:
        """The waits of a trip for fragments: those of each step, or of the first one where they are read ahead.

        Other warps of a partition multiply meanwhile, unless all of them wait at the barrier of a trip. Of chained dots, whose left
        operands are in registers, a partition's only warp waits for the first step of each: by `estimate`.
        """
        is_single = self.warps <= SM_PARTITIONS
        if self.schedule.prefetch_fragments:
            return FIRST_FRAGMENT if is_single else 0.0
        step = MMA_LATENCY + self.gpu.shared_latency + BARRIER_LATENCY
        if self.kernel.is_chained and is_single:
            return step * len(self.kernel.dots)
        if self.schedule.num_stages and not is_single and not any(dot.is_scaled for dot in self.kernel.dots):
            return 0.0  # scales are copied by all threads, which then wait for each other
        steps = max(dot.a_size() / dot.m / STEP_BYTES for dot in self.kernel.dots)
        return steps * step

    def _fill(self, bytes: float) -> float:
        """The cycles from a load to its data."""
        in_cluster = bool(self.schedule.multicast or self.schedule.two_cta_mma)
        return fill_clocks(bytes, self.gpu, by_tma=bool(self.schedule.num_stages), in_cluster=in_cluster)

    def _rest_alone(self, rest: Mapping[str, float]) -> float:
        """The cycles before the first load, of loads, and of work after the loop; stores need not be waited for."""
        kernel = self.kernel
        busy = max(rest.get(name, 0.0) for name in THREADS) + rest.get(SHARED, 0.0)
        busy *= max(1.0, SM_PARTITIONS / self.warps)
        reductions = kernel.reductions * (REDUCTION_LATENCY if self.warps > 1 else REDUCTION_LATENCY / 2)
        first = self._fill(kernel.stage_bytes) if kernel.dots else 0.0
        loaded = kernel.loaded - (kernel.reused if self._expands else 0.0)
        others = self.gpu.dram_latency + loaded / L2_BYTES_PER_CLOCK if loaded else 0.0
        exchange = self._sent / CLUSTER_BYTES_PER_CLOCK + 2 * CLUSTER_LATENCY if self._sent else 0.0
        rounds = kernel.rounds * self.gpu.l2_latency
        return LAUNCH_OVERHEAD + max(first, others, rounds) + busy + reductions + exchange + self._late_loads()

    @property
    def _sent(self) -> float:
        """Bytes of accumulators that a CTA sends to the others that have parts of the loop."""
        accumulators = sum(ACCUMULATOR_BYTES * dot.m * dot.n for dot in self.kernel.dots)
        return accumulators * (1 - 1 / self.kernel.split_k)

    def _late_loads(self) -> float:
        """The cycles of loads after reductions: as many at once as threads have registers for beside their row."""
        kernel, threads = self.kernel, WARP * self.warps
        if not kernel.late_words or not kernel.row_words:
            return 0.0
        held = registers_at_launch(self.warps * self._resident_ctas(), self.target) - UNSPILLABLE_REG_OVERHEAD
        spare = max(held - kernel.row_words / threads, FEWEST_LATE_WORDS)
        return ceil(kernel.late_words / threads / spare) * self.gpu.l2_latency

    # ---- CTAs ----------------------------------------------------------------------------------
    def _groups(self) -> int:
        """Groups of warps of a CTA, each with rows of its own, that compute while others multiply."""
        if self._in_tensor_memory:
            return self.schedule.query_tiles or 1
        return max(1, self.warps // SM_PARTITIONS) if self.kernel.is_chained else 1

    @property
    def _in_tensor_memory(self) -> bool:
        return any(family.accumulator is Storage.TENSOR for family in self.families)

    def _resident_ctas(self) -> int:
        """The CTAs of an SM: those that registers are divided for, or as many as fit."""
        if self.schedule.occupancy is not None:
            return self.schedule.occupancy
        shared = self.stages * int(sum(self._copied(dot)[0] for dot in self.kernel.dots)) + RESERVED_SHARED_MEMORY
        loads = bool(self.schedule.num_stages)
        if loads and self.is_async and self.warps >= MIN_WARPS_FOR_SETMAXNREG and self.target.has("setmaxnreg"):
            return 1  # the launch has all registers of an SM
        return max(1, occupancy(self.target, WARP * (self.warps + loads), self._registers(), shared).ctas)

    def _registers(self) -> int:
        """Of a thread: its part of the accumulators, and of left operands that stay, or of a row that waits for a reduction, and all else."""
        if self.kernel.row_words:
            return min(MAX_REGISTERS, int(self.kernel.row_words) // (WARP * self.warps) + UNSPILLABLE_REG_OVERHEAD)
        words = sum(dot.m * dot.n for dot, family in self._dots if family.accumulator is Storage.REGISTERS)
        if self.kernel.is_chained and not self.is_async:
            words += sum(int(dot.a_size()) // WORD for dot in self.kernel.dots)
        words += sum(self._fragments_of(dot, family) for dot, family in self._dots if dot.written and not self.is_async)
        return min(MAX_REGISTERS, words // (WARP * self.warps) + SYNC_MMA_REG_OVERHEAD)

    def _fragments_of(self, dot: Dot, family: MmaFamily) -> int:
        """Words of all threads for the operands of a trip that come from layouts of loads: all of a tile is converted at once."""
        a, b = family.replication(dot, self.warps)
        return int(a * dot.a_size() * (not dot.a_bytes) + b * dot.b_size() * (not dot.b_bytes)) // WORD


def _families(kernel: Kernel, schedule: Schedule, target: Target) -> list[MmaFamily]:
    """The family of each dot: the schedule's, or the GPU's fastest."""
    names: Iterable[str] = schedule.mma or ()
    found = list(map(family_named, names))
    return found if len(found) == len(kernel.dots) else [families_of(target)[0]] * len(kernel.dots)
