"""Division of tiles: where elements share a divisor, one reciprocal serves them all, bit for bit.

With y = 1 / b rounded to nearest, q = a y, r = b q - a and q - r y, each rounded once, the last one is a / b rounded to
nearest (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990; Brisebarre, Muller and
Raina, "Accelerating correctly rounded floating-point division when the divisor is known in advance", 2004), where nothing
overflows or underflows. ``tests/pipeline/tileas_to_ll/arith/test_division.py`` has the argument for f32, and tries every
quotient that is near to a midpoint of some divisors. r is a remainder with its sign changed: where it is zero, ``- r y`` is
-0 for a positive y, so that a quotient of -0 stays one.

That nothing overflows or underflows is asked of the divisors and of the largest and the smallest dividend of a thread; where
it is not so, the thread divides each element by itself, or scales all of them. A quotient that is only rounded to f16 may underflow: it is zero.

Where f64 is fast, such a thread multiplies by 1 / b in f64, times 1 + 2 ** -51: each of the three is rounded by 2 ** -53 at most, so
that the product is above a / b, by less than 2 ** -50 of it. Without its last 3 bits it is a / b where that has 24 bits, as has
a subnormal quotient that is a midpoint of two f32; else it is off by less than 8 of 2 ** 52 parts of its power of two, and midpoints
are 16 of them away: ``|A 2 ** p - B M| >= 1`` with B below 2 ** 24. Zero, infinity and NaN come out as division has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import dropwhile
from math import frexp, inf
from typing import TypeGuard

from xdsl.dialects.builtin import FloatAttr
from xdsl.dialects.llvm import ConstantOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import as_op, defining_op, tile_type, unwrap
from ....ir.dialects.nvvm.arithmetic import ReciprocalOp, RoundPairOp
from ....ir.dialects.nvvm.llvm_intrinsics import FAbsOp, FMAOp, MaxNumOp, UMinOp
from ....ir.dialects.op_traits import LayoutTrait, is_function, traits_of
from ...analysis.foldable_extensions import PACKED_TYPES
from ...analysis.op_queries import is_tile
from ...common.llvm_element_types import element_of
from ...common.llvm_types import BFLOAT, DOUBLE, FLOAT, HALF, I32, I64, vector
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import LazyElement, PackedLane, RematerializedValues, materialize, spill_vectors
from .elementwise import emit_elementwise
from .f32_pairs import PAIR, halves, has_pairs, in_pairs, pair
from .scalar_rules import flushes, option_text

Dividend = Value | PackedLane | LazyElement

# So many dividends of one divisor pay for its reciprocal and for the checks.
MIN_DIVIDENDS = 4
# Divisors are within 2 ** -40 and 2 ** 40, dividends zero or within 2 ** -84 and 2 ** 80: then no quotient is below
# 2 ** -124, no part of a remainder below 2 ** -149.
LARGEST_DIVISOR, LARGEST_DIVIDEND, SMALLEST_DIVIDEND = 40, 80, -84
BIAS, FRACTION_BITS = 127, 23
# What brings other divisors there, or near enough for quotients that are not below 2 ** -25: smaller ones are zero as f16.
SCALE = 80
# What may stand between a division and the end of a kernel that stores quotients, beside elementwise operations.
STREAMING_STORE_OPS = frozenset(("nv_tileas.tiled_store", "nv_tileas.block_tile"))
# The reciprocals of f32 come out right but for one: of 2 - 2 ** -23 it is just above a midpoint.
NEWTON_STEPS = 2
SPARE_BITS = 3
ABOVE_ONE = 1 + 2.0**-51
ALL_ONES = (1 << FRACTION_BITS) - 1


def emit_divide(e: KernelEmitter, op: Operation) -> None:
    """``nv_tileas.divf``: by reciprocals where divisors are shared and it rounds to nearest."""
    type = element_of(op.results[0].type).type
    if type not in (FLOAT, HALF, BFLOAT) or not _is_to_nearest(op) or flushes(op):
        return emit_elementwise(e, op)
    dividends, divisors = e.values.packed(op.operands[0]), e.values.registers(op.operands[1])
    few = len({*map(id, dividends)}) < MIN_DIVIDENDS * len({*map(id, divisors)})
    if few or all(map(_is_power_of_two, divisors)):
        return emit_elementwise(e, op)
    shared = _SharedDivisor(e, op, dividends, divisors)
    if shared.packs and has_pairs(e.target, FLOAT) and (rest := _stores_after(op)) is not None:
        return shared.store_in_branches(rest)
    return e.values.set(op.results[0], shared.quotients())


def _is_power_of_two(divisor: Value) -> bool:
    """A known one: LLVM makes a product of such a division."""
    made = divisor.owner if isinstance(divisor, SSAValue) else None
    return (
        isinstance(made, ConstantOp)
        and isinstance(made.value, FloatAttr)
        and abs(frexp(made.value.value.data)[0]) == 0.5
    )


class _SharedDivisor:
    """One division of a tile in which several dividends have one divisor, in f32.

    Dividends that are parked in shared memory are read where they are divided, behind those in registers: with quotients
    that leave the branches as pairs of halves, no thread has more of them in registers than before.
    """

    def __init__(self, e: KernelEmitter, op: Operation, dividends: Sequence[Dividend], divisors: Sequence[Value]):
        self.e, self.b, self.op = e, e.b, op
        self.type = element_of(op.results[0].type).type
        self.narrow = _rounded_to(op)
        repeated = list(divisors) * (len(dividends) // len(divisors))
        present = [a if _is_spilled(a) else self._widened(materialize(e.b, a)) for a in dividends]
        self.calls = [(a, self._widened(d)) for a, d in zip(present, repeated, strict=True)]
        # By divisor, each dividend of it once. By identity: values are hashed in Python.
        self.divisors = {id(divisor): divisor for _, divisor in self.calls}
        self.dividends: dict[int, dict[int, SSAValue | LazyElement]] = {name: {} for name in self.divisors}
        for a, divisor in sorted(self.calls, key=lambda call: isinstance(call[0], LazyElement)):
            self.dividends[id(divisor)][id(a)] = a
        even = all(len(group) % 2 == 0 for group in self.dividends.values())
        # It costs a move for each pair: where registers are short.
        self.packs = e.computes_at_use and self.narrow is not None and even

    def _widened(self, value: Value) -> SSAValue:
        found = self.b.uniqued(value)
        return found if self.type == FLOAT else self.b.cast("fpext", found, FLOAT)

    def _present(self, a: SSAValue | LazyElement) -> SSAValue:
        return self._widened(a.materialize(self.b)) if isinstance(a, LazyElement) else a

    def quotients(self) -> list[Value]:
        """The result's registers."""
        ways = self.b.if_else(self._needs_no_scaling(), self._by_reciprocals, self._otherwise)
        return self._results(self.b.phis([self.b.uniqued(value).type for value in ways[0][0]], ways))

    def store_in_branches(self, rest: Sequence[Operation]) -> None:
        """The quotients and what stores them, in each way. Both pairs and stores want registers side by side, and ptxas moves each
        half of those that ways share to another.
        """

        def ended(way: Callable[[], list[Value]]) -> None:
            self.e.values.set(self.op.results[0], self._results(way()))
            self.e.emit_early(rest)

        self.b.if_else(self._needs_no_scaling(), lambda: ended(self._by_reciprocals), lambda: ended(self._otherwise))

    def _otherwise(self) -> list[Value]:
        if self._may_scale():
            return self._scaled()
        # Where registers are short, a pair of them for each f64 is too much.
        return self._in_f64() if self.e.target.has("f64_native") and not self.packs else self._one_by_one()

    def _results(self, left: Sequence[Value]) -> list[Value]:
        """The result's registers, of what has left a way."""
        b = self.b
        names = [(a, divisor) for divisor, group in self.dividends.items() for a in group]
        found = dict(zip(names, self._unpacked(left), strict=True))
        wide = [found[id(a), id(divisor)] for a, divisor in self.calls]
        return wide if self.type == FLOAT else [b.cast("fptrunc", value, self.type) for value in wide]

    def _unpacked(self, left: Sequence[Value]) -> Sequence[Value]:
        if not self.packs:
            return left
        b = self.b
        pairs = [b.cast("bitcast", word, vector(2, unwrap(self.narrow))) for word in left]
        return [b.cast("fpext", half, FLOAT) for both in pairs for half in halves(b, both)]

    # ---- what must hold ----------------------------------------------------------------------------
    def _needs_no_scaling(self) -> Value:
        """Whether no quotient or remainder leaves the range in which it is exact."""
        b = self.b
        conditions = [part for divisor in self.divisors.values() for part in self._is_between(divisor)]
        if not is_normalization(self.op):
            conditions.append(self._is_none_large())
        if self.narrow != HALF:
            conditions.append(self._is_none_small())
        return b.all_lanes(*conditions)

    def _dividends(self) -> list[SSAValue]:
        found = {name: a for group in self.dividends.values() for name, a in group.items()}
        return [self._present(a) for a in found.values()]

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

    # ---- both ways ---------------------------------------------------------------------------------
    def _by_reciprocals(self) -> list[Value]:
        return [
            value
            for divisor, group in self._groups()
            for value in self._multiplied(divisor, self._reciprocal(divisor), group)
        ]

    def _one_by_one(self) -> list[Value]:
        b = self.b
        return [
            value
            for divisor, group in self._groups()
            for part in spill_vectors(group)
            for value in self._results_of_branch([b.binary("fdiv", self._present(a), divisor, FLOAT) for a in part])
        ]

    def _in_f64(self) -> list[Value]:
        found: list[Value] = []
        for divisor, group in self._groups():
            reciprocal = self._wide_reciprocal(divisor)
            found += [self._wide_quotient(self._present(a), reciprocal) for a in group]
        return found

    def _wide_reciprocal(self, divisor: SSAValue) -> SSAValue:
        b = self.b
        found = b.binary("fdiv", b.float_constant(1.0, DOUBLE), b.cast("fpext", divisor, DOUBLE), DOUBLE)
        return b.binary("fmul", found, b.float_constant(ABOVE_ONE, DOUBLE), DOUBLE)

    def _wide_quotient(self, a: SSAValue, reciprocal: SSAValue) -> SSAValue:
        b = self.b
        product = b.binary("fmul", b.cast("fpext", a, DOUBLE), reciprocal, DOUBLE)
        kept = b.and_(b.bitcast(product, I64), -1 << SPARE_BITS, I64)
        return b.cast("fptrunc", b.bitcast(kept, DOUBLE), FLOAT)

    def _may_scale(self) -> bool:
        """Whether powers of two bring each dividend and divisor to where their quotient is exact, or zero as f16."""
        return self.narrow == HALF and is_normalization(self.op)

    def _scaled(self) -> list[Value]:
        """By reciprocals, too: of divisors that are scaled, as their dividends are. What is infinite becomes one, and zero or
        NaN are its shares; where the divisor is zero or NaN all are.
        """
        b, found = self.b, []
        for divisor, group in self._groups():
            infinite = b.compare_floats("oeq", divisor, b.float_constant(inf, FLOAT))
            scale = b.select(infinite, b.float_constant(0.0, FLOAT), self._scale(divisor), FLOAT)
            scaled = b.select(infinite, b.float_constant(1.0, FLOAT), b.binary("fmul", divisor, scale, FLOAT), FLOAT)
            found += self._multiplied(
                b.uniqued(scaled), self._any_reciprocal(b.uniqued(scaled)), group, b.uniqued(scale)
            )
        return found

    def _scale(self, divisor: SSAValue) -> Value:
        b, one = self.b, self._power(0)
        low = b.compare_floats("olt", divisor, self._power(-LARGEST_DIVISOR))
        high = b.compare_floats("ogt", divisor, self._power(LARGEST_DIVISOR))
        return b.select(high, self._power(-SCALE), b.select(low, self._power(SCALE), one, FLOAT), FLOAT)

    def _any_reciprocal(self, divisor: SSAValue) -> SSAValue:
        """Of divisors whose fraction is all ones, too: its exponent, with the sign changed, less one, and the first fraction."""
        b = self.b
        bits = b.bitcast(divisor, I32)
        whole = b.compare("ne", b.and_(bits, ALL_ONES), ALL_ONES)
        above = b.bitcast(b.sub((2 * BIAS - 1 << FRACTION_BITS) + ALL_ONES + 1, bits), FLOAT)
        return b.uniqued(b.select(whole, self._reciprocal(divisor), above, FLOAT))

    def _groups(self) -> Iterable[tuple[SSAValue, list[SSAValue | LazyElement]]]:
        return zip(self.divisors.values(), (list(group.values()) for group in self.dividends.values()))

    def _reciprocal(self, divisor: SSAValue) -> SSAValue:
        """1 / divisor to nearest: an approximation that is wrong by one unit in the last place, and Newton's steps."""
        b = self.b
        found = b.issue(ReciprocalOp, divisor, type=FLOAT)
        for _ in range(NEWTON_STEPS):
            error = b.issue(FMAOp, b.negate(divisor), found, b.float_constant(1.0, FLOAT), type=FLOAT)
            found = b.issue(FMAOp, found, error, found, type=FLOAT)
        return found

    def _multiplied(
        self,
        divisor: SSAValue,
        reciprocal: SSAValue,
        dividends: Sequence[SSAValue | LazyElement],
        scale: SSAValue | None = None,
    ) -> list[Value]:
        """The quotients of dividends, each first multiplied by ``scale``."""
        b = self.b

        def quotient(a: SSAValue, divisor: SSAValue, reciprocal: SSAValue, type: Attribute = FLOAT) -> SSAValue:
            a = a if scale is None else b.binary("fmul", a, scale, type)
            first = b.binary("fmul", a, reciprocal, type)
            excess = b.issue(FMAOp, divisor, first, b.negate(a), type=type)
            return b.issue(FMAOp, excess, b.negate(reciprocal), first, type=type)

        def quotients(calls: list[tuple[SSAValue]]) -> list[Value]:
            if scale is not None or not has_pairs(
                self.e.target, FLOAT
            ):  # rarely run: pairs take two registers side by side
                return [quotient(a, divisor, reciprocal) for (a,) in calls]
            both = pair(b, divisor, divisor), pair(b, reciprocal, reciprocal)
            return in_pairs(b, calls, lambda a: quotient(a, *both, PAIR), lambda a: quotient(a, divisor, reciprocal))

        return [
            value
            for part in spill_vectors(dividends)
            for value in self._results_of_branch(quotients([(self._present(a),) for a in part]))
        ]

    def _results_of_branch(self, quotients: list[Value]) -> list[Value]:
        """Quotients at the end of a way: pairs of the narrow numbers that they are rounded to, if nobody sees others."""
        if not self.packs:
            return quotients
        b, kind = self.b, PACKED_TYPES[unwrap(self.narrow)]
        pairs = zip(quotients[::2], quotients[1::2])
        return [b.issue(RoundPairOp, low, high, type=I32, halves=kind) for low, high in pairs]


