"""The history of a build folder: the metrics of its kernels in earlier builds, some of which have a user-given name.

A report adds a build if a metric of a kernel differs from the last one. Only changes are stored, of at most ``LIMIT``
builds; the oldest unnamed ones are dropped first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..core.errors import InvalidInput, Location
from ..core.file_io import read_stored, write_files

VERSION = 2
LIMIT = 40
# The stored metrics of a row, in this order; the estimate is last, as it also depends on the problem.
METRICS = (
    "registers",
    "spill_stores",
    "spill_loads",
    "shared",
    "stack",
    "occupancy",
    "instructions",
    "size",
    "microseconds",
)
_LAST = 2.5e11  # seconds since 1970: the largest time that datetime can represent
Values = tuple[int | float | None, ...]


@dataclass
class BuildRecord:
    """One build: the time of its report in seconds since 1970, its user-given name, and the estimated problem."""

    when: float
    name: str | None = None
    problem: str = ""

    @property
    def title(self) -> str:
        """Its title in tables."""
        return self.name or time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))


@dataclass
class History:
    """``rows``: for each kernel and GPU (build, metrics) of the builds in which they changed; None if it was absent."""

    version: int = VERSION
    builds: list[BuildRecord] = field(default_factory=list)
    rows: dict[str, list[tuple[int, Values | None]]] = field(default_factory=dict)

    def of(self, key: str) -> list[Values | None]:
        """The metrics of one kernel on one GPU in each build."""
        found: list[Values | None] = []
        for number, values in self.rows.get(key, []):
            found += (found[-1:] or [None]) * (number - len(found))
            found.append(values)
        return found + (found[-1:] or [None]) * (len(self.builds) - len(found))

    def at(self, number: int) -> dict[str, Values]:
        """The metrics of all kernels in one build."""
        return {key: values for key in self.rows if (values := self.of(key)[number]) is not None}

    def comparable(self, number: int) -> dict[str, Values]:
        """The metrics for a comparison with the newest build, without estimates for another problem."""
        found = self.at(number)
        if self.builds[number].problem == self.builds[-1].problem:
            return found
        return {key: (*values[:-1], None) for key, values in found.items()}

    def before(self) -> int | None:
        """The last build that differs from the newest one."""
        if not self.builds:
            return None
        newest = _built(self.at(-1))
        earlier = range(len(self.builds) - 2, -1, -1)
        return next((number for number in earlier if _built(self.at(number)) != newest), None)

    def named(self, name: str) -> int | None:
        """The newest build of this name."""
        return next((n for n in range(len(self.builds) - 1, -1, -1) if self.builds[n].name == name), None)

    def add(self, now: Mapping[str, Values], when: float, problem: str = "", name: str | None = None) -> None:
        """Record a build: append it, or update the last one if no metric differs and the name does not either."""
        last = self.builds[-1] if self.builds else None
        if last is None or _built(self.at(-1)) != _built(now) or (name and last.name not in (None, name)):
            self.builds.append(BuildRecord(when, name, problem))
            last = self.builds[-1]
        elif problem:
            last.problem = problem
        else:
            # No estimate in this report: keep the earlier one.
            old = self.at(-1)
            now = {key: (*values[:-1], old[key][-1]) for key, values in now.items()}
        last.name = name or last.name
        self._set(now)
        while len(self.builds) > LIMIT:
            self._drop(next((n for n, one in enumerate(self.builds[:-2]) if one.name is None), 0))

    def _set(self, now: Mapping[str, Values]) -> None:
        number = len(self.builds) - 1
        for key in {**self.rows, **now}:
            steps = [step for step in self.rows.get(key, []) if step[0] < number]
            if (values := now.get(key)) != (steps[-1][1] if steps else None):
                steps.append((number, values))
            self.rows[key] = steps
        self.rows = {key: steps for key, steps in self.rows.items() if steps}

    def _drop(self, number: int) -> None:
        """Remove one build."""
        kept = {key: [values for n, values in enumerate(self.of(key)) if n != number] for key in self.rows}
        del self.builds[number]
        steps = {
            key: [(n, one) for n, one in enumerate(values) if one != (values[n - 1] if n else None)]
            for key, values in kept.items()
        }
        self.rows = {key: found for key, found in steps.items() if found}


def _built(values: Mapping[str, Values]) -> dict[str, Values]:
    """The metrics without the estimate, which depends on the problem."""
    return {key: tuple(one[:-1]) for key, one in values.items()}


def read_history(path: Path) -> History:
    """The stored history, empty if there is none. Raises InvalidInput[report-history]."""
    if not path.exists():
        return History()
    try:
        found = msgspec.json.decode(read_stored(path), type=History)
        if found.version != VERSION:
            raise ValueError(f"version {found.version}, expected {VERSION}")
        _check(found)
        return found
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = f"corrupt report history: {error}"
        raise InvalidInput("report-history", message, location=Location(str(path)), remedy="delete it") from None


def _check(history: History) -> None:
    """Raise ValueError for values that no report writes."""
    for build in history.builds:
        if not 0 <= build.when < _LAST:
            raise ValueError(f"invalid build time {build.when}")
    for key, steps in history.rows.items():
        indices = [index for index, _ in steps]
        if indices != sorted(set(indices)) or not set(indices) <= set(range(len(history.builds))):
            raise ValueError(f"entry {key!a} has no build")
        if any(values is not None and len(values) != len(METRICS) for _, values in steps):
            raise ValueError(f"entry {key!a} is inconsistent")


def write_history(history: History, path: Path) -> None:
    """Write the history. Raises InvalidInput[write-failed]."""
    write_files({path: msgspec.json.encode(history)})
