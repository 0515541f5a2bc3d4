"""The serialization target of a device module: ``#nvvm.target`` as an ``.ll`` records it for LLVM and libNVVM.

    !tileiras.target = !{!1}
    !1 = !{!"sm_90 -opt=3 -Xopt -pragma-unroll-threshold=9900000 -fma=0"}

A hand-written module without this note is serialized with the job's options.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import InternalError, InvalidInput
from ..target.isa.serializer_options import DEBUG_FLAG, LEVELS, NVGPUCOMP_FLAG, find_level, flags_for, level_of
from ..target.targets import ALL_TARGETS, Target
from .job import Job

NOTE = "tileiras.target"
_LEVEL = "-opt="


@dataclass(frozen=True)
class Serialization:
    """A GPU by name ("sm_90"), an optimization level, and libNVVM's options."""

    chip: str
    number: int
    flags: tuple[str, ...]

    @classmethod
    def of_job(cls, job: Job) -> Serialization:
        """The serialization target of a job."""
        flags = flags_for(job.debug, opt_level=job.opt_level)
        return cls(job.target.name, find_level(job.opt_level).number, tuple(flag.spelling for flag in flags))

    @classmethod
    def parse(cls, note: str) -> Serialization:
        """Parse a note; raises InternalError[target-note]."""
        chip, level, *flags = note.split() if len(note.split()) > 1 else ("", "")
        number = level.removeprefix(_LEVEL)
        if chip not in ALL_TARGETS or number not in map(str, {row.number for row in LEVELS.values()}):
            message = f"!{NOTE} is {note!r}, which names no GPU and level"
            raise InternalError("target-note", message, remedy=f'write it as "sm_90 {_LEVEL}3 -Xopt"')
        return cls(chip, int(number), tuple(flags))

    @property
    def note(self) -> str:
        """The text of the note."""
        return " ".join((self.chip, f"{_LEVEL}{self.number}", *self.flags))

    @property
    def target(self) -> Target:
        """The row of the GPU."""
        return ALL_TARGETS[self.chip]

    @property
    def opt_level(self) -> int | str:
        """The optimization level of the number and the flags."""
        return level_of(self.number, self.flags)

    @property
    def debug(self) -> bool:
        """Whether full debug information is kept."""
        return DEBUG_FLAG in self.flags

    @property
    def nvgpucomp(self) -> bool:
        """Whether the module requests NVIDIA's own path to PTX."""
        return NVGPUCOMP_FLAG in self.flags

    def check(self, job: Job) -> Serialization:
        """Return itself; raises InvalidInput[target-mismatch] if the job has another target or level."""
        check_same_target(self._words(), Serialization.of_job(job)._words())
        return self

    def _words(self) -> tuple[str, ...]:
        return self.chip, level_flags(self.opt_level), "device debugging" if self.debug else "no device debugging"


def level_flags(level: int | str) -> str:
    """A level as a diagnostic shows it."""
    return f"optimization level {level}"


def check_same_target(made: tuple[str, ...], requested: tuple[str, ...]) -> None:
    """Raise InvalidInput[target-mismatch] if the properties of a module differ from those of a job."""
    differing = [pair for pair in zip(made, requested, strict=True) if pair[0] != pair[1]]
    if differing:
        present, wanted = (" and ".join(words) for words in zip(*differing, strict=True))
        message = f"a module for {present} is serialized for {wanted}"
        raise InvalidInput("target-mismatch", message, remedy=f"choose {present}, or lower the bytecode for {wanted}")
