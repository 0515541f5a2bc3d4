"""Copies under way: what each brings, and how much is under way at once."""

from __future__ import annotations

from collections import defaultdict

from .cta_resource_usage import ASYNC_LOADS, expected_bytes
from .sass_parser import MachineCode
from .warp_trace import WarpTrace


def max_bytes_in_flight(flights: list[tuple[float, float]]) -> float:
    """The most bytes at once, of (when, bytes more or less)."""
    most = now = 0.0
    for _, size in sorted(flights):
        now += size
        most = max(most, now)
    return most


def copy_bytes(code: MachineCode, cluster: list[list[WarpTrace]]) -> dict[int, float]:
    """What a copy brings, by the barrier that counts it: what that expects, divided by the copies that it counts."""
    expected: dict[int, float] = defaultdict(float)
    copies: dict[int, int] = defaultdict(int)
    for warps in cluster:
        for trace in warps:
            for number, seen in trace.observed.items():
                one = code.instructions[number]
                for told in filter(None, seen.recorded_words):
                    if one.opcode == "SYNCS" and (place := told.get("place")) is not None:
                        expected[place] += expected_bytes(one, told)
                    elif one.opcode in ASYNC_LOADS and (barrier := told.get("barrier")) is not None:
                        copies[barrier] += 1
    return {place: expected[place] / count for place, count in copies.items()}
