"""The choices of ``scons tune``: a JSON file beside the kernel file, which is under version control.

    matmul.tune.json: {"matmul_f16": {"sm_90": {"point": {"TILE_M": 128, "num_ctas": 2}, "by": "model",
                                                "microseconds": 91.2, "default_microseconds": 140.5, "space": "1f0c…"}}}

``by`` says who chose: "model", "gpu", "ct.tune" or a person's word. ``space`` is the digest of the space that the point was
chosen from; without it a change of the space goes unnoticed. A build reads the entry of its target and builds that point.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import InvalidInput, Location
from ..core.file_io import write_files
from .cases_table_from_ast import CHOICES
from .tuning_space import Point, at_point, digest, given, point_text, points

if TYPE_CHECKING:
    from .kernel_case import Case

DEFAULT = "default"  # who chose, where nothing has been tuned


@dataclass(frozen=True)
class Choice:
    """One entry. ``microseconds`` is the time that the choice was made by, ``default_microseconds`` that of the default."""

    point: Point
    by: str
    microseconds: float | None = None
    default_microseconds: float | None = None
    space: str | None = None

    def row(self) -> dict[str, Any]:
        """The entry as JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Choices = dict[str, dict[str, Choice]]
"""By kernel, then by target."""


def choice_file(path: str | os.PathLike) -> Path:
    """The file of the choices for the kernels of a Python file."""
    return Path(path).with_suffix(CHOICES)


def read_choices(path: str | os.PathLike) -> Choices:
    """The choices for the Python file ``path``; empty if there is no file. Raises InvalidInput[tune-file]."""
    file = choice_file(path)
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        rows = json.loads(text)
        return {kernel: {sm: _choice(row) for sm, row in of.items()} for kernel, of in rows.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        found = f"not a file of choices: {error or type(error).__name__}"
        remedy = "restore the file, or delete it and run scons tune"
        raise InvalidInput("tune-file", found, location=Location(str(file)), remedy=remedy) from None


def _choice(row: Mapping[str, Any]) -> Choice:
    known = {name: row[name] for name in Choice.__dataclass_fields__ if name in row}
    if not isinstance(row["point"], dict):
        raise ValueError(f"point is {row['point']!r}")
    return Choice(**{"by": "hand"} | known)


def write_choices(path: str | os.PathLike, new: Choices) -> Path:
    """Enter ``new`` into the file of ``path``, in place of entries for the same kernels and targets; returns its path."""
    kept, file = read_choices(path), choice_file(path)
    for kernel, of in new.items():
        kept.setdefault(kernel, {}).update(of)
    rows = {name: {sm: kept[name][sm].row() for sm in sorted(kept[name])} for name in sorted(kept)}
    write_files({file: (json.dumps(rows, indent=2) + "\n").encode()})
    return file


def chosen_case(case: Case, path: str | os.PathLike, generation: str | None) -> tuple[Case, dict[str, Any] | None]:
    """The case at the point that is built for a GPU ("sm_90"; None: the default), and what the launch manifest says of it.

    A case without ``tune`` stays as it is. Raises InvalidInput[tune-stale] for a choice that is no point of the space.
    """
    if case.tune is None:
        return case, None
    choice, space = read_choices(path).get(case.name, {}).get(generation or ""), points(case)
    if choice is None:
        return case, {"point": given(space[0]), "by": DEFAULT}
    point = space[0] | choice.point
    if point not in space:
        raise stale_error(case, path, f"{point_text(choice.point)} for {generation} is no point of its space")
    changed = choice.space is not None and choice.space != digest(space)
    return at_point(case, point), {"point": given(point), "by": choice.by} | ({"stale": True} if changed else {})


def stale_error(case: Case, path: str | os.PathLike, found: str) -> InvalidInput:
    """The error of a choice from another space."""
    where = Location(str(choice_file(path)))
    return InvalidInput(
        "tune-stale", f"{case.name}: {found}", location=where, remedy="run scons tune, or delete the entry"
    )


def keep_result(path: str | os.PathLike, kernel: str, sm: str, result: Any) -> Path:
    """Enter a result of ``ct.tune.exhaustive_search`` whose configurations are points; or such a point itself.

        keep_result("kernels/matmul.py", "matmul_f16", "sm_90", ct.tune.exhaustive_search(…))

    Returns the path of the written file.
    """
    best = getattr(result, "best", None)
    point, time = (result, None) if best is None else (best.config, round(float(best.mean_us), 3))
    if not isinstance(point, Mapping):
        raise ValueError(f"a configuration is a dict of constants and hints, not {point!r}")
    choice = Choice(dict(point), "ct.tune" if best is not None else "hand", time)
    return write_choices(path, {kernel: {sm: choice}})
