"""MLIR's arith operations on tiles.

xDSL's own classes verify and print many of these for scalars only (comparisons, selections, casts), so a comparison of
tiles would read back as a scalar. These are the same operations and names, on scalars and tensors alike.
"""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Dialect

from ..attribute_kinds import FLAG, TEXT, Declared
from ..op_definition import define
from ..op_traits import CHEAP, LayoutTrait, OpTraits, ValueForwarding

# Attributes of comparisons, min/max and float conversions.
COMPARISON: Declared = {"predicate": TEXT}
MIN_MAX: Declared = {"propagate_nan": FLAG, "flush_to_zero": FLAG}
ROUNDED: Declared = {"rounding_mode": TEXT.optional()}
SATURATED: Declared = {"rounding_mode": TEXT.optional(), "saturating": FLAG}
EXTENSION = OpTraits(LayoutTrait.ELEMENTWISE, forwarding=ValueForwarding.EXTENSION, rematerializable=True)


NO_ATTRIBUTES: Declared = {}


def _binary(name: str, meaning: str, attributes: Declared = NO_ATTRIBUTES):
    return define(f"arith.{name}", "lhs rhs", "result", meaning, attributes=attributes, op_traits=CHEAP)


def _unary(name: str, meaning: str, attributes: Declared = NO_ATTRIBUTES, op_traits: OpTraits = CHEAP):
    return define(f"arith.{name}", "source", "result", meaning, attributes=attributes, op_traits=op_traits)


AddiOp = _binary("addi", "lhs + rhs, wrapping")
SubiOp = _binary("subi", "integer difference, wrapping")
MuliOp = _binary("muli", "lhs * rhs, wrapping")
AndIOp = _binary("andi", "bitwise and")
OrIOp = _binary("ori", "bitwise or")
XOrIOp = _binary("xori", "bitwise exclusive or")
ShLIOp = _binary("shli", "shift left")
ShRUIOp = _binary("shrui", "shift right, zeros enter")
ShRSIOp = _binary("shrsi", "shift right, copies of the sign enter")
DivUIOp = _binary("divui", "unsigned quotient, rounded toward zero")
DivSIOp = _binary("divsi", "signed quotient, rounded toward zero")
FloorDivSIOp = _binary("floordivsi", "signed quotient, rounded down")
CeilDivUIOp = _binary("ceildivui", "unsigned quotient, rounded up")
CeilDivSIOp = _binary("ceildivsi", "signed quotient, rounded up")
RemUIOp = _binary("remui", "unsigned remainder")
RemSIOp = _binary("remsi", "signed remainder, sign of the dividend")
MaxUIOp = _binary("maxui", "unsigned maximum")
MaxSIOp = _binary("maxsi", "signed maximum")
MinUIOp = _binary("minui", "unsigned minimum")
MinSIOp = _binary("minsi", "signed minimum")
MaximumfOp = _binary("maximumf", "maximum, NaN where either is NaN", MIN_MAX)
MaxnumfOp = _binary("maxnumf", "maximum, the other where one is NaN", MIN_MAX)
MinimumfOp = _binary("minimumf", "minimum, NaN where either is NaN", MIN_MAX)
MinnumfOp = _binary("minnumf", "minimum, the other where one is NaN", MIN_MAX)
NegfOp = _unary("negf", "the number with its sign changed")
ExtUIOp = _unary("extui", "a wider integer, zeros above", op_traits=EXTENSION)
ExtSIOp = _unary("extsi", "a wider integer, copies of the sign above", op_traits=EXTENSION)
TruncIOp = _unary("trunci", "a narrower integer, the low bits")
UIToFPOp = _unary("uitofp", "unsigned integer to floating point", ROUNDED)
SIToFPOp = _unary("sitofp", "signed integer to floating point", ROUNDED)
FPToUIOp = _unary("fptoui", "floating point to unsigned integer, toward zero", SATURATED)
FPToSIOp = _unary("fptosi", "floating point to signed integer, toward zero", SATURATED)
CmpiOp = _binary("cmpi", "integer comparison by the attribute predicate, MLIR's name", COMPARISON)
CmpfOp = _binary("cmpf", "floating-point comparison by the attribute predicate, MLIR's name", COMPARISON)
SelectOp = define("arith.select", "condition true_value false_value", "result", "one of two values", op_traits=CHEAP)

OPERATIONS = (ConstantOp, *(value for value in list(globals().values()) if getattr(value, "operand_groups", None)))

TileArith = Dialect("arith", list(OPERATIONS), [])
