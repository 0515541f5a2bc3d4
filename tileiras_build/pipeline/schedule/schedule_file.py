"""Schedule files: ``{"schedule": {"num_stages": 3, "occupancy": 2}}``, the knobs that a person or a tuner chose.

A knob that is absent is chosen by the compiler. ``kernel``, ``target``, ``cost``, ``schedules`` and ``candidates``, which ``--explain-schedule --json``
prints beside it, say where a schedule comes from; nothing depends on them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ...core.errors import ErrorGroup, InvalidInput, Location, TileirasError, suggest
from ...core.file_io import read_file
from ..job import Job
from .schedule import BY_NAME, NOTHING, Knob, Schedule, Value, of_values

SCHEDULE, INFORMATION = "schedule", ("kernel", "target", "cost", "schedules", "candidates")
PLACEHOLDER = ".schedule"  # the file of locations, as passes do not know its name
MOST = 1 << 20  # above every number that a knob can have
KINDS = {int: "a positive integer", bool: "true or false", str: "a string"}


@lru_cache(maxsize=256)
def parse_schedule(text: str) -> Schedule:
    """The knobs of a file's text; "" has none. Raises InvalidInput[schedule-file]."""
    if not text:
        return NOTHING
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise _fault(f"not JSON: {error.msg}", Location(PLACEHOLDER, error.lineno, error.colno)) from None
    except RecursionError:
        raise _fault("not JSON: nested too deeply", Location(PLACEHOLDER)) from None
    if not isinstance(found, dict) or not isinstance(found.get(SCHEDULE), dict):
        raise _fault('not an object with an object "schedule"', Location(PLACEHOLDER))
    for name in found.keys() - {SCHEDULE, *INFORMATION}:
        raise _fault(f"unknown key {name!r}", location_of(text, name), suggest(name, (SCHEDULE, *INFORMATION)))
    for name, value in found[SCHEDULE].items():
        if name not in BY_NAME:
            raise _fault(f"unknown knob {name!r}", location_of(text, name), suggest(name, BY_NAME))
        if (problem := _problem(BY_NAME[name], value)) is not None:
            raise _fault(problem, location_of(text, name), f"{name}: {BY_NAME[name].help}")
    return of_values(found[SCHEDULE])


def read_schedule(path: str) -> str:
    """The text of a file, which has a schedule. Raises InvalidInput."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError:
        raise _fault("not UTF-8 text", Location(PLACEHOLDER)) from None
    if not text.strip():
        raise _fault("the file is empty", Location(PLACEHOLDER))
    parse_schedule(text)
    return text


def requested(job: Job) -> Schedule:
    """The knobs that the job's schedule file requests."""
    return parse_schedule(job.schedule)


def _problem(knob: Knob, value: Any) -> str | None:
    """Why no kernel can have the value; None where one may."""
    if knob.many != isinstance(value, list):
        return f"{knob.name} = {json.dumps(value)} is not {'a list' if knob.many else KINDS[knob.kind]}"
    values: list[Any] = value if isinstance(value, list) else [value]
    for one in values:
        least = 0 if knob.many else 1
        is_outside = isinstance(one, int) and not isinstance(one, bool) and not least <= one < MOST
        if type(one) is not knob.kind or is_outside:
            return f"{knob.name} = {json.dumps(value)} is not {KINDS[knob.kind]}"
        if knob.values and one not in knob.values:
            return f"{knob.name} = {one} is not one of {', '.join(map(str, knob.values))}"
    return None


def _fault(message: str, location: Location, remedy: str | None = None) -> InvalidInput:
    return InvalidInput("schedule-file", message, location=location, remedy=remedy)


def location_of(text: str, name: str) -> Location:
    """Where a file's text has a key; the file where it does not."""
    before, found, _ = text.rpartition(f'"{name}"')
    if not found:
        return Location(PLACEHOLDER)
    return Location(PLACEHOLDER, before.count("\n") + 1, len(before) - before.rfind("\n"))


def refusal(text: str, name: str, value: Value, reason: str, remedy: str | None = None) -> InvalidInput:
    """The error for a requested value that the kernel cannot have."""
    message = f"{name} = {json.dumps(value)} is refused: {reason}"
    return InvalidInput("schedule-refused", message, location=location_of(text, name), remedy=remedy)


def with_file_name(error: TileirasError, path: str | None) -> TileirasError:
    """The error with the name of the schedule file in its location."""
    if isinstance(error, ErrorGroup):
        return ErrorGroup([with_file_name(one, path) for one in error.errors])
    if path is None or error.location is None or error.location.file != PLACEHOLDER:
        return error
    location = error.location._replace(file=path)
    return type(error)(error.id, error.message, location=location, remedy=error.remedy)
