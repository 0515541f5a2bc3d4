"""Optimization hints: which there are, on which operations, with which values (Tile IR Attributes.cpp).

A hint that cannot be used is no error: it is kept in files and ignored by the compiler, and remarks say so.
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
    """Where a hint stands, and its values: numbers from ``least`` to ``most``; without them, true and false."""

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
    """Whether a hint has a value that means something."""
    return name in HINTS and HINTS[name].accepts(value)


def unusable(op: Operation, hints: OptimizationHintsAttr, targets: Collection[str] | None = None) -> Iterator[str]:
    """What is said of each hint of an operation that nobody uses; ``targets`` are all there are, None if any may be."""
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
