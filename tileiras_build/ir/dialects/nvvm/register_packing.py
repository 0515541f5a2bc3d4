"""Instructions that pack smaller values into a 32-bit register (PTX ISA 9.0: mov, prmt)."""

from __future__ import annotations

from .intrinsic_or_inline_asm import NONE, Assembly, Intrinsic, define_instruction

PackOp = define_instruction(
    "mov.b32.pack", "low high", "word", "two 16-bit values as a word", Assembly("mov.b32 $0, {$1, $2};", NONE)
)
PrmtOp = define_instruction(
    "prmt",
    "low high selector",
    "word",
    "four bytes of two registers, each selected by a digit of the selector",
    Intrinsic("prmt"),
)
