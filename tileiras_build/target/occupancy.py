"""How many CTAs of a kernel fit on a multiprocessor at once, and what limits them.

CUDA C++ Programming Guide, "Occupancy Calculator"; the granularities are those of ``cuda_occupancy.h`` for compute
capability 8.0 and later.
"""

from __future__ import annotations

from dataclasses import dataclass

from .sm_limits import RESERVED_SHARED_MEMORY, WARP
from .targets import Target

_REGISTER_UNIT = 256  # registers are given to warps in units of so many
_SHARED_UNIT = 128  # bytes


@dataclass(frozen=True)
class Occupancy:
    """CTAs that run together, the share (0 to 1) of a multiprocessor's warps that they fill, and the first limit."""

    ctas: int
    share: float
    limit: str


def occupancy(target: Target, threads: int, registers: int, shared_memory: int) -> Occupancy:
    """For CTAs of ``threads`` with ``registers`` per thread and ``shared_memory`` bytes, static and dynamic."""
    room, warps = target.sm_limits, -(-threads // WARP)
    per_warp = _round_up(max(registers, 1) * WARP, _REGISTER_UNIT)
    warps_with_registers = room.registers // room.partitions // per_warp * room.partitions
    limits = {
        "blocks": room.ctas,
        "threads": room.threads // WARP // warps,
        "registers": warps_with_registers // warps,
        "shared memory": room.shared_memory // _round_up(shared_memory + RESERVED_SHARED_MEMORY, _SHARED_UNIT),
    }
    limit, ctas = min(limits.items(), key=lambda item: item[1])
    return Occupancy(ctas, ctas * warps * WARP / room.threads, limit)


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
