"""Reciprocals, and arithmetic and conversions of packed pairs."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    StringAttr,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    i16,
)
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.checked_cast import type_as
from ....ir.dialects.nvgpu import ops_arith as nvgpu
from ....ir.dialects.nvvm import ops_packed_arith as target
from ....ir.dialects.nvvm.attrs import RoundingAttr
from ....ir.dialects.vector_ext import FromElementsOp
from ....target.element_types import OPERAND_TYPES
from .rewriter import Emitter, rewrite

_SMALL = (Float8E4M3FNType, Float8E5M2Type, Float6E2M3FNType, Float6E3M2FNType, Float4E2M1FNType, Float8E8M0FNUType)
# PTX's names.
SMALL: dict[type[Attribute], str] = {kind: unwrap(OPERAND_TYPES[kind.name].ptx) for kind in _SMALL}
HALF: dict[type[Attribute], str] = {kind: unwrap(OPERAND_TYPES[kind.name].ptx) for kind in (Float16Type, BFloat16Type)}


@rewrite(nvgpu.RcpOp)
def convert_rcp(emit: Emitter, op: nvgpu.RcpOp) -> None:
    """rcp.approx.ftz per element"""
    type = type_as(op.out, VectorType)
    if type.element_type != f32:
        raise emit.unsupported("rcp-type", f"is for f32, but got '{type}'")
    lanes = [
        emit.insert(target.RcpApproxFtzF32Op.build(operands=[lane], result_types=[f32])) for lane in emit.lanes(op.in_)
    ]
    emit.replace(FromElementsOp(lanes, type))


def _packed(
    op: nvgpu.FmaPackedF32x2Op | nvgpu.MulPackedF32x2Op,
    emit: Emitter,
    form: type[target.FmaPackedF32x2Op] | type[target.MulPackedF32x2Op],
) -> None:
    if any(value.type != target.PAIR for value in (*op.operands, *op.results)):
        raise emit.unsupported("packed-type", f"is for {target.PAIR}, but got '{op.results[0].type}'")
    if not emit.job.target.has("f32x2"):
        raise emit.unsupported("packed-target", f"has no instruction on {emit.job.target.name}", "use sm_100 or newer")
    properties: dict[str, Attribute] = {"ftz": UnitAttr()} if op.ftz is not None else {}
    emit.replace(form.build(operands=list(op.operands), result_types=[target.PAIR], properties=properties))


@rewrite(nvgpu.FmaPackedF32x2Op)
def convert_fma(emit: Emitter, op: nvgpu.FmaPackedF32x2Op) -> None:
    """fma.rn.f32x2"""
    _packed(op, emit, target.FmaPackedF32x2Op)


@rewrite(nvgpu.MulPackedF32x2Op)
def convert_mul(emit: Emitter, op: nvgpu.MulPackedF32x2Op) -> None:
    """mul.rn.f32x2"""
    _packed(op, emit, target.MulPackedF32x2Op)


def _vectors(op: nvgpu.ConvertTruncateOp | nvgpu.ConvertExtendOp, emit: Emitter) -> tuple[VectorType, VectorType]:
    """The types of source and result, of an even number of elements."""
    source, result = type_as(op.source, VectorType), type_as(op.result, VectorType)
    if source.get_shape() != result.get_shape() or len(source.get_shape()) != 1 or source.get_shape()[0] % 2:
        raise emit.unsupported("convert-shape", f"converts pairs, but got '{source}' to '{result}'")
    return source, result


@rewrite(nvgpu.ConvertTruncateOp)
def convert_truncate(emit: Emitter, op: nvgpu.ConvertTruncateOp) -> None:
    """One packed conversion per pair of floats, then the pairs side by side."""
    source, result = _vectors(op, emit)
    element = result.element_type
    name = SMALL.get(type(element)) or HALF.get(type(element))
    if source.element_type != f32 or name is None:
        raise emit.unsupported("convert-type", f"cannot convert '{source}' to '{result}'")
    lanes = emit.lanes(op.source)
    words = [_narrow(low, high, name, op, emit) for low, high in zip(lanes[::2], lanes[1::2], strict=True)]
    emit.replace(_join(words, result, emit))


def _narrow(low: SSAValue, high: SSAValue, name: str, op: nvgpu.ConvertTruncateOp, emit: Emitter) -> SSAValue:
    half = name in HALF.values()
    properties: dict[str, Attribute] = {
        "dstTy": StringAttr(name),
        # ue8m0 has no sign and no mantissa; it is rounded towards zero (PTX ISA 9.0, section 9.7.9.21).
        "rnd": RoundingAttr.new([StringAttr("rz" if name == "ue8m0" else "rn")]),
    }
    if not half:
        properties["satfinite"] = UnitAttr()
    if op.relu is not None:
        properties["relu"] = UnitAttr()
    type = VectorType(f16 if name == "f16" else bf16, [2]) if half else i16
    # The first operand of cvt becomes the upper half.
    return emit.insert(
        target.ConvertFromF32x2Op.build(operands=[high, low], result_types=[type], properties=properties)
    )


def _join(words: list[SSAValue], type: VectorType, emit: Emitter) -> SSAValue:
    if len(words) == 1:
        return emit.as_type(words[0], type)
    if words[0].type == i16:
        packed = emit.insert(FromElementsOp(words, VectorType(i16, [len(words)])))
        return emit.as_type(packed, type)
    lanes = [lane for word in words for lane in emit.lanes(word)]
    return emit.insert(FromElementsOp(lanes, type))


@rewrite(nvgpu.ConvertExtendOp)
def convert_extend(emit: Emitter, op: nvgpu.ConvertExtendOp) -> None:
    """Packed conversions of small floats to f16x2 or bf16x2; halves widen to f32 without a packed form."""
    source_type, result_type = _vectors(op, emit)
    source, result = source_type.element_type, result_type.element_type
    if type(source) in HALF and isinstance(result, Float32Type):
        emit.replace(llvm.FPExtOp(op.source, result_type))
        return
    wanted = Float8E8M0FNUType if isinstance(result, BFloat16Type) else None
    known = type(source) in SMALL and type(result) in HALF
    if not known or (wanted is not None) != (type(source) is Float8E8M0FNUType):
        raise emit.unsupported("convert-type", f"cannot convert '{source_type}' to '{result_type}'")
    count = source_type.get_shape()[0] // 2
    packed = emit.as_type(op.source, i16 if count == 1 else VectorType(i16, [count]))
    words = [packed] if count == 1 else emit.lanes(packed)
    emit.replace(_join([_widen(word, source, result, emit) for word in words], result_type, emit))


def _widen(word: SSAValue, source: Attribute, result: Attribute, emit: Emitter) -> SSAValue:
    properties = {"srcTy": StringAttr(SMALL[type(source)])}
    pair = VectorType(result, [2])
    return emit.insert(target.ConvertToF16x2Op.build(operands=[word], result_types=[pair], properties=properties))
