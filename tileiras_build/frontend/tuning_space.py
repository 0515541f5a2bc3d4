"""``Tune``: a space of constants and hints of a case, from which ``tileiras-build tune`` and ``scons tune`` choose a point.

    Case("matmul_f16", matmul, (MATRIX, MATRIX, MATRIX, 64, 64, 32), grid=first_tiles("c", "TILE_M", "TILE_N"), …,
         tune=Tune({"TILE_M": [64, 128], "TILE_N": [64, 128, 256], "num_ctas": [1, 2]}, problems=[{"a": (4096, 4096), …}]))

A point is a dict: a value for each name of the space, which is a constant parameter of the kernel or one of HINTS. The
case's own arguments are the default point; it is always among the candidates, and built where nothing has been chosen.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.errors import suggest

if TYPE_CHECKING:
    from .kernel_case import Case

HINTS = ("num_ctas", "occupancy", "opt_level", "num_worker_warps")
"""Options of ``@ct.kernel``; None leaves the kernel's own."""

MAX_POINTS = 1000
Point = dict[str, Any]
Problem = Mapping[str, Any]
"""The arguments of a launch by name: the lengths of an array as a tuple, the value of a scalar."""


@dataclass(frozen=True)
class Tune:
    """``space`` lists the values of each name, or the points themselves, as ``ct.tune`` and Triton's ``configs`` do.

    ``problems`` are the sizes of launches that the choice is for: the point with the least geometric mean of their times is
    taken. Without any they are the sizes of the case's ``inputs``. ``where`` keeps the points for which it returns true.
    """

    space: Mapping[str, Sequence[Any]] | Sequence[Point]
    problems: Sequence[Problem] = ()
    where: Callable[[Point], bool] | None = None

    def __post_init__(self) -> None:
        rows = list(self.space.items()) if isinstance(self.space, Mapping) else list(enumerate(self.space))
        if not rows:
            raise ValueError("the space of Tune is empty")
        for name, values in rows:
            if not isinstance(values, Sequence if isinstance(self.space, Mapping) else Mapping) or not values:
                raise ValueError(f"Tune: {name!r} has no values: {values!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a point sets."""
        rows = [self.space] if isinstance(self.space, Mapping) else self.space
        return tuple(dict.fromkeys(name for row in rows for name in row))


def check_names(case: Case) -> None:
    """Raise ValueError where the space names no constant of the case's kernel and no hint."""
    assert case.tune is not None
    known = (*case.constants, *HINTS)
    for name in case.tune.names:
        if name not in known:
            raise ValueError(f"Tune: {name!r} is no constant parameter and no hint; {suggest(name, known)}")


def default_point(case: Case) -> Point:
    """The case's own arguments; None for hints."""
    assert case.tune is not None
    return {name: case.constants.get(name) for name in case.tune.names}


def points(case: Case) -> list[Point]:
    """The default point, then the others in the order of the space. Raises ValueError for an invalid space."""
    assert case.tune is not None
    check_names(case)
    default, keep = default_point(case), case.tune.where
    found = {tuple(default.items()): default}
    for point in _listed(case.tune.space):
        point = default | point
        if keep is None or keep(dict(point)):
            found.setdefault(tuple(point.items()), point)
        if len(found) > MAX_POINTS:
            raise ValueError(f"Tune: more than {MAX_POINTS} points, each of which is compiled; shorten the lists")
    return list(found.values())


def _listed(space: Mapping[str, Sequence[Any]] | Sequence[Point]) -> Iterator[Point]:
    if not isinstance(space, Mapping):
        yield from map(dict, space)
        return
    for values in itertools.product(*space.values()):
        yield dict(zip(space, values, strict=True))


def digest(space: Sequence[Point]) -> str:
    """A digest of the points of a case: a choice from others is out of date."""
    text = json.dumps(space, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def at_point(case: Case, point: Point) -> Case:
    """The case with the point's constants as arguments, and its hints on the kernel."""
    arguments = tuple(
        point.get(name, value) if name in case.constants else value
        for name, value in zip(case.parameter_names, case.arguments, strict=True)
    )
    hints = {name: point[name] for name in HINTS if point.get(name) is not None}
    return replace(case, kernel=case.kernel.replace_hints(**hints) if hints else case.kernel, arguments=arguments)


def given(point: Point) -> Point:
    """The point without the hints that are the kernel's own."""
    return {name: value for name, value in point.items() if value is not None}


def point_text(point: Point) -> str:
    """The point in one line: "TILE_M=128 num_ctas=2"."""
    return " ".join(f"{name}={value}" for name, value in given(point).items()) or "default"
