"""A cost model of a kernel's batches: a fixed cost (NumPy's overhead) and a cost per CTA; and the history of its launches."""

from __future__ import annotations

from functools import lru_cache

from .ptx.program import Program


class BatchCostModel:
    """Measured batches of one kernel: ``large``, (CTAs, seconds), and a clearly smaller one, if any."""

    def __init__(self) -> None:
        self.large: tuple[int, float] | None = None
        self.small: tuple[int, float] | None = None

    def add_sample(self, ctas: int, seconds: float) -> None:
        """Add the measured time of a batch."""
        if self.large is not None and 3 * ctas <= 2 * self.large[0]:
            self.small = ctas, seconds
            return
        if self.large is not None and 2 * ctas >= 3 * self.large[0]:
            self.small = self.large
        self.large = ctas, seconds

    def fixed_and_per_cta(self) -> tuple[float, float] | None:
        """(fixed seconds of a batch, seconds per CTA); None without samples. A single sample is split in halves."""
        if self.large is None:
            return None
        ctas, seconds = self.large
        most = seconds / ctas
        each = most / 2
        if self.small is not None:
            each = (seconds - self.small[1]) / (ctas - self.small[0])
        each = min(max(each, most / 4), most)  # measurements have errors, and costs depend on arguments
        return seconds - each * ctas, each


class LaunchHistory:
    """What earlier launches of one program have shown: the costs of its batches, and whether several processes gave up."""

    def __init__(self) -> None:
        self.costs = BatchCostModel()
        self.is_single_process = False  # a launch by several processes found a fault, which one process must report


@lru_cache(maxsize=256)
def launch_history_of(program: Program) -> LaunchHistory:
    """The history of a program in this process."""
    return LaunchHistory()
