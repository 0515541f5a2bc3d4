"""The differences between two builds: a row per changed kernel and GPU, "29 -> 31" for a changed metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields

from ..core.byte_sizes import size_text
from .build_history import METRICS, Values


@dataclass(frozen=True)
class KernelMetrics:
    """Metrics of one kernel on one GPU; spills, stack and shared memory in bytes; ``microseconds`` is an estimate. None: unknown."""

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
    """The compared metrics from the values of a history, whose keys are "kernel target"."""
    return {_key(key): _metrics(dict(zip(METRICS, values, strict=True))) for key, values in rows.items()}


def _key(text: str) -> Key:
    kernel, _, target = text.rpartition(" ")
    return kernel, target


def _metrics(values: Mapping[str, int | float | None]) -> KernelMetrics:
    stores = values["spill_stores"]
    spills = None if stores is None else stores + (values["spill_loads"] or 0)
    names = ("shared", "stack", "instructions", "microseconds")
    return KernelMetrics(values["registers"], spills, *(values[name] for name in names))


def header(with_estimate: bool) -> tuple[str, ...]:
    """The columns of a table of rows."""
    return ("kernel", "SM", *(COLUMNS[name] for name in _names(with_estimate)))


def changed(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> Iterator[Key]:
    """The kernels that are new, removed or changed in a shown column."""
    names = _names(with_estimate)
    for key in dict.fromkeys([*now, *before]):
        old, new = before.get(key), now.get(key)
        if old is None or new is None or any(getattr(old, name) != getattr(new, name) for name in names):
            yield key


def changes(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> list[tuple[str, ...]]:
    """A table row for each changed kernel."""
    return [
        (*key, *(_cell(name, before.get(key), now.get(key)) for name in _names(with_estimate)))
        for key in changed(before, now, with_estimate)
    ]


def changed_documents(
    before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool
) -> list[dict[str, object]]:
    """The changes as JSON objects: ``before`` or ``now`` is null for a new or removed kernel."""
    return [
        {"kernel": key[0], "target": key[1], "before": _document(before.get(key)), "now": _document(now.get(key))}
        for key in changed(before, now, with_estimate)
    ]


def _document(measure: KernelMetrics | None) -> dict[str, object] | None:
    return None if measure is None else asdict(measure)


def summary(before: Mapping[Key, KernelMetrics], now: Mapping[Key, KernelMetrics], with_estimate: bool) -> str:
    """The counts of changed, new, removed and unchanged kernels, in one line."""
    found = set(changed(before, now, with_estimate))
    new, removed = found - set(before), found - set(now)
    other = len(found) - len(new) - len(removed)
    return f"{other} changed, {len(new)} new, {len(removed)} removed, {len(now) - len(new) - other} unchanged"


def _names(with_estimate: bool) -> list[str]:
    return [field.name for field in fields(KernelMetrics) if with_estimate or field.name != "microseconds"]


def _cell(name: str, old: KernelMetrics | None, new: KernelMetrics | None) -> str:
    texts = [_text(name, getattr(one, name)) if one is not None else None for one in (old, new)]
    if texts[0] is None or texts[0] == texts[1]:
        return texts[1] or "-"
    return f"{texts[0]} -> {texts[1] or 'removed'}"


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "microseconds":
        return f"{value:.1f} us"
    return size_text(value) if name in _SIZES else str(value)
