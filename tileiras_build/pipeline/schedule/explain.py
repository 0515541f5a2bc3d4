"""Explain schedules: what was chosen for each kernel, what else was considered, and what binds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...ir.casting import as_op
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..job import Job
from ..pipelining_strategies import STRATEGIES
from .choose import Candidate, Choice
from .schedule import KNOBS, Knob, Schedule
from .schedule_attribute import schedule_of
from .schedule_file import SCHEDULE

KERNEL, TARGET, CANDIDATES = "kernel", "target", "candidates"
DERIVED = ("setmaxnreg", "conversion_chunk_bytes")  # follow from other knobs, or from what does not fit
Explained = dict[str, Any]  # the object of a schedule file, with its information


def explain(module: ModuleOp, choices: Iterable[Choice], job: Job) -> list[Explained]:
    """The schedule of each kernel of a ``.tileas`` module, as an object that a schedule file may hold."""
    heard = list(choices)
    return [_explained(as_op(func), heard, job) for func in filter(is_function, module.body.block.ops)]


def _explained(func: TableOp, heard: list[Choice], job: Job) -> Explained:
    schedule, own = schedule_of(func), [one for one in heard if one.kernel == func.sym_name]
    found = {KERNEL: func.sym_name, TARGET: job.target.name, SCHEDULE: schedule.chosen}
    return found | {CANDIDATES: _candidates(schedule, own, job)}


def _candidates(schedule: Schedule, heard: list[Choice], job: Job) -> dict[str, list]:
    """By knob: the candidates; a list of them for each dot or loop where there are several."""
    found: dict[str, list] = {}
    for knob in KNOBS:
        last = _heard([one for one in heard if one.knob == knob.name])
        rows = [_as_rows(last[place]) for place in sorted(last, key=lambda place: place or 0)]
        if rows:
            found[knob.name] = rows if knob.many else rows[-1]
        elif default := _as_rows(_unheard(knob, schedule, job)):
            found[knob.name] = default
    return found


def _heard(choices: list[Choice]) -> dict[int | None, tuple[Candidate, ...]]:
    """The candidates by place. Those of the last choice count, but where nothing was chosen, each passes on what it refuses."""
    found: dict[int | None, tuple[Candidate, ...]] = {}
    for one in choices:
        before = {other.value: other for other in found.get(one.place, ()) if other.refused and one.value is None}
        found[one.place] = tuple(before.get(other.value, other) for other in one.candidates)
    return found


def _as_rows(candidates: Iterable[Candidate]) -> list[dict[str, Any]]:
    rows = ({"value": one.value, "refused": one.refused, "remedy": one.remedy} for one in candidates)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _unheard(knob: Knob, schedule: Schedule, job: Job) -> Iterator[Candidate]:
    """The candidates of knobs that no pass weighs against each other."""
    value = getattr(schedule, knob.name)
    if knob.name == "strategy":
        for row in STRATEGIES:
            yield Candidate(row.name, None if row.has(job.target) else f"{job.target.name} has no {row.needs}")
    elif knob.name in DERIVED or knob.many:
        return
    elif knob.kind is bool:
        yield Candidate(True, None if value else f"it needs {knob.needs}")
        yield Candidate(False)
    elif knob.name == "num_warps":
        yield from (Candidate(number) for number in knob.values)


# ---- text --------------------------------------------------------------------------------------
def render_text(explained: Iterable[Explained]) -> str:
    """The explanation for a terminal."""
    return "\n".join(line for one in explained for line in _lines(one))


def _lines(explained: Explained) -> Iterator[str]:
    yield f"{explained[KERNEL]} on {explained[TARGET]}"
    unused = []
    for knob in KNOBS:
        value, rows = explained[SCHEDULE].get(knob.name), explained[CANDIDATES].get(knob.name, [])
        if value is None and (knob.kind is bool or not rows):
            unused.append(knob)
            continue
        yield f"  {knob.name:22} {_shown(value):20} {knob.help}"
        for place, one in enumerate(rows if knob.many else [rows]):
            yield from _candidate_lines(one, value[place] if knob.many else value, f"[{place}] " if knob.many else "")
    yield "  not used, as it needs:"
    yield from (f"    {knob.name:20} {knob.needs}" for knob in unused if knob.name not in DERIVED)


def _candidate_lines(rows: list[dict[str, Any]], value: object, which: str) -> Iterator[str]:
    legal = [_shown(row["value"]) for row in rows if "refused" not in row and row["value"] != value]
    if legal:
        yield f"    {'':20} {which}legal too: {', '.join(legal)}"
    for row in rows:
        if "refused" in row:
            remedy = f"; {row['remedy']}" if "remedy" in row else ""
            yield f"    {'':20} {which}not {_shown(row['value'])}: {row['refused']}{remedy}"


def _shown(value: Any) -> str:
    if value is None:
        return "free"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
