"""Let the tiles of several loops fill one ring of stages, in the order in which the producer loads them.

The producer fills the stages of all rings in program order, and blocks at the first stage that is not released. With K in a ring of two stages,
and V in another one of two, it loads two tiles of V while threads compute the softmax, then waits: the stages of K stay empty. One ring of
four stages takes two more tiles there.

In:    the groups of mainloops that share stages (``shared_stages.py``), with the stages that each would have.
Out:   the groups that share a ring, the one with the largest stages first, and its stages; none where the producer would not get
       further ahead, or each group has more than ``STAGES_IN_TIME``.
Sound: dots of one ring are in blocks of their own, which no later pass interchanges, so all partitions pass through the ring in program order.
       A tile of another form has the bytes of one of the first group's. A stage is filled when its dots, of whichever loop, have released it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ....ir.casting import parent_block
from ....ir.dialects.op_definition import TableOp
from .pipelines import Mainloop
from .shared_stages import trips

Group = Sequence[Mainloop]
STAGES_IN_TIME = 3  # one is loaded while MMAs in flight read another, and the next ones wait for the third


@dataclass(frozen=True)
class UnitedRing:
    """The first readers of the groups that share a ring, that with the largest stages first, and its stages."""

    members: Sequence[Mainloop]
    stages: int

    @property
    def first(self) -> Mainloop:
        return self.members[0]


def united_ring(groups: Sequence[Group], counts: Mapping[Mainloop, int], bytes: int, most: int) -> UnitedRing | None:
    """The ring of groups that would have ``counts`` stages. Shared memory has so many ``bytes`` for all stages, a ring ``most`` stages."""
    members = _members([group[0] for group in groups if all(map(_may_share, group))])
    loop = _common_loop([one for group in groups for one in group])
    if loop is None or len(members) < 2 or min(counts[one] for one in members) > STAGES_IN_TIME:
        return None
    alone = sum(counts[group[0]] * group[0].stage_bytes for group in groups if group[0] not in members)
    stages = min((bytes - alone) // united_bytes(members), most * len(members))
    if not (fills := _fills(groups, loop, stages)):
        return None
    ring = UnitedRing(members, stages)
    own = {first: (first, count) for first, count in counts.items()}
    united = own | {member: (ring.first, stages) for member in members}
    return ring if _least_ahead(fills, united) > _least_ahead(fills, own) else None


def united_bytes(members: Sequence[Mainloop]) -> int:
    """Bytes of a stage: the tiles that TMA loads have the same, those that threads write their own."""
    return members[0].stage_bytes + sum(one.written_bytes for one in members[1:])


def places_in(first: Mainloop, other: Mainloop) -> list[int] | None:
    """For each tile that TMA loads to a stage, the tile of the first group's whose bytes it may have; None where there is none."""
    left = {place: load.box.tile_bytes for place, load in enumerate(first.tma_loads)}
    found = []
    for load in other.tma_loads:
        place = next((place for place, bytes in left.items() if bytes == load.box.tile_bytes), None)
        if place is None:
            return None
        found.append(place)
        del left[place]
    return found


def _members(firsts: list[Mainloop]) -> list[Mainloop]:
    """The groups whose tiles fit the stages of the largest, which comes first, and who release them alike."""
    if not firsts:
        return []
    largest = max(firsts, key=lambda one: one.loaded_bytes)
    alike = (one for one in firsts if one is not largest and one.consumers == largest.consumers)
    return [largest, *(one for one in alike if places_in(largest, one) is not None)]


def _may_share(mainloop: Mainloop) -> bool:
    """Whether TMA alone fills a stage for one CTA, and threads write to it only what they compute."""
    alone = not (mainloop.in_cluster or mainloop.dot.pair or mainloop.dot.lhs_scale is not None)
    return alone and mainloop.is_loaded and not any(one.is_copied for _, one in mainloop.stored_of_stage)


def _common_loop(mainloops: Sequence[Mainloop]) -> TableOp | None:
    """The innermost loop around all dots, each of which is in a block of its own."""
    if len({parent_block(one.dot) for one in mainloops}) < len(mainloops):
        return None
    common = [loop for loop in mainloops[0].loops if all(loop in one.loops for one in mainloops)]
    return common[-1] if common else None


def _fills(groups: Sequence[Group], loop: TableOp, most: int) -> list[Mainloop]:
    """The groups whose stages one iteration of a loop fills, in order; of each inner loop at most ``most`` trips."""
    order = {op: place for place, op in enumerate(loop.walk())}
    users = sorted(((one, group[0]) for group in groups for one in group), key=lambda user: order[user[0].dot])
    return [first for one, first in users for _ in range(_trips_inside(one, loop, most))]


def _trips_inside(mainloop: Mainloop, loop: TableOp, most: int) -> int:
    inner = mainloop.loops[mainloop.loops.index(loop) + 1 :]
    return int(min(prod(map(trips, inner)), most))


def _least_ahead(fills: Sequence[Mainloop], rings: Mapping[Mainloop, tuple[Mainloop, int]]) -> int:
    """The fewest bytes that the producer loads before it waits for a stage, wherever the consumers stand in the iteration."""
    return min(_ahead([*fills[start:], *fills[:start]], rings) for start in range(len(fills)))


def _ahead(fills: Sequence[Mainloop], rings: Mapping[Mainloop, tuple[Mainloop, int]]) -> int:
    """The bytes of the first fills of an iteration that empty rings hold."""
    left, bytes = dict(rings.values()), 0
    while True:
        for first in fills:
            ring, _ = rings[first]
            if not left[ring]:
                return bytes
            left[ring] -= 1
            bytes += first.loaded_bytes
