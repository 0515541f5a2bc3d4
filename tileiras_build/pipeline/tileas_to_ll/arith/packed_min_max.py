"""Min and max reductions of extended values, computed on the narrow type, two values per instruction.

f32 represents every f16 and bf16 value in the same order, so the extreme of extended values is the extended extreme.
The thread reduces before it extends, so the row needs half the registers until then
(``analysis/foldable_f16_extensions.py``).
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....ir.casting import cast
from ....ir.dialects.nvvm.arithmetic import MinMaxPairOp
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts.f2_linear_algebra import bits as bit_positions
from ...analysis.foldable_f16_extensions import MIN_MAX_REDUCTIONS, PACKED_TYPES
from ...common.llvm_type_constructors import FLOAT, I32, vector
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from .f32_pairs import in_pairs


def combine_pairs(
    b: InstructionBuilder, op: TableOp, held: dict[int, Value], mask: int
) -> tuple[dict[int, Value], int]:
    """Combine registers that differ in the bits of ``mask``, from the highest down, while there are two pairs.

    Returns the remaining values, extended, and the remaining bits of ``mask``.
    """
    type = b.uniqued(next(iter(held.values()))).type
    name, nan = MIN_MAX_REDUCTIONS[cast(Operation, op.regions[0].block.first_op).name]

    def extreme(low: SSAValue, high: SSAValue) -> SSAValue:
        words = [b.bitcast(both, I32) for both in (low, high)]
        found = b.issue(MinMaxPairOp, *words, type=I32, operation=name, nan=nan, halves=PACKED_TYPES[type])
        return b.cast("bitcast", found, vector(2, type))

    for position in reversed(bit_positions(mask)):
        lower = [register for register in held if not register & 1 << position]
        if len(lower) % 2:
            break
        if len(lower) < len(held):
            calls = [(held[register | 1 << position], held[register]) for register in lower]
            held = dict(zip(lower, in_pairs(b, calls, extreme, extreme)))
        mask &= ~(1 << position)
    return {register: b.cast("fpext", value, FLOAT) for register, value in held.items()}, mask
