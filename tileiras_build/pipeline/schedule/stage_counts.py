"""Stages of multistage buffers: how many fit in shared memory, the preferred number first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..job import Job
from .choose import Candidate

SHOWN_ABOVE = 2  # candidates that do not fit, as explained


@dataclass(frozen=True)
class StageBudget:
    """``fitting`` stages of ``size`` bytes fit beside ``used`` bytes with so many CTAs per SM; ``cap``: more gain nothing."""

    fitting: int
    size: int
    used: int
    ctas: int
    cap: int | None = None

    def candidates(self, preferred: int, wanted: int | None, job: Job, least: int = 1) -> Iterator[Candidate[int]]:
        """``preferred``, the other numbers of stages that fit, then those that do not, up to the ``wanted`` one."""
        yield Candidate(preferred)
        for count in range(self.fitting, least - 1, -1):
            if count != preferred:
                yield Candidate(count)
        for count in range(self.fitting + 1, max(self.fitting + SHOWN_ABOVE, wanted or 0) + 1):
            yield Candidate(count, self._limit(count, job))

    def _limit(self, count: int, job: Job) -> str:
        available = job.target.shared_memory_of(self.ctas)
        needed = count * self.size + self.used
        if needed <= available:
            return f"at most {self.cap} stages are supported here"
        return (
            f"shared memory: {count} stages of {self.size} bytes, and {self.used} bytes besides, are {needed} bytes; "
            f"a CTA has {available} with {self.ctas} per SM"
        )
