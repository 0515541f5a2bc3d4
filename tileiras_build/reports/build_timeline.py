"""The timeline of a build: when and where each step ran, recorded while SCons runs, stored as JSON, exported as a Chrome trace.

    {"version": 1, "start": seconds since 1970, "jobs": 8,
     "spans": [[stage, target, kernel, lane, start, end, outcome], ...]}         # seconds since "start"

There are as many lanes as jobs. A lane runs one step at a time, each in a process of its own or on a cluster.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Literal

from ..core.errors import InvalidInput, Location
from ..core.file_io import read_stored, write_files

VERSION = 1
BUILT, FAILED, CACHED = "built", "failed", "cached"
OUTCOMES = (BUILT, FAILED, CACHED)
_MAX_TIME, _MAX_SPANS = 2.5e11, 1 << 16  # seconds since 1970 (the largest that datetime represents); lanes


@dataclass(frozen=True)
class Span:
    """One step: its output, its lane, and its start and end in seconds since the build's start.

    ``target`` is "" for bytecode; ``outcome`` is one of OUTCOMES.
    """

    stage: str
    target: str
    kernel: str
    lane: int
    start: float
    end: float
    outcome: str = BUILT

    @property
    def seconds(self) -> float:
        """How long the step took."""
        return self.end - self.start


@dataclass
class Timeline:
    """The spans of one build; ``start`` is in seconds since 1970, ``jobs`` is SCons' -j."""

    start: float
    jobs: int = 1
    spans: list[Span] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """From the build's first step to the end of its last one."""
        return max((span.end for span in self.spans), default=0.0) - min(
            (span.start for span in self.spans), default=0.0
        )


@dataclass(frozen=True)
class Begun:
    """A running step: its lane, and its start in seconds since the build's start."""

    lane: int
    start: float


class Recorder:
    """Collects the spans of the running build; its methods are called from SCons' worker threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        self._clock = clock
        self._begun = clock()
        self._taken: set[int] = set()
        self._changed = threading.Condition()
        self.timeline = Timeline(wall())

    def now(self) -> float:
        """Seconds since the build's start."""
        return self._clock() - self._begun

    def begin(self, jobs: int) -> Begun:
        """Start a step on the first free of ``jobs`` lanes.

        Waits if none is free: SCons may start one thread too many before it has counted the first one.
        """
        with self._changed:
            self._changed.wait_for(lambda: len(self._taken) < jobs)
            self._taken.add(lane := self._free_lane(jobs))
            return Begun(lane, self.now())

    def end(self, begun: Begun, stage: str, target: str, kernel: str, outcome: str = BUILT) -> None:
        """Record the end of a step that ``begin`` returned."""
        with self._changed:
            span = Span(stage, target, kernel, begun.lane, begun.start, self.now(), outcome)
            self.timeline.spans.append(span)
            self._taken.remove(begun.lane)
            self._changed.notify()

    def add_cached(self, jobs: int, stage: str, target: str, kernel: str) -> None:
        """Record a cache hit, whose time is unknown. Never waits: at the end of a build, steps may be stuck."""
        with self._changed:
            now = self.now()
            self.timeline.spans.append(Span(stage, target, kernel, self._free_lane(jobs), now, now, CACHED))

    def _free_lane(self, jobs: int) -> int:
        return min(set(range(jobs)) - self._taken, default=0)


def write_timeline(timeline: Timeline, path: Path) -> None:
    """Write a timeline as JSON, times in microsecond resolution. Raises InvalidInput[write-failed]."""
    spans = [[*astuple(span)[:4], round(span.start, 6), round(span.end, 6), span.outcome] for span in timeline.spans]
    content = {"version": VERSION, "start": timeline.start, "jobs": timeline.jobs, "spans": spans}
    write_files({path: (json.dumps(content, separators=(",", ":")) + "\n").encode()})


def read_timeline(path: Path) -> Timeline | None:
    """The timeline at ``path``, None if there is none; raises InvalidInput[report-timeline] if it is damaged."""
    if not path.exists():
        return None
    try:
        return _parse(read_stored(path))
    except (ValueError, RecursionError) as error:
        message = f"corrupt timeline file: {error}"
        raise InvalidInput("report-timeline", message, location=Location(str(path)), remedy="delete it") from None


def _parse(data: bytes) -> Timeline:
    """The timeline in ``data``; raises ValueError with a message for the user."""
    import msgspec

    class Document(msgspec.Struct):
        version: int
        start: float
        jobs: int
        spans: list[tuple[str, str, str, int, float, float, Literal["built", "failed", "cached"]]]

    found = msgspec.json.decode(data, type=Document)
    if found.version != VERSION:
        raise ValueError(f"version {found.version}, expected {VERSION}")
    if not 0 <= found.start < _MAX_TIME or not 1 <= found.jobs <= _MAX_SPANS:
        raise ValueError(f"invalid start {found.start} or jobs {found.jobs}")
    spans = [Span(*row) for row in found.spans]
    for span in spans:
        if not 0 <= span.start <= span.end < _MAX_TIME or not 0 <= span.lane < _MAX_SPANS:
            raise ValueError(
                f"invalid span: {span.stage} of {span.kernel!a}, lane {span.lane}, {span.start} to {span.end}"
            )
    return Timeline(found.start, found.jobs, spans)


def chrome_trace(spans: Iterable[Span]) -> dict:
    """The spans as a trace for chrome://tracing and Perfetto: one complete event ("X") each, times in microseconds.

    Source: "Trace Event Format" (the Chrome tracing project), sections "Complete Events" and "Metadata Events".
    """
    ordered = sorted(spans, key=lambda span: (span.lane, span.start))
    names = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": lane, "args": {"name": f"lane {lane}"}}
        for lane in sorted({span.lane for span in ordered})
    ]
    return {"traceEvents": [*names, *map(_event, ordered)], "displayTimeUnit": "ms"}


def _event(span: Span) -> dict:
    return {
        "name": f"{span.stage} {span.kernel}",
        "cat": span.stage,
        "ph": "X",
        "pid": 0,
        "tid": span.lane,
        "ts": round(span.start * 1e6),
        "dur": round(span.seconds * 1e6),
        "args": {"kernel": span.kernel, "target": span.target, "outcome": span.outcome},
    }
