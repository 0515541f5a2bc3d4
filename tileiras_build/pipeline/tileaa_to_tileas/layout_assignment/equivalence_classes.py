"""Equivalence classes of tiles that share a layout: union, votes, and the decision.

Classes are decided in the order of their heaviest vote. Each decision propagates through views, broadcasts and
reductions as a vote for neighboring classes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from math import inf

from xdsl.ir import Operation, SSAValue

from ....ir.casting import as_op, tile_size, tile_type
from ....ir.dialects.fast_xdsl import walk
from ....ir.layouts import LinearLayout, coalesced, spread_vector
from ...analysis.access_vectorization import VECTOR_BYTES, WIDE_ACCESS_BYTES
from ...analysis.axis_info import AxisAnalysis
from ...analysis.op_queries import DOT, REDUCE
from ...common.llvm_element_types import element_of
from ...job import Job

DECAY = 0.5  # of a vote's weight
Preference = tuple[float, int, LinearLayout]  # weight, sequence number, preferred layout
Transfer = Callable[[LinearLayout], LinearLayout | None]


class LayoutClasses:
    """Equivalence classes of the tiles of a kernel, the votes for the layout of each, and the layout once decided."""

    def __init__(self, func: Operation, job: Job, num_warps: int):
        self.job, self.num_warps = job, num_warps
        self.analysis = AxisAnalysis()
        self.parent: dict[SSAValue, SSAValue] = {}
        self.votes: dict[SSAValue, list[Preference]] = {}
        self.layouts: dict[SSAValue, LinearLayout] = {}
        self.most_passed_on: dict[SSAValue, float] = {}
        self.most_registers: dict[SSAValue, int] = {}
        self.links: dict[SSAValue, list[tuple[SSAValue, Transfer, float]]] = {}
        self.ports: dict[Operation, LinearLayout] = {}
        self.order = count()
        self.ops = [op for op in walk(func) if op is not func]
        # In a kernel with dots, the dots determine the layouts, and their tiles are copied 16 bytes at a time.
        self.multiplies = any(op.name == DOT for op in self.ops)
        self.access_bytes = WIDE_ACCESS_BYTES if job.target.has("ldst_256") and not self.multiplies else VECTOR_BYTES
        self.reductions = [as_op(op) for op in self.ops if op.name == REDUCE]

    # ---- classes -----------------------------------------------------------------------------------
    def find(self, value: SSAValue) -> SSAValue:
        """The representative of a tile's class."""
        root = value
        while (above := self.parent.get(root, root)) is not root:
            root = above
        while (above := self.parent.get(value, root)) is not root:
            self.parent[value], value = root, above
        return root

    def union(self, values: list[SSAValue]) -> None:
        """Merge the classes of tiles."""
        for value in values[1:]:
            first, other = self.find(values[0]), self.find(value)
            if first is not other:
                self.parent[other] = first

    # ---- votes -------------------------------------------------------------------------------------
    def prefer(self, value: SSAValue, layout: LinearLayout, weight: float, most_passed_on: float | None = None) -> None:
        """Add a vote for a layout of a tile's class, with a weight, of which its class passes on so much at most."""
        root = self.find(value)
        if most_passed_on is not None:
            self.most_passed_on[root] = most_passed_on
        self.votes.setdefault(root, []).append((weight, next(self.order), layout))

    def limit(self, value: SSAValue, elements: int) -> None:
        """Decline votes for layouts of a tile's class in which a thread holds more than so many elements."""
        self.most_registers[self.find(value)] = elements

    def propagate_to(self, source: SSAValue, target: SSAValue, transfer: Transfer, most: float = inf) -> None:
        """Once the class of ``source`` has a layout, add a vote for ``transfer(layout)`` to the class of ``target``, of a weight of at most ``most``."""
        self.links.setdefault(self.find(source), []).append((target, transfer, most))

    def memory_layout(self, value: SSAValue, order: list[int], vector: int, at_least: int = 1) -> LinearLayout:
        """The coalesced layout of a tile whose fastest dimension is ``order[0]``; a thread has ``at_least`` elements along it."""
        shape = tuple(tile_type(value).get_shape())
        vector = max(min(vector, spread_vector(tile_size(value), self.num_warps, vector)), at_least)
        layout, reduced = coalesced(shape, tuple(order), vector, self.num_warps), self._reduced_dims(value)
        if not any(layout.bits_along(dim)["warp"] for dim in reduced - set(order[:1])):
            return layout
        # Warps would exchange partial results for all elements along the fastest dimension.
        kept = tuple(dim for dim in order[1:] if dim not in reduced)
        other = coalesced(shape, tuple(order), vector, self.num_warps, kept)
        return layout if any(other.bits_along(dim)["warp"] for dim in reduced) else other

    def _reduced_dims(self, value: SSAValue) -> set[int]:
        """The dimensions along which reductions combine elements of a tile's class, one reduction after the other."""
        if self.multiplies:
            return set()
        root, found = self.find(value), set[int]()
        for op in self.reductions:
            if self.find(op.sources[0]) is root:
                found |= {op.axis, *(dim + (dim >= op.axis) for dim in self._reduced_dims(op.results[0]))}
        return found

    def default_layout(self, value: SSAValue) -> LinearLayout:
        """The layout of a tile without votes."""
        shape = tuple(tile_type(value).get_shape())
        vector = max(VECTOR_BYTES // element_of(value.type).bytes, 1)
        return self.memory_layout(value, list(range(len(shape) - 1, -1, -1)), vector)

    # ---- decisions ---------------------------------------------------------------------------------
    def decide(self) -> None:
        """Decide the layouts of classes, the heaviest vote first. Each decision propagates as votes to neighbors."""
        heap = [
            (-weight, number, root, layout)
            for root, votes in self.votes.items()
            for weight, number, layout in _merge_preferences(votes)
        ]
        heapq.heapify(heap)
        while heap:
            weight, _, root, layout = heapq.heappop(heap)
            if root not in self.layouts and layout.num_registers <= self.most_registers.get(root, inf):
                self.layouts[root] = layout
                for vote in self._propagated(root, layout, max(weight, -self.most_passed_on.get(root, inf)) * DECAY):
                    heapq.heappush(heap, vote)

    def _propagated(
        self, root: SSAValue, layout: LinearLayout, weight: float
    ) -> Iterator[tuple[float, int, SSAValue, LinearLayout]]:
        for target, passes, most in self.links.get(root, ()):
            passed = passes(layout)
            if passed is not None and self.find(target) not in self.layouts:
                yield max(weight, -most), next(self.order), self.find(target), passed

    def layout(self, value: SSAValue) -> LinearLayout:
        """The layout of a value's class; a class without votes takes the default of its shape."""
        root = self.find(value)
        if root not in self.layouts:
            self.layouts[root] = self.default_layout(root)
        return self.layouts[root]


def _merge_preferences(votes: list[Preference]) -> list[Preference]:
    """One entry per layout with its total weight."""
    totals: dict[LinearLayout, tuple[float, int]] = {}
    for weight, number, layout in votes:
        before = totals.get(layout, (0.0, number))
        totals[layout] = (before[0] + weight, before[1])
    return [(weight, number, layout) for layout, (weight, number) in totals.items()]
