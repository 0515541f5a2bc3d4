"""STRATEGIES: how the copies of a loop overlap its computation, one frozen row each.

The option ``strategy`` (a row's name, or "auto") selects the scheduling passes between tileaa and tileas; all other
passes run under every strategy. The names and their meaning are those of the option ``pipeline-strategy`` of
tileir-internals, section 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import InvalidInput, Unsupported, suggest
from ..target.targets import TARGETS, Target
from .job import Job


@dataclass(frozen=True)
class Strategy:
    """``passes`` are the scheduling passes that it runs, ``needs`` a required capability of the GPU.

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


AUTO = "auto"
# From the least overlap to the most: "auto" selects the last row with a pass that the target supports.
STRATEGIES: tuple[Strategy, ...] = (
    Strategy("none", "no pipelining: every load is waited for where it is used"),
    Strategy(
        "unspecialize",
        "all warps compute, and copy the tiles of later iterations into a multistage buffer",
        frozenset(
            {
                "tileas-shrink-k-tile",
                "tileas-loop-over-tile-slices",
                "tileas-software-pipeline-loads",
                "tileas-prefetch-fragments",
            }
        ),
        "cp_async",
    ),
    Strategy(
        "warp-specialize",
        "one warp only loads tiles by TMA, the others only compute; the launcher encodes tensor maps",
        frozenset(
            {
                "tileas-shrink-k-tile",
                "tileas-loop-over-tile-slices",
                "tileas-choose-attention-warpgroups",
                "tileas-swap-operands",
                "tileas-select-mma-and-tma",
                "tileas-keep-accumulators-in-tmem",
                "tileas-group-scale-loads",
                "tileas-specialize-warps",
                "tileas-rotate-mma-loop",
                "tileas-hoist-async-mma-issue",
                "tileas-ping-pong-warpgroups",
                "tileas-software-pipeline-loads",
                "tileas-prefetch-fragments",
                "tileas-use-tma-stores",
            }
        ),
        "tma",
        ("nvptx",),
    ),
)
NAMES = (AUTO, *(row.name for row in STRATEGIES))
SCHEDULING = frozenset().union(*(row.passes for row in STRATEGIES))


def choose(job: Job) -> Strategy:
    """The strategy of a job; "auto" is none at optimization level 0.

    Raises InvalidInput for a name that is not in NAMES, Unsupported for a strategy that the target does not support or
    that has no pass yet.
    """
    if job.strategy == AUTO:
        return _best(job)
    row = next((row for row in STRATEGIES if row.name == job.strategy), None)
    if row is None:
        message = f"{job.strategy!r} is not a pipeline strategy"
        raise InvalidInput("strategy-unknown", message, remedy=suggest(job.strategy, NAMES))
    return _checked(row, job)


def _best(job: Job) -> Strategy:
    if job.opt_level == 0:
        return STRATEGIES[0]
    able = [row for row in STRATEGIES if row.has(job.target) and job.serializer in row.serializers]
    return [row for row in able if row.passes or row is STRATEGIES[0]][-1]


def _checked(row: Strategy, job: Job) -> Strategy:
    if not row.has(job.target):
        able = ", ".join(target.name for target in TARGETS.values() if row.has(target))
        message = f"{job.target.name} does not support the pipeline strategy {row.name}"
        raise Unsupported("strategy-target", message, remedy=f"these can: {able}")
    if job.serializer not in row.serializers:
        message = f"{job.serializer} cannot generate PTX for the pipeline strategy {row.name}"
        raise Unsupported("strategy-serializer", message, remedy=f"use the serializer {' or '.join(row.serializers)}")
    if not row.passes and row is not STRATEGIES[0]:
        raise Unsupported(
            "strategy-missing",
            f"no pass implements the pipeline strategy {row.name} (pipelining_strategies.py: STRATEGIES)",
            remedy=f"use {_best(job).name}",
        )
    return row


def is_enabled(name: str, strategy: Strategy) -> bool:
    """Whether the pass called ``name`` runs under ``strategy``."""
    return name not in SCHEDULING or name in strategy.passes
