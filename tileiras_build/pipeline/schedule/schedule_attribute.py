"""The ``schedule`` attribute of a kernel: a dictionary of the knobs that are requested or chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, Operation

from .schedule import BY_NAME, NOTHING, Schedule, Value, of_values

ATTRIBUTE = "schedule"


def schedule_of(func: Operation) -> Schedule:
    """The knobs of a kernel that are requested or chosen."""
    found = func.attributes.get(ATTRIBUTE)
    return _from_attribute(found) if isinstance(found, DictionaryAttr) else NOTHING


def set_schedule(func: Operation, schedule: Schedule) -> None:
    """Set the attribute of a kernel."""
    values = {name: _attribute(value) for name, value in schedule.chosen.items()}
    func.attributes.pop(ATTRIBUTE, None)
    if values:
        func.attributes[ATTRIBUTE] = DictionaryAttr(values)


def set_knobs(func: Operation, **values: Value | None) -> None:
    """Set some knobs of a kernel; None: as if it were not chosen."""
    changed = cast(dict[str, Any], values)
    set_schedule(func, replace(schedule_of(func), **changed))


def is_declined(func: Operation, knob: str) -> bool:
    """Whether a schedule file forbids an optimization."""
    return getattr(schedule_of(func), knob) is False


def _from_attribute(attribute: DictionaryAttr) -> Schedule:
    return of_values({name: _value(found) for name, found in attribute.data.items() if name in BY_NAME})


def _value(attribute: Attribute) -> Any:
    if isinstance(attribute, IntegerAttr):
        return bool(attribute.value.data) if attribute.type.bitwidth == 1 else attribute.value.data
    if isinstance(attribute, ArrayAttr):
        return tuple(map(_value, attribute.data))
    return cast(StringAttr, attribute).data


def _attribute(value: Value) -> Attribute:
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i32)
    if isinstance(value, str):
        return StringAttr(value)
    return ArrayAttr(map(_attribute, value))
