"""The registry of lowerings, and row-by-row lowering of operations on multi-dimensional vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.ir import Attribute, SSAValue

from ...rewriting.dialect_conversion import RuleTable
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter

LOWERINGS = RuleTable()
lowering = LOWERINGS.rule
# Creates the operation for one row, a scalar or a one-dimensional vector in LLVM.
Row = Callable[[Sequence[SSAValue], Attribute], SSAValue]


def by_rows(operands: Sequence[SSAValue], result: Attribute, make: Row, emit: Emitter) -> SSAValue:
    """``make`` for each row of arrays of vectors; operands that are no arrays are the same for all rows."""
    if not isinstance(result, llvm.LLVMArrayType):
        return make(operands, result)
    whole = emit.insert(llvm.UndefOp(result))
    for row in range(result.size.data):
        parts = [emit.field(value, row) if isinstance(value.type, llvm.LLVMArrayType) else value for value in operands]
        whole = emit.with_field(whole, by_rows(parts, result.type, make, emit), row)
    return whole
