"""Reciprocals, conversions and packed f32x2 arithmetic of the ``nvgpu`` dialect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    UnitAttr,
    VectorType,
)
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .attrs import RcpRounding, RcpRoundingAttr


@irdl_op_definition
class RcpOp(IRDLOperation):
    """Reciprocal of each lane: ``nvgpu.rcp %x {rounding = approx, ftz} : vector<4xf32>``."""

    name = "nvgpu.rcp"
    T: ClassVar = VarConstraint("T", BaseAttr(VectorType))
    in_ = operand_def(T)
    rounding = prop_def(RcpRoundingAttr)
    ftz = opt_prop_def(UnitAttr)
    out = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$in_ ` ` `{` `rounding` `=` $rounding (`,` `ftz` $ftz^)? `}` attr-dict `:` type($in_)"

    def verify_(self) -> None:
        if self.rounding.data != RcpRounding.APPROX or self.ftz is None:
            raise VerifyException(f"'nvgpu.rcp' op has a limitation. {self.rounding} or non-ftz is not supported yet.")


@irdl_op_definition
class ConvertTruncateOp(IRDLOperation):
    """Narrow pairs of floats: ``nvgpu.cvt_fptrunc %x : vector<2xf32> to vector<2xf8E4M3FN>``."""

    name = "nvgpu.cvt_fptrunc"
    source = operand_def(VectorType)
    relu = opt_prop_def(UnitAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class ConvertExtendOp(IRDLOperation):
    """Widen pairs of floats: ``nvgpu.cvt_fpext %x : vector<2xf8E4M3FN> to vector<2xf16>``."""

    name = "nvgpu.cvt_fpext"
    source = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class FmaPackedF32x2Op(IRDLOperation):
    """a * b + c of two floats at once."""

    name = "nvgpu.fma.packed.f32x2"
    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(VectorType)
    ftz = opt_prop_def(UnitAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c) `->` type($result)"


@irdl_op_definition
class MulPackedF32x2Op(IRDLOperation):
    """a * b of two floats at once."""

    name = "nvgpu.mul.packed.f32x2"
    a = operand_def(VectorType)
    b = operand_def(VectorType)
    ftz = opt_prop_def(UnitAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($result)"
