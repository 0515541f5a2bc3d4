"""Arithmetic of the public dialect, element by element."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import arith
from ...ir.dialects.nv_tileaa import ops
from ..rewriting.dialect_conversion import Rule
from .op_converter import Converter, attributes_of, enum_text, is_signed, same_operand_rules

# cuda_tile operation -> operation with the same operands, and without other attributes than those carried over.
SAME_OPERANDS: dict[str, type[Operation]] = {
    "absf": math.AbsFOp,
    "absi": math.AbsIOp,
    "atan2": math.Atan2Op,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "exp": math.ExpOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "pow": math.PowFOp,
    "fpowf": math.PowFOp,
    "fpowi": math.FPowIOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "addi": arith.AddiOp,
    "subi": arith.SubiOp,
    "muli": arith.MuliOp,
    "andi": arith.AndIOp,
    "ori": arith.OrIOp,
    "xori": arith.XOrIOp,
    "shli": arith.ShLIOp,
    "negf": arith.NegfOp,
    "select": arith.SelectOp,
    "trunci": arith.TruncIOp,
    "addf": ops.AddFOp,
    "subf": ops.SubFOp,
    "mulf": ops.MulFOp,
    "divf": ops.DivFOp,
    "remf": ops.RemFOp,
    "fma": ops.FmaOp,
    "sqrt": ops.SqrtOp,
    "rsqrt": ops.RsqrtOp,
    "exp2": ops.Exp2Op,
    "mulhii": ops.MulHiUIOp,
    "ftof": ops.FpToFpOp,
}


# (operation, signedness) -> operation; the signedness is an attribute of the public operation.
BY_SIGNEDNESS: dict[str, tuple[type[Operation], type[Operation]]] = {
    "remi": (arith.RemUIOp, arith.RemSIOp),
    "maxi": (arith.MaxUIOp, arith.MaxSIOp),
    "mini": (arith.MinUIOp, arith.MinSIOp),
    "shri": (arith.ShRUIOp, arith.ShRSIOp),
    "exti": (arith.ExtUIOp, arith.ExtSIOp),
    "itof": (arith.UIToFPOp, arith.SIToFPOp),
    "ftoi": (arith.FPToUIOp, arith.FPToSIOp),
}

# (rounding, signed) -> integer division (reference: public dialect, divi).
DIVISIONS: dict[tuple[str, bool], type[Operation]] = {
    ("zero", False): arith.DivUIOp,
    ("zero", True): arith.DivSIOp,
    ("negative_inf", False): arith.DivUIOp,
    ("negative_inf", True): arith.FloorDivSIOp,
    ("positive_inf", False): arith.CeilDivUIOp,
    ("positive_inf", True): arith.CeilDivSIOp,
}

# propagate_nan -> maximum and minimum (IEEE 754-2019 maximum / maximumNumber).
MIN_MAX: dict[tuple[str, bool], type[Operation]] = {
    ("maxf", True): arith.MaximumfOp,
    ("maxf", False): arith.MaxnumfOp,
    ("minf", True): arith.MinimumfOp,
    ("minf", False): arith.MinnumfOp,
}

# Comparison predicates: of arith.cmpi as (unsigned, signed), of arith.cmpf as (unordered, ordered).
CMPI = {"equal": ("eq", "eq"), "not_equal": ("ne", "ne"), "less_than": ("ult", "slt")}
CMPI |= {"less_than_or_equal": ("ule", "sle"), "greater_than": ("ugt", "sgt"), "greater_than_or_equal": ("uge", "sge")}
CMPF = {"equal": ("ueq", "oeq"), "not_equal": ("une", "one"), "less_than": ("ult", "olt")}
CMPF |= {"less_than_or_equal": ("ule", "ole"), "greater_than": ("ugt", "ogt"), "greater_than_or_equal": ("uge", "oge")}


def _convert_by_signedness(cv: Converter, op: Operation) -> None:
    target = BY_SIGNEDNESS[op.name.removeprefix("cuda_tile.")][is_signed(op)]
    cv.build(target, cv.operands(op), attributes_of(op))


def _convert_divi(cv: Converter, op: Operation) -> None:
    rounding = enum_text(op.properties["rounding"]) if "rounding" in op.properties else "zero"
    target = DIVISIONS[rounding, is_signed(op)]
    cv.build(target, cv.operands(op))


def _convert_min_max(cv: Converter, op: Operation) -> None:
    target = MIN_MAX[op.name.removeprefix("cuda_tile."), "propagate_nan" in op.properties]
    cv.build(target, cv.operands(op), attributes_of(op))


def _convert_compare(cv: Converter, op: Operation) -> None:
    predicate = enum_text(op.properties["comparison_predicate"])
    if op.name.endswith("cmpi"):
        target, code = arith.CmpiOp, CMPI[predicate][is_signed(op)]
    else:
        ordered = enum_text(op.properties["comparison_ordering"]) == "ordered"
        target, code = arith.CmpfOp, CMPF[predicate][ordered]
    cv.build(target, cv.operands(op), {"predicate": StringAttr(code)})


def _convert_negi(cv: Converter, op: Operation) -> None:
    source = cv.value(op.operands[0])
    zero = _constant_like(cv, source.type, 0)
    cv.build(arith.SubiOp, [zero, source])


def _constant_like(cv: Converter, type: Attribute, value: int) -> SSAValue:
    if not isinstance(type, TensorType):
        return cv.constant(value, type)
    return cv.insert(ops.SplatOp.make([cv.constant(value, type.element_type)], [type]))


RULES: dict[str, Rule] = {
    **same_operand_rules(SAME_OPERANDS),
    **dict.fromkeys(BY_SIGNEDNESS, _convert_by_signedness),
    **dict.fromkeys(("maxf", "minf"), _convert_min_max),
    **dict.fromkeys(("cmpi", "cmpf"), _convert_compare),
    "divi": _convert_divi,
    "negi": _convert_negi,
}
