"""Optimization hints: names, operations and values (Tile IR Attributes.cpp).

An unusable hint is not an error: bytecode keeps it, and the compiler ignores it with a remark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from xdsl.ir import Operation

from ..checked_mlir_parser import escape
from .attrs import DEFAULT_TARGET, HintValue, OptimizationHintsAttr

KERNEL_OPS = ("entry",)
VIEW_ACCESSES = ("load_view_tko", "store_view_tko")
ACCESSES = (*VIEW_ACCESSES, "load_ptr_tko", "store_ptr_tko")


class Hint(NamedTuple):
    """The operations of a hint, and its values: integers from ``min`` to ``max``; without them, true and false."""

    operations: tuple[str, ...]
    min: int | None = None
    max: int | None = None
    is_power: bool = False

    def accepts(self, value: HintValue) -> bool:
        if self.min is None or self.max is None:
            return isinstance(value, bool)
        if isinstance(value, bool) or not isinstance(value, int) or not self.min <= value <= self.max:
            return False
        return not self.is_power or value & (value - 1) == 0

    def values(self) -> str:
        if self.min is None:
            return "true or false"
        return f"{'a power of two' if self.is_power else 'a number'} from {self.min} to {self.max}"


HINTS = {
    "num_cta_in_cga": Hint(KERNEL_OPS, 1, 16, is_power=True),
    "num_worker_warps_per_cta": Hint(KERNEL_OPS, 1, 32, is_power=True),
    "occupancy": Hint(KERNEL_OPS, 1, 32),
    "latency": Hint(ACCESSES, 1, 10),
    "allow_tma": Hint(VIEW_ACCESSES),
}


def is_usable(name: str, value: HintValue) -> bool:
    """Whether a hint has a valid value."""
    return name in HINTS and HINTS[name].accepts(value)


def unusable(op: Operation, hints: OptimizationHintsAttr, targets: Collection[str] | None = None) -> Iterator[str]:
    """Remarks on the unusable hints of an operation; ``targets`` are all known ones, None if any is allowed."""
    kind = op.name.partition(".")[2]
    for target, values in hints.data:
        if targets is not None and target not in (DEFAULT_TARGET, *targets):
            yield f"the hints of '{target}' are ignored: there is no such target"
            continue
        for name, value in values:
            if name not in HINTS or kind not in HINTS[name].operations:
                yield f"the hint {target}.{name} is ignored: {kind} has no such hint"
            elif not HINTS[name].accepts(value):
                shown = escape(value) if isinstance(value, str) else value
                yield f"the hint {target}.{name} = {shown} is ignored: it is {HINTS[name].values()}"
