"""Accesses of a tile that are written where its elements are used, one after the other, and not where it is loaded.

A row that is multiplied by another one, and stored, then need not have all of that in registers at once. ptxas moves no load
over a store: each access is written in front of the use of the one before, so that it is under way meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...analysis.live_across_reduction import LAZY_ACCESSES_IN_FLIGHT
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter
from ..emission.register_values import LazyElement, LazyValues


class LazyLoads:
    """The accesses of one tile, in the order in which their elements are used."""

    def __init__(self, e: KernelEmitter):
        self.b = e.b
        self.accesses: list[LazyValues] = []

    def add(self, load: Callable[[], list[Value]], count: int) -> list[LazyElement]:
        """One access of so many elements, behind all others."""
        used = LazyValues(partial(self._use, len(self.accesses)))
        self.accesses.append(LazyValues(load))
        return [LazyElement(used, position) for position in range(count)]

    def _use(self, number: int) -> list[Value]:
        first, *others = self.accesses[number : number + LAZY_ACCESSES_IN_FLIGHT]
        values = first.all(self.b)
        for other in others:
            other.all(self.b)
        return values
