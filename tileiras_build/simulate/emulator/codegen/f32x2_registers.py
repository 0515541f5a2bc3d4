"""64-bit registers that hold two float32 values (f32x2): the emitter keeps the halves separate.

It joins the halves only if an instruction reads all 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ptx.ast import Register

if TYPE_CHECKING:
    from .emit_block import Emitter

F32X2 = "pair"  # the kind of the version


@dataclass(frozen=True)
class F32Half:
    """A variable of ``kind`` f32 or u32; ``has_canonical_nans``: its NaNs, if any, are the canonical one."""

    kind: str
    name: str
    has_canonical_nans: bool = False

    @property
    def number(self) -> str:
        return self.name if self.kind == "f32" else f"{self.name}.view(f32)"

    @property
    def bits(self) -> str:
        if self.kind == "u32":
            return self.name
        return f"{self.name}.view(u32)" if self.has_canonical_nans else f"bits32({self.name})"


def halves_of(e: Emitter, operand) -> tuple[F32Half, F32Half]:
    """The low and the high half of a 64-bit operand."""
    found = pair_of(e, operand)
    if found is None:
        whole = e.use(operand, "u64")
        low, high = e.temp(f"lower_half({whole})"), e.temp(f"upper_half({whole})")
        found = F32Half("u32", low), F32Half("u32", high)
        if isinstance(operand, Register):
            e.pairs[operand.index] = found
    return found


def pair_of(e: Emitter, operand) -> tuple[F32Half, F32Half] | None:
    """The halves of a register, or None if they are not separate."""
    return e.pairs.get(operand.index) if isinstance(operand, Register) else None


def half_of(e: Emitter, operand) -> F32Half:
    """A 32-bit operand as a half, which stays valid when its register is redefined."""
    kind = "f32" if isinstance(operand, Register) and operand.kind == "f32" else "u32"
    return F32Half(kind, e.temp(e.use(operand, kind)))


def set_pair(e: Emitter, target, low: F32Half, high: F32Half) -> None:
    """Define a 64-bit register by two halves."""
    whole = joined(low, high)
    if e.predicate is not None or not isinstance(target, Register) or target.kind != "u64":
        return e.set(target, "u64", whole)
    e.define(target)
    e.pairs[target.index] = low, high
    e.postponed[target.index] = whole
    return None


def joined(low: F32Half, high: F32Half) -> str:
    """Source of the 64-bit value of two halves."""
    return f"joined_halves({low.bits}, {high.bits})"
