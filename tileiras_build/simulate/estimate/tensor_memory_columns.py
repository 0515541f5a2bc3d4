"""The columns of tensor memory that a CTA allocates: CTAs whose columns an SM does not have wait for others to end.

ptxas compiles tcgen05.alloc to UTCATOMSWS.FIND_AND_SET, which sets bits of a mask of the SM, one for 32 columns. Its last
operand is their number. One that finds no bits free is followed by a loop with another one; the first is assumed to succeed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .sass_parser import MachineCode

if TYPE_CHECKING:
    from .trace_warps import WarpTrace

_ALLOCATED_AT_ONCE = 32  # columns [PTX ISA 9.0, 9.7.16.7.1]


def allocations(code: MachineCode) -> frozenset[int]:
    """The instructions that allocate columns, by number."""
    found = (one for one in code.instructions if one.opcode == "UTCATOMSWS" and "FIND_AND_SET" in one.modifiers)
    return frozenset(one.number for one in found)


def allocated_columns(code: MachineCode, clusters: Iterable[list[list[WarpTrace]]]) -> int:
    """The most columns of a CTA. Of a pair one CTA allocates those of both; what an instruction allocates again has been given back."""
    wanted = allocations(code)
    ctas = (_columns_of(wanted, warps) for cluster in clusters for warps in cluster) if wanted else ()
    return max(ctas, default=0)


def _columns_of(wanted: frozenset[int], warps: Iterable[WarpTrace]) -> int:
    found: Counter[int] = Counter()
    for trace in warps:
        for number in wanted & trace.observed.keys():
            words = filter(None, trace.observed[number].recorded_words)
            found[number] = max([found[number], *(one.get("word") or 0 for one in words)])
    return found.total() * _ALLOCATED_AT_ONCE
