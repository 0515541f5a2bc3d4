"""Verify fragments and their tilings against the formulas of the PTX ISA, for every register of every thread.

A layout is only evaluated at (register, lane, warp); nothing of the F2 linear algebra is used. A violation raises
``InternalError`` with id ``layout-verifier`` that names the register and the thread.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.layouts import LinearLayout
from ...verifiers.exhaustive_layout_checks import LANES, Coordinates, Threads, distribute, fail

# Fragments: the formulas of PTX ISA 9.0, section 9.7.14.5. g = lane >> 2, t = lane % 4, i = element index.

Formula = Callable[[int, int, int], Coordinates]

C_16_BY_8: Formula = lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2)

FRAGMENTS: dict[tuple[int, int, int, int], tuple[Formula, Formula, Formula]] = {
    # (m, n, k, element bits): A (row, k), B (k, column), C (row, column)
    (8, 8, 4, 64): (lambda g, t, i: (g, t), lambda g, t, i: (t, g), lambda g, t, i: (g, 2 * t + i)),
    (16, 8, 4, 64): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g), C_16_BY_8),
    (16, 8, 4, 32): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g), C_16_BY_8),
    (16, 8, 8, 64): (
        lambda g, t, i: (g + 8 * (i in (1, 3)), t + 4 * (i in (2, 3))),
        lambda g, t, i: (t + 4 * i, g),
        C_16_BY_8,
    ),
    (16, 8, 8, 32): (
        lambda g, t, i: (g + 8 * (i in (1, 3)), t + 4 * (i in (2, 3))),
        lambda g, t, i: (t + 4 * i, g),
        C_16_BY_8,
    ),
    (16, 8, 8, 16): (
        lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2),
        lambda g, t, i: (2 * t + i, g),
        C_16_BY_8,
    ),
    (16, 8, 16, 64): (
        lambda g, t, i: (g + 8 * (i % 2), (2 * i if i % 2 == 0 else 2 * i - 2) + t),
        lambda g, t, i: (t + 4 * i, g),
        C_16_BY_8,
    ),
    (16, 8, 16, 16): (
        lambda g, t, i: (g + 8 * (i in (2, 3, 6, 7)), 2 * t + i % 2 + 8 * (i >= 4)),
        lambda g, t, i: (2 * t + i % 2 + 8 * (i >= 2), g),
        C_16_BY_8,
    ),
    (16, 8, 16, 8): (
        lambda g, t, i: (g + 8 * (i >= 4), 4 * t + i % 4),
        lambda g, t, i: (4 * t + i, g),
        C_16_BY_8,
    ),
    (16, 8, 32, 8): (
        lambda g, t, i: (g + 8 * (i // 4 in (1, 3)), 4 * t + i % 4 + 16 * (i >= 8)),
        lambda g, t, i: (4 * t + i % 4 + 16 * (i >= 4), g),
        C_16_BY_8,
    ),
    (16, 8, 32, 4): (
        lambda g, t, i: (g + 8 * (i >= 8), 8 * t + i % 8),
        lambda g, t, i: (8 * t + i, g),
        C_16_BY_8,
    ),
    (16, 8, 64, 4): (
        lambda g, t, i: (g + 8 * (i // 8 in (1, 3)), 8 * t + i % 8 + 32 * (i >= 16)),
        lambda g, t, i: (8 * t + i % 8 + 32 * (i >= 8), g),
        C_16_BY_8,
    ),
}


def verify_fragment(layout: LinearLayout, atom: tuple[int, int, int, int], operand: str) -> None:
    """Check that a one-warp fragment layout has the elements of the ISA's formula, and no others."""
    m, n, k, _ = atom
    formula = FRAGMENTS[atom]["ABC".index(operand)]
    shape = {"A": (m, k), "B": (k, n), "C": (m, n)}[operand]
    if layout.shape != shape or layout.num_registers * LANES != shape[0] * shape[1]:
        fail(f"the fragment {operand} of m{m}n{n}k{k} covers {layout.shape} with {layout.num_registers} registers")
    for lane in range(LANES):
        for register in range(layout.num_registers):
            element = formula(lane >> 2, lane % 4, register)
            if layout.apply(register, lane, 0) != element:
                fail(f"{operand}{register} of lane {lane} is {layout.apply(register, lane, 0)}, the ISA says {element}")


def verify_mma_tiling(tiling) -> None:
    """Check that the atoms of every warp multiply matching fragments, and each element of C accumulates each k exactly
    once (per replica).
    """
    a, b, c = (distribute(layout) for layout in (tiling.a, tiling.b, tiling.c))
    atom = tiling.atom
    key = (atom.m, atom.n, atom.k, atom.element_bits)
    met: dict[tuple[int, Coordinates], set[int]] = {}
    for a_registers, b_registers, c_registers in tiling.atoms():
        for warp in range(tiling.c.num_warps):
            parts = zip((a, b, c), (a_registers, b_registers, c_registers), FRAGMENTS[key], strict=True)
            tiles = [_atom_elements(threads, warp, registers, formula) for threads, registers, formula in parts]
            _count_overlaps(tiles, warp, met)
    for (warp, element), ks in met.items():
        if ks != set(range(tiling.k)):
            fail(f"element {element} of C in warp {warp} meets {len(ks)} of {tiling.k} values of k")


def _atom_elements(threads: Threads, warp: int, registers: range, formula: Formula) -> dict[Coordinates, Coordinates]:
    """Position in the atom -> tile element, from the instruction's view of the operand."""
    return {
        formula(lane >> 2, lane % 4, i): threads[warp, lane][register]
        for lane in range(LANES)
        for i, register in enumerate(registers)
    }


def _count_overlaps(tiles, warp: int, met: dict) -> None:
    a, b, c = tiles
    depth = 1 + max(k for _, k in a)
    for (row, column), element in c.items():
        for k in range(depth):
            *batch_a, i, k_a = a[row, k]
            *batch_b, k_b, j = b[k, column]
            if (*batch_a, i, j) != element or k_a != k_b or batch_a != batch_b:
                fail(f"an mma adds A{a[row, k]} times B{b[k, column]} to C{element}")
            met.setdefault((warp, element), set()).add(k_a)
