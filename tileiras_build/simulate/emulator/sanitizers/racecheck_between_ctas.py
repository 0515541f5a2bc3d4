"""Racecheck of global memory between CTAs: conflicting accesses of a byte by two CTAs of one launch.

The CTAs of a launch run in any order, so a byte that one CTA writes must not be accessed by another CTA. Exempt are atomic
operations, writes that do not change the byte, and accesses by CTAs of one cluster that synchronizes between them: by its
barrier, unless ``.relaxed``, or a wait at an mbarrier that acquires at its scope (PTX ISA 9.0, sections 9.7.13.4 and
9.7.13.15.16). Which CTAs such a wait orders is not asked. The shadow memory records, for each byte, the last CTA that wrote it
and the CTA that read it, with the number of times that their cluster had synchronized. Kernels whose CTAs synchronize by atomics or
acquire loads are not checked: see ``lacks_cta_ordering``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BLOCK_RACE, EmulatorFault
from ..memory.address_space import Region
from ..ptx.ast import Instruction
from ..simt.geometry import Geometry

if TYPE_CHECKING:
    from ..ptx.program import Program

NO_CTA, SEVERAL_CTAS = -1, -2
FIRST_CLUSTER = -3  # FIRST_CLUSTER - i: several CTAs of cluster i
ORDERING = {"acquire", "volatile", "relaxed"}


def lacks_cta_ordering(program: Program) -> bool:
    """Whether a kernel's CTAs cannot synchronize through global memory."""
    return not any(_orders(ins) for ins in program.code)


def _orders(ins: Instruction) -> bool:
    if any(
        mod.startswith("shared") for mod in ins.mods
    ):  # visible to this CTA alone, or to its cluster after a barrier
        return False
    return ins.op in ("atom", "red", "multimem") or (ins.op == "ld" and not ORDERING.isdisjoint(ins.mods))


