"""Loads of a tile that are emitted at the uses of its elements, not at the load operation.

A row that is multiplied by another one and stored then never has all its elements in registers. ptxas does not move
loads across stores, so each load is emitted before the uses of the previous one, and their latencies overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...analysis.live_across_reduction import LAZY_ACCESSES_IN_FLIGHT
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import LazyElement, LazyValues, RegisterValue


class LazyLoads:
    """The loads of one tile, in the order of the uses of their elements."""

    def __init__(self, e: KernelEmitter):
        self.b = e.b
        self.accesses: list[LazyValues] = []

    def add(self, load: Callable[[], list[Value]], count: int) -> list[LazyElement]:
        """Append a load of ``count`` elements."""
        used = LazyValues(partial(self._use, len(self.accesses)))
        self.accesses.append(LazyValues(load))
        return [LazyElement(used, position) for position in range(count)]

    def _use(self, number: int) -> Sequence[RegisterValue]:
        first, *others = self.accesses[number : number + LAZY_ACCESSES_IN_FLIGHT]
        values = first.all(self.b)
        for other in others:
            other.all(self.b)
        return values
