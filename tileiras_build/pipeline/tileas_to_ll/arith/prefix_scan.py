"""Prefix scans: along a thread's elements, then across lanes by shuffles, then across warps through shared memory.

Each thread scans its neighboring elements (Sklansky). Lanes scan the totals of these, or few elements themselves. That gives the total of
each segment: what the lanes of a warp hold without a gap along the axis. Every thread combines the totals of the segments, one after the
other. What comes before its own elements is combined with each of them last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ....core.errors import InternalError
from ....ir.casting import int_attr
from ....ir.dialects.cute import layout_of
from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import enumerate_span
from ...analysis.access_vectorization import VECTOR_BYTES
from ...analysis.scan_levels import ScanLevels
from ...analysis.scratch_memory_sizes import align_to_vectors
from ...common.llvm_element_types import Element, element_of
from ...common.llvm_type_constructors import I1
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..memory.shared_memory import load_shared, store_shared
from .lane_shuffle import shuffle
from .reduce import combiner, distinct_tuples
from .scatter_across_lanes import Tuple

Held = dict[int, Tuple]
"""One scalar per operand, by register."""
# Combinations of a thread's elements with those of other lanes, where that is done at each level: one shuffle less, one after the other.
MAX_COMBINATIONS = 16


@dataclass(frozen=True)
class _Prefix:
    """What comes before an element; ``exists``: whether this thread has it, None where all have it."""

    values: Tuple
    exists: Value | None


def emit_scan(e: KernelEmitter, op: TableOp) -> None:
    layout = layout_of(op.sources[0])
    held = _Scan(e, op, layout, int_attr(op, "axis")).scanned()
    by_offset = {layout.register_offsets[register]: values for register, values in held.items()}
    for number, result in enumerate(op.results):
        e.values[result] = [by_offset[offset][number] for offset in layout_of(result).register_offsets]


class _Scan:
    """The emission of one scan. Masks are those of ``ScanLevels``; backwards, the first is the last."""

    def __init__(self, e: KernelEmitter, op: TableOp, layout: LinearLayout, axis: int):
        self.e, self.b, self.threads, self.op, self.layout = e, e.b, e.threads, op, layout
        self.elements = [element_of(source.type) for source in op.sources]
        self.combine, self.backwards = combiner(e, op), "reverse" in op.attributes
        self.reduced, levels = layout.drop_dim(axis), ScanLevels.of(layout, axis)
        if levels is None:
            raise InternalError("scan-layout", "a scan needs its elements in the order of registers, lanes and warps")
        self.levels = levels

    def scanned(self) -> Held:
        """The result of each register."""
        held = distinct_tuples(self.e.values, self.op.sources, self.layout)
        in_thread = sum(self.levels.thread)
        groups = [register for register in held if not register & in_thread]
        last = 0 if self.backwards else in_thread
        held, before = self._within_thread(held), {}
        if not in_thread or len(held) * (len(self.levels.lanes) - 1) <= MAX_COMBINATIONS:
            held = self._across_lanes(held)
            totals = {group: held[group | last] for group in groups}
        else:
            totals = self._across_lanes({group | last: held[group | last] for group in groups})
            totals = {group: totals[group | last] for group in groups}
            before = self._before_lane(totals)
        earlier = self._earlier_segments(totals) if self.levels.segments else {}
        prefixes = {group: self._joined(earlier.get(group), before.get(group)) for group in groups}
        return {register: self._behind(prefixes[register & ~in_thread], values) for register, values in held.items()}

    # ---- levels ----------------------------------------------------------------------------------
    def _within_thread(self, held: Held) -> Held:
        """The scans of neighboring registers."""
        lower = 0
        for bit in self.levels.thread:
            upper = [register for register in held if bool(register & bit) != self.backwards]
            lasts = [r & ~lower | bit if self.backwards else r & ~bit | lower for r in upper]
            held = held | dict(zip(upper, self.combine([held[r] for r in lasts], [held[r] for r in upper])))
            lower |= bit
        return held

    def _across_lanes(self, held: Held) -> Held:
        """The scan across lanes: the elements of an upper half are combined with the last one of the lower half."""
        in_thread, lower = sum(self.levels.thread), 0
        lasts = [register & ~in_thread if self.backwards else register | in_thread for register in held]
        for bit in self.levels.lanes:
            with self.b.at_function_start():
                mask, last = (lower, bit) if self.backwards else (bit, lower)
                source = self.b.or_(self.b.and_(self.threads.lane, ~mask & 31), last)
                is_upper = self.b.compare("eq" if self.backwards else "ne", self.b.and_(self.threads.lane, bit), 0)
            totals = {register: self._of_lane(held[register], source) for register in dict.fromkeys(lasts)}
            combined = self.combine([totals[register] for register in lasts], list(held.values()))
            held = {r: self._select(is_upper, new, held[r]) for r, new in zip(held, combined)}
            lower |= bit
        return held

    def _before_lane(self, totals: Held) -> dict[int, _Prefix]:
        """The scanned total of the lane before."""
        lanes, lowest = sum(self.levels.lanes), self.levels.lanes[0]
        with self.b.at_function_start():
            ours = self.b.and_(self.threads.lane, lanes)
            if self.backwards:
                moved = self.b.add(self.b.or_(self.threads.lane, ~lanes & 31), lowest)
            else:
                moved = self.b.sub(ours, lowest)
            source = self.b.or_(self.b.and_(moved, lanes), self.b.and_(self.threads.lane, ~lanes & 31))
            exists = self.b.compare("ne", ours, lanes if self.backwards else 0)
        return {group: _Prefix(self._of_lane(value, source), exists) for group, value in totals.items()}

    def _earlier_segments(self, totals: Held) -> dict[int, _Prefix]:
        """The total of the segments before that of each group; a group that has none in any warp is missing."""
        segments = self._exchanged(totals) if self.levels.crosses_warps else self._of_last_lane(totals)
        order = self._ordered(range(self.levels.num_segments))
        before: dict[int, Held] = {order[1]: {row: values[order[0]] for row, values in segments.items()}}
        for segment, following in pairwise(order[1:]):
            totals_before = self.combine(
                list(before[segment].values()), [values[segment] for values in segments.values()]
            )
            before[following] = dict(zip(segments, totals_before))
        return {group: found for group in totals if (found := self._of_warp(group, before, order[0])) is not None}

    def _of_warp(self, group: int, before: dict[int, Held], first: int) -> _Prefix | None:
        """The totals before the segments that the warps have of a group, chosen by the warp."""
        row, warps = group & ~self.levels.mask("register"), enumerate_span(self._warp_masks)
        places = [self.levels.segment(group, warp) for warp in warps]
        found = [before[place][row] if place != first else None for place in places]
        for mask in self._warp_masks:
            bit = self.b.compare("ne", self.b.and_(self.threads.warp, mask), 0)
            found = [self._either(bit, high, low) for low, high in zip(found[::2], found[1::2])]
        if found[0] is None:
            return None
        warp = warps[places.index(first)] if first in places else None
        return _Prefix(found[0], None if warp is None else self._is_other_warp(warp))

    def _is_other_warp(self, warp: int) -> Value:
        return self.b.compare("ne", self.b.and_(self.threads.warp, sum(self._warp_masks)), warp)

    @cached_property
    def _warp_masks(self) -> list[int]:
        return [mask for kind, mask in self.levels.segments if kind == "warp"]

    # ---- the totals of segments ------------------------------------------------------------------
    def _of_last_lane(self, totals: Held) -> dict[int, list[Tuple]]:
        """The totals of the segments of each row, where each warp has whole rows."""
        lanes = sum(self.levels.lanes)
        with self.b.at_function_start():
            rest = self.b.and_(self.threads.lane, ~lanes & 31)
            source = rest if self.backwards else self.b.or_(rest, lanes)
        return {
            row: [self._of_lane(totals[row | place], source) if lanes else totals[row | place] for place in places]
            for row, places in self._rows(totals).items()
        }

    def _rows(self, totals: Held) -> dict[int, list[int]]:
        """For each row the registers of its segments, in their order."""
        along = self.levels.mask("register")
        places = sorted({group & along for group in totals}, key=lambda place: self.levels.segment(place, 0))
        return {group: places for group in totals if not group & along}

    def _exchanged(self, totals: Held) -> dict[int, list[Tuple]]:
        """The totals of all segments of each row, through shared memory: the last lane of a segment has its total."""
        if "sync_before" in self.op.attributes:
            self.e.memory.barrier()
        for group, values in totals.items():
            for element, value, start in zip(self.elements, values, self._starts):
                base, place = self._address(element, is_store=True), self._place(group) * element.bytes
                store_shared(self.b, element, [value], base, start + place, self._has_total)
        self.e.memory.barrier()
        return {row: self._loaded(row) for row in self._rows(totals)}

    def _loaded(self, row: int) -> list[Tuple]:
        columns: list[list[Value]] = []
        for element, start in zip(self.elements, self._starts):
            base, first = self._address(element, is_store=False), start + self._place(row) * element.bytes
            width = min(VECTOR_BYTES // element.bytes, self.levels.num_segments)
            places = range(0, self.levels.num_segments, width)
            vectors = (load_shared(self.b, element, width, base, first + place * element.bytes) for place in places)
            columns.append([value for vector in vectors for value in vector])
        return list(zip(*columns))

    @cached_property
    def _starts(self) -> list[int]:
        """The first byte of each operand's totals in scratch."""
        starts, end = [], int_attr(self.op, "scratch_offset")
        for element in self.elements:
            starts.append(end)
            end += align_to_vectors(self.reduced.size * self.levels.num_segments * element.bytes)
        return starts

    def _place(self, group: int) -> int:
        """The number of a register's segment in scratch, row by row, in the first thread."""
        return self.reduced.register_offsets[group] * self.levels.num_segments + self.levels.segment(group, 0)

    def _address(self, element: Element, *, is_store: bool) -> Value:
        """The address of the first segment of this thread's first row, or of the one that its warp has."""
        size = self.levels.num_segments * element.bytes
        lanes, warps = ([image * size for image in images] for images in (self.reduced.lanes, self.reduced.warps))
        if is_store:
            for position in range(len(warps)):
                warps[position] += self.levels.segment(0, 1 << position) * element.bytes
        with self.b.at_function_start():
            return self.b.add(self.threads.linear(tuple(lanes), tuple(warps)), self.e.memory.shared_base)

    @cached_property
    def _has_total(self) -> Value | None:
        """Whether this thread has a segment's total, and is the first of those; None: each one."""
        lanes, idle = sum(self.levels.lanes), self.layout.free_bits("lane") | self.layout.free_bits("warp") << 5
        if not lanes | idle:
            return None
        with self.b.at_function_start():
            ours = self.b.and_(self.threads.thread, lanes | idle)
            return self.b.compare("eq", ours, 0 if self.backwards else lanes)

    # ---- values ----------------------------------------------------------------------------------
    def _ordered(self, items: Sequence[int]) -> list[int]:
        return list(reversed(items) if self.backwards else items)

    def _of_lane(self, values: Tuple, source: Value) -> Tuple:
        columns = zip(self.elements, values)
        return tuple(shuffle(self.b, element, value, ShuffleMode.IDX, source) for element, value in columns)

    def _select(self, condition: Value | None, one: Tuple, other: Tuple) -> Tuple:
        """``one`` if the condition holds; None: it always does."""
        if condition is None:
            return one
        columns = zip(self.elements, one, other)
        return tuple(self.b.select(condition, new, old, element.type) for element, new, old in columns)

    def _either(self, bit: Value, high: Tuple | None, low: Tuple | None) -> Tuple | None:
        """One of two by a bit; the other, where one is missing."""
        return self._select(bit, high, low) if high is not None and low is not None else high or low

    def _joined(self, earlier: _Prefix | None, before: _Prefix | None) -> _Prefix | None:
        """What comes before a thread's elements: earlier segments, and then the lanes before its own."""
        if earlier is None or before is None:
            return earlier or before
        [both] = self.combine([earlier.values], [before.values])
        values = self._select(earlier.exists, both, before.values)
        values = self._select(before.exists, values, earlier.values)
        if earlier.exists is None or before.exists is None:
            return _Prefix(values, None)
        return _Prefix(values, self.b.or_(earlier.exists, before.exists, I1))

    def _behind(self, prefix: _Prefix | None, values: Tuple) -> Tuple:
        if prefix is None:
            return values
        [both] = self.combine([prefix.values], [values])
        return self._select(prefix.exists, both, values)


HANDLERS: dict[str, Handler] = {"nv_tileas.scan": emit_scan}
