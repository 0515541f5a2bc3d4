"""Asynchronous copies in flight: bytes of each copy, and the maximum in flight at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

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


def copy_bytes(code: MachineCode, cluster: list[list[WarpTrace]]) -> dict[tuple[int, int], float]:
    """Bytes of a copy by instruction and mbarrier: those that the barrier expects, divided by its copies. Where several instructions expect
    bytes of one barrier, each for the tiles of another loop, they are those of the last one before the copy.
    """
    expected, copies = defaultdict[tuple[int, int], float](float), Counter[tuple[int, int]]()
    for warps in cluster:
        for trace in warps:
            for number, seen in trace.observed.items():
                one = code.instructions[number]
                for words in filter(None, seen.recorded_words):
                    if one.opcode == "SYNCS" and (place := words.get("place")) is not None:
                        expected[place, number] += expected_bytes(one, words)
                    elif one.opcode in ASYNC_LOADS and (barrier := words.get("barrier")) is not None:
                        copies[barrier, number] += 1
    return _bytes_of_each({key: bytes for key, bytes in expected.items() if bytes}, copies)


def _bytes_of_each(
    expected: Mapping[tuple[int, int], float], copies: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], float]:
    """From the bytes and the copies of each (mbarrier, instruction)."""
    expecting = defaultdict[int, list[int]](list)
    for place, number in sorted(expected):
        expecting[place].append(number)
    sites = {(place, number): _last_before(number, expecting[place]) for place, number in copies}
    counts = Counter[tuple[int, int]]()
    for (place, number), site in sites.items():
        counts[place, site] += copies[place, number]
    return {
        (number, place): expected.get((place, site), 0.0) / counts[place, site]
        for (place, number), site in sites.items()
    }


def _last_before(number: int, expecting: list[int]) -> int:
    """The last of the instructions that stands before another one, else the last of all: a loop repeats them."""
    before = [one for one in expecting if one < number]
    return (before or expecting or [number])[-1]
