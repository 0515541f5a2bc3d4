"""Division of tiles: where elements share a divisor, one reciprocal serves them all, bit for bit.

With y = 1 / b rounded to nearest, q = a y, r = b q - a and q - r y, each rounded once, the last one is a / b rounded to
nearest (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990; Brisebarre, Muller and
Raina, "Accelerating correctly rounded floating-point division when the divisor is known in advance", 2004), where nothing
overflows or underflows. ``tests/pipeline/tileas_to_ll/values/test_division.py`` has the argument for f32, and tries every
quotient that is near to a midpoint of some divisors. r is a remainder with its sign changed: where it is zero, ``- r y`` is
-0 for a positive y, so that a quotient of -0 stays one.

That nothing overflows or underflows is asked of the divisors and of the largest and the smallest dividend of a thread; where
it is not so, the thread divides each element by itself. A quotient that is only rounded to f16 may underflow: it is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.nvvm.arithmetic import ReciprocalOp
from ....dialects.nvvm.generic import FAbsOp, FMAOp, MaxNumOp, UMinOp
from ...shared.accessors import owner, row, tile_type
from ...shared.element_types import element_of
from ...shared.llvm_types import BFLOAT, FLOAT, HALF, I32
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.thread_code import Value
from .arithmetic import emit_elementwise
from .pairs import PAIR, has_pairs, in_pairs, pair
from .scalar_rules import flushes, option_text

# So many dividends of one divisor pay for its reciprocal and for the checks.
LEAST_DIVIDENDS = 4
# Divisors are within 2 ** -40 and 2 ** 40, dividends zero or within 2 ** -84 and 2 ** 80: then no quotient is below
# 2 ** -124, no part of a remainder below 2 ** -149.
LARGEST_DIVISOR, LARGEST_DIVIDEND, SMALLEST_DIVIDEND = 40, 80, -84
BIAS, FRACTION_BITS = 127, 23
# The reciprocals of f32 come out right but for one: of 2 - 2 ** -23 it is just above a midpoint.
NEWTON_STEPS = 2
ALL_ONES = (1 << FRACTION_BITS) - 1


def emit_divide(e: KernelEmitter, op: Operation) -> None:
    """``nv_tileas.divf``: by reciprocals where divisors are shared and it rounds to nearest."""
    type = element_of(op.results[0].type).type
    if type not in (FLOAT, HALF, BFLOAT) or not _is_to_nearest(op) or flushes(op):
        return emit_elementwise(e, op)
    dividends, divisors = (e.registers(operand) for operand in op.operands)
    if len({*map(id, dividends)}) < LEAST_DIVIDENDS * len({*map(id, divisors)}):
        return emit_elementwise(e, op)
    return e.set(op.results[0], _Shared(e, op, dividends, divisors).quotients())


class _Shared:
    """One division of a tile in which several dividends have one divisor, in f32."""

    def __init__(self, e: KernelEmitter, op: Operation, dividends: Sequence[Value], divisors: Sequence[Value]):
        self.e, self.b, self.op = e, e.b, op
        self.type = element_of(op.results[0].type).type
        repeated = list(divisors) * (len(dividends) // len(divisors))
        self.calls = [(self._widened(a), self._widened(d)) for a, d in zip(dividends, repeated, strict=True)]
        # By divisor, each dividend of it once. By identity: values are hashed in Python.
        self.divisors = {id(divisor): divisor for _, divisor in self.calls}
        self.dividends: dict[int, dict[int, SSAValue]] = {name: {} for name in self.divisors}
        for a, divisor in self.calls:
            self.dividends[id(divisor)][id(a)] = a

    def _widened(self, value: Value) -> SSAValue:
        found = self.b.computed(value)
        return found if self.type == FLOAT else self.b.cast("fpext", found, FLOAT)

    def quotients(self) -> list[Value]:
        """The result's registers."""
        b = self.b
        names = [(a, divisor) for divisor, group in self.dividends.items() for a in group]
        ways = b.either(self._is_harmless(), self._by_reciprocals, self._one_by_one)
        found = dict(zip(names, b.phis([FLOAT] * len(names), ways), strict=True))
        wide = [found[id(a), id(divisor)] for a, divisor in self.calls]
        return wide if self.type == FLOAT else [b.cast("fptrunc", value, self.type) for value in wide]

    # ---- what must hold ----------------------------------------------------------------------------
    def _is_harmless(self) -> Value:
        """Whether no quotient or remainder leaves the range in which it is exact."""
        b = self.b
        conditions = [part for divisor in self.divisors.values() for part in self._is_between(divisor)]
        if not is_share(self.op):
            conditions.append(self._is_none_large())
        if not self._rounds_to_half():
            conditions.append(self._is_none_small())
        return b.every(*conditions)

    def _dividends(self) -> list[SSAValue]:
        return list({name: a for group in self.dividends.values() for name, a in group.items()}.values())

    def _is_between(self, divisor: SSAValue) -> tuple[Value, ...]:
        """Positive, and neither small nor large; no NaN; and one whose reciprocal is found."""
        b, low, high = self.b, self._power(-LARGEST_DIVISOR), self._power(LARGEST_DIVISOR)
        fraction = b.and_(b.bitcast(divisor, I32), ALL_ONES)
        whole = b.compare("ne", fraction, ALL_ONES)
        return b.compare_floats("oge", divisor, low), b.compare_floats("ole", divisor, high), whole

    def _is_none_large(self) -> Value:
        b = self.b
        magnitudes = [b.issue(FAbsOp, a, type=FLOAT) for a in self._dividends()]
        largest = reduce(lambda x, y: b.issue(MaxNumOp, x, y, type=FLOAT), magnitudes)
        return b.compare_floats("ole", largest, self._power(LARGEST_DIVIDEND))

    def _is_none_small(self) -> Value:
        """Twice a number's bits are those of its magnitude; one less, zero is the largest of all unsigned integers."""
        b = self.b
        shifted = [b.sub(b.shift(b.bitcast(a, I32), 1), 1) for a in self._dividends()]
        smallest = reduce(lambda x, y: b.issue(UMinOp, x, y, type=I32), shifted)
        least = (SMALLEST_DIVIDEND + BIAS) << FRACTION_BITS + 1
        return b.compare("uge", smallest, least - 1)

    def _power(self, exponent: int) -> SSAValue:
        return self.b.float_constant(2.0**exponent, FLOAT)

    def _rounds_to_half(self) -> bool:
        """Whether nobody sees a quotient but rounded to f16."""
        return self.type == HALF or all(_is_to_half(use.operation) for use in self.op.results[0].uses)

    # ---- both ways ---------------------------------------------------------------------------------
    def _by_reciprocals(self) -> list[Value]:
        groups = zip(self.divisors.values(), self.dividends.values())
        return [value for divisor, group in groups for value in self._multiplied(divisor, group.values())]

    def _reciprocal(self, divisor: SSAValue) -> SSAValue:
        """1 / divisor to nearest: an approximation that is wrong by one unit in the last place, and Newton's steps."""
        b = self.b
        found = b.issue(ReciprocalOp, divisor, type=FLOAT)
        for _ in range(NEWTON_STEPS):
            error = b.issue(FMAOp, b.negate(divisor), found, b.float_constant(1.0, FLOAT), type=FLOAT)
            found = b.issue(FMAOp, found, error, found, type=FLOAT)
        return found

    def _multiplied(self, divisor: SSAValue, dividends: Iterable[SSAValue]) -> list[Value]:
        b = self.b
        reciprocal = self._reciprocal(divisor)

        def quotient(a: SSAValue, divisor: SSAValue, reciprocal: SSAValue, type: Attribute = FLOAT) -> SSAValue:
            first = b.binary("fmul", a, reciprocal, type)
            excess = b.issue(FMAOp, divisor, first, b.negate(a), type=type)
            return b.issue(FMAOp, b.negate(excess), reciprocal, first, type=type)

        calls = [(a,) for a in dividends]
        if not has_pairs(self.e, FLOAT):
            return [quotient(a, divisor, reciprocal) for (a,) in calls]
        both = pair(b, divisor, divisor), pair(b, reciprocal, reciprocal)
        return in_pairs(b, calls, lambda a: quotient(a, *both, PAIR), lambda a: quotient(a, divisor, reciprocal))

    def _one_by_one(self) -> list[Value]:
        groups = zip(self.divisors.values(), self.dividends.values())
        return [self.b.binary("fdiv", a, divisor, FLOAT) for divisor, group in groups for a in group.values()]


