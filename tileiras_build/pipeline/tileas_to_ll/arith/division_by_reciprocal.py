"""Division of tiles. If elements share a divisor, they share one reciprocal, with bit-identical results.

Let y = 1 / b rounded to nearest, q = a y, r = b q - a, each rounded once. Then q - r y, rounded once, is a / b rounded to
nearest if nothing overflows or underflows (Markstein, "Computation of elementary functions on the IBM RISC System/6000
processor", 1990; Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor
is known in advance", 2004). ``tests/pipeline/tileas_to_ll/arith/test_division_by_reciprocal.py`` contains the argument for f32
and tests every quotient near a midpoint for some divisors. r is the negated remainder: if it is zero, ``- r y`` is -0
for a positive y, so a quotient of -0 is preserved.

A run-time check on the divisors and on the largest and smallest dividend of the thread proves that nothing overflows or
underflows. If it fails, the thread divides each element separately, or scales all of them. A quotient that is rounded
to f16 may underflow: it is zero.

If f64 is fast, such a thread multiplies by 1 / b in f64 and by 1 + 2 ** -51. Each of the three operations has an error
of at most 2 ** -53, so the result exceeds a / b by less than 2 ** -50 of it. Without its last 3 bits it is exactly a /
b if that has 24 bits, as has a subnormal quotient that is a midpoint of two f32. Otherwise it is off by less than 8 of
the 2 ** 52 parts of its power of two, and midpoints are 16 parts away: ``|A 2 ** p - B M| >= 1`` with B below 2 ** 24.
Zero, infinity and NaN have the results of a division.
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
from ....ir.dialects.nvvm.target_independent_intrinsics import FAbsOp, FMAOp, MaxNumOp, UMinOp
from ....ir.dialects.op_traits import LayoutTrait, is_function, traits_of
from ...analysis.foldable_f16_extensions import PACKED_TYPES
from ...analysis.op_queries import is_tile
from ...common.llvm_element_types import element_of
from ...common.llvm_type_constructors import BFLOAT, DOUBLE, FLOAT, HALF, I32, I64, vector
from ..emission.function_builder import Value
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..emission.register_values import LazyElement, PackedLane, RematerializedValues, materialize, spill_vectors
from .elementwise import emit_elementwise
from .elementwise_rule_helpers import flushes, is_to_nearest, rounded_half
from .f32_pairs import PAIR, halves, has_pairs, in_pairs, pair

Dividend = Value | PackedLane | LazyElement

# Minimal number of dividends per divisor for which a reciprocal and its checks pay off.
MIN_DIVIDENDS = 4
# Divisors are within 2 ** -40 and 2 ** 40, dividends zero or within 2 ** -84 and 2 ** 80: then no quotient is below
# 2 ** -124, no part of a remainder below 2 ** -149.
LARGEST_DIVISOR, LARGEST_DIVIDEND, SMALLEST_DIVIDEND = 40, 80, -84
BIAS, FRACTION_BITS = 127, 23
# The scale that maps other divisors into that range, or near enough for quotients of at least 2 ** -25; smaller ones
# are zero as f16.
SCALE = 80
# Operations, besides elementwise ones, that may follow a division whose quotients are stored in its branches.
STREAMING_STORE_OPS = frozenset(("nv_tileas.tiled_store", "nv_tileas.block_tile"))
# All f32 reciprocals are rounded correctly but that of 2 - 2 ** -23, which is just above a midpoint.
NEWTON_STEPS = 2
SPARE_BITS = 3
ABOVE_ONE = 1 + 2.0**-51
ALL_ONES = (1 << FRACTION_BITS) - 1


def emit_divide(e: KernelEmitter, op: Operation) -> None:
    """``nv_tileas.divf``: by reciprocals where elements share divisors and the rounding is to nearest."""
    type = element_of(op.results[0].type).type
    if type not in (FLOAT, HALF, BFLOAT) or not is_to_nearest(op) or flushes(op):
        return emit_elementwise(e, op)
    dividends, own = map(e.values.packed, op.operands)
    if len({*map(id, dividends)}) < MIN_DIVIDENDS * len({*map(id, own)}):
        return emit_elementwise(e, op)
    divisors = e.values.registers(op.operands[1])
    if all(map(_is_power_of_two, divisors)):
        return emit_elementwise(e, op)
    shared = _SharedDivisor(e, op, dividends, divisors)
    if shared.packs and has_pairs(e.target, FLOAT) and (rest := _stores_after(op)) is not None:
        return shared.store_in_branches(rest)
    return e.values.set(op.results[0], shared.quotients())


def _is_power_of_two(divisor: Value) -> bool:
    """Whether the divisor is a known power of two: LLVM replaces that division by a multiplication."""
    made = divisor.owner if isinstance(divisor, SSAValue) else None
    return (
        isinstance(made, ConstantOp)
        and isinstance(made.value, FloatAttr)
        and abs(frexp(made.value.value.data)[0]) == 0.5
    )


class _SharedDivisor:
    """One f32 division of a tile in which several dividends share a divisor.

    Dividends that are spilled to shared memory are reloaded at their division, after those in registers. As quotients leave
    the branches as packed pairs of halves, the thread never has more of them in registers than before.
    """

    def __init__(self, e: KernelEmitter, op: Operation, dividends: Sequence[Dividend], divisors: Sequence[Value]):
        self.e, self.b, self.op = e, e.b, op
        self.type = element_of(op.results[0].type).type
        self.narrow = _rounded_to(op)
        repeated = list(divisors) * (len(dividends) // len(divisors))
        present = [a if _is_spilled(a) else self._widened(materialize(e.b, a)) for a in dividends]
        self.calls = [(a, self._widened(d)) for a, d in zip(present, repeated, strict=True)]
        # Divisor -> its distinct dividends, by identity: hashing SSA values is slow.
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
        """The registers of the result."""
        branches = self.b.if_else(self._needs_no_scaling(), self._by_reciprocals, self._otherwise)
        return self._results(self.b.phis([self.b.uniqued(value).type for value in branches[0][0]], branches))

    def store_in_branches(self, rest: Sequence[Operation]) -> None:
        """Emit the quotients and their stores in each branch.

        Both pairs and stores need adjacent registers, and ptxas would move one half of each shared by the branches.
        """

        def emit_branch(compute: Callable[[], list[Value]]) -> None:
            self.e.values.set(self.op.results[0], self._results(compute()))
            self.e.emit_early(rest)

        self.b.if_else(
            self._needs_no_scaling(), lambda: emit_branch(self._by_reciprocals), lambda: emit_branch(self._otherwise)
        )

    def _otherwise(self) -> list[Value]:
        if self._may_scale():
            return self._scaled()
        # Where registers are scarce, the register pairs of f64 are too many.
        return self._in_f64() if self.e.target.has("f64_native") and not self.packs else self._one_by_one()

    def _results(self, left: Sequence[Value]) -> list[Value]:
        """The registers of the result, from the values that a branch computes."""
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

    # ---- run-time checks ---------------------------------------------------------------------------
    def _needs_no_scaling(self) -> Value:
        """Whether all quotients and remainders are in the range in which they are exact."""
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
        """Whether a value is positive, neither small nor large, not NaN, and its reciprocal is computed correctly."""
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
        """Whether no magnitude is small: compares bits shifted left by one, less one, as unsigned integers; zero is the
        largest.
        """
        b = self.b
        shifted = [b.sub(b.shift(b.bitcast(a, I32), 1), 1) for a in self._dividends()]
        smallest = reduce(lambda x, y: b.issue(UMinOp, x, y, type=I32), shifted)
        least = (SMALLEST_DIVIDEND + BIAS) << FRACTION_BITS + 1
        return b.compare("uge", smallest, least - 1)

    def _power(self, exponent: int) -> SSAValue:
        return self.b.float_constant(2.0**exponent, FLOAT)

    # ---- the two branches --------------------------------------------------------------------------
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
        scaled = b.binary("fmul", b.cast("fpext", a, DOUBLE), reciprocal, DOUBLE)
        kept = b.and_(b.bitcast(scaled, I64), -1 << SPARE_BITS, I64)
        return b.cast("fptrunc", b.bitcast(kept, DOUBLE), FLOAT)

    def _may_scale(self) -> bool:
        """Whether scaling by powers of two brings each dividend and divisor into the exact range, or to zero as f16."""
        return self.narrow == HALF and is_normalization(self.op)

    def _scaled(self) -> list[Value]:
        """Quotients by reciprocals of scaled divisors, with dividends scaled alike.

        An infinite dividend becomes 1, and its quotient is fixed up; zero and NaN pass through, and a divisor of zero or NaN
        determines all its quotients.
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
        """The reciprocal of any divisor, one with a fraction of all ones included, from its exponent and fraction."""
        b = self.b
        bits = b.bitcast(divisor, I32)
        whole = b.compare("ne", b.and_(bits, ALL_ONES), ALL_ONES)
        above = b.bitcast(b.sub((2 * BIAS - 1 << FRACTION_BITS) + ALL_ONES + 1, bits), FLOAT)
        return b.uniqued(b.select(whole, self._reciprocal(divisor), above, FLOAT))

    def _groups(self) -> Iterable[tuple[SSAValue, list[SSAValue | LazyElement]]]:
        return zip(self.divisors.values(), (list(group.values()) for group in self.dividends.values()))

    def _reciprocal(self, divisor: SSAValue) -> SSAValue:
        """1 / divisor to nearest: an approximation with an error of one ulp, then Newton's steps."""
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
            ):  # a rare branch: packed pairs would need adjacent registers
                return [quotient(a, divisor, reciprocal) for (a,) in calls]
            both = pair(b, divisor, divisor), pair(b, reciprocal, reciprocal)
            return in_pairs(b, calls, lambda a: quotient(a, *both, PAIR), lambda a: quotient(a, divisor, reciprocal))

        return [
            value
            for part in spill_vectors(dividends)
            for value in self._results_of_branch(quotients([(self._present(a),) for a in part]))
        ]

    def _results_of_branch(self, quotients: list[Value]) -> list[Value]:
        """The quotients at the end of a branch: packed pairs of the narrow type if only rounded values are used."""
        if not self.packs:
            return quotients
        b, kind = self.b, PACKED_TYPES[unwrap(self.narrow)]
        pairs = zip(quotients[::2], quotients[1::2])
        return [b.issue(RoundPairOp, low, high, type=I32, halves=kind) for low, high in pairs]


