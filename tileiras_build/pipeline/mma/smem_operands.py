"""Operands that an instruction reads from shared memory, where TMA put them: which placements it can read."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import MatrixOperand, matrix_operand
from ...ir.layouts.matrix_descriptor import WIDE
from ..analysis.dot_operand_chains import dot_operand_load, smem_layout_after_views
from ..analysis.tma_operands import TmaOperand
from ..analysis.tma_tensor_maps import TensorBox, widened_box


def readable_operands(
    op: TableOp, loaded: Mapping[int, TmaOperand], mn_major: tuple[str, ...], *, others_computed: bool = False
) -> dict[int, TmaOperand] | None:
    """The loaded operands of a dot with the placements that an instruction reads; None where there are none for one of them,
    or where the left one is loaded, but not by TMA.

    ``mn_major``: the swizzles in which the instruction reads operands that are contiguous along m or n. ``others_computed``:
    whatever the others come from, threads compute them.
    """
    if not others_computed and 0 not in loaded and dot_operand_load(op, 0) is not None:
        return None
    found = {index: readable_operand(operand, 1 - index, mn_major) for index, operand in loaded.items()}
    readable = {index: operand for index, operand in found.items() if operand is not None}
    return readable if len(readable) == len(found) else None


def readable_operand(found: TmaOperand, k_dim: int, mn_major: tuple[str, ...]) -> TmaOperand | None:
    """An operand with a box whose placement an instruction can read; None where there is none."""
    load, chain, box = found
    for one in (box, widened_box(load, box)):
        if one is None:
            continue
        operand = operand_in_smem(chain, one, k_dim)
        if operand is not None and (operand.k_major or operand.swizzle in mn_major):
            return load, chain, one
    return None


def load_by_tma(operand: TmaOperand) -> None:
    """Let TMA load an operand ahead, into the placement of its box."""
    load, _, box = operand
    load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None


def operand_in_smem(chain: list[Operation], box: TensorBox, k_dim: int) -> MatrixOperand | None:
    """The operand that a box is after the views of ``chain``; None where it is no matrix in one of the swizzles."""
    placement = smem_layout_after_views(chain, box.placement)
    return matrix_operand(placement, k_dim) if placement is not None and len(placement.shape) == 2 else None
