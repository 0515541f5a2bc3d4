"""Rank the points of a case's space for one GPU by the cost model: each is exported, compiled and estimated.

A point that cannot be compiled, or that the model cannot handle, is kept with the reason and has no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..core.errors import InvalidInput, Location, TileirasError
from ..core.tracing.audit_hooks import tracer
from ..driver import Artifacts
from ..frontend.export_cutile import export_point
from ..frontend.kernel_case import Case
from ..frontend.tuning_space import Point, at_point, points
from ..manifest.launch_manifest import read_launch_manifest
from ..simulate.estimate.estimate_kernel import Problem, estimate_kernel
from ..simulate.estimate.problem_size import launched_kernel
from ..verify.estimate_settings import settings_of
from .problem_launches import ProblemLaunch, problem_launches

Compile = Callable[[bytes], Artifacts]
Time = Callable[[Artifacts, str, ProblemLaunch], float]  # microseconds of a launch of the kernel of this name


@dataclass(frozen=True)
class RankedPoint:
    """A point with its microseconds for each problem; without them, the reason."""

    point: Point
    microseconds: tuple[float, ...] = ()
    problem: str = ""

    @property
    def mean(self) -> float:
        """The geometric mean of its times; infinite without any."""
        if not self.microseconds:
            return math.inf
        return math.exp(sum(map(math.log, self.microseconds)) / len(self.microseconds))


def rank_points(
    case: Case, path: str, compile: Compile, root: str | None = None, time: Time | None = None
) -> list[RankedPoint]:
    """The points of the case of the file ``path``, the default first, by the model or by ``time``.

    Raises InvalidInput[tune-none] where no point has a time.
    """
    time = time or modelled
    ranked = [_ranked(at_point(case, point), point, path, compile, root, time) for point in points(case)]
    if not any(row.microseconds for row in ranked):
        raise InvalidInput(
            "tune-none", f"{case.name}: no point of its space has a time: {ranked[0].problem}", location=Location(path)
        )
    return ranked


def best_point(ranked: Iterable[RankedPoint]) -> RankedPoint:
    """The point with the least mean; the first of several, so the default stays where nothing is faster."""
    return min(ranked, key=lambda row: row.mean)


def _ranked(case: Case, point: Point, path: str, compile: Compile, root: str | None, time: Time) -> RankedPoint:
    launches = problem_launches(case)
    try:
        bytecode = export_point(path, case, root)
        with tracer().untraced():
            made = compile(bytecode)
            return RankedPoint(point, tuple(time(made, case.name, launch) for launch in launches))
    except TileirasError as error:
        return RankedPoint(point, problem=str(error).splitlines()[0])


def modelled(made: Artifacts, name: str, launch: ProblemLaunch) -> float:
    """The estimate of one launch. Raises InvalidInput[tune-none] where the model cannot handle it."""
    manifest = read_launch_manifest(made.manifest).kernels
    settings = settings_of(manifest[name], launch.values)
    if settings is None:
        raise InvalidInput("tune-none", f"{name}: the cost model takes arrays and scalars only")
    assert made.cubin is not None
    taken = launched_kernel(manifest, name, settings, launch.grid)
    found = estimate_kernel(made.cubin, taken, manifest, Problem(settings, launch.grid))
    if found is None:
        raise InvalidInput("tune-none", f"{name}: the cost model cannot handle this kernel")
    return found.microseconds


def result_of(case: Case, target: str, ranked: list[RankedPoint], by: str, space: str) -> dict[str, Any]:
    """The result for one kernel and GPU, as ``.tuned`` files and ``--json`` have it."""
    best = best_point(ranked)
    rows = [
        {"point": row.point, "microseconds": list(row.microseconds), "mean": round(row.mean, 3)} if row.microseconds
        else {"point": row.point, "problem": row.problem} for row in ranked
    ]  # fmt: skip
    return {"kernel": case.name, "target": target, "by": by, "space": space, "points": rows, "best": ranked.index(best)}
