"""The view model of a kernel's schedule: what was chosen, what else is legal, and what each whole schedule would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..pipeline.schedule.explain import BOUND, CANDIDATES, CHOSEN, CLOCKS, COST, PIPES, SCHEDULES, SHOWN_PIPES
from ..pipeline.schedule.schedule import KNOBS, Knob
from ..pipeline.schedule.schedule_file import SCHEDULE

SHOWN = 12  # other schedules, the cheapest first


@dataclass(frozen=True)
class KnobView:
    """A chosen value; ``legal`` are other values, ``refused`` says of each why it is not."""

    name: str
    value: str
    help: str
    legal: str
    refused: list[str]


@dataclass(frozen=True)
class OtherSchedule:
    """A schedule that was not chosen: the knobs that differ, its modelled cost, and why it is not legal."""

    differs: str
    cost: str
    refused: str


@dataclass(frozen=True)
class ScheduleView:
    """The schedule of a kernel; ``cost`` is a sentence."""

    cost: str
    knobs: list[KnobView]
    others: list[OtherSchedule]


def view_schedule(explained: Mapping[str, Any] | None) -> ScheduleView | None:
    """The view of an explained schedule, None without one."""
    if explained is None:
        return None
    knobs = [_knob(knob, explained) for knob in KNOBS if explained[SCHEDULE].get(knob.name) is not None]
    return ScheduleView(_cost(explained.get(COST)), knobs, list(_others(explained)))


def _cost(cost: Mapping[str, Any] | None) -> str:
    if cost is None:
        return "The model gives this kernel no cost."
    busy = ", ".join(f"{name} {share:.0%}" for name, share in list(cost[PIPES].items())[:SHOWN_PIPES])
    return f"{cost[CLOCKS]:,} clocks of an SM for a tile program, bound by {cost[BOUND]} (busy: {busy}). Modelled, not measured."


def _knob(knob: Knob, explained: Mapping[str, Any]) -> KnobView:
    value, found = explained[SCHEDULE][knob.name], explained[CANDIDATES].get(knob.name, [])
    rows, chosen = ([row for one in found for row in one], value) if knob.many else (found, [value])
    legal = dict.fromkeys(_shown(row["value"]) for row in rows if "refused" not in row and row["value"] not in chosen)
    refused = dict.fromkeys(f"not {_shown(row['value'])}: {row['refused']}" for row in rows if "refused" in row)
    return KnobView(knob.name, _shown(value), knob.help, ", ".join(legal), list(refused))


def _others(explained: Mapping[str, Any]) -> Iterator[OtherSchedule]:
    chosen, clocks = explained[SCHEDULE], explained.get(COST, {}).get(CLOCKS)
    rows = [row for row in explained.get(SCHEDULES, []) if not row.get(CHOSEN)]
    for row in sorted(rows, key=lambda row: ("refused" in row, row.get(CLOCKS, 0)))[:SHOWN]:
        names = [name for name in {**chosen, **row[SCHEDULE]} if chosen.get(name) != row[SCHEDULE].get(name)]
        differs = ", ".join(f"{name} {_shown(row[SCHEDULE].get(name))}" for name in names)
        change = f" ({row[CLOCKS] / clocks - 1:+.0%})" if clocks and CLOCKS in row else ""
        cost = f"{row[CLOCKS]:,} clocks{change}, bound by {row[BOUND]}" if CLOCKS in row else ""
        yield OtherSchedule(differs, cost, row.get("refused", ""))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return "none" if value is None else str(value)
