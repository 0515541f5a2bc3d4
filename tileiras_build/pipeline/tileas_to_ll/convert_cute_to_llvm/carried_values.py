"""Which operations forward values of companion dialects across blocks and functions, and whether a module has such values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import cf, func, llvm, scf
from xdsl.ir import Attribute, Operation

from ....ir.dialects import gpu_ext as gpu
from ...rewriting.dialect_conversion import signature_types

Owned = Callable[[Attribute], bool]
# Operations that forward values: the types of their operands, results and blocks change with those of the values.
BLOCK_ARGUMENT_OPS = (
    cf.BranchOp, cf.ConditionalBranchOp, scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp, llvm.BrOp,
    llvm.CondBrOp, llvm.ReturnOp, func.ReturnOp, gpu.ReturnOp, func.CallOp, llvm.CallOp,
)  # fmt: skip


def is_carried(everything: Sequence[Operation], kinds: set[type[Operation]], owned: Owned) -> bool:
    """Whether a value has a companion type. Operations on LLVM types produce none, except those that forward values."""
    foreign = {kind for kind in kinds if kind in BLOCK_ARGUMENT_OPS or not kind.name.startswith(("llvm.", "nvvm."))}
    passing = [op for op in everything if op.__class__ in foreign]
    if any([owned(result.type) for op in passing for result in op.results]):
        return True
    nested = [op for op in everything if op.regions]
    blocks = (block for op in nested for region in op.regions for block in region.blocks)
    types = [argument.type for block in blocks for argument in block.args]
    return any(map(owned, types)) or any(owned(type) for op in nested for type in signature_types(op))
