"""The mbarriers of a cluster: what a phase still lacks, when those before it were complete, and whom tensor cores tell."""

from __future__ import annotations

from dataclasses import dataclass, field

from .sass_parser import Instruction, MachineCode

ObservedWords = dict[str, int | None]
# Of an address in a cluster's shared memory: the place in a block's, and above it the block's rank; masks name ranks.
RANK_BITS, IN_BLOCK, MASK_BITS = 24, 0xFFFFFF, 16


def init_stores(code: MachineCode) -> frozenset[int]:
    """The numbers of the stores that make words of shared memory mbarriers: before the SYNCS.CCTL with which ptxas has all of them
    seen, where it does not know the barriers' places for sure (else SYNCS.EXCH makes them).
    """
    seen = max(
        (one.number for one in code.instructions if one.opcode == "SYNCS" and "CCTL" in one.modifiers), default=0
    )
    stores = (one for one in code.instructions[:seen] if one.opcode == "STS" and "64" in one.modifiers)
    return frozenset(one.number for one in stores)


def expected_arrivals(observed: ObservedWords) -> int:
    """Those of a phase, from the low word that an mbarrier starts with: bits 1 to 20 count up to zero."""
    return max(0x100000 - ((observed.get("word") or 0) >> 1 & 0xFFFFF), 1)


@dataclass
class MbarrierPhases:
    """An mbarrier: what the phase under way lacks, and when those before it were complete.

    ``count``: arrivals of a phase; None where the kernel has not said how many. Waits for those are met: they are the
    system's own, as where a pair of blocks allocates tensor memory.
    """

    count: int | None = None
    arrivals: int = 0
    bytes: float = 0.0
    latest: float = 0.0
    completed: list[float] = field(default_factory=list)

    def complete_phases(self) -> bool:
        """End the phase if nothing is lacking."""
        if self.arrivals < (self.count or 1) or self.bytes > 0.5:
            return False
        self.completed.append(self.latest)
        self.arrivals, self.bytes, self.latest = 0, 0.0, 0.0
        return True


def multicast_arrivals(one: Instruction, observed: ObservedWords) -> ObservedWords:
    """The arrival of tensor cores: one at each block's barrier that the mask of a multicast names, at the same place."""
    place, mask = observed.get("place"), observed.get("word") or 0
    if place is None or "MULTICAST" not in one.modifiers:
        return {**observed, "lanes": 1}
    ranks = [rank for rank in range(MASK_BITS) if mask >> rank & 1]
    found: ObservedWords = {}
    for number, rank in enumerate(ranks):
        found |= {f"place{number or ''}": place & IN_BLOCK | rank << RANK_BITS, f"lanes{number or ''}": 1}
    return found