class CtaRacecheck:
    """The check of one launch, all of whose CTAs run in one process."""

    def __init__(self) -> None:
        self._regions: dict[int, _CtaShadow] = {}
        self._phases = np.zeros(0, np.int32)  # how often each cluster of the grid has synchronized

    def synchronize(self, geometry: Geometry, clusters: np.ndarray) -> None:
        """Order what the CTAs of these clusters of the batch did before what follows."""
        self._phases_of(geometry)[geometry.first // geometry.cluster_size + clusters] += 1

    def _phases_of(self, geometry: Geometry) -> np.ndarray:
        if not self._phases.size:
            self._phases = np.zeros(prod(geometry.grid) // geometry.cluster_size, np.int32)
        return self._phases

    def access(
        self,
        geometry: Geometry,
        ins: Instruction,
        region: Region,
        flat: np.ndarray,
        start: np.ndarray,
        size: int,
        writes: bool,
        data: np.ndarray | None = None,
    ) -> None:
        """Check that threads ``flat`` (n) of the batch may access ``size`` bytes at addresses ``start`` (n).

        ``data`` (n, size) are the bytes that they write. Raises EmulatorFault for the first race.
        """
        marks = self._regions.get(region.base)
        if marks is None or len(marks.writer) != region.size:
            marks = self._regions[region.base] = _CtaShadow(region.size, geometry.cluster_size)
        index = start[:, None] - region.base + np.arange(size)
        cta = np.broadcast_to((geometry.first + flat // geometry.threads)[:, None], index.shape)
        phase = self._phases_of(geometry)[cta // geometry.cluster_size]
        bad = marks.find_conflicts(index, cta, phase, writes)
        if writes and data is not None and bad.any():
            bad &= region.bytes()[index] != data
        other = marks.other(index, cta, phase)
        if not bad.any():
            bad = marks.record_access(index, cta, phase, writes, data)
            other = marks.writer[index]
        if bad.any():
            row, column = np.argwhere(bad)[0]
            self._report(geometry, ins, int(flat[row]), int(start[row]), size, writes, int(other[row, column]))

    @staticmethod
    def _report(
        geometry: Geometry, ins: Instruction, flat: int, address: int, size: int, writes: bool, other: int
    ) -> None:
        who = "another block" if other < 0 else f"block {geometry.cta_coordinates(other - geometry.first)}"
        raise EmulatorFault(
            f"{who} accesses it as well in this launch, with no synchronization between the two accesses",
            instruction=ins.text, line=ins.line, thread=geometry.thread_at(flat),
            address=address, kind=BLOCK_RACE, size=size, writes=writes,
        )  # fmt: skip


class _CtaShadow:
    """For each byte of a region: the CTA that wrote it last, the CTA that read it, their clusters' phases, and the value written."""

    def __init__(self, size: int, cluster_size: int):
        self.writer, self.reader = np.full(size, NO_CTA, np.int32), np.full(size, NO_CTA, np.int32)
        self.write_phase, self.read_phase = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.image = np.zeros(size, np.uint8)
        self.cluster_size = cluster_size

    def find_conflicts(self, index: np.ndarray, cta: np.ndarray, phase: np.ndarray, writes: bool) -> np.ndarray:
        """Which bytes another CTA has written or, if this access writes, read, with no synchronization of the cluster since then."""
        bad = self._is_unordered(self.writer[index], self.write_phase[index], cta, phase)
        if writes:
            bad |= self._is_unordered(self.reader[index], self.read_phase[index], cta, phase)
        return bad

    def _is_unordered(self, who: np.ndarray, when: np.ndarray, cta: np.ndarray, phase: np.ndarray) -> np.ndarray:
        """Whether there was an access, by another CTA, that no synchronization separates from one by ``cta`` in ``phase``."""
        return (who != NO_CTA) & (who != cta) & ~(self._is_near(who, cta) & (when < phase))

    def _is_near(self, who: np.ndarray, cta: np.ndarray) -> np.ndarray:
        """Whether an access was by CTAs of the cluster of ``cta`` alone."""
        cluster = np.where(who <= FIRST_CLUSTER, FIRST_CLUSTER - who, who // self.cluster_size)
        return (who != NO_CTA) & (who != SEVERAL_CTAS) & (cluster == cta // self.cluster_size)

    def other(self, index: np.ndarray, cta: np.ndarray, phase: np.ndarray) -> np.ndarray:
        """The other CTA of each conflict."""
        writer = self.writer[index]
        return np.where(self._is_unordered(writer, self.write_phase[index], cta, phase), writer, self.reader[index])

    def record_access(
        self, index: np.ndarray, cta: np.ndarray, phase: np.ndarray, writes: bool, data: np.ndarray | None
    ) -> np.ndarray:
        """Record an access; returns the bytes to which CTAs write different values with this instruction."""
        if not writes:
            self._record_read(index, cta, phase)
            return np.zeros(index.shape, bool)
        self.writer[index], self.write_phase[index] = cta, phase
        twice = self.writer[index] != cta
        if data is not None:
            self.image[index] = data
            twice &= self.image[index] != data
        return twice

    def _record_read(self, index: np.ndarray, cta: np.ndarray, phase: np.ndarray) -> None:
        """Of reads by CTAs of one cluster that barriers separate, the last one counts."""
        reader = self.reader[index]
        is_first = ~self._is_unordered(reader, self.read_phase[index], cta, phase)
        mine = np.where(is_first, cta, self._together(reader, cta))
        self.reader[index], self.read_phase[index] = mine, phase
        last = self.reader[index]
        differs = last != mine
        self.reader[index[differs]] = self._together(last, cta)[differs]

    def _together(self, who: np.ndarray, cta: np.ndarray) -> np.ndarray:
        """The mark of accesses by ``who`` and by ``cta``, which differ."""
        return np.where(self._is_near(who, cta), FIRST_CLUSTER - cta // self.cluster_size, SEVERAL_CTAS)
