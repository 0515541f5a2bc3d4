"""Random well-typed kernels: loads with tails and masks, a chain of operations of all kinds, stores.

``random_program`` asks a ``Choices`` for every decision, so that hypothesis can shrink a program (``tests/fuzz``) and a
seeded generator can make many (``benchmarks/differential_fuzz.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region

from tests.fuzz.tile_program_builder import (
    APPROX,
    EIGHT_BITS,
    ENTRY,
    FLOATS,
    FULL,
    IEEE,
    INTEGERS,
    LESS,
    MAX_ELEMENTS,
    NEAREST,
    NO_PROMISE,
    SIGNED,
    UNIT,
    UNSIGNED,
    WEAK,
    Builder,
    Choices,
    Program,
    Value,
    order_attr,
    segments,
)
from tileiras_build.ir.dialects import cuda_tile as ct
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import (
    AtomicRMWModeAttr,
    ComparisonOrdering,
    ComparisonOrderingAttr,
    ComparisonPredicate,
    ComparisonPredicateAttr,
    MemoryOrderingSemanticsAttr,
    MemoryScopeAttr,
    PaddingValue,
    RoundingMode,
    RoundingModeAttr,
)
from tileiras_build.ir.dialects.cuda_tile.ops_conversion import float_rounding
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, PointerType, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, StridedViewType
from tileiras_build.simulate.interpreter.element_types import (
    BF16,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F8E8M0,
    F16,
    F32,
    F64,
    TF32,
    is_integer,
)


def rounded_arithmetic(b: Builder) -> None:
    x = b.any_of(FLOATS)
    kind = b.pick((ct.AddFOp, ct.SubFOp, ct.MulFOp, ct.FmaOp, ct.DivFOp))
    operands = [x, *(b.like(x) for _ in range(2 if kind is ct.FmaOp else 1))]
    mode = NEAREST if b.chance(2) else b.pick(IEEE)
    ftz = UNIT if x.element == F32 and b.chance(4) else None
    b.value(kind, operands, x.type, raw=False, rounding_mode=mode, flush_to_zero=ftz)


def fast_arithmetic(b: Builder) -> None:
    x = b.any_of((F32,))
    if b.chance(2):
        b.value(ct.DivFOp, [x, b.like(x)], x.type, inexact=True, raw=False, rounding_mode=b.pick((APPROX, FULL)))
    else:
        b.value(ct.SqrtOp, [x], x.type, inexact=True, raw=False, rounding_mode=APPROX)


def square_root(b: Builder) -> None:
    x = b.any_of(FLOATS)
    b.value(ct.SqrtOp, [x], x.type, raw=False, rounding_mode=b.pick(IEEE))


def sign_and_extremum(b: Builder) -> None:
    x = b.any_of(FLOATS)
    kind = b.pick((ct.AbsFOp, ct.NegFOp, ct.MaxFOp, ct.MinFOp))
    if kind in (ct.AbsFOp, ct.NegFOp):
        b.value(kind, [x], x.type, raw=False)
        return
    nan = UNIT if b.chance(2) else None
    ftz = UNIT if x.element == F32 and b.chance(4) else None
    b.value(kind, [x, b.like(x)], x.type, raw=False, propagate_nan=nan, flush_to_zero=ftz)


def discontinuous(b: Builder) -> None:
    """Only of exact operands: a comparison of inexact ones may come out either way."""
    x = b.find(lambda value: value.element in FLOATS and value.exact) or b.load(b.pick(FLOATS), b.shape())
    kind = b.pick((ct.CeilOp, ct.FloorOp, ct.RemFOp, ct.CmpFOp))
    if kind in (ct.CeilOp, ct.FloorOp):
        b.value(kind, [x], x.type, raw=False)
        return
    y = b.find(lambda value: value.type == x.type and value.exact and value is not x) or b.load(x.element, x.shape)
    if kind is ct.RemFOp:
        b.value(kind, [x, y], x.type, raw=False)
        return
    b.value(
        kind,
        [x, y],
        x.type.with_element_type(i1),
        comparison_predicate=ComparisonPredicateAttr.of(b.pick(list(ComparisonPredicate))),
        comparison_ordering=ComparisonOrderingAttr.of(b.pick(list(ComparisonOrdering))),
    )


FUNCTIONS = (
    ct.CosOp, ct.CosHOp, ct.Exp2Op, ct.ExpOp, ct.LogOp, ct.Log2Op, ct.RsqrtOp, ct.SinOp, ct.SinHOp, ct.TanOp, ct.TanHOp,
    ct.Atan2Op, ct.FPowFOp,
)  # fmt: skip


def function(b: Builder) -> None:
    x = b.any_of(FLOATS)
    kind = b.pick(FUNCTIONS)
    operands = [x, b.like(x)] if kind in (ct.Atan2Op, ct.FPowFOp) else [x]
    mode = None
    if kind in (ct.ExpOp, ct.TanHOp):
        mode = APPROX if x.element == F32 and b.chance(3) else FULL
    b.value(kind, operands, x.type, inexact=True, raw=False, rounding_mode=mode)


def integer_arithmetic(b: Builder) -> None:
    x = b.any_of((i1, *INTEGERS))
    kind = b.pick(
        (
            ct.AddIOp,
            ct.SubIOp,
            ct.MulIOp,
            ct.AndIOp,
            ct.OrIOp,
            ct.XOrIOp,
            ct.MaxIOp,
            ct.MinIOp,
            ct.MulhiIOp,
            ct.AbsIOp,
            ct.NegIOp,
        )
    )
    promised = {ct.AddIOp, ct.SubIOp, ct.MulIOp, ct.NegIOp}
    b.value(
        kind,
        [x] if kind in (ct.AbsIOp, ct.NegIOp) else [x, b.like(x)],
        x.type,
        overflow=NO_PROMISE if kind in promised else None,
        signedness=b.pick((SIGNED, UNSIGNED)) if kind in (ct.MaxIOp, ct.MinIOp) else None,
    )


def integer_division(b: Builder) -> None:
    x = b.any_of(INTEGERS)
    sign = b.pick((SIGNED, UNSIGNED))
    # Division by zero and of the smallest number by -1 are undefined: divisors have bit 0 set and bit 2 clear.
    y = b.value(ct.AndIOp, [b.like(x), b.constant(x.type, -5)], x.type)
    y = b.value(ct.OrIOp, [y, b.constant(x.type, 1)], x.type)
    if b.chance(2):
        b.value(ct.RemIOp, [x, y], x.type, signedness=sign)
        return
    modes = ("zero", "positive_inf", "negative_inf")[: 3 if sign is SIGNED else 2]
    b.value(ct.DivIOp, [x, y], x.type, signedness=sign, rounding=RoundingModeAttr.of(b.pick(modes)))


def shift(b: Builder) -> None:
    x = b.any_of(INTEGERS)
    limit = b.constant(x.type, BITS[x.element] - 1)
    amount = b.value(ct.AndIOp, [b.like(x), limit], x.type)
    if b.chance(2):
        b.value(ct.ShLIOp, [x, amount], x.type, overflow=NO_PROMISE)
    else:
        b.value(ct.ShRIOp, [x, amount], x.type, signedness=b.pick((SIGNED, UNSIGNED)))


def compare_integers(b: Builder) -> None:
    x = b.any_of((i1, *INTEGERS))
    b.value(
        ct.CmpIOp,
        [x, b.like(x)],
        x.type.with_element_type(i1),
        signedness=b.pick((SIGNED, UNSIGNED)),
        comparison_predicate=ComparisonPredicateAttr.of(b.pick(list(ComparisonPredicate))),
    )


def select(b: Builder) -> None:
    x = b.any_of((*FLOATS, *INTEGERS, i1))
    condition = b.find(lambda value: value.type == x.type.with_element_type(i1)) or b.load(i1, x.shape)
    b.value(ct.SelectOp, [condition, x, b.like(x)], x.type)


def change_width(b: Builder) -> None:
    x = b.any_of((i1, *INTEGERS))
    y = b.pick([type for type in (i1, *INTEGERS) if type != x.element])
    if BITS[y] > BITS[x.element]:
        b.value(ct.ExtIOp, [x], x.type.with_element_type(y), signedness=b.pick((SIGNED, UNSIGNED)))
    else:
        b.value(ct.TruncIOp, [x], x.type.with_element_type(y), overflow=NO_PROMISE)


def convert_float(b: Builder) -> None:
    x = b.any_of((*FLOATS, *EIGHT_BITS))
    y = b.pick([type for type in (*FLOATS, *EIGHT_BITS, TF32) if type != x.element])
    if not x.exact and y in EIGHT_BITS:
        y = F32 if x.element != F32 else F16
    mode = b.pick([mode for mode in float_rounding(x.element, y) if mode is not RoundingMode.NEAREST_AWAY])
    made = b.value(ct.FToFOp, [x], x.type.with_element_type(y), raw=False, rounding_mode=RoundingModeAttr.of(mode))
    if y == TF32:
        b.pool.remove(made)
        b.value(ct.FToFOp, [made], x.type.with_element_type(F32), raw=False, rounding_mode=NEAREST)


def integer_and_float(b: Builder) -> None:
    if b.chance(2):
        x = b.any_of((i1, *INTEGERS))
        b.value(
            ct.IToFOp,
            [x],
            x.type.with_element_type(b.pick(FLOATS)),
            raw=False,
            rounding_mode=NEAREST,
            signedness=b.pick((SIGNED, UNSIGNED)),
        )
        return
    x = b.find(lambda value: value.element in FLOATS and value.exact) or b.load(b.pick(FLOATS), b.shape())
    target, sign = b.pick(INTEGERS), b.pick((SIGNED, UNSIGNED))
    saturating = UNIT if b.chance(2) else None
    # NaN is undefined, and so is what does not fit unless it is clamped.
    high = 2.0 ** min(BITS[target] - 2, 14) if saturating is None else np.inf
    low = 0.0 if saturating is None and sign is UNSIGNED else -high
    x = b.value(ct.MaxFOp, [x, b.constant(x.type, low)], x.type, raw=False)
    x = b.value(ct.MinFOp, [x, b.constant(x.type, high)], x.type, raw=False)
    b.value(
        ct.FToIOp,
        [x],
        x.type.with_element_type(target),
        raw=True,
        signedness=sign,
        saturating=saturating,
        rounding_mode=RoundingModeAttr.of("nearest_int_to_zero"),
    )


def bitcast(b: Builder) -> None:
    x = b.find(lambda value: value.raw and value.exact and value.element not in (i1, TF32))
    if x is None:
        return
    targets = [t for t in (*FLOATS, *INTEGERS) if BITS[t] == BITS[x.element] and t != x.element]
    if targets:
        b.value(ct.BitcastOp, [x], x.type.with_element_type(b.pick(targets)))


def repack(b: Builder) -> None:
    """Through bytes to another type."""
    x = b.find(lambda value: value.raw and value.exact and value.element not in (i1, i8, TF32, *EIGHT_BITS))
    if x is None:
        return
    count = int(np.prod(x.shape, dtype=int))
    line = b.value(ct.ReshapeOp, [x], TileType((count,), x.element))
    data = b.value(ct.PackOp, [line], TileType((count * BITS[x.element] // 8,), i8))
    fits = [t for t in (i16, i32, i64, F16, F32) if count * BITS[x.element] % BITS[t] == 0]
    if fits and (target := b.pick(fits)):
        b.value(ct.UnpackOp, [data], TileType((count * BITS[x.element] // BITS[target],), target))


EVERY = (*FLOATS, *INTEGERS, i1)


def rearrange(b: Builder) -> None:
    x = b.any_of(EVERY)
    count = int(np.prod(x.shape, dtype=int))
    if b.chance(2) and len(x.shape) > 1:
        order = list(range(len(x.shape)))
        for dim in range(len(order) - 1):
            other = b.choices.integer(dim, len(order) - 1)
            order[dim], order[other] = order[other], order[dim]
        b.value(
            ct.PermuteOp,
            [x],
            TileType([x.shape[dim] for dim in order], x.element),
            permutation=order_attr(order),
        )
        return
    shape, left = [], count.bit_length() - 1
    for _ in range(b.choices.integer(0 if count == 1 else 1, 3) - 1):
        shape.append(b.choices.integer(0, left))
        left -= shape[-1]
    b.value(ct.ReshapeOp, [x], TileType([1 << dim for dim in [*shape, left]], x.element))


def broadcast(b: Builder) -> None:
    x = b.find(lambda value: 1 in value.shape and value.element in EVERY)
    if x is None:
        return
    capacity = MAX_ELEMENTS // max(int(np.prod(x.shape, dtype=int)), 1)
    shape = list(x.shape)
    for dim, size in enumerate(shape):
        if size == 1 and capacity > 1:
            shape[dim] = 1 << b.choices.integer(0, capacity.bit_length() - 1)
            capacity //= shape[dim]
    b.value(ct.BroadcastOp, [x], TileType(shape, x.element))


def join_and_cut(b: Builder) -> None:
    x = b.find(lambda value: value.shape and value.element in EVERY) or b.load(b.pick(EVERY), b.shape(rank=2))
    dim = b.choices.integer(0, len(x.shape) - 1)
    if b.chance(2) and int(np.prod(x.shape, dtype=int)) < MAX_ELEMENTS:
        shape = [size * (2 if d == dim else 1) for d, size in enumerate(x.shape)]
        b.value(ct.CatOp, [x, b.like(x)], TileType(shape, x.element), dim=IntegerAttr(dim, i64))
        return
    shape = [1 << b.choices.integer(0, size.bit_length() - 1) for size in x.shape]
    slices = [b.choices.integer(0, size // part - 1) for size, part in zip(x.shape, shape)]
    index = [b.constant(TileType((), i32), number) for number in slices]
    if b.chance(2):
        b.value(ct.ExtractOp, [x, *index], TileType(shape, x.element))
    else:
        part = b.load(x.element, tuple(shape))
        b.value(ct.InsertOp, [part, x, *index], x.type)


def iota(b: Builder) -> None:
    b.value(ct.IotaOp, [], TileType((1 << b.choices.integer(0, 7),), b.pick((i8, i16, i32, i64))))


@dataclass(frozen=True)
class Combiner:
    """An associative operation for reductions: its class, identity by type, properties."""

    kind: type[Operation]
    identity: Callable[[Attribute], int | float]
    floats: bool
    inexact: bool = False
    properties: tuple[tuple[str, Attribute], ...] = ()


def _lowest(element: Attribute) -> int:
    return -(1 << BITS[element] - 1)


def _highest(element: Attribute) -> int:
    return (1 << BITS[element] - 1) - 1


COMBINERS = (
    Combiner(ct.AddFOp, lambda e: 0.0, True, True, (("rounding_mode", NEAREST),)),
    Combiner(ct.MaxFOp, lambda e: -np.inf, True, False, (("propagate_nan", UNIT),)),
    Combiner(ct.MinFOp, lambda e: np.inf, True),
    Combiner(ct.AddIOp, lambda e: 0, False, False, (("overflow", NO_PROMISE),)),
    Combiner(ct.MulIOp, lambda e: 1, False, False, (("overflow", NO_PROMISE),)),
    Combiner(ct.MaxIOp, _lowest, False, False, (("signedness", SIGNED),)),
    Combiner(ct.MinIOp, lambda e: -1, False, False, (("signedness", UNSIGNED),)),
    Combiner(ct.AndIOp, lambda e: -1, False),
    Combiner(ct.OrIOp, lambda e: 0, False),
    Combiner(ct.XOrIOp, lambda e: 0, False),
)


def _identity(value: int | float, element: Attribute) -> Attribute:
    return IntegerAttr(value, element, truncate_bits=True) if is_integer(element) else FloatAttr(value, element)


def aggregate(b: Builder) -> None:
    x = b.find(lambda value: value.shape and value.element in (*FLOATS, *INTEGERS))
    x = x or b.load(b.pick((*FLOATS, *INTEGERS)), b.shape(rank=2))
    row = b.pick([row for row in COMBINERS if row.floats != is_integer(x.element)])
    scalar = TileType((), x.element)
    with b.nested([scalar, scalar]) as block:
        result = b.emit(row.kind, block.args, [scalar], **dict(row.properties)).results[0]
        b.emit(ct.YieldOp, [result], [])
    finish_aggregate(b, [x], block, [row.identity(x.element)], row.inexact)


def finish_aggregate(b: Builder, tiles: list[Value], block: Block, identities: list, inexact: bool) -> None:
    dim, shape = b.choices.integer(0, len(tiles[0].shape) - 1), tiles[0].shape
    given = {
        "dim": IntegerAttr(dim, i32),
        "identities": ArrayAttr([_identity(value, x.element) for value, x in zip(identities, tiles)]),
    }
    if b.chance(2):
        op = b.emit(
            ct.ScanOp,
            [x.ssa for x in tiles],
            [x.type for x in tiles],
            regions=[Region(block)],
            reverse=IntegerAttr(b.choices.integer(0, 1), i1),
            **given,
        )
    else:
        results = [TileType(shape[:dim] + shape[dim + 1 :], x.element) for x in tiles]
        op = b.emit(ct.ReduceOp, [x.ssa for x in tiles], results, regions=[Region(block)], **given)
    exact = not inexact and all(x.exact for x in tiles)
    b.pool += [Value(result, exact, is_integer(result.type.element_type)) for result in op.results]


def largest_with_place(b: Builder) -> None:
    """The largest element and where it is, the first of equal ones: a reduction of two tiles."""
    x = b.find(lambda value: value.shape and value.exact and value.element in INTEGERS) or b.load(
        b.pick(INTEGERS), b.shape(rank=2)
    )
    places = b._counting(x.shape)
    one, place = TileType((), x.element), TileType((), i32)
    with b.nested([one, one, place, place]) as block:
        first, second, here, there = map(Value, block.args)
        greater = b._plain(
            ct.CmpIOp,
            [first, second],
            TileType((), i1),
            signedness=SIGNED,
            comparison_predicate=ComparisonPredicateAttr.of("greater_than"),
        )
        equal = b._plain(
            ct.CmpIOp,
            [first, second],
            TileType((), i1),
            signedness=SIGNED,
            comparison_predicate=ComparisonPredicateAttr.of("equal"),
        )
        before = b._plain(ct.CmpIOp, [here, there], TileType((), i1), signedness=SIGNED, comparison_predicate=LESS)
        tie = b._plain(ct.AndIOp, [equal, before], TileType((), i1))
        wins = b._plain(ct.OrIOp, [greater, tie], TileType((), i1))
        best = b._plain(ct.SelectOp, [wins, first, second], one)
        where = b._plain(ct.SelectOp, [wins, here, there], place)
        b.emit(ct.YieldOp, [best.ssa, where.ssa], [])
    finish_aggregate(b, [x, places], block, [_lowest(x.element), _highest(i32)], False)


FACTORS = {
    F16: (F16, F32),
    BF16: (F32,),
    F32: (F32,),
    TF32: (F32,),
    F64: (F64,),
    F8E4M3: (F16, F32),
    F8E5M2: (F16, F32),
}


def multiply_matrices(b: Builder) -> None:
    largest = 7 if b.chance(3) else 5
    m, n, k = (1 << b.choices.integer(0, largest) for _ in range(3))
    batch = (1 << b.choices.integer(0, 1),) if b.chance(4) else ()
    if b.chance(4):
        lhs, rhs, acc = b.load(i8, (*batch, m, k)), b.load(i8, (*batch, k, n)), b.load(i32, (*batch, m, n))
        b.value(
            ct.MmaIOp,
            [lhs, rhs, acc],
            acc.type,
            signedness_lhs=b.pick((SIGNED, UNSIGNED)),
            signedness_rhs=b.pick((SIGNED, UNSIGNED)),
        )
        return
    factor = b.pick(list(FACTORS))
    acc = b.load(b.pick(FACTORS[factor]), (*batch, m, n))
    lhs, rhs = (b.load(F32 if factor == TF32 else factor, (*batch, *shape)) for shape in ((m, k), (k, n)))
    if factor == TF32:
        lhs, rhs = (
            b.value(ct.FToFOp, [x], x.type.with_element_type(TF32), raw=False, rounding_mode=NEAREST)
            for x in (lhs, rhs)
        )
        b.pool = [value for value in b.pool if value not in (lhs, rhs)]
    b.value(ct.MmaFOp, [lhs, rhs, acc], acc.type, inexact=True, raw=False)


def through_memory(b: Builder) -> None:
    if b.depth == 0:  # a loop would store to one place several times
        b.pool.append(b.exchange(b.any_of(EVERY)))


def gather(b: Builder) -> None:
    """Rows of a matrix in the order of an index tile, some of them outside."""
    element, (rows, columns) = b.pick((*FLOATS, i32, i8)), b.shape(rank=2)
    height, width = b.choices.integer(1, 2 * rows), b.choices.integer(1, columns)
    type = TensorViewType(element, [height, width], [width, 1])
    base = b.argument(element, height * width)
    tensor = b.emit(ct.MakeTensorViewOp, [base.ssa], [type], operandSegmentSizes=segments(1, 0, 0)).results[0]
    view = GatherScatterViewType((rows, columns), type, 0, PaddingValue.ZERO)
    made = b.emit(ct.MakeGatherScatterViewOp, [tensor], [view]).results[0]
    line = TileType((rows,), i32)
    index = b._plain(ct.MulIOp, [b._counting((rows,)), b.constant(line, b.pick((1, 3, 5)))], line, overflow=NO_PROMISE)
    index = b._plain(ct.AndIOp, [index, b.constant(line, 2 * rows - 1)], line)
    op = b.emit(
        ct.LoadViewTkoOp,
        [made, index.ssa, b.near(b.constant(TileType((), i32), 0)).ssa],
        [TileType((rows, columns), element), TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 2, 0),
    )
    b.pool.append(Value(op.results[0]))


def strided_load(b: Builder) -> None:
    """The second tile of a view whose tiles overlap or leave gaps; it may hang over the end."""
    element, shape = b.pick((*FLOATS, i32, i8)), b.shape(128, rank=2)
    steps = tuple(b.choices.integer(1, 2 * size) for size in shape)
    sizes = tuple(step + b.choices.integer(1, size) for step, size in zip(steps, shape))
    type = TensorViewType(element, sizes, [sizes[1], 1])
    base = b.argument(element, sizes[0] * sizes[1])
    tensor = b.emit(ct.MakeTensorViewOp, [base.ssa], [type], operandSegmentSizes=segments(1, 0, 0)).results[0]
    view = StridedViewType(shape, steps, type, None, PaddingValue.ZERO)
    made = b.emit(ct.MakeStridedViewOp, [tensor], [view]).results[0]
    one = b.constant(TileType((), i32), 1)
    op = b.emit(
        ct.LoadViewTkoOp,
        [made, b.near(one).ssa, b.near(one).ssa],
        [TileType(shape, element), TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 2, 0),
    )
    b.pool.append(Value(op.results[0]))


def atomic(b: Builder) -> None:
    """An atomic operation on different places; what was there goes on."""
    if b.depth:
        return
    x = b.find(lambda value: value.element in (i32, i64)) or b.load(b.pick((i32, i64)), b.shape())
    pointers, mask = b._pointers(x.element, x.shape)
    masks = [] if mask is None else [mask.ssa]
    op = b.emit(
        ct.AtomicRMWTkoOp,
        [pointers.ssa, x.ssa, *masks],
        [x.type, TOKEN],
        memory_ordering_semantics=MemoryOrderingSemanticsAttr.of("relaxed"),
        memory_scope=MemoryScopeAttr.of("device"),
        operandSegmentSizes=segments(1, 1, len(masks), 0),
        mode=AtomicRMWModeAttr.of(b.pick(("add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"))),
    )
    if mask is None:
        b.pool.append(Value(op.results[0]))


SCALES = ((F8E4M3, F8E8M0, 32), (F8E5M2, F8E8M0, 32))


def multiply_scaled(b: Builder) -> None:
    factor, scale, block = b.pick(SCALES)
    m, n, k = 1 << b.choices.integer(0, 6), 1 << b.choices.integer(0, 6), block << b.choices.integer(0, 2)
    shapes = ((m, k), (k, n), (m, n), (m, k // block), (k // block, n))
    operands = [b.load(element, shape) for element, shape in zip((factor, factor, F32, scale, scale), shapes)]
    b.pool = [value for value in b.pool if value.element != scale]
    b.value(ct.MmaFScaledOp, operands, operands[2].type, inexact=True, raw=False)


def same_type(b: Builder, value: Value) -> Value:
    """A value made of ``value`` by a few steps, brought back to its type if need be."""
    for _ in range(b.choices.integer(1, 2)):
        b.pick(NESTED_STEPS)(b)
    found = b.find(lambda other: other.type == value.type)
    return found or value


def counted_loop(b: Builder) -> None:
    if b.depth >= 2:
        return
    carried = [b.any_of(EVERY) for _ in range(b.choices.integer(1, 2))]
    low, high, step = b.choices.integer(-2, 2), b.choices.integer(-2, 4), b.choices.integer(1, 3)
    bounds = [b.constant(TileType((), i32), number) for number in (low, high, step)]
    with b.nested([TileType((), i32), *(value.type for value in carried)]) as block:
        inside = [Value(argument, False, False) for argument in block.args[1:]]
        b.pool += [Value(block.args[0]), *inside]
        b.emit(ct.ContinueOp, [same_type(b, value).ssa for value in inside], [])
    op = b.emit(
        ct.ForOp,
        [value.ssa for value in (*bounds, *carried)],
        [value.type for value in carried],
        regions=[Region(block)],
    )
    b.pool += [Value(result, False, False) for result in op.results]


def branch(b: Builder) -> None:
    if b.depth >= 2:
        return
    condition = b.find(lambda value: value.type == TileType((), i1) and value.exact) or b.load(i1, ())
    like = b.any_of(EVERY)
    blocks = []
    for _ in range(2):
        with b.nested() as block:
            b.emit(ct.YieldOp, [same_type(b, like).ssa], [])
        blocks.append(block)
    op = b.emit(ct.IfOp, [condition.ssa], [like.type], regions=[Region(block) for block in blocks])
    b.pool.append(Value(op.results[0], False, False))


def leaving_loop(b: Builder) -> None:
    """A loop that counts in a carried value and breaks out of a branch."""
    if b.depth >= 2:
        return
    carried, number = b.any_of(EVERY), TileType((), i32)
    start, limit, one = (b.constant(number, value) for value in (0, b.choices.integer(0, 3), 1))
    with b.nested([number, carried.type]) as block:
        count, inside = Value(block.args[0]), Value(block.args[1], False, False)
        done = b._plain(
            ct.CmpIOp,
            [limit, count],
            TileType((), i1),
            signedness=SIGNED,
            comparison_predicate=ComparisonPredicateAttr.of("less_than_or_equal"),
        )
        with b.nested() as out:
            b.emit(ct.BreakOp, [inside.ssa], [])
        with b.nested() as on:
            b.emit(ct.YieldOp, [], [])
        b.emit(ct.IfOp, [done.ssa], [], regions=[Region(out), Region(on)])
        b.pool.append(inside)
        made = same_type(b, inside)
        following = b._plain(ct.AddIOp, [count, one], number, overflow=NO_PROMISE)
        b.emit(ct.ContinueOp, [following.ssa, made.ssa], [])
    op = b.emit(ct.LoopOp, [start.ssa, carried.ssa], [carried.type], regions=[Region(block)])
    b.pool.append(Value(op.results[0], False, False))


# ---- later ones: a list of their own keeps the programs of earlier seeds ------------------------------------------
def packed_halves(b: Builder) -> None:
    """4-bit elements: out of a tensor into wider values, and values that they can hold into another tensor."""
    shape = b.shape()
    if int(np.prod(shape, dtype=int)) < 2:
        return
    view, index = b._view(F4E2M1, shape, padded=True)
    op = b.emit(
        ct.LoadViewTkoOp,
        [view, *index],
        [TileType(shape, F4E2M1), TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, len(index), 0),
    )
    x = Value(op.results[0])
    b.value(ct.FToFOp, [x], TileType(shape, b.pick(FLOATS)), raw=False, rounding_mode=NEAREST)
    source = b.find(lambda value: value.exact and value.shape == shape and value.element in FLOATS)
    made = b._plain(ct.FToFOp, [source], x.type, rounding_mode=NEAREST) if source is not None and b.chance(2) else x
    view, index = b._view(F4E2M1, shape, padded=False)
    b.emit(
        ct.StoreViewTkoOp,
        [made.ssa, view, *index],
        [TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 1, len(index), 0),
    )


def ties_away(b: Builder) -> None:
    x = b.any_of((F32,))
    made = b._plain(
        ct.FToFOp, [x], x.type.with_element_type(TF32), rounding_mode=RoundingModeAttr.of(RoundingMode.NEAREST_AWAY)
    )
    b.value(ct.FToFOp, [Value(made.ssa, x.exact)], x.type, raw=False, rounding_mode=NEAREST)


def truth(b: Builder) -> None:
    x = b.find(lambda value: value.element in FLOATS and value.exact) or b.load(b.pick(FLOATS), b.shape())
    b.value(
        ct.FToIOp,
        [x],
        x.type.with_element_type(i1),
        raw=True,
        signedness=UNSIGNED,
        rounding_mode=RoundingModeAttr.of("nearest_int_to_zero"),
    )


def through_storage(b: Builder) -> None:
    """A tile through storage of the tile program's own."""
    x = b.any_of(EVERY)
    count = int(np.prod(x.shape, dtype=int))
    base = b._plain(
        ct.AllocaOp,
        [],
        TileType((), PointerType(x.element)),
        num_elem=IntegerAttr(count, i64),
        alignment=IntegerAttr(16, i64),
    )
    pointers, _ = b._pointers(x.element, x.shape, base)
    stored = b.emit(
        ct.StorePtrTkoOp,
        [pointers.ssa, x.ssa],
        [TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 1, 0, 0),
    )
    pointers, mask = b._pointers(x.element, x.shape, base)
    masks = [] if mask is None else [mask.ssa, b.constant(x.type, 1).ssa]
    op = b.emit(
        ct.LoadPtrTkoOp,
        [pointers.ssa, *masks, stored.results[0]],
        [x.type, TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, len(masks[:1]), len(masks[1:]), 1),
    )
    b.pool.append(Value(op.results[0], x.exact, x.raw))


