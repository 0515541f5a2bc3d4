"""Asynchronous copies in flight: bytes of each copy, and the maximum in flight at once."""

from __future__ import annotations

from collections import defaultdict

from .cta_work_counts import ASYNC_LOADS, expected_bytes
from .sass_parser import MachineCode
from .trace_warps import WarpTrace


def max_bytes_in_flight(transfers: list[tuple[float, float]]) -> float:
    """The maximum of the bytes in flight, from (time, change in bytes) events."""
    most = now = 0.0
    for _, size in sorted(transfers):
        now += size
        most = max(most, now)
    return most


def copy_bytes(code: MachineCode, cluster: list[list[WarpTrace]]) -> dict[int, float]:
    """Bytes per copy by mbarrier: the bytes that the barrier expects, divided by the number of its copies."""
    expected: dict[int, float] = defaultdict(float)
    copies: dict[int, int] = defaultdict(int)
    for warps in cluster:
        for trace in warps:
            for number, seen in trace.observed.items():
                one = code.instructions[number]
                for words in filter(None, seen.recorded_words):
                    if one.opcode == "SYNCS" and (place := words.get("place")) is not None:
                        expected[place] += expected_bytes(one, words)
                    elif one.opcode in ASYNC_LOADS and (barrier := words.get("barrier")) is not None:
                        copies[barrier] += 1
    return {place: expected[place] / count for place, count in copies.items()}
