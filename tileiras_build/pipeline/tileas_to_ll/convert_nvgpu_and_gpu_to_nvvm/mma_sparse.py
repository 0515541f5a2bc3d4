"""Sparse warp MMA (PTX ISA 9.0, section 9.7.14.6, mma.sp) as inline assembly: nvvm has no operation for them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float16Type, Float32Type, IntegerType, UnitAttr, VectorType, i32
from xdsl.ir import Attribute

from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.nvgpu import ops_matrix as nvgpu
from ....ir.dialects.nvvm.intrinsic_or_inline_asm import braced, constraint
from .llvm_type_helpers import struct_of
from .mma_sync_and_ldmatrix import accumulators, check_tf32, element_of, ptx_type, registers, repack, shape_of
from .rewriter import Emitter, rewrite

# Accumulator element type -> its name in the instruction.
ACCUMULATORS: dict[type[Attribute], str] = {Float16Type: "f16", Float32Type: "f32", IntegerType: "s32"}
# (m, n, k) and element bits for which lane pairs, not single lanes, hold the metadata: their selector is 0.
WHOLE_WARP = {((16, 8, 64), 8)}


def sparse_text(
    shape: Sequence[int], kinds: Sequence[str], accumulator: str, counts: Sequence[int], selector: int
) -> str:
    """The PTX text of a sparse MMA; ``counts`` are the registers of A, B and C."""
    m, n, k = shape
    a, b, c = counts
    groups, start = [], 0
    for count in (c, a, b, c):
        groups.append(braced(start, count))
        start += count
    overflow = ".satfinite" if accumulator == "s32" else ""
    types = f"{accumulator}.{kinds[0]}.{kinds[1]}.{accumulator}"
    name = f"mma.sp.sync.aligned.m{m}n{n}k{k}.row.col{overflow}.{types}"
    return f"{name} {', '.join(groups)}, ${start}, {selector:#x};"


@rewrite(nvgpu.MmaSparseSyncOp)
def convert_sparse_mma(emit: Emitter, op: nvgpu.MmaSparseSyncOp) -> None:
    """Unpack the fragments, emit the instruction, repack its result."""
    check_tf32(op, emit)
    kinds = [ptx_type(element_of(value), emit) for value in (op.matrixA, op.matrixB)]
    element = element_of(op.matrixC)
    if type(element) not in ACCUMULATORS:
        raise emit.unsupported("mma-type", f"cannot accumulate elements of type {element}")
    selector = op.sparsitySelector.value.data if op.sparsitySelector else 0
    _check_selector(op, selector, emit)
    groups = [registers(op.matrixA, emit), registers(op.matrixB, emit), accumulators(op.matrixC, emit)]
    metadata = emit.insert(llvm.BitcastOp(op.sparseMetadata, i32))
    text = sparse_text(shape_of(op), kinds, ACCUMULATORS[type(element)], list(map(len, groups)), selector)
    operands = [*(value for group in groups for value in group), metadata]
    types = [value.type for value in groups[2]]
    letters = ",".join([f"={constraint(one)}" for one in types] + [constraint(value.type) for value in operands])
    mma = llvm.InlineAsmOp(text, letters, operands, [struct_of(types)], has_side_effects=True)
    # The whole warp executes it (convergent): LLVM must not move it under a condition.
    mma.attributes["convergent"] = UnitAttr()
    emit.replace(repack(emit.fields(emit.insert(mma)), type_as(op.res, VectorType), emit))


def _check_selector(op: nvgpu.MmaSparseSyncOp, selector: int, emit: Emitter) -> None:
    element = element_of(op.matrixA)
    bits = element.width.data if isinstance(element, IntegerType) else 0
    if selector and (shape_of(op), bits) in WHOLE_WARP:
        raise emit.unsupported("mma-selector", "has the metadata of all lanes", "leave sparsitySelector at 0")
