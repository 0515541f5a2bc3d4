"""Explain schedules: what was chosen for each kernel, what else was considered, what binds it, and what each would cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...core.errors import InvalidInput, Unsupported
from ...ir.casting import as_op
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..job import Job
from ..pipelining_strategies import STRATEGIES
from .choose import Candidate, Choice, Heard, Resource, WholeSchedule
from .cost import cost
from .kernel import Kernel
from .schedule import KNOBS, Knob, Schedule, of_values
from .schedule_attribute import schedule_of
from .schedule_file import SCHEDULE, requested

KERNEL, TARGET, COST, SCHEDULES, CANDIDATES = "kernel", "target", "cost", "schedules", "candidates"
CLOCKS, TAIL, BOUND, PIPES, RESOURCE = "clocks", "tail", "bound", "pipes", "resource"
CHOSEN, CTAS = "chosen", "ctas"  # of whole schedules: the one that is made; those that share an SM
CLUSTERS = ("num_ctas", "grid_cluster")
SHOWN_KNOBS = {row.name for row in KNOBS if row.is_priced} | {"spill"}  # of whole schedules
SHOWN_PIPES = 3  # the busiest
NOTABLE = 0.005  # a smaller part of the cost is not told
Explained = dict[str, Any]  # the object of a schedule file, with its information


def explain(module: ModuleOp, heard: Heard, job: Job) -> list[Explained]:
    """The schedule of each kernel of a ``.tileas`` module, as an object that a schedule file may hold."""
    return [_explained(as_op(func), heard, job) for func in filter(is_function, module.body.block.ops)]


def _explained(func: TableOp, heard: Heard, job: Job) -> Explained:
    schedule, own = schedule_of(func), [one for one in heard.choices if one.kernel == func.sym_name]
    kernel, candidates = heard.kernels[func.sym_name], _candidates(schedule, own, job)
    found = {KERNEL: func.sym_name, TARGET: job.target.name, SCHEDULE: schedule.chosen}
    if (price := cost(kernel, schedule, job.target)) is not None:
        found[COST] = {CLOCKS: round(price.clocks), BOUND: price.bound, PIPES: price.shares}
        _add_costs(candidates, kernel, schedule, job)
    chosen, whole = _chosen_first(heard.schedules.get(func.sym_name, []), schedule)
    schedules = [_as_row(one) for one in whole]
    if chosen is not None:
        schedules[0] |= {SCHEDULE: schedule.chosen, CHOSEN: True}
    return found | ({SCHEDULES: schedules} if schedules else {}) | {CANDIDATES: candidates}


def allow_what_compiles(explained: Explained, schedule: Callable[[Job], object], job: Job) -> None:
    """Ask for each number of CTAs per SM that exceeds the shared memory of the kernel as it is: what else follows may need less."""
    rows = explained[CANDIDATES].get("occupancy", ())
    for row in [row for row in rows if row.get(RESOURCE) == Resource.SHARED]:
        asked = json.dumps({SCHEDULE: requested(job).chosen | {"occupancy": row["value"]}})
        with suppress(InvalidInput, Unsupported):
            schedule(replace(job, schedule=asked))
            del row["refused"], row[RESOURCE]


def carry_out(explained: Explained, heard: Heard, schedule: Callable[[Job], ModuleOp], job: Job) -> None:
    """Let the passes say what each legal whole schedule of a kernel is: some knobs are known after layouts alone."""
    _, found = _chosen_first(heard.schedules.get(explained[KERNEL], []), of_values(explained[SCHEDULE]))
    for row, one in zip(explained.get(SCHEDULES, ()), found):
        if "refused" not in row and not row.get(CHOSEN):
            _set_made(row, requested(job).chosen | one.decided, schedule, job)
            # A file that leaves these out gets the cluster that is chosen, if there is one.
            alone = {name: 1 for name in CLUSTERS if explained[SCHEDULE].get(name)}
            made = row[SCHEDULE].items()
            row[SCHEDULE] = alone | {name: value for name, value in made if name not in CLUSTERS or value != 1}


def _set_made(row: dict[str, Any], asked: dict[str, Any], schedule: Callable[[Job], ModuleOp], job: Job) -> None:
    """Schedule the kernel as a row asks for."""
    try:
        module = schedule(replace(job, schedule=json.dumps({SCHEDULE: asked})))
    except (InvalidInput, Unsupported) as error:
        row["refused"] = error.message
        return
    [func] = filter(is_function, module.body.block.ops)
    row[SCHEDULE] = schedule_of(func).chosen


def _chosen_first(found: list[WholeSchedule], made: Schedule) -> tuple[WholeSchedule | None, list[WholeSchedule]]:
    """The whole schedule that was made, None where it is none of them, and all in their order, but that one before the others."""
    fitting = [one for one in found if one.refused is None and one.is_of(made)]
    chosen = max(fitting, key=lambda one: len(one.decides), default=None)
    return chosen, sorted(found, key=lambda one: one is not chosen)


def _as_row(one: WholeSchedule) -> dict[str, Any]:
    """A whole schedule as JSON."""
    price: dict[str, Any] = {}
    if one.cost is not None:
        price = {CLOCKS: round(one.cost.clocks), BOUND: one.cost.bound, CTAS: one.cost.ctas}
        price |= {TAIL: round(one.cost.tail, 3)} if one.cost.tail else {}
    refused = {} if one.refused is None else {"refused": str(one.refused)}
    remedy = {} if one.remedy is None else {"remedy": one.remedy}
    return {SCHEDULE: one.schedule.chosen} | price | refused | remedy


def _add_costs(candidates: dict[str, list], kernel: Kernel, schedule: Schedule, job: Job) -> None:
    """The modelled cost of each candidate, with all other knobs as they were chosen."""
    for knob in filter(lambda knob: knob.is_priced, KNOBS):
        rows = candidates.get(knob.name, [])
        for place, one in enumerate(rows if knob.many else [rows]):
            for row in one:
                changed = _with_value(schedule, knob, place, row["value"])
                if (price := cost(kernel, changed, job.target)) is not None:
                    row[CLOCKS] = round(price.clocks)


def _with_value(schedule: Schedule, knob: Knob, place: int, value: Any) -> Schedule:
    if knob.many:
        old = getattr(schedule, knob.name)
        value = (*old[:place], value, *old[place + 1 :])
    changed: dict[str, Any] = {knob.name: value}
    return replace(schedule, **changed)


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
    return [{name: value for name, value in _as_row_of_knob(one).items() if value is not None} for one in candidates]


def _as_row_of_knob(one: Candidate[Any]) -> dict[str, Any]:
    refused = None if one.refused is None else str(one.refused)
    return {"value": one.value, "refused": refused, RESOURCE: one.resource, "remedy": one.remedy}


def _unheard(knob: Knob, schedule: Schedule, job: Job) -> Iterator[Candidate]:
    """The candidates of knobs that no pass weighs against each other."""
    value = getattr(schedule, knob.name)
    if knob.name == "strategy":
        for row in STRATEGIES:
            yield Candidate(row.name, None if row.has(job.target) else f"{job.target.name} has no {row.needs}")
    elif knob.is_derived or knob.many:
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
    yield f"{explained[KERNEL]} on {explained[TARGET]}{_shown_cost(explained.get(COST))}"
    yield from map(_schedule_line, explained.get(SCHEDULES, ()))
    clocks, unused = explained.get(COST, {}).get(CLOCKS), []
    for knob in KNOBS:
        value, rows = explained[SCHEDULE].get(knob.name), explained[CANDIDATES].get(knob.name, [])
        if value is None and (knob.kind is bool or not rows):
            unused.append(knob)
            continue
        yield f"  {knob.name:22} {_shown(value):20} {knob.help}"
        for place, one in enumerate(rows if knob.many else [rows]):
            chosen = value[place] if knob.many else value
            yield from _candidate_lines(one, chosen, f"[{place}] " if knob.many else "", clocks)
    yield "  not used, as it needs:"
    yield from (f"    {knob.name:20} {knob.needs}" for knob in unused if not knob.is_derived)


def _schedule_line(row: dict[str, Any]) -> str:
    """A whole schedule, and what it would cost or why it is refused."""
    shown = {name: value for name, value in row[SCHEDULE].items() if value is not False and name in SHOWN_KNOBS}
    knobs = ", ".join(f"{name} {_shown(value)}" for name, value in shown.items())
    if "refused" in row:
        return f"  not {knobs}: {row['refused']}" + (f"; {row['remedy']}" if "remedy" in row else "")
    tail = f", tail {row[TAIL]:.0%}" if TAIL in row else ""
    ctas = "" if "occupancy" in shown else f" with {_counted(row.get(CTAS, 1), 'CTA')} per SM"
    return f"  {knobs}: " + (f"{row[CLOCKS]} clocks{ctas}, bound by {row[BOUND]}{tail}" if CLOCKS in row else "no cost")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number > 1 else "")


def _shown_cost(cost: dict[str, Any] | None) -> str:
    if cost is None:
        return ""
    busy = ", ".join(f"{name} {share:.0%}" for name, share in list(cost[PIPES].items())[:SHOWN_PIPES])
    return f": modelled {cost[CLOCKS]} clocks of an SM for a tile program, bound by {cost[BOUND]} (busy: {busy})"


def _candidate_lines(rows: list[dict[str, Any]], value: object, which: str, clocks: int | None) -> Iterator[str]:
    legal = [_priced(row, clocks) for row in rows if "refused" not in row and row["value"] != value]
    if legal:
        yield f"    {'':20} {which}legal too: {', '.join(legal)}"
    refused = filter(lambda row: "refused" in row, rows)
    for (reason, remedy), same in groupby(refused, lambda row: (row["refused"], row.get("remedy"))):
        values = ", ".join(_priced(row, clocks) for row in same)
        yield f"    {'':20} {which}not {values}: {reason}" + (f"; {remedy}" if remedy else "")


def _priced(row: dict[str, Any], clocks: int | None) -> str:
    """A candidate, and by how much its modelled cost differs from that of the schedule."""
    change = row[CLOCKS] / clocks - 1 if clocks and CLOCKS in row else 0.0
    return _shown(row["value"]) + (f" ({change:+.0%})" if abs(change) >= NOTABLE else "")


def _shown(value: Any) -> str:
    if value is None:
        return "free"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
