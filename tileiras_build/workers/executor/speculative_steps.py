"""Speculative execution: a remote executor runs the steps that follow on a step before the build requests them.

A step's output is sent back in any case; speculation saves the round trip that sends it out again as the next input.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ...pipeline.job import Job
from ...pipeline.stages import Stage

MAX_RESULT_BYTES = 128 << 20  # of results that were not requested yet
Outcome = tuple[dict[str, bytes] | None, Exception | None]  # a step's files by suffix, or its exception


@dataclass(frozen=True)
class NextStep:
    """``driver.lower`` by one stage on the output of the previous step: ``rows`` are the previous stage and its own.

    ``name`` is the file of that artifact, for diagnostics.
    """

    job: Job
    name: str
    rows: tuple[Stage, Stage]

    def arguments(self, data: bytes) -> tuple:
        """The arguments of ``driver.lower`` if the previous step has made ``data``."""
        return data, self.rows[0].suffix, self.rows[1].suffix, self.job, self.name, self.rows


Lookahead = Callable[[], tuple[NextStep, ...]]  # the steps that the build will request next, in order


class SpeculativeResults:
    """Results of speculative steps, each taken at most once; beyond ``max_bytes`` the oldest are dropped."""

    def __init__(self, max_bytes: int = MAX_RESULT_BYTES):
        self._lock, self._max_bytes = threading.Lock(), max_bytes
        self._outcomes: OrderedDict[tuple, Outcome] = OrderedDict()
        self._bytes = 0

    def put(self, needed: tuple, arguments: tuple, outcome: Outcome) -> None:
        """Store the ``outcome`` of a call that reads the files ``needed``, by their digests."""
        key = _key(needed, *arguments)
        with self._lock:
            self._remove(key)
            self._outcomes[key] = outcome
            self._bytes += _size(outcome)
            while self._bytes > self._max_bytes:
                self._remove(next(iter(self._outcomes)))

    def take(self, needed: tuple, arguments: tuple) -> Outcome | None:
        """The outcome of the same call with the same files, if it is stored."""
        if not self._outcomes:
            return None
        with self._lock:
            return self._remove(_key(needed, *arguments))

    def _remove(self, key: tuple) -> Outcome | None:
        outcome = self._outcomes.pop(key, None)
        self._bytes -= _size(outcome) if outcome else 0
        return outcome


def _key(needed: tuple, data: bytes, *rest: object) -> tuple:
    return needed, hashlib.sha256(data).digest(), *rest


def _size(outcome: Outcome) -> int:
    return sum(map(len, (outcome[0] or {}).values()))
