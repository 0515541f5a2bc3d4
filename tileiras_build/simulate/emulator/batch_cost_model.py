"""What the batches of a kernel take: a fixed part, NumPy's overhead, and a part for each CTA."""

from __future__ import annotations


class BatchCostModel:
    """Seconds of batches of one kernel: of ``large``, (CTAs, seconds), and of a clearly smaller one, where there was one."""

    def __init__(self) -> None:
        self.large: tuple[int, float] | None = None
        self.small: tuple[int, float] | None = None

    def add_sample(self, ctas: int, seconds: float) -> None:
        """A batch has taken so long."""
        if self.large is not None and 3 * ctas <= 2 * self.large[0]:
            self.small = ctas, seconds
            return
        if self.large is not None and 2 * ctas >= 3 * self.large[0]:
            self.small = self.large
        self.large = ctas, seconds

    def fixed_and_per_cta(self) -> tuple[float, float] | None:
        """Seconds of any batch, and of each of its CTAs; None where nothing is known. One batch tells the half of either."""
        if self.large is None:
            return None
        ctas, seconds = self.large
        most = seconds / ctas
        each = most / 2
        if self.small is not None:
            each = (seconds - self.small[1]) / (ctas - self.small[0])
        each = min(max(each, most / 4), most)  # what is measured has errors, and other arguments other costs
        return seconds - each * ctas, each
