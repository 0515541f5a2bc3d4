"""How the kernels of two builds differ: a row per kernel and GPU, "29 -> 31" where a number has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields

from ..core.byte_sizes import size_text
from .build_history import NUMBERS, Values


@dataclass(frozen=True)
class KernelMetrics:
    """One kernel on one GPU: numbers, and bytes of spills, stack and shared memory; ``microseconds`` is estimated, None = not asked."""

    registers: float | None
    spills: float | None
    shared: float | None
    stack: float | None
    instructions: float | None
    microseconds: float | None


COLUMNS = {"registers": "registers", "spills": "spills", "shared": "shared memory", "stack": "stack",
           "instructions": "instructions", "microseconds": "estimate"}  # fmt: skip
_SIZES = ("spills", "shared", "stack")
Key = tuple[str, str]  # kernel, with its library where several have one of that name, and target


def metrics_of(rows: Mapping[str, Values]) -> dict[Key, KernelMetrics]:
    """What is compared of the numbers that a history keeps, by kernel and target with a space between."""
    return {_key(key): _metrics(dict(zip(NUMBERS, values, strict=True))) for key, values in rows.items()}


def _key(text: str) -> Key:
    kernel, _, target = text.rpartition(" ")
    return kernel, target


def _metrics(number: Mapping[str, int | float | None]) -> KernelMetrics:
    stores = number["spill_stores"]
    spills = None if stores is None else stores + (number["spill_loads"] or 0)
    names = ("shared", "stack", "instructions", "microseconds")
    return KernelMetrics(number["registers"], spills, *(number[name] for name in names))


def header(with_estimate: bool) -> tuple[str, ...]:
    """The columns of a table of rows."""
    return ("kernel", "SM", *(COLUMNS[name] for name in _names(with_estimate)))


def changed(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> Iterator[Key]:
    """The kernels that are new, gone or another one in a column that is shown."""
    names = _names(with_estimate)
    for key in dict.fromkeys([*now, *before]):
        old, new = before.get(key), now.get(key)
        if old is None or new is None or any(getattr(old, name) != getattr(new, name) for name in names):
            yield key


def changes(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> list[tuple[str, ...]]:
    """A row of the table for each of them."""
    return [
        (*key, *(_cell(name, before.get(key), now.get(key)) for name in _names(with_estimate)))
        for key in changed(before, now, with_estimate)
    ]


def changed_documents(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> list[dict[str, object]]:
    """The same for programs: null before or now for what is new or gone."""
    return [
        {"kernel": key[0], "target": key[1], "before": _document(before.get(key)), "now": _document(now.get(key))}
        for key in changed(before, now, with_estimate)
    ]


def _document(measure: KernelMetrics | None) -> dict[str, object] | None:
    return None if measure is None else asdict(measure)


def summary(before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool) -> str:
    """How many kernels are what, in one line."""
    found = set(changed(before, now, with_estimate))
    new, gone = found - set(before), found - set(now)
    other = len(found) - len(new) - len(gone)
    return f"{other} changed, {len(new)} new, {len(gone)} gone, {len(now) - len(new) - other} as before"


def _names(with_estimate: bool) -> list[str]:
    return [field.name for field in fields(KernelMetrics) if with_estimate or field.name != "microseconds"]


def _cell(name: str, old: KernelMetrics | None, new: KernelMetrics | None) -> str:
    texts = [_text(name, getattr(one, name)) if one is not None else None for one in (old, new)]
    if texts[0] is None or texts[0] == texts[1]:
        return texts[1] or "-"
    return f"{texts[0]} -> {texts[1] or 'gone'}"


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "microseconds":
        return f"{value:.1f} us"
    return size_text(value) if name in _SIZES else str(value)
