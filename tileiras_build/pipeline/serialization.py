"""What a device module is serialized for: ``#nvvm.target`` as an ``.ll`` carries it to LLVM and libNVVM.

    !tileiras.target = !{!1}
    !1 = !{!"sm_90 -opt=3 -Xopt -pragma-unroll-threshold=9900000 -fma=0"}

A module without this note, written by hand, is serialized as the job asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..book.serializers import DEBUG_WORD, find_level, flags_for
from ..errors import InternalError, InvalidInput
from ..targets import TARGETS, Target
from .job import Job

NOTE = "tileiras.target"
_LEVEL = "-opt="


@dataclass(frozen=True)
class Serialization:
    """A GPU by name ("sm_90"), an optimization level and the words of libNVVM's options."""

    chip: str
    opt_level: int | str
    flags: tuple[str, ...]

    @classmethod
    def of_job(cls, job: Job) -> Serialization:
        """What a job asks for."""
        return cls(job.target.name, job.opt_level, tuple(flag.word for flag in flags_for(job.debug)))

    @classmethod
    def parse(cls, note: str) -> Serialization:
        """What a note says; raises InternalError[target-note]."""
        chip, level, *flags = note.split() if len(note.split()) > 1 else ("", "")
        number = level.removeprefix(_LEVEL)
        if chip not in TARGETS or number not in ("0", "1", "2", "3"):
            message = f"!{NOTE} says {note!r}, which names no GPU and level"
            raise InternalError("target-note", message, remedy=f'write it as "sm_90 {_LEVEL}3 -Xopt"')
        return cls(chip, int(number), tuple(flags))

    @property
    def note(self) -> str:
        """The text of the note."""
        return " ".join((self.chip, f"{_LEVEL}{self.number}", *self.flags))

    @property
    def target(self) -> Target:
        """The row of the GPU."""
        return TARGETS[self.chip]

    @property
    def number(self) -> int:
        """The level as a number."""
        return find_level(self.opt_level).number

    @property
    def debug(self) -> bool:
        """Whether all of the debug information is kept."""
        return DEBUG_WORD in self.flags

    def check(self, job: Job) -> Serialization:
        """Itself; raises InvalidInput[target-mismatch] where the job asks for something else."""
        check_agreement(self._words(), Serialization.of_job(job)._words())
        return self

    def _words(self) -> tuple[str, ...]:
        return self.chip, level_words(self.number), "device debugging" if self.debug else "no device debugging"


def level_words(number: int) -> str:
    """A level as diagnostics call it."""
    return f"optimization level {number}"


def check_agreement(made: tuple[str, ...], asked: tuple[str, ...]) -> None:
    """Raise InvalidInput[target-mismatch] where what a module was made for and what a job asks for, in words, differ."""
    differing = [pair for pair in zip(made, asked, strict=True) if pair[0] != pair[1]]
    if differing:
        have, want = (" and ".join(words) for words in zip(*differing, strict=True))
        message = f"a module for {have} is serialized for {want}"
        raise InvalidInput("target-mismatch", message, remedy=f"choose {have}, or lower the bytecode for {want}")
