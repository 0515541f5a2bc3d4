"""How kernels are run: the settings of a command line, which child processes inherit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LAUNCH, COMPILE = TUNE = ("launch", "compile")
"""How ``ct.tune`` treats each configuration without a GPU: launch it once, or only compile it."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run: ``device`` and ``sm`` as for ``enable``, the emulator's options, and the compiler's ``tuning``."""

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
        """The arguments of ``enable``; a GPU has none of the emulator's options, and refuses them."""
        names = ("race_check", "time_limit", "jobs", "tune", "init_check", "keep")
        asked = {name: getattr(self, name) for name in names if self.device == "cpu" or self._differs(name)}
        return asked | dict(self.tuning)

    def _differs(self, name: str) -> bool:
        return getattr(self, name) != type(self).__dataclass_fields__[name].default