NESTED_STEPS = (
    rounded_arithmetic, sign_and_extremum, integer_arithmetic, integer_division, shift, compare_integers, select,
    change_width, convert_float, rearrange, aggregate, function, branch, counted_loop,
)  # fmt: skip
STEPS = (
    *NESTED_STEPS, rounded_arithmetic, fast_arithmetic, square_root, discontinuous, integer_and_float, bitcast, repack,
    broadcast, join_and_cut, iota, aggregate, largest_with_place, multiply_matrices, leaving_loop, through_memory,
    gather, strided_load, atomic, multiply_scaled,
)  # fmt: skip
LATER_STEPS = (*STEPS, *(packed_halves, ties_away, truth, through_storage) * 4)
MAX_STEPS = 8
CTAS = (1, 1, 2, 4)  # that a program asks for


def random_program(
    choices: Choices, steps: Sequence[Callable[[Builder], None]] = STEPS, *, every_value: bool = False
) -> Program:
    """A kernel of a few loads, up to MAX_STEPS steps, and stores of values that nothing else uses.

    With ``every_value`` all values are stored, in the order in which they are made: the first wrong one is at fault.
    """
    b = Builder(choices)
    stored = write_body(b, steps, every_value)
    return Program(module_of(b, b.pick(CTAS)), b.buffers, stored)


