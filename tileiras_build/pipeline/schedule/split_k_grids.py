"""For which launches of a matmul CTAs that divide its loop along k (``split_k``) take less time: by the tile programs of the grid, and
the trips of the loop.

A launch takes as long as the SM with the most CTAs. Few tile programs leave SMs idle, and a few more than a whole number of waves leave
most of them idle in the last one; parts of tile programs fill them. With 132 SMs, 140 tile programs take two rounds; 280 halves take
three half ones, and the exchange. More tile programs gain less: of w waves, at most one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from ...frontend.argument_names_in_producer import Programs
from ...ir.casting import unwrap
from ...target.gpu_models import GpuModel
from ...target.shared_sm import batch_clocks
from .candidates import Candidates
from .choose import WholeSchedule
from .cost import DRAM, FMA, L2, TENSOR, Cost, cost, default_gpu
from .schedule import Schedule

PARTS = (4, 2)  # CTAs of a tile program
# Of the time of a launch; below, `estimate` finds the exchange slower than the rest of the loop.
MIN_SPLIT_GAIN = 0.1
WAVES = int(1 / MIN_SPLIT_GAIN)  # more cannot gain as much
SHARED_BY_SMS = (L2, DRAM)


class _Ctas(NamedTuple):
    """CTAs of a launch, of which ``parts`` compute a tile program, and at most ``most`` share an SM: clocks of one ``alone``, and its
    demands of pipes and memories.
    """

    alone: float
    demands: Mapping[str, float]
    most: int
    parts: int

    def nanoseconds(self, programs: int, gpu: GpuModel) -> float:
        """The time of the SM that has the most of them. Idle SMs leave their share of memory and power to others."""
        ctas = programs * self.parts / gpu.sm_count
        share = ctas / ceil(ctas)
        demands = [clocks * (share if name in SHARED_BY_SMS else 1.0) for name, clocks in self.demands.items()]
        full, rest = divmod(ceil(ctas), self.most)
        clocks = sum(
            rounds * self._together(count, demands)
            for rounds, count in ((full, self.most), (1, rest))
            if rounds * count
        )
        busy = (min(1.0, ctas * self.demands.get(pipe, 0.0) / clocks) for pipe in (TENSOR, FMA))
        return clocks / gpu.sustained_mhz(*busy) * 1e3

    def _together(self, count: int, demands: Sequence[float]) -> float:
        return max(batch_clocks(count, self.alone, demands), count * max(demands))


def split_grids(found: Candidates, trips: Mapping[int, float], parameter: int | None) -> dict[int, list[Programs]]:
    """The grids for which each number of parts is faster. None where CTA pairs are, or where threads write operands to shared memory, which
    is not done in CTAs that divide k. ``trips``: of the loop, by an extent along k in ascending order, the value of ``parameter``.
    """
    gpu, whole, neighbours = unwrap(default_gpu(found.target)), found.in_one_cta(), found.best_neighbours()
    grids: dict[int, list[Programs]] = {parts: [] for parts in PARTS}
    if whole is None or whole.cost is None or found.computed:
        return {}
    launches = {extent: _launches(found, count, whole, neighbours) for extent, count in trips.items()}
    for least, most in _steps(gpu.sm_count):
        best = {extent: _best(choices, most, gpu) for extent, choices in launches.items()}
        for parts, extent in _least_extents(best):
            _add(grids[parts], Programs(least, most, parameter, extent))
    return {parts: rows for parts, rows in grids.items() if rows}


def _steps(sm_count: int) -> Iterator[tuple[int, int]]:
    """Ranges of tile programs, within which no number of parts changes how many CTAs the busiest SM has."""
    ends = {sm_count * wave // parts for parts in (1, *PARTS) for wave in range(parts * WAVES + 1)}
    yield from ((before + 1, end) for before, end in pairwise(sorted(ends)))


def _best(launches: Sequence[_Ctas], programs: int, gpu: GpuModel) -> int:
    """The fastest number of parts, where it gains enough over one CTA; 1, too, where clusters of neighbours are faster, of an even grid."""
    times = [(one.nanoseconds(programs, gpu), one.parts) for one in launches]
    time, parts = min(times)
    return parts if time < (1 - MIN_SPLIT_GAIN) * times[0][0] else 1


def _least_extents(best: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Each number of parts, and the extent from which on no fewer are better: more parts are chosen first."""
    for parts in PARTS:
        fewer = [extent for extent, chosen in best.items() if chosen < parts]
        enough = [extent for extent in best if not fewer or extent > fewer[-1]]
        if enough and parts in (best[extent] for extent in enough):
            yield parts, enough[0]


def _add(rows: list[Programs], new: Programs) -> None:
    """Add grids, or extend the last ones."""
    if rows and (rows[-1].most + 1, rows[-1].minimum) == (new.least, new.minimum):
        new = rows.pop()._replace(most=new.most)
    rows.append(new)


# ---- costs -----------------------------------------------------------------------------------------
def _launches(found: Candidates, trips: float, whole: WholeSchedule, neighbours: WholeSchedule | None) -> list[_Ctas]:
    """The CTAs of the kernel, of each number of parts, and of clusters of neighbours for a loop of so many trips."""
    target, made = found.target, []
    for parts in (1, *PARTS):
        kernel = found.kernel.with_trips(parts * ceil(trips / parts))  # as the longest part takes
        schedule = replace(whole.schedule, split_k=parts if parts > 1 else None)
        made.append(_ctas(cost(kernel, schedule, target), schedule))
    if neighbours is not None:
        schedule = neighbours.schedule
        made.append(_ctas(cost(found.neighbours.with_trips(trips), schedule, target), schedule))
    return made


def _ctas(found: Cost | None, schedule: Schedule) -> _Ctas:
    """The CTAs of a schedule."""
    one, parts = unwrap(found), schedule.split_k or 1
    return _Ctas(one.alone, {name: clocks / parts for name, clocks in one.demands.items() if clocks}, one.ctas, parts)
