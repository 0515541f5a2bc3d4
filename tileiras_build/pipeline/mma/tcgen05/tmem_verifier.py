"""Verify tiles in tensor memory against the figures of the PTX ISA, for every register of every thread.

A layout is only evaluated at (register, lane, warp); nothing of the F2 linear algebra is used. A violation raises
``InternalError`` with id ``layout-verifier`` that names the register and the thread.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.layouts import LinearLayout
from ...verifiers.exhaustive_layout_checks import LANES, Coordinates, fail

# Tensor memory: the figures of PTX ISA 9.0, section 9.7.16.10, as formulas: lane (of the 32 or 16 of a warp) and column
# of register i of thread t.

DATA_PATHS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "32x32b": lambda t, i: (t, i),
    "16x128b": lambda t, i: (t // 4 + 8 * (i % 2), t % 4 + 4 * (i // 2)),
    "16x256b": lambda t, i: (t // 4 + 8 * (i // 2 % 2), i % 2 + 2 * (t % 4) + 8 * (i // 4)),
}


def verify_tmem_tile(tile) -> None:
    """Check that each register of a thread has the element that its loads read: row and column follow from lane and
    column of tensor memory, by Layout D for 128 rows, F for 64, and B for 64 of a pair.
    """
    per_word = 32 // tile.element_bits
    for warp in range(tile.layout.num_warps):
        group_m, group_n = warp // 4 % tile.groups_m, warp // 4 // tile.groups_m
        for lane in range(LANES):
            register = 0
            for own, first, repetitions in tile.pieces(tile.shape.max_repetitions):
                for i in range(repetitions * tile.shape.registers):
                    place, word = DATA_PATHS[tile.shape.name](lane, i)
                    number, half = divmod(own, tile.halves)
                    row = warp % 4 * min(32, tile.rows // 4) + place + 128 * (number * tile.groups_m + group_m)
                    row += LANES // 2 * half
                    column = (group_n * tile.tmem_columns_per_warp + first + word) * per_word
                    if tile.of_pair:
                        row, column = warp % 2 * 32 + place, column + warp % 4 // 2 * tile.columns // 2
                    for neighbor in range(per_word):
                        _expect(tile.layout, register, lane, warp, (row, column + neighbor))
                        register += 1
            if register != tile.layout.num_registers:
                fail(f"{register} registers are moved, the layout has {tile.layout.num_registers}")


def _expect(layout: LinearLayout, register: int, lane: int, warp: int, element: Coordinates) -> None:
    if (found := layout.apply(register, lane, warp)) != element:
        fail(f"register {register} of lane {lane} of warp {warp} is {found}, the ISA says {element}")
