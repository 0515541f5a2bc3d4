"""Verify tilings over warpgroups against the figures of the PTX ISA, for every register of every thread.

A layout is only evaluated at (register, lane, warp); nothing of the F2 linear algebra is used. A violation raises
``InternalError`` with id ``layout-verifier`` that names the register and the thread.
"""

from __future__ import annotations

from ...verifiers.exhaustive_layout_checks import LANES, Coordinates, fail


def verify_wgmma_tiling(tiling) -> None:
    """Check that the registers of each wgmma hold the rows of A and C that the instruction combines (section
    9.7.15.5.1, figures of the fragments), and that all of C is covered once.
    """
    covered: set[Coordinates] = set()
    for warp in range(tiling.c.num_warps):
        for lane in range(LANES):
            for m_tile in range(tiling.m_tiles):
                rows = [_row(tiling, warp, lane, m_tile, half) for half in range(2)]
                for n_tile in range(tiling.n_tiles):
                    covered |= _check_c(tiling, warp, lane, (m_tile, n_tile), rows)
    if len(covered) != tiling.m * tiling.n:
        fail(f"{len(covered)} of {tiling.m * tiling.n} elements of C are computed")


def _row(tiling, warp: int, lane: int, m_tile: int, half: int) -> int:
    """The row of A in a thread's registers, which is the same for all k, in the instruction's order."""
    per_word = 32 // tiling.element_bits
    rows = set()
    for k_tile in range(tiling.k_tiles):
        for i, register in enumerate(tiling.a_registers(m_tile, k_tile)):
            word, neighbor = divmod(i, per_word)
            row, k = tiling.a.apply(register, lane, warp)
            expected = k_tile * tiling.depth + (lane % 4 + 4 * (word // 2)) * per_word + neighbor
            if k != expected:
                fail(f"register {register} of lane {lane} of A has k = {k}, the ISA says {expected}")
            if word % 2 == half:
                rows.add(row)
    if len(rows) != 1:
        fail(f"the registers of lane {lane} of A have rows {rows} where the instruction has one")
    return rows.pop()


def _check_c(tiling, warp: int, lane: int, tile: tuple[int, int], rows: list[int]) -> set[Coordinates]:
    found: set[Coordinates] = set()
    for i, register in enumerate(tiling.c_registers(*tile)):
        row, column = tiling.c.apply(register, lane, warp)
        group = warp // 4 // tiling.groups_m
        expected = group * tiling.group_n + tile[1] * tiling.columns + 8 * (i // 4) + 2 * (lane % 4) + i % 2
        if (row, column) != (rows[i // 2 % 2], expected):
            fail(f"register {register} of lane {lane} of C is {row, column}, the ISA says {rows[i // 2 % 2], expected}")
        found.add((row, column))
    return found
