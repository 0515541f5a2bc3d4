"""C's fmod as an LLVM IR function: exact, by long division bit by bit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class _Form:
    """A floating-point type: the integer type of its bits, and the width of its fraction."""

    integer: int
    fraction: int

    @property
    def infinity(self) -> int:
        """The bits of infinity: all exponent bits are set."""
        return (1 << (self.integer - 1)) - (1 << self.fraction)


_FORMS = {"float": _Form(32, 23), "double": _Form(64, 52)}
REMAINDERS = {kind: f"tileiras.remainder.{kind}" for kind in _FORMS}

# Both operands are integers times a power of two; subnormal ones have the exponent 1. The integer of the dividend is
# reduced once, and again after each doubling until the exponents are equal; then the result is normalized.
_TEXT = """
define internal {kind} @{name}({kind} %x, {kind} %y) alwaysinline nounwind {{
start:
  %x.bits = bitcast {kind} %x to {i}
  %y.bits = bitcast {kind} %y to {i}
  %x.size = and {i} %x.bits, {largest}
  %y.size = and {i} %y.bits, {largest}
  %sign = xor {i} %x.bits, %x.size
  %y.zero = icmp eq {i} %y.size, 0
  %x.endless = icmp uge {i} %x.size, {infinity}
  %y.none = icmp ugt {i} %y.size, {infinity}
  %bad.x = or i1 %y.zero, %x.endless
  %bad = or i1 %bad.x, %y.none
  br i1 %bad, label %none, label %compare
none:
  ret {kind} 0x7FF8000000000000
compare:
  %less = icmp ult {i} %x.size, %y.size
  br i1 %less, label %same, label %divide
same:
  ret {kind} %x
divide:
  %x.raw = lshr {i} %x.size, {fraction}
  %y.raw = lshr {i} %y.size, {fraction}
  %x.small = icmp eq {i} %x.raw, 0
  %y.small = icmp eq {i} %y.raw, 0
  %x.exponent = select i1 %x.small, {i} 1, {i} %x.raw
  %y.exponent = select i1 %y.small, {i} 1, {i} %y.raw
  %x.fraction = and {i} %x.size, {mask}
  %y.fraction = and {i} %y.size, {mask}
  %x.one = select i1 %x.small, {i} 0, {i} {one}
  %y.one = select i1 %y.small, {i} 0, {i} {one}
  %x.integer = or {i} %x.fraction, %x.one
  %y.integer = or {i} %y.fraction, %y.one
  %steps = sub {i} %x.exponent, %y.exponent
  %first = urem {i} %x.integer, %y.integer
  br label %check
check:
  %rest = phi {i} [ %first, %divide ], [ %reduced, %double ]
  %left = phi {i} [ %steps, %divide ], [ %fewer, %double ]
  %done = icmp eq {i} %left, 0
  br i1 %done, label %finish, label %double
double:
  %twice = shl {i} %rest, 1
  %fits = icmp uge {i} %twice, %y.integer
  %less.y = sub {i} %twice, %y.integer
  %reduced = select i1 %fits, {i} %less.y, {i} %twice
  %fewer = sub {i} %left, 1
  br label %check
finish:
  %empty = icmp eq {i} %rest, 0
  br label %raise
raise:
  %integer = phi {i} [ %rest, %finish ], [ %longer, %move ]
  %exponent = phi {i} [ %y.exponent, %finish ], [ %lower, %move ]
  %is.short = icmp ult {i} %integer, {one}
  %is.normal = icmp ugt {i} %exponent, 1
  %can.move = and i1 %is.short, %is.normal
  br i1 %can.move, label %move, label %place
move:
  %longer = shl {i} %integer, 1
  %lower = sub {i} %exponent, 1
  br label %raise
place:
  %above = sub {i} %exponent, 1
  %placed = shl {i} %above, {fraction}
  %size = add {i} %integer, %placed
  %held = select i1 %empty, {i} 0, {i} %size
  %signed = or {i} %held, %sign
  %result = bitcast {i} %signed to {kind}
  ret {kind} %result
}}
"""


def definition(kind: str) -> str:
    """The definition of the function for a type."""
    form = _FORMS[kind]
    return _TEXT.format(
        kind=kind, name=REMAINDERS[kind], i=f"i{form.integer}", fraction=form.fraction, infinity=form.infinity,
        largest=(1 << (form.integer - 1)) - 1, mask=(1 << form.fraction) - 1, one=1 << form.fraction,
    )  # fmt: skip
