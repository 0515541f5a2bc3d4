"""Which types wgmma multiplies, and which operands in shared memory it reads, directly or through registers."""

from __future__ import annotations

from collections.abc import Mapping

from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.wgmma_layout import A_VIA_REGISTERS_SWIZZLES
from ....target.mma_atoms import ELEMENT_BITS, WGMMA_ATOMS, WgmmaAtom
from ....target.targets import Target
from ...analysis.tma_operands import TmaOperand
from ..dots import rows_of_types
from ..smem_operands import operand_in_smem, readable_operand


def row_for_types(op: TableOp, target: Target) -> WgmmaAtom | None:
    """The instruction for the types of a dot."""
    if op.lhs_scale is not None or len(op.lhs.type.get_shape()) != 2:
        return None
    return next(iter(rows_of_types(op, target, WGMMA_ATOMS)), None)


def via_registers(loaded: Mapping[int, TmaOperand], atom: WgmmaAtom) -> Mapping[int, TmaOperand] | None:
    """The operands where wgmma reads the right one, unless threads write it, and threads read the left one without bank conflicts."""
    if 0 not in loaded or 1 in loaded and readable_operand(loaded[1], 0, atom.mn_major) is None:
        return None
    return loaded if rows_need_registers(loaded[0], 1, ELEMENT_BITS[atom.a_type]) else None


def rows_need_registers(found: TmaOperand, k_dim: int, bits: int) -> bool:
    """Whether the rows of an operand are in swizzled lines, which ``WgmmaTiling`` distributes over lanes for A in
    registers.
    """
    _, chain, box = found
    operand = operand_in_smem(chain, box, k_dim)
    return operand is not None and not operand.k_major and operand.swizzle in A_VIA_REGISTERS_SWIZZLES.get(bits, ())
