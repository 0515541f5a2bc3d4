"""Reduction across lanes that leaves each lane a part of the results, where all results go to shared memory anyway.

A butterfly combines every result of a thread in each step. Here a step also halves them: a lane sends the half
that the other lane keeps. So 64 results of 32 lanes take 62 shuffles in place of 320, and the lanes share the stores.
The operands of each combination are those of the butterfly, so the results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import LinearLayout
from ....ir.layouts.f2_linear_algebra import bits as bit_positions
from ...common.llvm_element_types import Element, element_of
from ..emission.function_builder import Value
from ..emission.kernel_emitter import KernelEmitter
from .lane_shuffle import shuffle

Tuple = tuple[Value, ...]
Combine = Callable[[Sequence[Tuple], Sequence[Tuple]], list[Tuple]]

# Operations whose operands may be swapped: the two lanes of a step combine different results, each with its own first.
COMMUTATIVE = frozenset({
    "nv_tileas.addf", "nv_tileas.mulf", "arith.addf", "arith.mulf", "arith.addi", "arith.muli",
    "arith.andi", "arith.ori", "arith.xori", "arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui",
    "arith.minnumf", "arith.maxnumf", "arith.minimumf", "arith.maximumf",
})  # fmt: skip
# Results that a step combines together: enough to hide a shuffle's latency, few enough to need no further registers.
GROUP = 8
WORD_BITS = 32


@dataclass(frozen=True)
class LaneScatter:
    """The steps in order: the bit of the lane's number, and the bit of a register's number that it selects."""

    steps: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, op: TableOp, layout: LinearLayout, axis: int, registers: Collection[int]) -> LaneScatter:
        """As many steps as there are lanes along ``axis`` and bits in the numbers of ``registers``. None of elements of less than a word:
        a lane with all of them stores and loads vectors.
        """
        varying = _independent_bits(registers)
        narrow = any(element_of(result.type).bits < WORD_BITS for result in op.results)
        if varying is None or narrow or not _is_commutative(op):
            return cls()
        offsets = layout.drop_dim(axis).register_offsets
        # Neighbors, which are computed one after the other, are halved first.
        nearest = sorted(varying, key=lambda bit: offsets[bit])
        return cls(tuple(zip(bit_positions(layout.bits_along(axis)["lane"]), nearest)))

    @property
    def lanes(self) -> int:
        """The bits of the lane's number that select."""
        return sum(1 << position for position, _ in self.steps)

    def lane_images(self, reduced: LinearLayout) -> list[int]:
        """``reduced.lanes`` with the places of the results that each lane keeps."""
        images = list(reduced.lanes)
        for position, bit in self.steps:
            images[position] = reduced.register_offsets[bit]
        return images

    def combine(
        self, e: KernelEmitter, held: dict[int, Tuple], elements: list[Element], combine: Combine
    ) -> dict[int, Tuple]:
        """The results that this lane keeps, under the registers of lane 0's."""
        for position, bit in self.steps:
            upper = e.b.compare("ne", e.b.and_(e.threads.lane, 1 << position), 0)
            lower = [register for register in held if not register & bit]
            step: dict[int, Tuple] = {}
            for start in range(0, len(lower), GROUP):
                registers = lower[start : start + GROUP]
                kept, sent = [], []
                for low, high in ((held[register], held[register | bit]) for register in registers):
                    kept.append(_select(e, upper, high, low, elements))
                    sent.append(_select(e, upper, low, high, elements))
                others = [_other(e, values, 1 << position, elements) for values in sent]
                step.update(zip(registers, combine(others, kept)))
            held = step
        return held


def _select(e: KernelEmitter, condition: Value, then: Tuple, otherwise: Tuple, elements: list[Element]) -> Tuple:
    columns = zip(elements, then, otherwise)
    return tuple(e.b.select(condition, one, other, element.type) for element, one, other in columns)


def _other(e: KernelEmitter, values: Tuple, mask: int, elements: list[Element]) -> Tuple:
    """``values`` of the lane whose number differs in ``mask``."""
    return tuple(shuffle(e.b, element, value, ShuffleMode.XOR, mask) for element, value in zip(elements, values))


def _independent_bits(registers: Collection[int]) -> list[int] | None:
    """The bits in which ``registers`` differ, if all their combinations occur; else None."""
    varying = 0
    for register in registers:
        varying |= register
    positions = bit_positions(varying)
    return [1 << position for position in positions] if len(registers) == 1 << len(positions) else None


def _is_commutative(op: TableOp) -> bool:
    """Whether each combination is one operation on the two elements, in either order."""
    block = op.regions[0].blocks[0]
    combination, *others = block.ops
    if len(others) != 1 or combination.name not in COMMUTATIVE:
        return False
    return set(combination.operands) == set(block.args) and list(others[0].operands) == list(combination.results)
