"""The mbarriers of a cluster: pending arrivals and bytes, completion times of phases, and multicast commits of tensor cores."""

from __future__ import annotations

from dataclasses import dataclass, field

from .sass_parser import Instruction, MachineCode

ObservedWords = dict[str, int | None]
# An address in a cluster's shared memory: the offset in a CTA's shared memory, and above it the CTA's rank; masks are of ranks.
RANK_BITS, CTA_OFFSET_MASK, MASK_BITS = 24, 0xFFFFFF, 16


def init_stores(code: MachineCode) -> frozenset[int]:
    """The stores that initialize mbarriers, as instruction indices.

    ptxas initializes with SYNCS.EXCH, or, if it does not know the barriers' addresses statically, with STS followed by a
    SYNCS.CCTL that makes all of them visible.
    """
    seen = max(
        (one.number for one in code.instructions if one.opcode == "SYNCS" and "CCTL" in one.modifiers), default=0
    )
    stores = (one for one in code.instructions[:seen] if one.opcode == "STS" and "64" in one.modifiers)
    return frozenset(one.number for one in stores)


def expected_arrivals(observed: ObservedWords) -> int:
    """The arrivals of a phase, from the low word of an mbarrier's initial value: bits 1 to 20 count up to zero."""
    return max(0x100000 - ((observed.get("word") or 0) >> 1 & 0xFFFFF), 1)


@dataclass
class MbarrierPhases:
    """An mbarrier: the pending arrivals and bytes of the current phase, and the completion times of earlier phases.

    ``count``: arrivals of a phase; None if the kernel does not initialize it. Waits on those succeed at once: they
    belong to the system, for example to the allocation of tensor memory by a CTA pair.
    """

    count: int | None = None
    arrivals: int = 0
    bytes: float = 0.0
    latest: float = 0.0
    completed: list[float] = field(default_factory=list)

    def complete_phases(self) -> bool:
        """Complete the phase if nothing is pending."""
        if self.arrivals < (self.count or 1) or self.bytes > 0.5:
            return False
        self.completed.append(self.latest)
        self.arrivals, self.bytes, self.latest = 0, 0.0, 0.0
        return True


def multicast_arrivals(one: Instruction, observed: ObservedWords) -> ObservedWords:
    """The arrivals of a tensor core commit: one at the same offset in each CTA of the multicast mask."""
    place, mask = observed.get("place"), observed.get("word") or 0
    if place is None or "MULTICAST" not in one.modifiers:
        return {**observed, "lanes": 1}
    ranks = [rank for rank in range(MASK_BITS) if mask >> rank & 1]
    found: ObservedWords = {}
    for number, rank in enumerate(ranks):
        found |= {f"place{number or ''}": place & CTA_OFFSET_MASK | rank << RANK_BITS, f"lanes{number or ''}": 1}
    return found