# What is never less than zero; NaN aside, which makes the sum NaN.
NOT_NEGATIVE = ("math.exp", "math.absf", "nv_tileas.exp2", "nv_tileas.sqrt")


def is_share(op: Operation) -> bool:
    """Whether a division is by the sums of its own dividends along an axis, and none of them is negative: then none exceeds
    its divisor, for a rounded sum is not below either of its parts.
    """
    dividends, divisors = op.operands
    sums = _through(_through(divisors, "nv_tileas.broadcast"), "nv_tileas.view")
    if not _is_made_by(dividends, *NOT_NEGATIVE) or not _is_made_by(sums, "nv_tileas.reduce"):
        return False
    total = owner(sums)
    lengths = list(tile_type(dividends).get_shape())
    lengths[row(total).axis] = 1
    kept = list(tile_type(_through(divisors, "nv_tileas.broadcast")).get_shape())
    return list(total.operands) == [dividends] and lengths == kept and _adds(total)


def _adds(reduction: Operation) -> bool:
    block = reduction.regions[0].blocks[0]
    addition, *_ = block.ops
    return addition.name == "nv_tileas.addf" and set(addition.operands) == set(block.args) and len(block.ops) == 2


def _is_made_by(value: SSAValue, *names: str) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name in names


def _through(value: SSAValue, name: str) -> SSAValue:
    return owner(value).operands[0] if _is_made_by(value, name) else value


def _is_to_half(op: Operation) -> bool:
    return op.name == "nv_tileas.fp_to_fp" and element_of(op.results[0].type).type == HALF and _is_to_nearest(op)


def _is_to_nearest(op: Operation) -> bool:
    return option_text(op, "rounding_mode", "nearest_even") == "nearest_even"


HANDLERS: dict[str, Handler] = {"nv_tileas.divf": emit_divide}