def _stores_after(op: Operation) -> list[Operation] | None:
    """What stands behind a division in a kernel's block, if each thread stores the quotients there and nothing else is done:
    no other tile is used, and threads do not meet, for they may go different ways.
    """
    block = unwrap(op.parent)
    if not is_function(unwrap(block.parent_op())):
        return None
    rest, made = [*dropwhile(lambda one: one is not op, block.ops)][1:-1], {op}
    for one in rest:
        tiles = [operand for operand in one.operands if is_tile(operand)]
        harmless = one.name in STREAMING_STORE_OPS or traits_of(one).layouts is LayoutTrait.ELEMENTWISE
        if not harmless or any(defining_op(tile) not in made for tile in tiles):
            return None
        made.add(one)
    return rest


# What is never less than zero; NaN aside, which makes the sum NaN.
NOT_NEGATIVE = ("math.exp", "math.absf", "nv_tileas.exp2", "nv_tileas.sqrt")


def is_normalization(op: Operation) -> bool:
    """Whether a division is by the sums of its own dividends along an axis, and none of them is negative: then none exceeds
    its divisor, for a rounded sum is not below either of its parts.
    """
    dividends, divisors = op.operands
    dividends = _skip_ops(dividends, "nv_tileas.reload")
    sums = _skip_ops(_skip_ops(divisors, "nv_tileas.broadcast"), "nv_tileas.view")
    if not _is_made_by(_skip_ops(dividends, "nv_tileas.spill"), *NOT_NEGATIVE) or not _is_made_by(
        sums, "nv_tileas.reduce"
    ):
        return False
    total = defining_op(sums)
    lengths = list(tile_type(dividends).get_shape())
    lengths[as_op(total).axis] = 1
    kept = list(tile_type(_skip_ops(divisors, "nv_tileas.broadcast")).get_shape())
    return list(total.operands) == [dividends] and lengths == kept and _adds(total)


