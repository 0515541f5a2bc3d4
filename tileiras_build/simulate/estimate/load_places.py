"""Where CTAs load: the coordinates of the first copy of each TMA instruction, the first address of each other load.

Two CTAs whose first places are the same load the same tiles from there on. A trace ends as soon as all wanted loads have been
seen, so it costs little beside a whole one (``trace_warps.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .backward_slice import addresses, coordinate_count, coordinates, read
from .constant_bank_values import Constants, Launch, Shape
from .memory_transactions import address_operands
from .sass_parser import Instruction, MachineCode
from .trace_warps import JUMPS, Tracer, WarpWalk, first_lane
from .warp_registers import Warp

Place = tuple[int, ...]
MAX_BLOCKS = 400  # basic blocks of a warp up to its first loads; those of an epilogue come later


class LoadPlaces(Tracer):
    """The first places of the ``wanted`` loads (numbers of instructions)."""

    def __init__(self, code: MachineCode, launch: Launch, constants: Constants, wanted: Collection[int]):
        self.wanted = frozenset(wanted)
        super().__init__(code, launch, constants)

    def of_cta(self, cta: Shape, warps: Iterable[int]) -> dict[int, Place]:
        """The known places of loads by some warps of a CTA, by instruction number."""
        found: dict[int, Place] = {}
        for number in warps:
            found = _PlacesWalk(self, cta, number).places() | found
        return found

    def _recorded(self) -> frozenset[int]:
        return self.wanted

    def _slice_roots(self, one: Instruction) -> int:
        if one.number in self.wanted:
            return addresses(one) | coordinates(one)
        return read(one) if one.opcode in JUMPS else 0

    def _branch_roots(self, one: Instruction) -> int:
        return self._slice_roots(one)


class _PlacesWalk(WarpWalk):
    """One warp, up to its first loads."""

    def places(self) -> dict[int, Place]:
        """The known places, by instruction number."""
        self.found: dict[int, list[int | None]] = {}
        wanted = len(self.tracer.recorded_opcodes)
        while self.groups and len(self.found) < wanted and len(self.trace.blocks) < MAX_BLOCKS:
            self._pass_block(self._next())
        return {
            number: tuple(word for word in words if word is not None)
            for number, words in self.found.items()
            if None not in words
        }

    def _observe(self, one: Instruction) -> None:
        if one.number in self.tracer.recorded_opcodes and one.number not in self.found:
            self.found[one.number] = _place(self.warp, one)


def _place(warp: Warp, one: Instruction) -> list[int | None]:
    """The words of a load's place, in its first active lane: coordinates and the tensor map's address, or an address. An unknown
    tensor map is taken for one of the instruction's own.
    """
    if count := coordinate_count(one):
        found = [first_lane(warp, warp.raw(one.operands[0].parts[0], 2 + axis)) for axis in range(count)]
        tensor_map = first_lane(warp, warp.raw(one.operands[1].parts[0], 0))
        return [*found, -one.number if tensor_map is None else tensor_map]
    far = address_operands(one)[0]
    return [None if far is None else first_lane(warp, warp.address(far))]
