"""The last step of a reduction: every warp along the axis stores its partial results; every thread combines those of its elements.

Where the lanes of a warp have parts of many results, each lane combines only its part: it stores that in its warp's place
of shared memory, after a barrier, and all threads of the warp load from there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....ir.casting import int_attr
from ....ir.dialects.nvvm.warp_sync import BarWarpSyncOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import bits as bit_positions
from ....ir.layouts.shared_layout import BANK_BYTES
from ....target.gpu_rates import SHARED_BYTES_PER_CLOCK, SM_PARTITIONS
from ...analysis.access_vectorization import VECTOR_BYTES
from ...common.llvm_element_types import Element
from ...schedule.cost import default_gpu
from ...schedule.stage_waits import BARRIER_LATENCY
from ..emission.function_builder import Value
from ..emission.instruction_builder import WARP
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
    if scatter.steps and partials.lanes_combine(e, results, held):
        totals = partials.totals(e, list(held), scatter.lane_images(partials.reduced), partials.reduced.warps, combine)
        e.memory.barrier()
        partials.store(e, totals, scatter)
        e.b.issue(BarWarpSyncOp, -1)
        return partials.totals(e, results, partials.reduced.lanes, partials.own_part(), None)
    return partials.totals(e, results, partials.reduced.lanes, partials.reduced.warps, combine)


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
        for number, (element, start) in enumerate(zip(self.elements, self.starts)):
            thread = _address(e, lanes, self.own_part(), element.bytes)
            for vector in vectors:
                values = [held[register][number] for register in vector]
                offset = self.reduced.register_offsets[vector[0]] * element.bytes
                store_shared(e.b, element, values, thread, start + offset, holder)

    def own_part(self) -> list[int]:
        """``reduced.warps`` with the places of what each warp along the axis has combined."""
        warps = list(self.reduced.warps)
        for place, position in enumerate(self.warps):
            warps[position] = self.reduced.size << place
        return warps

    def lanes_combine(self, e: KernelEmitter, results: Collection[int], kept: Collection[int]) -> bool:
        """Whether it is faster that each lane combines the results ``kept``, and the warp then reads all of them.

        Else each thread combines all ``results``. The combined ones need a place of each warp, a barrier, and two more accesses.
        """
        gpu = default_gpu(e.target)
        if gpu is None or self.layout.free_bits("warp") & ~self.along["warp"]:
            return False
        parts, fewer = 1 << len(self.warps), len(results) - len(kept)
        vectors = len(results) * (parts - 1) * sum(element.bytes for element in self.elements)
        scalars = len(kept) * (parts + 1) * sum(max(element.bytes, BANK_BYTES) for element in self.elements)
        of_warp = (vectors - scalars) * WARP / SHARED_BYTES_PER_CLOCK + fewer * (parts - 1) / SM_PARTITIONS
        return of_warp * e.num_warps > BARRIER_LATENCY + 2 * gpu.shared_latency

    def totals(
        self,
        e: KernelEmitter,
        results: Collection[int],
        lanes: Sequence[int],
        warps: Sequence[int],
        combine: Combine | None,
    ) -> dict[int, Tuple]:
        """``results`` of threads with those images: those of the warps ``combine``d, or of the part that ``warps`` selects."""
        bases = [_address(e, lanes, warps, element.bytes) for element in self.elements]
        found: dict[int, Tuple] = {}
        for vector in self.vectors(results, lanes):
            found.update(zip(vector, self.load(e, vector, bases, combine)))
        return {register: found[register] for register in results}

    def load(self, e: KernelEmitter, vector: list[int], bases: list[Value], combine: Combine | None) -> Sequence[Tuple]:
        """The results of a vector of registers: those of the warps, combined in order, or one without ``combine``."""
        first, width = self.reduced.register_offsets[vector[0]], len(vector)
        total: Sequence[Tuple] = ()
        for part in range(1 << len(self.warps) if combine else 1):
            place = part * self.reduced.size + first
            columns = [
                load_shared(e.b, element, width, base, start + place * element.bytes)
                for element, base, start in zip(self.elements, bases, self.starts)
            ]
            loaded = list(zip(*columns))
            total = combine(loaded, total) if combine and total else loaded
        return total


def _address(e: KernelEmitter, lanes: Sequence[int], warps: Sequence[int], size: int) -> Value:
    """The shared address of a thread's first element of ``size`` bytes."""
    with e.b.at_function_start():
        thread = e.threads.linear(tuple(image * size for image in lanes), tuple(image * size for image in warps))
        return e.b.add(thread, e.memory.shared_base)
