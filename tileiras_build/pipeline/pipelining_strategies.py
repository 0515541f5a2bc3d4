"""STRATEGIES: how the copies of a loop overlap its computation, one frozen row each.

The option ``strategy`` (a row's name, or "auto") selects the passes between tileaa and tileas that start a schedule. All others run under
every strategy, and change only what these have scheduled. The names and their meaning are those of the option ``pipeline-strategy``
of tileir-internals, section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import InvalidInput, TileirasError, Unsupported, suggest
from ..target.targets import TARGETS, Target
from .job import Job
from .schedule.schedule_file import refusal, requested


@dataclass(frozen=True)
class Strategy:
    """``passes`` are those that only some strategies run, ``needs`` a required capability of the GPU.

    ``serializers`` can generate PTX from the result: libNVVM's LLVM 7 has no tensor map parameters or intrinsics.
    """

    name: str
    help: str
    passes: frozenset[str] = frozenset()
    needs: str | None = None
    serializers: tuple[str, ...] = ("nvptx", "libnvvm")

    def has(self, target: Target) -> bool:
        """Whether ``target`` supports this strategy."""
        return self.needs is None or target.has(self.needs)

    @property
    def uses_tma(self) -> bool:
        """Whether warps of their own load tiles by TMA."""
        return self.needs == "tma"


AUTO = "auto"
_LOOPS = frozenset({"tileas-shrink-k-tile", "tileas-loop-over-tile-slices", "tileas-software-pipeline-loads"})
# From the least overlap to the most: "auto" selects the last row that the target supports.
STRATEGIES: tuple[Strategy, ...] = (
    Strategy("none", "no pipelining: every load is waited for where it is used"),
    Strategy(
        "unspecialize",
        "all warps compute, and copy the tiles of later iterations into a multistage buffer",
        _LOOPS,
        "cp_async",
    ),
    Strategy(
        "warp-specialize",
        "one warp only loads tiles by TMA, the others only compute; the launcher encodes tensor maps",
        _LOOPS | {"tileas-swap-operands", "tileas-select-mma-and-tma"},
        "tma",
        ("nvptx",),
    ),
)
NAMES = (AUTO, *(row.name for row in STRATEGIES))
SCHEDULING = frozenset().union(*(row.passes for row in STRATEGIES))


def choose(job: Job) -> Strategy:
    """The strategy of a job: its schedule's, else its option; "auto" is none at optimization level 0.

    Raises InvalidInput for a name that is not in NAMES, Unsupported for a strategy that the target does not support.
    """
    wanted = requested(job).strategy
    if wanted is None:
        return _named(job.strategy, job)
    try:
        return _named(wanted, job)
    except TileirasError as error:
        raise refusal(job.schedule, "strategy", wanted, error.message, error.remedy) from error


def is_automatic(job: Job) -> bool:
    """Whether the compiler chooses the strategy."""
    return job.strategy == AUTO and requested(job).strategy in (None, AUTO)


def _named(name: str, job: Job) -> Strategy:
    if name == AUTO:
        return _best(job)
    row = next((row for row in STRATEGIES if row.name == name), None)
    if row is None:
        message = f"{name!r} is not a pipeline strategy"
        raise InvalidInput("strategy-unknown", message, remedy=suggest(name, NAMES))
    return _checked(row, job)


def _best(job: Job) -> Strategy:
    if job.opt_level == 0:
        return STRATEGIES[0]
    return [row for row in STRATEGIES if row.has(job.target) and job.serializer in row.serializers][-1]


def _checked(row: Strategy, job: Job) -> Strategy:
    if not row.has(job.target):
        able = ", ".join(target.name for target in TARGETS.values() if row.has(target))
        message = f"{job.target.name} does not support the pipeline strategy {row.name}"
        raise Unsupported("strategy-target", message, remedy=f"these can: {able}")
    if job.serializer not in row.serializers:
        message = f"{job.serializer} cannot generate PTX for the pipeline strategy {row.name}"
        raise Unsupported("strategy-serializer", message, remedy=f"use the serializer {' or '.join(row.serializers)}")
    return row


def is_enabled(name: str, strategy: Strategy) -> bool:
    """Whether the pass called ``name`` runs under ``strategy``."""
    return name not in SCHEDULING or name in strategy.passes
