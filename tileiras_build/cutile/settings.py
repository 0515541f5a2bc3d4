"""How kernels are run, as a command line says it and as processes inherit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

LAUNCH, COMPILE = TUNE = ("launch", "compile")
"""What ``ct.tune`` does with each configuration where no GPU is timed: launch it once, or no more than compile it."""


@dataclass(frozen=True)
class Settings:
    """How a script is run: ``device`` and ``sm`` as for ``enable``, the emulator's options, and the compiler's ``tuning``."""

    device: str
    sm: str | None
    race_check: bool = False
    time_limit: float | None = None
    jobs: int | None = None
    profile: bool = False
    json: str | None = None
    tune: str = LAUNCH
    init_check: bool = False
    tuning: Mapping[str, int] = field(default_factory=dict)
    keep: int | None = None

    def options(self) -> dict[str, object]:
        """What ``enable`` takes."""
        names = ("race_check", "time_limit", "jobs", "tune", "init_check", "keep") if self.device == "cpu" else ()
        return {name: value for name, value in asdict(self).items() if name in names} | dict(self.tuning)
