"""The bytes of TMA copies by instruction, and the part of them that comes from L2 in a cluster with multicasts.

A cubin does not have the boxes of its tensor maps. Copies fill shared memory without gaps, so the distance from where one goes to
where the next one goes, in any CTA of the cluster, is its size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .cta_work_counts import ASYNC_LOADS
from .mbarrier_phases import CTA_OFFSET_MASK, ObservedWords
from .sass_parser import MachineCode
from .trace_warps import WarpTrace


@dataclass(frozen=True)
class Copies:
    """``bytes`` of all copies of a cluster by instruction; ``l2_share`` of what they write comes from L2, the rest by multicast."""

    bytes: dict[int, float] = field(default_factory=dict)
    l2_share: float = 1.0

    @classmethod
    def of(cls, code: MachineCode, cluster: list[list[WarpTrace]]) -> Copies:
        """From the traces of a cluster's CTAs."""
        counts, starts = Counter[int](), dict[int, set[int]]()
        for number, words in _copies(code, cluster):
            counts[number] += 1
            starts.setdefault(number, set()).add((words["to"] or 0) & CTA_OFFSET_MASK)
        sizes = _sizes(starts)
        found = {number: float(count * sizes[number]) for number, count in counts.items()}
        written = sum(size * (len(cluster) if _is_multicast(code, number) else 1) for number, size in found.items())
        return cls(found, sum(found.values()) / written if written else 1.0)


def _copies(code: MachineCode, cluster: list[list[WarpTrace]]) -> Iterator[tuple[int, ObservedWords]]:
    for warps in cluster:
        for trace in warps:
            for number, seen in trace.observed.items():
                if code.instructions[number].opcode in ASYNC_LOADS:
                    yield from (
                        (number, words) for words in seen.recorded_words if words and words.get("to") is not None
                    )


def _is_multicast(code: MachineCode, number: int) -> bool:
    return "MULTICAST" in code.instructions[number].modifiers


def _sizes(starts: dict[int, set[int]]) -> dict[int, int]:
    """Bytes of a copy by instruction, from the places in shared memory where its copies start."""
    places = sorted(set().union(*starts.values()))
    gaps = {place: after - place for place, after in pairwise(places)}
    smallest = min(gaps.values(), default=1)  # of a single copy, at the end of all
    return {
        number: min((gaps[one] for one in ones if one in gaps), default=smallest) for number, ones in starts.items()
    }
