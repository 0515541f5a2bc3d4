"""Rows of arithmetic, conversions, and the MMA of a warp.

Attributes: ``rounding`` is PTX's modifier (``rn``, ``rz``, ``rm``, ``rp``; of some also ``full`` or ``approx``), ``ftz``
flushes subnormals to zero. Types of operands and results determine the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from ....target.mma_atoms import MMA_ATOMS
from ..op_definition import TableOp
from .intrinsic_or_inline_asm import NONE, Assembly, Intrinsic, define_instruction, keyword_attr


def _modifiers(op: Operation) -> str:
    """``.rz.ftz``: the rounding mode, and whether subnormals are flushed."""
    rounding = keyword_attr(op, "rounding")
    return (f".{rounding}" if rounding else "") + (".ftz" if "ftz" in op.attributes else "")


def _type_letter(value: SSAValue) -> str:
    """``d`` for f64, ``f`` for f32."""
    return "d" if value.type == f64 else "f"


def _typed(name: str) -> Callable[[Operation], str]:
    """``<name>.rz.ftz.f``"""
    return lambda op: f"{name}{_modifiers(op)}.{_type_letter(op.operands[0])}"


# Floating-point arithmetic --------------------------------------------------------------------------------------------


def _division(op: TableOp) -> str:
    name = f"div{_modifiers(op)}"
    return name if keyword_attr(op, "rounding") == "full" else f"{name}.{_type_letter(op.operands[0])}"


def _min_max(name: str) -> Callable[[Operation], str]:
    """``<name>.ftz.nan.f``; with ``nan`` the result is NaN where an operand is."""
    return lambda op: f"{name}{_modifiers(op)}{'.nan' if 'nan' in op.attributes else ''}.{_type_letter(op.operands[0])}"


AddOp = define_instruction("add", "lhs rhs", "result", "lhs + rhs, rounded", Intrinsic(_typed("add")))
MulOp = define_instruction("mul", "lhs rhs", "result", "lhs * rhs, rounded", Intrinsic(_typed("mul")))
FmaOp = define_instruction("fma", "a b c", "result", "a * b + c, rounded once", Intrinsic(_typed("fma")))
# Pairs of f32 are an i64 here: libNVVM rejects vectors of floats as operands of assembly, and the intrinsic of rcp.
FmaPairOp = define_instruction(
    "fma.pair", "a b c", "result", "a * b + c of pairs of f32, rounded once",
    Assembly(lambda op: f"fma{_modifiers(op)}.f32x2 $0, $1, $2, $3;", NONE),
)  # fmt: skip
# Opaque to LLVM, which would shift the pair as one 64-bit integer: three instructions instead of one.
MulHiOp = define_instruction(
    "upper.half", "pair", "result", "the word of a pair's second number", Assembly("mov.b64 {_, $0}, $1;", NONE)
)
# Pairs of halves are an i32, for the same reason. ``operation``: min or max; ``halves``: f16x2 or bf16x2.
MinMaxPairOp = define_instruction(
    "extreme.pair", "lhs rhs", "result", "the minimum or maximum of each half; ``nan``: NaN propagates",
    Assembly(
        lambda op: f"{keyword_attr(op, 'operation')}{'.NaN' if 'nan' in op.attributes else ''}.{keyword_attr(op, 'halves')} $0, $1, $2;", NONE
    ),
)  # fmt: skip
# Opaque to LLVM, which would sink the rounding past a branch and keep two registers live across it.
RoundPairOp = define_instruction(
    "round.pair", "low high", "result", "two f32, each rounded to a half",
    Assembly(lambda op: f"cvt.rn.{keyword_attr(op, 'halves')}.f32 $0, $2, $1;", NONE),
)  # fmt: skip
# ``halves``: f16 or bf16, the format of the first operand's bits.
AddMixedOp = define_instruction(
    "add.mixed", "half value", "result", "the sum of a half and an f32, rounded once to f32",
    Assembly(lambda op: f"add.rn.f32.{keyword_attr(op, 'halves')} $0, $1, $2;", NONE),
)  # fmt: skip
SubMixedOp = define_instruction(
    "sub.mixed", "half value", "result", "a half minus an f32, rounded once to f32",
    Assembly(lambda op: f"sub.rn.f32.{keyword_attr(op, 'halves')} $0, $1, $2;", NONE),
)  # fmt: skip
ReciprocalOp = define_instruction(
    "rcp.approx", "value", "result", "1 / x of an f32, to one unit in the last place; flushes subnormals",
    Assembly("rcp.approx.ftz.f32 $0, $1;", NONE),
)  # fmt: skip
SaturateOp = define_instruction("saturate", "value", "result", "an f32 kept within 0 and 1", Intrinsic("saturate.f"))
DivOp = define_instruction("div", "lhs rhs", "result", "the quotient, rounded or approximate", Intrinsic(_division))
SqrtOp = define_instruction(
    "sqrt", "value", "result", "the square root, rounded or approximate", Intrinsic(_typed("sqrt"))
)
RsqrtOp = define_instruction(
    "rsqrt.approx", "value", "result", "one over the square root", Intrinsic(_typed("rsqrt.approx"))
)
Ex2Op = define_instruction(
    "ex2.approx", "value", "result", "two to the power of an f32",
    Intrinsic(lambda op: f"ex2.approx{_modifiers(op)}.f32"),
)  # fmt: skip
TanhOp = define_instruction("tanh.approx", "value", "result", "tanh of an f32", Intrinsic("tanh.approx.f32"))
FMinOp = define_instruction("fmin", "lhs rhs", "result", "the smaller of two values", Intrinsic(_min_max("fmin")))
FMaxOp = define_instruction("fmax", "lhs rhs", "result", "the larger of two values", Intrinsic(_min_max("fmax")))


# Conversions ----------------------------------------------------------------------------------------------------------


def _from_integer(op: TableOp) -> str:
    """``ull2f.rz``: LLVM abbreviates the integer types as C does."""
    sign = "u" if "unsigned" in op.attributes else ""
    size = "ll" if op.value.type.bitwidth == 64 else "i"
    return f"{sign}{size}2{_type_letter(op.results[0])}{_modifiers(op)}"


@cache
def _conversion(rounding: str, target: str, source: str) -> str:
    return f"cvt.{rounding}.{target}.{source} $0, $1;"


def _narrowing(op: TableOp) -> str:
    source = "f64" if op.value.type == f64 else "f32"
    return _conversion(keyword_attr(op, "rounding"), keyword_attr(op, "target"), source)


# ``unsigned``: the signedness of the integer, of 32 or 64 bits.
IntegerToFloatOp = define_instruction(
    "cvt.integer", "value", "result", "an integer as f32 or f64", Intrinsic(_from_integer)
)
DoubleToFloatOp = define_instruction(
    "cvt.f32.f64", "value", "result", "f64 as f32", Intrinsic(lambda op: f"d2f{_modifiers(op)}")
)
# The result is an i16 for f16 and bf16, an i32 for tf32: ``target`` is the type.
NarrowFloatOp = define_instruction(
    "cvt.float", "value", "result", "f64 or f32 as the bits of a narrower number", Assembly(_narrowing, NONE)
)


# MMA of a warp -----------------------------------------------------------------------------------------

_ATOMS = {atom.name: atom for atom in MMA_ATOMS}


@cache
def _mma_text(atom: str, a_signed: bool, b_signed: bool, saturates: bool) -> str:
    name = _ATOMS[atom].intrinsic_name(a_signed, b_signed)
    return name.replace(".row.col.", ".row.col.satfinite.") if saturates else name


def _mma_atom_row(op: TableOp) -> str:
    found = op.attributes
    return _mma_text(
        keyword_attr(op, "atom"), "unsigned_a" not in found, "unsigned_b" not in found, "satfinite" in found
    )


# ``nvvm.mma.sync`` of MLIR has no spelling for some rows of ``target/mma_atoms.py``; this names the row. ``unsigned_a``,
# ``unsigned_b``: the operand's integers are unsigned; ``satfinite``: accumulators saturate. ``scales``: the registers of A and B,
# each followed by 16-bit constants: the byte in it and the thread that has it.
MmaSyncAtomOp = define_instruction(
    "mma.sync.atom", "a* b* c* scales*", "result", "A * B + C of a warp, a struct of registers",
    Intrinsic(_mma_atom_row, convergent=True),
)  # fmt: skip
