"""Racecheck of global memory between CTAs: conflicting accesses of a byte by two CTAs of one launch.

The CTAs of a launch run in any order, so a byte that one CTA writes must not be accessed by another CTA. Exempt are atomic
operations and writes that do not change the byte. The shadow memory records, for each byte, the last CTA that wrote it and
the CTA that read it. Kernels whose CTAs synchronize (by atomics or acquire loads) are not checked: see
``lacks_cta_ordering``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import BLOCK_RACE, EmulatorFault
from ..memory.address_space import Region
from ..ptx.ast import Instruction
from ..simt.geometry import Geometry

if TYPE_CHECKING:
    from ..ptx.program import Program

NO_CTA, SEVERAL_CTAS = -1, -2
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
            marks = self._regions[region.base] = _CtaShadow(region.size)
        index = start[:, None] - region.base + np.arange(size)
        cta = np.broadcast_to((geometry.first + flat // geometry.threads)[:, None], index.shape)
        bad = marks.find_conflicts(index, cta, writes)
        if writes and data is not None and bad.any():
            bad &= region.bytes()[index] != data
        other = marks.other(index, cta, writes)
        if not bad.any():
            bad = marks.record_access(index, cta, writes, data)
            other = marks.writer[index]
        if bad.any():
            row, column = np.argwhere(bad)[0]
            self._report(geometry, ins, int(flat[row]), int(start[row]), size, writes, int(other[row, column]))

    @staticmethod
    def _report(
        geometry: Geometry, ins: Instruction, flat: int, address: int, size: int, writes: bool, other: int
    ) -> None:
        who = "another block" if other == SEVERAL_CTAS else f"block {geometry.cta_coordinates(other - geometry.first)}"
        raise EmulatorFault(
            f"{who} accesses it as well in this launch, with no synchronization between the two accesses",
            instruction=ins.text, line=ins.line, thread=geometry.thread_at(flat),
            address=address, kind=BLOCK_RACE, size=size, writes=writes,
        )  # fmt: skip


class _CtaShadow:
    """For each byte of a region: the CTA that wrote it last, the CTA that read it, and the value written."""

    def __init__(self, size: int):
        self.writer, self.reader = np.full(size, NO_CTA, np.int32), np.full(size, NO_CTA, np.int32)
        self.image = np.zeros(size, np.uint8)

    def find_conflicts(self, index: np.ndarray, cta: np.ndarray, writes: bool) -> np.ndarray:
        """Which bytes another CTA has written or, if this access writes, read."""
        writer = self.writer[index]
        bad = (writer != NO_CTA) & (writer != cta)
        if writes:
            reader = self.reader[index]
            bad |= (reader != NO_CTA) & (reader != cta)
        return bad

    def other(self, index: np.ndarray, cta: np.ndarray, writes: bool) -> np.ndarray:
        """The other CTA of each conflict."""
        writer = self.writer[index]
        return np.where((writer != NO_CTA) & (writer != cta), writer, self.reader[index])

    def record_access(self, index: np.ndarray, cta: np.ndarray, writes: bool, data: np.ndarray | None) -> np.ndarray:
        """Record an access; returns the bytes to which CTAs write different values with this instruction."""
        if not writes:
            reader = self.reader[index]
            self.reader[index] = np.where((reader == NO_CTA) | (reader == cta), cta, SEVERAL_CTAS)
            several = self.reader[index] != cta
            self.reader[index[several]] = SEVERAL_CTAS
            return np.zeros(index.shape, bool)
        self.writer[index] = cta
        twice = self.writer[index] != cta
        if data is not None:
            self.image[index] = data
            twice &= self.image[index] != data
        return twice