def _adds(reduction: Operation) -> bool:
    block = reduction.regions[0].blocks[0]
    addition, *_ = block.ops
    return addition.name == "nv_tileas.addf" and set(addition.operands) == set(block.args) and len(block.ops) == 2


def _is_made_by(value: SSAValue, *names: str) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name in names


def _skip_ops(value: SSAValue, name: str) -> SSAValue:
    return defining_op(value).operands[0] if _is_made_by(value, name) else value


def _is_spilled(value: Dividend) -> TypeGuard[LazyElement]:
    return isinstance(value, LazyElement) and isinstance(value.source, RematerializedValues)


def _rounded_to(op: Operation) -> Attribute | None:
    """The 16-bit type to whose nearest number every quotient is rounded before anybody sees it; None where there is none."""
    own = element_of(op.results[0].type).type
    if own != FLOAT:
        return own
    types = {_rounded_by(use.operation) for use in op.results[0].uses}
    return types.pop() if len(types) == 1 else None


def _rounded_by(user: Operation) -> Attribute | None:
    if user.name != "nv_tileas.fp_to_fp" or not _is_to_nearest(user):
        return None
    type = element_of(user.results[0].type).type
    return type if type in (HALF, BFLOAT) else None


def _is_to_nearest(op: Operation) -> bool:
    return option_text(op, "rounding_mode", "nearest_even") == "nearest_even"


HANDLERS: dict[str, Handler] = {"nv_tileas.divf": emit_divide}