def _stores_after(op: Operation) -> list[Operation] | None:
    """The operations after a division in its block, if they only store the quotients elementwise.

    None if another tile is used or threads synchronize, because threads may take different branches.
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


# Operations with non-negative results (or NaN, which the reduction propagates).
NOT_NEGATIVE = ("math.exp", "math.absf", "nv_tileas.exp2", "nv_tileas.sqrt")


def is_normalization(op: Operation) -> bool:
    """Whether the divisors are the reduction by addition of the non-negative dividends along an axis.

    Then no dividend exceeds its divisor, as a rounded total is not below its terms.
    """
    dividends, divisors = op.operands
    dividends = _skip_ops(dividends, "nv_tileas.reload")
    totals = _skip_ops(_skip_ops(divisors, "nv_tileas.broadcast"), "nv_tileas.view")
    if not _is_made_by(_skip_ops(dividends, "nv_tileas.spill"), *NOT_NEGATIVE) or not _is_made_by(
        totals, "nv_tileas.reduce"
    ):
        return False
    total = defining_op(totals)
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
    """The 16-bit type to which all uses round the quotients; None where there is none."""
    own = element_of(op.results[0].type).type
    if own != FLOAT:
        return own
    types = {rounded_half(use.operation) for use in op.results[0].uses}
    return types.pop() if len(types) == 1 else None


HANDLERS: dict[str, Handler] = {"nv_tileas.divf": emit_divide}
