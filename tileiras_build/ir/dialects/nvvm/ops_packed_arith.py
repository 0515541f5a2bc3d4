"""Reciprocals, conversions and packed f32x2 arithmetic of ``nvvm``."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, UnitAttr, VectorType, f32, i16
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from .attrs import (
    RoundingAttr,
)

PAIR = VectorType(f32, [2])


@irdl_op_definition
class RcpApproxFtzF32Op(IRDLOperation):
    """rcp.approx.ftz.f32"""

    name = "nvvm.rcp.approx.ftz.f"
    arg = operand_def(f32)
    res = result_def(f32)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($res)"


@irdl_op_definition
class FmaPackedF32x2Op(IRDLOperation):
    """fma.rn.f32x2"""

    name = "nvvm.fma.packed.f32x2"
    a = operand_def(PAIR)
    b = operand_def(PAIR)
    c = operand_def(PAIR)
    ftz = opt_prop_def(UnitAttr)
    res = result_def(PAIR)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $c attr-dict `:` type($res)"


@irdl_op_definition
class MulPackedF32x2Op(IRDLOperation):
    """mul.rn.f32x2"""

    name = "nvvm.mul.packed.f32x2"
    a = operand_def(PAIR)
    b = operand_def(PAIR)
    ftz = opt_prop_def(UnitAttr)
    res = result_def(PAIR)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($res)"


@irdl_op_definition
class ConvertFromF32x2Op(IRDLOperation):
    """cvt of two floats into one packed value of type ``dstTy``; ``a`` becomes its upper half."""

    name = "nvvm.convert.f32x2.packed"
    a = operand_def(f32)
    b = operand_def(f32)
    dstTy = prop_def(StringAttr)
    rnd = prop_def(RoundingAttr)
    satfinite = opt_prop_def(UnitAttr)
    relu = opt_prop_def(UnitAttr)
    res = result_def()
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($res)"


@irdl_op_definition
class ConvertToF16x2Op(IRDLOperation):
    """cvt of two packed 4-, 6- or 8-bit floats of type ``srcTy`` to f16x2 or bf16x2."""

    name = "nvvm.convert.packed.f16x2"
    a = operand_def(i16)
    srcTy = prop_def(StringAttr)
    res = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a attr-dict `:` type($a) `->` type($res)"
