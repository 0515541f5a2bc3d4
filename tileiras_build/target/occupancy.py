"""Occupancy: the number of CTAs of a kernel that are resident on an SM, and the limiting resource.

CUDA C++ Programming Guide, "Occupancy Calculator"; the granularities are those of ``cuda_occupancy.h`` for compute
capability 8.0 and later.
"""

from __future__ import annotations

from dataclasses import dataclass

from .sm_limits import RESERVED_SHARED_MEMORY, TENSOR_MEMORY_COLUMNS, WARP
from .targets import Target

_REGISTER_UNIT = 256  # allocation unit of a warp
_SHARED_UNIT = 128  # bytes


@dataclass(frozen=True)
class Occupancy:
    """The resident CTAs, the fraction (0 to 1) of an SM's warps that they use, and the limiting resource."""

    ctas: int
    share: float
    limit: str


def occupancy(target: Target, threads: int, registers: int, shared_memory: int, columns: int = 0) -> Occupancy:
    """The occupancy of CTAs of ``threads`` with ``registers`` per thread and ``shared_memory`` bytes, static and dynamic.

    A CTA that allocates ``columns`` of tensor memory starts, but does not go on before they are free: it does not count.
    """
    limits, warps = target.sm_limits, -(-threads // WARP)
    per_warp = _round_up(max(registers, 1) * WARP, _REGISTER_UNIT)
    warps_with_registers = limits.registers // limits.partitions // per_warp * limits.partitions
    fits = {
        "blocks": limits.ctas,
        "threads": limits.threads // WARP // warps,
        "registers": warps_with_registers // warps,
        "shared memory": limits.shared_memory // _round_up(shared_memory + RESERVED_SHARED_MEMORY, _SHARED_UNIT),
    }
    if columns:
        fits["tensor memory"] = TENSOR_MEMORY_COLUMNS // columns
    limit, ctas = min(fits.items(), key=lambda item: item[1])
    return Occupancy(ctas, ctas * warps * WARP / limits.threads, limit)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
