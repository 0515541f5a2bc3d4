"""The registry of lowerings, and row-by-row lowering of operations on multi-dimensional vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import InternalError
from ..convert_nvgpu_and_gpu_to_nvvm.rewriter import Emitter

Root = TypeVar("Root", bound=Operation)
Lowering = Callable[[Any, Emitter], None]
LOWERINGS: dict[type[Operation], Lowering] = {}
# Creates the operation for one row, a scalar or a one-dimensional vector in LLVM.
Row = Callable[[Sequence[SSAValue], Attribute], SSAValue]


def lowering(*roots: type[Root]) -> Callable[[Callable[[Root, Emitter], None]], Callable[[Root, Emitter], None]]:
    """Register the decorated function for ``roots``; a root has one lowering."""

    def register(function: Callable[[Root, Emitter], None]) -> Callable[[Root, Emitter], None]:
        for root in roots:
            if root in LOWERINGS:
                raise InternalError("lowering-twice", f"{root.name} has two lowerings")
            LOWERINGS[root] = function
        return function

    return register


def by_rows(operands: Sequence[SSAValue], result: Attribute, make: Row, emit: Emitter) -> SSAValue:
    """``make`` for each row of arrays of vectors; operands that are no arrays are the same for all rows."""
    if not isinstance(result, llvm.LLVMArrayType):
        return make(operands, result)
    whole = emit.add(llvm.UndefOp(result))
    for row in range(result.size.data):
        parts = [emit.field(value, row) if isinstance(value.type, llvm.LLVMArrayType) else value for value in operands]
        whole = emit.with_field(whole, by_rows(parts, result.type, make, emit), row)
    return whole
