"""The last step of a reduction: every warp along the axis stores its partial results; every thread combines those of its elements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.casting import int_attr
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import bits as bit_positions
from ...analysis.access_vectorization import VECTOR_BYTES
from ...common.llvm_element_types import Element
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter
from ..memory.shared_memory import holder_of, load_shared, store_shared
from .scatter_across_lanes import Combine, LaneScatter, Tuple


def reduce_across_warps(
    e: KernelEmitter,
    op: TableOp,
    held: dict[int, Tuple],
    results: Collection[int],
    scatter: LaneScatter,
    layout: LinearLayout,
    axis: int,
    elements: list[Element],
    combine: Combine,
) -> dict[int, Tuple]:
    """The results of the registers ``results``; ``held`` has what each warp has combined of its own elements, scattered by ``scatter``."""
    partials = _Partials.of(op, layout, axis, elements)
    if "sync_before" in op.attributes:
        e.memory.barrier()
    partials.store(e, held, scatter)
    e.memory.barrier()
    vectors = partials.vectors(results, partials.reduced.lanes)
    bases = [_address(e, partials.reduced.lanes, partials.reduced.warps, element.bytes) for element in elements]
    found: dict[int, Tuple] = {}
    for vector in vectors:
        found.update(zip(vector, partials.load(e, vector, bases, combine)))
    return {register: found[register] for register in results}


@dataclass(frozen=True)
class _Partials:
    """Partial results in scratch: for each operand one tile without the axis of each warp along it, from ``starts`` on (bytes)."""

    layout: LinearLayout
    along: dict[str, int]
    reduced: LinearLayout
    elements: list[Element]
    starts: list[int]

    @classmethod
    def of(cls, op: TableOp, layout: LinearLayout, axis: int, elements: list[Element]) -> _Partials:
        along, reduced = layout.bits_along(axis), layout.drop_dim(axis)
        starts, end = [], int_attr(op, "scratch_offset")
        for element in elements:
            starts.append(-(-end // element.bytes) * element.bytes)
            end = starts[-1] + (reduced.size << along["warp"].bit_count()) * element.bytes
        return cls(layout, along, reduced, elements, starts)

    @cached_property
    def warps(self) -> list[int]:
        """The bits of the warp's number along the axis."""
        return bit_positions(self.along["warp"])

    def vectors(self, held: Collection[int], lanes: Sequence[int]) -> list[list[int]]:
        """The registers of each access: as many neighbors as fit into one and are aligned in all threads."""
        offsets = self.reduced.register_offsets
        registers = {offsets[register]: register for register in held}
        width = VECTOR_BYTES // max(element.bytes for element in self.elements)
        while width > 1 and not self._is_aligned(width, registers, lanes):
            width //= 2
        firsts = [offset for offset in registers if offset % width == 0]
        return [[registers[first + number] for number in range(width)] for first in firsts]

    def _is_aligned(self, width: int, offsets: Collection[int], lanes: Sequence[int]) -> bool:
        """Whether vectors of ``width`` elements are aligned in all threads and warps, and those at ``offsets`` complete."""
        images = [*lanes, *self.reduced.warps, self.reduced.size]
        starts = [start // element.bytes for element, start in zip(self.elements, self.starts)]
        complete = all(offset ^ number in offsets for offset in offsets for number in range(width))
        return complete and not any(place % width for place in images + starts)

    def store(self, e: KernelEmitter, held: dict[int, Tuple], scatter: LaneScatter) -> None:
        """Store what this warp has combined, by one of the threads that hold it."""
        free_warps = self.layout.free_bits("warp") & ~self.along["warp"]
        free_lanes = self.layout.free_bits("lane") | self.along["lane"] & ~scatter.lanes
        holder = holder_of(e.threads, free_lanes, free_warps)
        lanes = scatter.lane_images(self.reduced)
        vectors = self.vectors(held, lanes)
        warps = list(self.reduced.warps)
        for place, position in enumerate(self.warps):
            warps[position] = self.reduced.size << place
        for number, (element, start) in enumerate(zip(self.elements, self.starts)):
            thread = _address(e, lanes, warps, element.bytes)
            for vector in vectors:
                values = [held[register][number] for register in vector]
                offset = self.reduced.register_offsets[vector[0]] * element.bytes
                store_shared(e.b, element, values, thread, start + offset, holder)

    def load(self, e: KernelEmitter, vector: list[int], bases: list[Value], combine: Combine) -> Sequence[Tuple]:
        """The results of a vector of registers: those of the warps, combined in order."""
        first, width = self.reduced.register_offsets[vector[0]], len(vector)
        total: Sequence[Tuple] = ()
        for part in range(1 << len(self.warps)):
            place = part * self.reduced.size + first
            columns = [
                load_shared(e.b, element, width, base, start + place * element.bytes)
                for element, base, start in zip(self.elements, bases, self.starts)
            ]
            loaded = list(zip(*columns))
            total = combine(loaded, total) if total else loaded
        return total


def _address(e: KernelEmitter, lanes: Sequence[int], warps: Sequence[int], size: int) -> Value:
    """The shared address of a thread's first element of ``size`` bytes."""
    with e.b.at_function_start():
        thread = e.threads.linear(tuple(image * size for image in lanes), tuple(image * size for image in warps))
        return e.b.add(thread, e.memory.shared_base)
