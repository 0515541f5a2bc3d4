"""What a launch reads from DRAM if its arrays exceed L2: the distinct tiles that a wave of CTAs reads, as far as they miss.

The CTAs that run at once read the same tile at about the same time, once from DRAM. What the next wave reads again hits if L2
has kept it: tiles of this wave up to the capacity, then a part of all others. How L2 replaces lines is not published; each
part is taken to stay in the proportion in which it fits. Two waves stand for all, at a third of the launch: groups of tile blocks
often begin at its half. CTAs that begin at different places of one line, as causal attention does, read what they have in common once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...target.gpu_models import GpuModel
from .constant_bank_values import Constants, Launch, Shape
from .copy_sizes import Copies
from .cta_work_counts import CtaWork
from .kernel_from_cubin import KernelModel
from .load_places import LoadPlaces, Place
from .memory_transactions import LOADS, SECTOR_BYTES
from .sample_ctas import ctas_at
from .traced_sample import Cluster, TracedSample

LEAST_REUSE = 1.1  # requested bytes as a multiple of those of the arrays: with less, no tile is read twice
LEAST_SHARE = 0.02  # of what a CTA reads; smaller loads are not followed


def reads_with_misses(
    kernel: KernelModel,
    machine: GpuModel,
    launch: Launch,
    resident: int,
    sample: TracedSample,
    work: CtaWork,
    once: float,
) -> float:
    """DRAM bytes that a launch of ``resident`` CTAs per SM reads; ``once`` if L2 kept all that it has read."""
    requested = work.l2_reads * launch.blocks
    if once <= machine.l2_capacity or requested <= LEAST_REUSE * once:
        return once
    constants = Constants.of(launch, kernel.layout, kernel.banks)
    streams = [
        one
        for one in _streams(kernel, launch, constants, sample.clusters[0])
        if one.requested > LEAST_SHARE * work.l2_reads
    ]
    waves = _Waves(launch, resident * machine.sm_count)
    tracer = LoadPlaces(kernel.code, launch, constants, [one.load for one in streams])
    warps = {one.warp for one in streams}
    first, second = ([tracer.of_cta(cta, warps) for cta in ctas] for ctas in waves.sample())
    tiles, unknown = _WaveTiles(), work.l2_reads
    for stream in streams:
        if all(stream.load in places for places in (*first, *second)):
            tiles.add(
                stream.bytes / waves.tiles_of_cta / stream.visits,
                *([stream.run(places[stream.load]) for places in wave] for wave in (first, second)),
            )
            unknown -= stream.requested
    missed = tiles.missed(waves.count, machine.l2_capacity, once) + max(unknown, 0.0) / work.l2_reads * once
    return min(max(once, missed), requested)


@dataclass(frozen=True)
class _Run:
    """Places of a line, one step apart: from ``begin`` to before ``end``, in steps."""

    line: Place
    begin: int
    end: int


@dataclass(frozen=True)
class _Stream:
    """What a CTA reads by one TMA instruction, or from one array; ``load`` by ``warp`` stands for it. ``bytes`` are those
    ``requested``, but once where several instructions read the same. They are of ``visits`` places, ``step`` apart; without one
    the places count as one.
    """

    load: int
    warp: int
    bytes: float
    requested: float
    step: Place = ()
    visits: int = 1

    def run(self, first: Place) -> _Run:
        """The places that a CTA reads from its first on."""
        axis = next((axis for axis, step in enumerate(self.step) if step), None)
        if axis is None:
            return _Run(first, 0, 1)
        begin = first[axis] // self.step[axis]
        line = tuple(at - begin * step for at, step in zip(first, self.step, strict=True))
        return _Run(line, begin, begin + self.visits)


def _streams(kernel: KernelModel, launch: Launch, constants: Constants, cluster: Cluster) -> Iterator[_Stream]:
    """The streams of a cluster's first CTA. Instructions that begin at the same place of an array read the same."""
    copied = Copies.of(kernel.code, cluster).bytes
    sizes: dict[int, Counter[int]] = defaultdict(Counter)  # bytes by array, 0 of copies by TMA, and instruction
    warps: dict[int, int] = {}
    for warp, trace in enumerate(cluster[0]):
        for number, seen in trace.observed.items():
            warps.setdefault(number, warp)
            for taken in seen.accesses if kernel.code.instructions[number].opcode in LOADS else ():
                for array, sectors in taken.sectors.items():
                    sizes[array][number] += sectors * SECTOR_BYTES * seen.share  # type: ignore[assignment]
    loads = [number for of_array in sizes.values() for number in of_array]
    copies = {number: size / len(cluster) for number, size in copied.items() if number in warps}
    tracer = LoadPlaces(kernel.code, launch, constants, [*loads, *copies])
    begin = ctas_at(launch, (0, 0, 0))[0], {warps[number] for number in (*loads, *copies)}
    places = tracer.of_cta(*begin)
    # A persistent CTA's steps are those from tile block to tile block, too.
    steps = {} if launch.tile_programs else tracer.steps_of_cta(*begin)

    def stream(load: int, size: float, requested: float) -> _Stream:
        step, warp = steps.get(load, ()), warps[load]
        visits = cluster[0][warp].observed[load].executions if any(step) else 1
        return _Stream(load, warp, size, requested, step, visits)

    for same in _same_places(copies, places):
        yield stream(same[0], max(copies[one] for one in same), sum(copies[one] for one in same))
    for of_array in sizes.values():
        most = max(of_array, key=lambda number: of_array[number])
        once = sum(max(of_array[one] for one in same) for same in _same_places(of_array, places))
        yield stream(most, float(once), float(sum(of_array.values())))


