"""Tune the kernels of a Python file for one GPU, and enter what was chosen into the file beside it.

``tune_kernels`` runs the user's code, in a worker. ``keep`` writes the file, which the project has under version control.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import Location
from ..core.plurals import count_text
from ..core.tracing.audit_hooks import tracer
from ..driver import compile
from ..frontend.export_cutile import opened_cases
from ..frontend.import_kernel_file import folder_of
from ..frontend.tuning_choices import Choice, read_choices, write_choices
from ..frontend.tuning_space import digest, given, point_text, points
from ..frontend.users_errors import users_code
from ..target.targets import find_target

if TYPE_CHECKING:
    from .rank_points import Time

MODEL, GPU = "model", "gpu"
HOW = {MODEL: "modelled, not measured", GPU: "measured on this machine's GPU"}  # times are this, by what timed them
COLUMNS = ("kernel", "SM", "points", "chosen", "time", "default", "faster")


def tuned_file(
    path: str, target: str, name: str, options: Mapping[str, Any], root: str, output: str
) -> dict[str, bytes]:
    """The step of ``scons tune`` for one kernel: the file ``output``, a list of at most one result."""
    return {output: json.dumps(tune_kernels(path, target, [name], options, root), indent=1).encode()}


def tune_kernels(
    path: str,
    target: str,
    names: Sequence[str] | None,
    options: Mapping[str, Any],
    root: str | None = None,
    by: str = MODEL,
    time: Time | None = None,
) -> list[dict[str, Any]]:
    """The results for the cases of the file that have a ``Tune`` (those in ``names``, or all); ``options`` are those of ``driver.compile``.

    ``by`` names what times them: the model, or ``time``. Raises InvalidInput[export] for an invalid space, and [tune-none] where no point has a time.
    """
    with tracer().untraced():
        from .rank_points import rank_points, result_of
    found = []
    with opened_cases(path) as cases:
        for case in cases:
            if case.tune is None or names is not None and case.name not in names:
                continue
            with users_code(folder_of(path), Location(path), f"case {case.name!r}: "):
                ranked = rank_points(case, path, lambda data: compile(data, target, name=path, **options), root, time)
                found.append(result_of(case, find_target(target).generation, ranked, by, digest(points(case))))
    return found


def keep(path: str, results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Enter the best points into the file of choices. Returns what to tell: the file, and entries that the model does not replace.

    A choice that a GPU or a person has made stays, unless the space has changed since.
    """
    new: dict[str, dict[str, Choice]] = {}
    told, known = [], read_choices(path)
    for row in results:
        kernel, target = row["kernel"], row["target"]
        old = known.get(kernel, {}).get(target)
        if old is not None and row["by"] == MODEL != old.by and old.space in (None, row["space"]):
            told.append(
                f"{kernel} on {target}: kept {point_text(old.point)}, chosen by {old.by}; delete the entry to replace it"
            )
        else:
            new.setdefault(kernel, {})[target] = _choice(row)
    if new:
        told.insert(0, f"wrote {os.path.relpath(str(write_choices(path, new)))}")
    return told


def _choice(row: Mapping[str, Any]) -> Choice:
    best, default = row["points"][row["best"]], row["points"][0]
    return Choice(given(best["point"]), row["by"], best["mean"], default.get("mean"), row["space"])


def table_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One row of COLUMNS."""
    best, default, failed = (
        row["points"][row["best"]],
        row["points"][0],
        [one for one in row["points"] if "problem" in one],
    )
    points = str(len(row["points"])) + (f" ({len(failed)} failed)" if failed else "")
    base = default.get("mean")
    gain = f"{base / best['mean']:.2f}x" if base else "-"
    time = lambda value: f"{value:.1f} us" if value else "failed"
    return row["kernel"], row["target"], points, point_text(best["point"]), time(best["mean"]), time(base), gain


def ranking(row: Mapping[str, Any], top: int) -> list[str]:
    """The fastest points of a result, one a line, and how many are left out."""
    timed = sorted((one for one in row["points"] if "mean" in one), key=lambda one: one["mean"])
    lines = [f"  {one['mean']:10.1f} us  {point_text(one['point'])}" for one in timed[:top]]
    rest = len(timed) - top
    return lines + ([f"  and {count_text(rest, 'slower point')}"] if rest > 0 else [])
