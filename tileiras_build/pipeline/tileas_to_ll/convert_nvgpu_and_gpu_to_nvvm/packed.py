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
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.nvgpu import ops_copy as nvgpu
from ....dialects.nvvm import ops_matrix as target
from ....dialects.nvvm.attrs import RoundingAttr
from ....dialects.vector_ext import FromElementsOp
from .conversion import Emitter, rewrite

SMALL: dict[type[Attribute], str] = {
    Float8E4M3FNType: "e4m3",
    Float8E5M2Type: "e5m2",
    Float6E2M3FNType: "e2m3",
    Float6E3M2FNType: "e3m2",
    Float4E2M1FNType: "e2m1",
    Float8E8M0FNUType: "ue8m0",
}
HALF: dict[type[Attribute], str] = {Float16Type: "f16", BFloat16Type: "bf16"}


@rewrite(nvgpu.RcpOp)
def convert_rcp(op: nvgpu.RcpOp, emit: Emitter) -> None:
    """rcp.approx.ftz per lane"""
    if op.out.type.element_type != f32:
        raise emit.unsupported("rcp-type", f"is for f32, but got '{op.out.type}'")
    lanes = [
        emit.add(target.RcpApproxFtzF32Op.build(operands=[lane], result_types=[f32])) for lane in emit.lanes(op.in_)
    ]
    emit.replace(FromElementsOp(lanes, op.out.type))


def _packed(op: Operation, emit: Emitter, form: type[Operation]) -> None:
    if any(value.type != target.PAIR for value in (*op.operands, *op.results)):
        raise emit.unsupported("packed-type", f"is for {target.PAIR}, but got '{op.results[0].type}'")
    if not emit.job.target.has("f32x2"):
        raise emit.unsupported("packed-target", f"has no instruction on {emit.job.target.name}", "use sm_100 or newer")
    properties = {"ftz": UnitAttr()} if op.ftz is not None else {}
    emit.replace(form.build(operands=list(op.operands), result_types=[target.PAIR], properties=properties))


@rewrite(nvgpu.FmaPackedF32x2Op)
def convert_fma(op: nvgpu.FmaPackedF32x2Op, emit: Emitter) -> None:
    """fma.rn.f32x2"""
    _packed(op, emit, target.FmaPackedF32x2Op)


@rewrite(nvgpu.MulPackedF32x2Op)
def convert_mul(op: nvgpu.MulPackedF32x2Op, emit: Emitter) -> None:
    """mul.rn.f32x2"""
    _packed(op, emit, target.MulPackedF32x2Op)


def _check_pairs(op, emit: Emitter) -> None:
    source, result = op.source.type, op.result.type
    if source.get_shape() != result.get_shape() or len(source.get_shape()) != 1 or source.get_shape()[0] % 2:
        raise emit.unsupported("convert-shape", f"converts pairs, but got '{source}' to '{result}'")


@rewrite(nvgpu.ConvertTruncateOp)
def convert_truncate(op: nvgpu.ConvertTruncateOp, emit: Emitter) -> None:
    """One packed conversion per pair of floats, then the pairs side by side."""
    _check_pairs(op, emit)
    element = op.result.type.element_type
    name = SMALL.get(type(element)) or HALF.get(type(element))
    if op.source.type.element_type != f32 or name is None:
        raise emit.unsupported("convert-type", f"cannot convert '{op.source.type}' to '{op.result.type}'")
    lanes = emit.lanes(op.source)
    words = [_narrow(low, high, name, op, emit) for low, high in zip(lanes[::2], lanes[1::2], strict=True)]
    emit.replace(_join(words, op.result.type, emit))


def _narrow(low: SSAValue, high: SSAValue, name: str, op, emit: Emitter) -> SSAValue:
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
    return emit.add(target.ConvertFromF32x2Op.build(operands=[high, low], result_types=[type], properties=properties))


def _join(words: list[SSAValue], type: VectorType, emit: Emitter) -> SSAValue:
    if len(words) == 1:
        return emit.as_type(words[0], type)
    if words[0].type == i16:
        packed = emit.add(FromElementsOp(words, VectorType(i16, [len(words)])))
        return emit.as_type(packed, type)
    lanes = [lane for word in words for lane in emit.lanes(word)]
    return emit.add(FromElementsOp(lanes, type))


@rewrite(nvgpu.ConvertExtendOp)
def convert_extend(op: nvgpu.ConvertExtendOp, emit: Emitter) -> None:
    """Packed conversions of small floats to f16x2 or bf16x2; halves widen to f32 without a packed form."""
    _check_pairs(op, emit)
    source, result = op.source.type.element_type, op.result.type.element_type
    if type(source) in HALF and isinstance(result, Float32Type):
        emit.replace(llvm.FPExtOp(op.source, op.result.type))
        return
    wanted = Float8E8M0FNUType if isinstance(result, BFloat16Type) else None
    known = type(source) in SMALL and type(result) in HALF
    if not known or (wanted is not None) != (type(source) is Float8E8M0FNUType):
        raise emit.unsupported("convert-type", f"cannot convert '{op.source.type}' to '{op.result.type}'")
    count = op.source.type.get_shape()[0] // 2
    packed = emit.as_type(op.source, i16 if count == 1 else VectorType(i16, [count]))
    words = [packed] if count == 1 else emit.lanes(packed)
    emit.replace(_join([_widen(word, op, emit) for word in words], op.result.type, emit))


def _widen(word: SSAValue, op: nvgpu.ConvertExtendOp, emit: Emitter) -> SSAValue:
    properties = {"srcTy": StringAttr(SMALL[type(op.source.type.element_type)])}
    result = VectorType(op.result.type.element_type, [2])
    return emit.add(target.ConvertToF16x2Op.build(operands=[word], result_types=[result], properties=properties))
