"""Loops that are so short that LLVM unrolls them: ptxas issues the loads of all iterations at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation

from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from .integer_ranges import trips_of
from .op_queries import is_tile

# Of a thread, of all iterations: branches around the loop, and copies ahead, cost more than they gain.
MAX_UNROLLED_VALUES = 64
# Registers of a thread for what all iterations load.
MAX_UNROLLED_LOADS = 32


def values_of_thread(ops: Iterable[Operation]) -> int:
    """The registers of a thread for the tiles that operations with layouts compute or load."""
    return sum(layout_of(tile).num_registers for op in ops for tile in op.results if is_tile(tile))


def is_unrolled(loop: Operation, loads: Sequence[Operation] = ()) -> bool:
    """Whether a loop has few iterations, of few values, or with ``loads`` of few."""
    if (trips := trips_of(loop)) is None:
        return False
    few = bool(loads) and trips * values_of_thread(loads) <= MAX_UNROLLED_LOADS
    return few or trips * values_of_thread(walk(loop)) <= MAX_UNROLLED_VALUES
