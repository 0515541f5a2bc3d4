"""Where CTAs load: the coordinates of the first copy of each TMA instruction, the first address of each other load, and the steps
to the second.

Two CTAs whose first places are the same load the same tiles from there on; two whose first places are some steps apart load the
same ones but those. A trace ends as soon as all wanted loads have been seen, so it costs little beside a whole one
(``trace_warps.py``).
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
            found = {load: seen[0] for load, seen in _PlacesWalk(self, cta, number).places(1).items()} | found
        return found

    def steps_of_cta(self, cta: Shape, warps: Iterable[int]) -> dict[int, Place]:
        """The known differences of the second place of a load and its first, by instruction number."""
        found: dict[int, Place] = {}
        for number in warps:
            seen = _PlacesWalk(self, cta, number).places(2)
            found |= {load: _difference(*places) for load, places in seen.items() if len(places) == 2}
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

    def places(self, count: int) -> dict[int, list[Place]]:
        """The known first ``count`` places, by instruction number."""
        self.found: dict[int, list[list[int | None]]] = {}
        self.count = count
        wanted = len(self.tracer.recorded_opcodes) * count
        while self.groups and sum(map(len, self.found.values())) < wanted and len(self.trace.blocks) < MAX_BLOCKS:
            self._pass_block(self._next())
        return {
            number: [tuple(word for word in words if word is not None) for words in seen]
            for number, seen in self.found.items()
            if not any(None in words for words in seen)
        }

    def _observe(self, one: Instruction) -> None:
        if one.number in self.tracer.recorded_opcodes and len(self.found.setdefault(one.number, [])) < self.count:
            self.found[one.number].append(_place(self.warp, one))


def _difference(first: Place, second: Place) -> Place:
    return tuple(after - before for before, after in zip(first, second, strict=True))


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
