"""The observers of a batch of CTAs: racecheck, counters, marks of asynchronous copies, and the reports of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..simt.geometry import Geometry
from .async_copy_hazards import AsyncCopyMarks

if TYPE_CHECKING:
    from ..launch import LaunchOptions
    from ..memory.cta_memories import CtaMemories
    from ..ptx.program import Program
    from .access_observers import AccessObservers
    from .racecheck import Racecheck


class Observers:
    """The active observers; those that are switched off are None. ``accesses``, if set, is called for every memory access."""

    def __init__(self, program: Program, geometry: Geometry, memories: CtaMemories, options: LaunchOptions) -> None:
        self.program, self.geometry, self.memories = program, geometry, memories
        self.findings, self.counters = options.findings, options.counters
        self.cta_racecheck, self.initcheck = options.cta_racecheck, options.initcheck
        self.has_any = options.has_observers
        self.async_copy_marks: AsyncCopyMarks | None = None
        self.accesses: AccessObservers | None = None
        self.racecheck: Racecheck | None = None
        if self.has_any:
            self._observe_accesses(options.racecheck)

    def _observe_accesses(self, is_racecheck_on: bool) -> None:
        from .access_observers import AccessObservers
        from .racecheck import Racecheck

        if is_racecheck_on:
            memories = self.memories
            self.racecheck = Racecheck(self.geometry, memories.shared, memories.shared_size, self.findings)
        self.accesses = AccessObservers(self)

    def require_async_copy_marks(self) -> AsyncCopyMarks:
        """The marks of copies in flight, created by the first copy. From then on, every access is checked against them."""
        if self.async_copy_marks is None:
            self.async_copy_marks = AsyncCopyMarks(self.memories)
            if self.accesses is None:
                self._observe_accesses(is_racecheck_on=False)
        return self.async_copy_marks
