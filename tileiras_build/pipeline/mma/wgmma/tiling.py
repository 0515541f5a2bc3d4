"""How a dot's tile is divided over warpgroups, and over accumulators of part of k."""

from __future__ import annotations

from typing import NamedTuple, cast

from ....ir.casting import unwrap
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import WgmmaTiling, wgmma_tiling
from ....ir.layouts.wgmma_layout import MAX_COLUMNS
from ....target.mma_atoms import ELEMENT_BITS, WgmmaAtom
from ..dots import k_of, row_of


class AccumulatorPromotion(NamedTuple):
    """The partial accumulators of a dot: their columns, how many of them a thread holds at a time, and their length
    along k.
    """

    columns: int
    number: int
    k: int


def accumulator_promotion(op: TableOp) -> AccumulatorPromotion | None:
    """The promotion of a dot; None if one accumulator suffices."""
    return AccumulatorPromotion(*op.promotion) if op.promotion else None


def tiling_of(op: TableOp, num_warps: int) -> WgmmaTiling:
    """The tiling of a dot over a kernel's warps."""
    atom = cast(WgmmaAtom, row_of(op))
    m, n = op.result.type.get_shape()
    parts = accumulator_promotion(op)
    columns = parts.columns if parts else MAX_COLUMNS
    tiling = wgmma_tiling(m, n, k_of(op), ELEMENT_BITS[atom.a_type], num_warps, op.a_via_registers, columns)
    return unwrap(tiling)