def write_body(b: Builder, steps: Sequence[Callable], every_value: bool) -> dict[int, Operation]:
    """The body of a program, all but its header: parameter -> the operation whose result is stored there."""
    b.load(b.pick(EVERY), b.shape())
    for _ in range(b.choices.integer(1, MAX_STEPS)):
        b.pick(steps)(b)
    stored = {}
    for value in b.pool if every_value else unused_values(b):
        b.store(value)
        stored[b.last_buffer()] = value.ssa.owner
    b.emit(ct.ReturnOp, [], [])
    return stored


def unused_values(b: Builder) -> list[Value]:
    """The last values that nothing uses, of those that are not merely loaded."""
    loaded = (ct.LoadViewTkoOp, ct.LoadPtrTkoOp)
    made = [value for value in b.pool if not isinstance(value.ssa.owner, loaded)]
    unused = [value for value in made if not list(value.ssa.uses)]
    return (unused or made or b.pool)[-4:]


def module_of(b: Builder, ctas: int) -> builtin.ModuleOp:
    types = [argument.type for argument in b.entry.args]
    entry = ct.EntryOp.create(
        properties={
            "sym_name": StringAttr(ENTRY),
            "function_type": FunctionType.from_lists(types, []),
            "optimization_hints": ct.OptimizationHintsAttr({"default": {"num_cta_in_cga": ctas}}),
        },
        regions=[Region(b.entry)],
    )
    module = ct.ModuleOp.create(properties={"sym_name": StringAttr("kernels")}, regions=[Region(Block([entry]))])
    return builtin.ModuleOp([module])
