"""MLIR's arith operations on tiles.

xDSL's own classes verify and print many of these for scalars only (comparisons, selections, casts), so a comparison of
tiles would read back as a scalar. These are the same operations and names, on scalars and tensors alike.
"""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Dialect

from ..definition import define


def _binary(name: str, meaning: str):
    return define(f"arith.{name}", "lhs rhs", "result", meaning)


def _unary(name: str, meaning: str):
    return define(f"arith.{name}", "source", "result", meaning)


AddiOp = _binary("addi", "integer sum, wrapping")
SubiOp = _binary("subi", "integer difference, wrapping")
MuliOp = _binary("muli", "integer product, wrapping")
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
MaximumfOp = _binary("maximumf", "maximum, NaN where either is NaN")
MaxnumfOp = _binary("maxnumf", "maximum, the other where one is NaN")
MinimumfOp = _binary("minimumf", "minimum, NaN where either is NaN")
MinnumfOp = _binary("minnumf", "minimum, the other where one is NaN")
NegfOp = _unary("negf", "the number with its sign changed")
ExtUIOp = _unary("extui", "a wider integer, zeros above")
ExtSIOp = _unary("extsi", "a wider integer, copies of the sign above")
TruncIOp = _unary("trunci", "a narrower integer, the low bits")
UIToFPOp = _unary("uitofp", "unsigned integer to floating point")
SIToFPOp = _unary("sitofp", "signed integer to floating point")
FPToUIOp = _unary("fptoui", "floating point to unsigned integer, toward zero")
FPToSIOp = _unary("fptosi", "floating point to signed integer, toward zero")
CmpiOp = _binary("cmpi", "integer comparison by the attribute predicate, MLIR's name")
CmpfOp = _binary("cmpf", "floating-point comparison by the attribute predicate, MLIR's name")
SelectOp = define("arith.select", "condition true_value false_value", "result", "one of two values")

OPERATIONS = (ConstantOp, *(value for value in list(globals().values()) if getattr(value, "operand_groups", None)))

TileArith = Dialect("arith", list(OPERATIONS), [])
