"""Arithmetic of scalars and vectors: each ``arith`` operation maps to one LLVM operation with its operands and type.

Operations on types with a different LLVM form (``index``, multi-dimensional vectors) are left to other passes. Dropping
flags is sound: each flag only permits more optimization.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.ir import Attribute, Operation

from ....ir.dialects.llvm_ext import FPToSIOp, FPToUIOp, UIToFPOp
from ....ir.dialects.nvvm import target_independent_intrinsics
from .rewriter import Emitter, rewrite

INTEGERS: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp, arith.SubiOp: llvm.SubOp, arith.MuliOp: llvm.MulOp, arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp, arith.RemSIOp: llvm.SRemOp, arith.RemUIOp: llvm.URemOp, arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp, arith.XOrIOp: llvm.XOrOp, arith.ShLIOp: llvm.ShlOp, arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp, arith.CmpiOp: llvm.ICmpOp, arith.ConstantOp: llvm.ConstantOp,
    arith.MinSIOp: target_independent_intrinsics.SMinOp, arith.MaxSIOp: target_independent_intrinsics.SMaxOp, arith.MinUIOp: target_independent_intrinsics.UMinOp,
    arith.MaxUIOp: target_independent_intrinsics.UMaxOp, arith.MinimumfOp: target_independent_intrinsics.MinimumOp, arith.MaximumfOp: target_independent_intrinsics.MaximumOp,
}  # fmt: skip
CASTS: dict[type[Operation], type[Operation]] = {
    arith.ExtSIOp: llvm.SExtOp, arith.ExtUIOp: llvm.ZExtOp, arith.TruncIOp: llvm.TruncOp, arith.ExtFOp: llvm.FPExtOp,
    arith.TruncFOp: llvm.FPTruncOp, arith.SIToFPOp: llvm.SIToFPOp, arith.UIToFPOp: UIToFPOp,
    arith.FPToSIOp: FPToSIOp, arith.FPToUIOp: FPToUIOp, arith.BitcastOp: llvm.BitcastOp,
}  # fmt: skip
# Flags of LLVM: what a floating-point operation may assume.
FLOATS: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp, arith.SubfOp: llvm.FSubOp, arith.MulfOp: llvm.FMulOp, arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp, arith.CmpfOp: llvm.FCmpOp, arith.SelectOp: llvm.SelectOp,
}  # fmt: skip
REMAPPED = INTEGERS | CASTS | FLOATS
PASSED_THROUGH = ("predicate", "value")  # LLVM and arith use the same predicate values


@rewrite(*REMAPPED)
def remap(emit: Emitter, op: Operation) -> None:
    """The same operation of the llvm dialect."""
    if any(emit.types.convert(value.type) != value.type for value in (*op.operands, *op.results)):
        return
    properties: dict[str, Attribute] = {name: op.properties[name] for name in PASSED_THROUGH if name in op.properties}
    if type(op) in FLOATS:
        properties["fastmathFlags"] = llvm.FastMathAttr(None)
    emit.replace(emit.create(REMAPPED[type(op)], op.operands, op.results[0].type, properties))