def _same_places(loads: Iterable[int], places: Mapping[int, Place]) -> list[list[int]]:
    """The loads in groups that begin at the same place; one whose place is not known is alone."""
    groups: dict[object, list[int]] = defaultdict(list)
    for number in loads:
        groups[places.get(number, number)].append(number)
    return list(groups.values())


@dataclass
class _WaveTiles:
    """Bytes of the distinct tiles of two waves: of the first, and of the second those that the first reads, too, and others."""

    first: float = 0.0
    common: float = 0.0
    new: float = 0.0

    def add(self, size: float, first: list[_Run], second: list[_Run]) -> None:
        """Add a stream with ``size`` bytes for each place."""
        one, other, both = map(_distinct_places, (first, second, first + second))
        self.first += size * one
        self.common += size * (one + other - both)
        self.new += size * (both - one)

    def missed(self, waves: float, capacity: float, arrays: float) -> float:
        """What so many waves read from DRAM, where the arrays have more bytes than L2 holds."""
        if waves < 2:
            return min(self.first, arrays) + max(self.first - arrays, 0.0) * (1 - capacity / arrays)
        kept = min(1.0, capacity / max(self.first, 1.0))
        others = max(0.0, capacity - self.first) / max(arrays - self.first, 1.0)
        return self.first + (waves - 1) * (self.common * (1 - kept) + self.new * (1 - min(others, 1.0)))


def _distinct_places(runs: Iterable[_Run]) -> int:
    found, ends = 0, dict[Place, int]()
    for run in sorted(set(runs), key=lambda run: run.begin):
        covered = max(ends.get(run.line, run.begin), run.begin)
        ends[run.line] = max(covered, run.end)
        found += ends[run.line] - covered
    return found


@dataclass(frozen=True)
class _Waves:
    """The waves of a launch of which ``ctas`` run at once."""

    launch: Launch
    ctas: int

    @property
    def clusters(self) -> int:
        """Clusters that run at once."""
        x, y, z = self.launch.clusters
        return max(1, min(self.ctas // self.launch.cluster_blocks, x * y * z))

    @property
    def count(self) -> float:
        """Waves, of tile blocks where a kernel is persistent."""
        x, y, z = self.launch.clusters
        return (self.launch.tile_programs or x * y * z) / self.clusters

    @property
    def tiles_of_cta(self) -> float:
        """Tile blocks of a CTA."""
        return self.count if self.launch.tile_programs else 1.0

    def sample(self) -> tuple[list[Shape], list[Shape]]:
        """The CTAs of two waves, one after the other; of one, if there are no two."""
        number = int(self.count - 1) // 3 if self.count >= 2 else 0
        return self._wave(number), self._wave(number + 1) if self.count >= 2 else []

    def _wave(self, number: int) -> list[Shape]:
        found = range(number * self.clusters, (number + 1) * self.clusters)
        return [cta for index in found for cta in ctas_at(self.launch, self._corner(index))]

    def _corner(self, index: int) -> Shape:
        """The place of a cluster; a persistent one takes its later tile blocks as one further along axis 0 its first."""
        x, y, _ = self.launch.clusters
        return (index, 0, 0) if self.launch.tile_programs else (index % x, index // x % y, index // (x * y))
