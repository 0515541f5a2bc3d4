"""Random kernels of several tile blocks: tensors that promises make fit for TMA, loops whose bounds are arguments, matmuls in them.

Everything of ``tile_programs.py`` may stand between them. A block writes what no other one does: what it stores lies in a part of its
own of each buffer, or is a tile of its own of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, i1, i8, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tests.fuzz import tile_program_builder, tile_programs
from tests.fuzz.tile_program_builder import (
    APPROX,
    FLOATS,
    LESS,
    NEAREST,
    NO_PROMISE,
    SIGNED,
    UNIT,
    WEAK,
    Builder,
    Choices,
    Program,
    Value,
    segments,
)
from tests.fuzz.tile_programs import CTAS, EVERY, LATER_STEPS, module_of
from tileiras_build.ir.dialects import cuda_tile as ct
from tileiras_build.ir.dialects.cuda_tile.attrs import BoundedAttr, DivByAttr
from tileiras_build.ir.dialects.cuda_tile.element_types import BITS
from tileiras_build.ir.dialects.cuda_tile.enums import (
    AtomicRMWModeAttr,
    MemoryOrderingSemanticsAttr,
    MemoryScopeAttr,
    PaddingValue,
)
from tileiras_build.ir.dialects.cuda_tile.types import TOKEN, TensorViewType, TileType
from tileiras_build.ir.dialects.cuda_tile.view_types import GatherScatterViewType, PartitionViewType, StridedViewType
from tileiras_build.simulate.interpreter.derive_inputs import Buffer, Inputs, aligned
from tileiras_build.simulate.interpreter.element_types import (
    BF16,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    STORAGE_DTYPES,
    TF32,
    is_integer,
    to_bit_patterns,
)

NUMBER = TileType((), i32)
# Types of factors and accumulators, elements of a step along k.
MATMULS = (
    (F16, F32, 16), (F16, F32, 32), (F16, F16, 16), (BF16, F32, 16), (BF16, F32, 64), (TF32, F32, 16), (F32, F32, 8),
    (F8E4M3, F32, 32), (F8E5M2, F32, 32), (F64, F64, 4), (F64, F64, 16), (i8, i32, 32),
)  # fmt: skip


@dataclass
class GridProgram(Program):
    """A program of several blocks: for each parameter an element type and a count, or a number."""

    parameters: list[tuple[Attribute, int] | int]
    grid: tuple[int, int, int]

    def inputs(self, seed: int) -> Inputs:
        """A launch with difficult values in some buffers, ordinary ones in others."""
        rng = np.random.default_rng(seed)
        buffers, params = [], []
        for index, given in enumerate(self.parameters):
            if isinstance(given, int):
                params.append(given.to_bytes(4, "little", signed=True))
            else:
                fill = tile_program_builder.fill if rng.integers(0, 3) == 0 else _tame
                buffers.append(fill(rng, index, *given))
                params.append(buffers[-1].address.to_bytes(8, "little"))
        return Inputs(self.grid, params, buffers, {})


def _tame(rng: np.random.Generator, index: int, element: Attribute, count: int) -> Buffer:
    """Numbers of about one, small integers or halves of them."""
    if BITS[element] < 8 or is_integer(element) or element == tile_programs.F8E8M0:
        return tile_program_builder.fill(rng, index, element, count)
    values = rng.standard_normal(count) if rng.integers(0, 2) else rng.integers(-4, 5, count) / 2
    words = np.ascontiguousarray(to_bit_patterns(values.astype(np.float32).astype(STORAGE_DTYPES[element]), element))
    place = aligned(words.nbytes)
    place[:] = words.view(np.uint8)
    return Buffer(index, element, place)


class GridBuilder(Builder):
    """A builder whose programs run in a grid."""

    def __init__(self, choices: Choices):
        super().__init__(choices)
        self.block, self.parameters = self.entry, []
        self.grid = self.pick((1, 1, 2, 3)), self.pick((1, 1, 1, 2)), 1
        ids = self.emit(ct.GetTileBlockIdOp, [], [NUMBER] * 3).results
        self.ids = Value(ids[0]), Value(ids[1])
        row = self._plain(ct.MulIOp, [self.ids[1], self.number(self.grid[0])], NUMBER, overflow=NO_PROMISE)
        self.linear = self._plain(ct.AddIOp, [row, self.ids[0]], NUMBER, overflow=NO_PROMISE)
        self.pool.append(self.linear)

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1]

    def number(self, value: int) -> Value:
        return self.constant(NUMBER, value)

    # Parameters

    def last_buffer(self) -> int:
        return max(index for index, given in enumerate(self.parameters) if not isinstance(given, int))

    def scalar(self, value: int, divisor: int = 1) -> Value:
        """A number that is an argument, with what is promised of it."""
        self.parameters.append(value)
        argument = Value(self.entry.insert_arg(NUMBER, len(self.entry.args)))
        if value < 0:
            return argument
        argument = self._plain(ct.AssumeOp, [argument], NUMBER, predicate=BoundedAttr(0, None))
        if divisor > 1 and self.chance(2):
            argument = self._plain(ct.AssumeOp, [argument], NUMBER, predicate=DivByAttr(divisor))
        return argument

    def pointer(self, element: Attribute, count: int, promised: bool) -> Value:
        self.parameters.append((element, count))
        base = Value(super().argument(element, count).ssa)
        return self._plain(ct.AssumeOp, [base], base.type, predicate=DivByAttr(16)) if promised else base

    def argument(self, element: Attribute, count: int) -> Value:
        """A pointer to the part of this block of a buffer; it may begin anywhere."""
        odd = self.pick((0, 0, 0, 1, 3)) if BITS[element] >= 8 else 0
        part = -(-(count + odd) // 16) * 16 if self.chance(2) or BITS[element] < 8 else count + odd
        base = self.pointer(element, part * self.blocks, promised=self.chance(2))
        start = self._plain(ct.MulIOp, [self.linear, self.number(part)], NUMBER, overflow=NO_PROMISE)
        start = self._plain(ct.AddIOp, [start, self.number(odd)], NUMBER, overflow=NO_PROMISE)
        return self._plain(ct.OffsetOp, [base, start], base.type)

    # Tensors of all blocks

    def tensor(self, element: Attribute, sizes: Sequence[int]) -> tuple[Value, TensorViewType]:
        """A tensor view, most often one that TMA can read: rows begin at multiples of 16 bytes."""
        order = list(range(len(sizes)))
        if self.chance(4):
            order.reverse()
        whole = max(128 // BITS[element], 1)
        fits, dynamic = not self.chance(4), self.chance(2)
        strides, step = [0] * len(sizes), 1
        for position, dim in enumerate(reversed(order)):
            strides[dim] = step
            step *= sizes[dim]
            if position == 0:
                step = -(-step // whole) * whole if fits else step + self.pick((0, 0, 1, 5))
        base = self.pointer(element, step, promised=fits or self.chance(2))
        shapes = [self.scalar(size) for size in sizes] if dynamic else []
        moving = [dim for dim, stride in enumerate(strides) if dynamic and stride > 1]
        steps = [self.scalar(strides[dim], whole if fits else 1) for dim in moving]
        view = TensorViewType(
            element,
            [None if dynamic else size for size in sizes],
            [None if dim in moving else stride for dim, stride in enumerate(strides)],
        )
        operands = [base.ssa, *(value.ssa for value in (*shapes, *steps))]
        op = self.emit(ct.MakeTensorViewOp, operands, [view], operandSegmentSizes=segments(1, len(shapes), len(steps)))
        return Value(op.results[0]), view

    def whole(self, tile: int, count: int) -> int:
        """An extent of so many tiles, the last of which may stick out, or of fewer than a grid or a loop counts."""
        if self.chance(6):
            count = max(count - 1, 1)
        return tile * count - (self.choices.integer(0, tile - 1) if self.chance(3) else 0)

    def away(self, distance: int) -> Value:
        return self.scalar(distance) if self.chance(2) else super().away(distance)

    def partition(self, tensor: tuple[Value, TensorViewType], shape: Sequence[int], padded: bool = True) -> SSAValue:
        padding = PaddingValue.ZERO if padded else None
        type = PartitionViewType(shape, tensor[1], None, padding)
        return self.emit(ct.MakePartitionViewOp, [tensor[0].ssa], [type]).results[0]

    def load_tile(self, view: SSAValue, index: Sequence[Value]) -> Value:
        type = view.type.tile_type
        places = [value.ssa for value in index]
        op = self.emit(
            ct.LoadViewTkoOp,
            [view, *places],
            [type, TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, len(places), 0),
        )
        return Value(op.results[0])

    def _load_view(self, element: Attribute, shape: tuple[int, ...]) -> Value:
        if len(shape) != 2 or BITS[element] < 8 or element == i1 or self.chance(3):
            return super()._load_view(element, shape)
        rows = self.pick(((self.grid[0], self.ids[0]), (self.blocks, self.linear), (1, self.number(0))))
        sizes = self.whole(shape[0], rows[0]), self.whole(shape[1], 2)
        view = self.partition(self.tensor(element, sizes), shape)
        return self.load_tile(view, [self.near(rows[1]), self.near(self.number(self.choices.integer(0, 1)))])

    def store(self, value: Value) -> None:
        if len(value.shape) != 2 or BITS[value.element] < 8 or value.element == i1 or self.chance(3):
            super().store(value)
            return
        sizes = self.whole(value.shape[0], self.grid[0]), self.whole(value.shape[1], self.grid[1])
        view = self.partition(self.tensor(value.element, sizes), value.shape, padded=False)
        operands = [value.ssa, view, self.near(self.ids[0]).ssa, self.near(self.ids[1]).ssa]
        self.emit(
            ct.StoreViewTkoOp,
            operands,
            [TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, 1, 2, 0),
        )


# ---- steps -------------------------------------------------------------------------------------------------------


def _factor_tile(b: GridBuilder, view: SSAValue, index: Sequence[Value], factor: Attribute) -> Value:
    tile = b.load_tile(view, index)
    if factor == TF32:
        return b._plain(ct.FToFOp, [tile], tile.type.with_element_type(TF32), rounding_mode=NEAREST)
    return tile


def _multiply(b: GridBuilder, lhs: Value, rhs: Value, acc: Value) -> Value:
    kind, signs = (
        (ct.MmaFOp, {}) if lhs.element != i8 else (ct.MmaIOp, {"signedness_lhs": SIGNED, "signedness_rhs": SIGNED})
    )
    return b._plain(kind, [lhs, rhs, acc], acc.type, **signs)


def _sides(b: GridBuilder) -> tuple[int, int]:
    return b.pick((16, 32, 64, 64, 128)), b.pick((16, 32, 64, 64, 128))


def _bounds(b: GridBuilder, steps: int) -> tuple[Value, Value]:
    """From where to where a loop of ``steps`` tiles goes: constants or arguments, none at all among them."""
    low, high = b.pick((0,) * 7 + (1,)), b.pick((steps,) * 6 + (max(steps - 1, 0), 0))
    return tuple(b.scalar(number) if b.chance(2) else b.number(number) for number in (low, high))


def matmul_loop(b: GridBuilder) -> None:
    """Matmuls along k, of a tile of rows for each block."""
    if b.depth:
        return
    (factor, total, k), (m, n), steps = b.pick(MATMULS), _sides(b), b.choices.integer(1, 5)
    stored = F32 if factor == TF32 else factor
    along = b.whole(k, steps)
    left = b.partition(b.tensor(stored, (b.whole(m, b.grid[0]), along)), (m, k))
    right = b.partition(b.tensor(stored, (along, b.whole(n, b.grid[1]))), (k, n))
    start = b.constant(TileType((m, n), total), 0) if b.chance(2) else b.load(total, (m, n))
    low, high = _bounds(b, steps)
    with b.nested([NUMBER, start.type]) as block:
        place, acc = map(Value, block.args)
        lhs = _factor_tile(b, left, [b.near(b.ids[0]), place], factor)
        rhs = _factor_tile(b, right, [b.near(place), b.ids[1]], factor)
        made = _multiply(b, lhs, rhs, acc)
        if b.chance(3):
            made = _touched(b, made)
        b.emit(ct.ContinueOp, [made.ssa], [])
    _finish_loop(b, low, high, [start], block)


def _touched(b: GridBuilder, value: Value) -> Value:
    """The accumulator, with something done to it in the loop."""
    if is_integer(value.element):
        return b._plain(ct.AddIOp, [value, b.constant(value.type, 1)], value.type, overflow=NO_PROMISE)
    return b._plain(ct.MulFOp, [value, b.constant(value.type, 0.5)], value.type, rounding_mode=NEAREST)


def _finish_loop(b: GridBuilder, low: Value, high: Value, carried: Sequence[Value], block: Block) -> list[Value]:
    op = b.emit(
        ct.ForOp,
        [value.ssa for value in (low, high, b.number(1), *carried)],
        [value.type for value in carried],
        regions=[Region(block)],
    )
    made = [Value(result, False, False) for result in op.results]
    b.pool += made
    return made


def _along_rows(b: GridBuilder, kind: type[Operation], x: Value, identity: float, **properties: Attribute) -> Value:
    """A reduction of each row, as a column."""
    one = TileType((), x.element)
    with b.nested([one, one]) as block:
        made = b.emit(kind, block.args, [one], **properties).results[0]
        b.emit(ct.YieldOp, [made], [])
    given = {"dim": IntegerAttr(1, i32), "identities": ArrayAttr([FloatAttr(identity, x.element)])}
    line = b.emit(ct.ReduceOp, [x.ssa], [TileType(x.shape[:1], x.element)], regions=[Region(block)], **given)
    return b._plain(ct.ReshapeOp, [Value(line.results[0])], TileType((x.shape[0], 1), x.element))


def attention(b: GridBuilder) -> None:
    """Two matmuls in a loop with a softmax between them."""
    if b.depth:
        return
    factor, m, k, d = b.pick((F16, F16, BF16)), b.pick((16, 64, 64, 128)), b.pick((16, 32, 64)), b.pick((16, 32, 64))
    steps = b.choices.integer(1, 4)
    along = k * steps
    queries = b.partition(b.tensor(factor, (b.whole(m, b.grid[0]), d)), (m, d))
    keys = b.partition(b.tensor(factor, (d, along)), (d, k))
    values = b.partition(b.tensor(factor, (along, d)), (k, d))
    query = b.load_tile(queries, [b.ids[0], b.number(0)])
    column, scored, made = TileType((m, 1), F32), TileType((m, k), F32), TileType((m, d), F32)
    start = [b.constant(column, -1e4), b.constant(column, 0), b.constant(made, 0)]
    low, high = _bounds(b, steps)
    with b.nested([NUMBER, column, column, made]) as block:
        place, top, weight, acc = map(Value, block.args)
        scores = _multiply(b, query, b.load_tile(keys, [b.number(0), place]), b.constant(scored, 0))
        scores = b._plain(ct.MulFOp, [scores, b.constant(scored, 0.125)], scored, rounding_mode=NEAREST)
        if b.chance(3):
            scores = _masked(b, scores, place)
        highest = _along_rows(b, ct.MaxFOp, scores, -np.inf)
        now = b._plain(ct.MaxFOp, [top, highest], column)
        ftz = UNIT if b.chance(2) else None
        shift = b._plain(ct.SubFOp, [scores, b._plain(ct.BroadcastOp, [now], scored)], scored, rounding_mode=NEAREST)
        powers = b._plain(ct.Exp2Op, [shift], scored, flush_to_zero=ftz)
        less = b._plain(ct.SubFOp, [top, now], column, rounding_mode=NEAREST)
        shrink = b._plain(ct.Exp2Op, [less], column, flush_to_zero=ftz)
        weight = b._plain(ct.MulFOp, [weight, shrink], column, rounding_mode=NEAREST)
        added = _along_rows(b, ct.AddFOp, powers, 0, rounding_mode=NEAREST)
        weight = b._plain(ct.AddFOp, [weight, added], column, rounding_mode=NEAREST)
        wide = b._plain(ct.BroadcastOp, [shrink], made)
        acc = b._plain(ct.MulFOp, [acc, wide], made, rounding_mode=NEAREST)
        narrow = b._plain(ct.FToFOp, [powers], scored.with_element_type(factor), rounding_mode=NEAREST)
        acc = _multiply(b, narrow, b.load_tile(values, [place, b.number(0)]), acc)
        b.emit(ct.ContinueOp, [now.ssa, weight.ssa, acc.ssa], [])
    _, weight, acc = _finish_loop(b, low, high, start, block)
    divisor = b._plain(ct.AddFOp, [weight, b.constant(column, 1)], column, rounding_mode=NEAREST)
    mode = b.pick((NEAREST, APPROX))
    b.value(
        ct.DivFOp, [acc, b._plain(ct.BroadcastOp, [divisor], made)], made, inexact=True, raw=False, rounding_mode=mode
    )


def _masked(b: GridBuilder, scores: Value, place: Value) -> Value:
    """Scores of columns before the row's number, -100 elsewhere."""
    type, (rows, columns) = scores.type.with_element_type(i32), scores.shape
    down = b._plain(ct.ReshapeOp, [b._counting((rows,))], TileType((rows, 1), i32))
    across = b._plain(ct.ReshapeOp, [b._counting((columns,))], TileType((1, columns), i32))
    first = b._plain(ct.MulIOp, [place, b.number(columns)], NUMBER, overflow=NO_PROMISE)
    first = b._plain(
        ct.BroadcastOp, [b._plain(ct.ReshapeOp, [first], TileType((1, 1), i32))], TileType((1, columns), i32)
    )
    across = b._plain(ct.AddIOp, [across, first], across.type, overflow=NO_PROMISE)
    wide = [b._plain(ct.BroadcastOp, [x], type) for x in (across, down)]
    mask = b._plain(ct.CmpIOp, wide, type.with_element_type(i1), signedness=SIGNED, comparison_predicate=LESS)
    return b._plain(ct.SelectOp, [mask, scores, b.constant(scores.type, -100)], scores.type)


def dynamic_loop(b: GridBuilder) -> None:
    """A loop whose bounds and step are arguments, in a loop or a branch too."""
    if b.depth >= 2:
        return
    carried = [b.any_of(EVERY) for _ in range(b.choices.integer(1, 2))]
    low, high, step = (b.scalar(b.choices.integer(least, most)) for least, most in ((0, 2), (0, 4), (1, 3)))
    with b.nested([NUMBER, *(value.type for value in carried)]) as block:
        inside = [Value(argument, False, False) for argument in block.args[1:]]
        b.pool += [Value(block.args[0]), *inside]
        b.emit(ct.ContinueOp, [tile_programs.same_type(b, value).ssa for value in inside], [])
    op = b.emit(
        ct.ForOp,
        [value.ssa for value in (low, high, step, *carried)],
        [value.type for value in carried],
        regions=[Region(block)],
    )
    b.pool += [Value(result, False, False) for result in op.results]


def rows_then_columns(b: GridBuilder) -> None:
    """A tile less its largest numbers of rows, then sums of columns: what norms and softmaxes do."""
    x = b.find(lambda value: value.element == F32 and len(value.shape) == 2) or b.load(F32, b.shape(rank=2))
    highest = _along_rows(b, ct.MaxFOp, x, -np.inf)
    less = b._plain(ct.SubFOp, [x, b._plain(ct.BroadcastOp, [highest], x.type)], x.type, rounding_mode=NEAREST)
    total = _along_rows(b, ct.AddFOp, less, 0, rounding_mode=NEAREST)
    turned = TileType(x.shape[::-1], F32)
    across = b._plain(ct.PermuteOp, [less], turned, permutation=tile_program_builder.order_attr((1, 0)))
    b.pool += [Value(total.ssa, False, False)]
    b.pool += [Value(_along_rows(b, ct.AddFOp, across, 0, rounding_mode=NEAREST).ssa, False, False)]


def scatter(b: GridBuilder) -> None:
    """Rows of a tile to different rows of a matrix, some of them outside of it; then the matrix is loaded."""
    if b.depth:
        return
    element, (rows, columns) = b.pick((*FLOATS, i32, i8)), b.shape(256, rank=2)
    value = b.find(lambda one: one.type == TileType((rows, columns), element)) or b.load(element, (rows, columns))
    height = b.choices.integer(1, 2 * rows)
    type = TensorViewType(element, [height, columns], [columns, 1])
    base = b.argument(element, height * columns)
    tensor = b.emit(ct.MakeTensorViewOp, [base.ssa], [type], operandSegmentSizes=segments(1, 0, 0)).results[0]
    view = b.emit(ct.MakeGatherScatterViewOp, [tensor], [GatherScatterViewType((rows, columns), type, 0)]).results[0]
    line = TileType((rows,), i32)
    index = b._plain(ct.MulIOp, [b._counting((rows,)), b.constant(line, b.pick((1, 3, 5)))], line, overflow=NO_PROMISE)
    index = b._plain(ct.AndIOp, [index, b.constant(line, 2 * rows - 1)], line)
    b.emit(
        ct.StoreViewTkoOp,
        [value.ssa, view, index.ssa, b.near(b.number(0)).ssa],
        [TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 1, 2, 0),
    )


def token_chain(b: GridBuilder) -> None:
    """One place that is written, read, written again and read: each after the token of the one before."""
    if b.depth:
        return
    x = b.any_of(EVERY)
    y, base = b.like(x), b.argument(x.element, int(np.prod(x.shape, dtype=int)))
    token = None
    for value in (x, y):
        pointers, _ = b._pointers(x.element, x.shape, base)
        mask = None
        after = [] if token is None else [token]
        token = b.emit(
            ct.StorePtrTkoOp,
            [pointers.ssa, value.ssa, *after],
            [TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, 1, 0, len(after)),
        ).results[0]
        pointers, mask = b._pointers(x.element, x.shape, base)
        masks = [] if mask is None else [mask.ssa, b.constant(x.type, 1).ssa]
        op = b.emit(
            ct.LoadPtrTkoOp,
            [pointers.ssa, *masks, token],
            [x.type, TOKEN],
            memory_ordering_semantics=WEAK,
            operandSegmentSizes=segments(1, len(masks[:1]), len(masks[1:]), 1),
        )
        token = op.results[1]
        if b.chance(2):
            token = b.emit(ct.JoinTokensOp, [token, b.emit(ct.MakeTokenOp, [], [TOKEN]).results[0]], [TOKEN]).results[0]
        b.pool.append(Value(op.results[0], value.exact, value.raw))


def shared_atomic(b: GridBuilder) -> None:
    """Numbers of all blocks added up, or their extremes, in one place."""
    if b.depth:
        return
    x = b.find(lambda value: value.element in (i32, tile_programs.i64) and value.shape) or b.load(
        i32, b.shape(256, rank=1)
    )
    count = int(np.prod(x.shape, dtype=int))
    pointers, mask = b._pointers(x.element, x.shape, b.pointer(x.element, count, promised=b.chance(2)))
    masks = [] if mask is None else [mask.ssa]
    b.emit(
        ct.AtomicRMWTkoOp,
        [pointers.ssa, x.ssa, *masks],
        [x.type, TOKEN],
        memory_ordering_semantics=MemoryOrderingSemanticsAttr.of("relaxed"),
        memory_scope=MemoryScopeAttr.of("device"),
        operandSegmentSizes=segments(1, 1, len(masks), 0),
        mode=AtomicRMWModeAttr.of(b.pick(("add", "and", "or", "xor", "max", "min", "umax", "umin"))),
    )


def through_tensor(b: GridBuilder) -> None:
    """A tile through a tensor of all blocks: stored as a block's own tile, and loaded behind the token of that."""
    if b.depth:
        return
    x = b.find(lambda value: len(value.shape) == 2 and value.element in (*FLOATS, i32, i8)) or b.load(
        F16, b.shape(rank=2)
    )
    sizes = [b.whole(size, count) for size, count in zip(x.shape, b.grid)]
    view = b.partition(b.tensor(x.element, sizes), x.shape)
    index = [b.near(b.ids[0]).ssa, b.near(b.ids[1]).ssa]
    stored = b.emit(
        ct.StoreViewTkoOp,
        [x.ssa, view, *index],
        [TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 1, 2, 0),
    )
    op = b.emit(
        ct.LoadViewTkoOp,
        [view, *index, stored.results[0]],
        [x.type, TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 2, 1),
    )
    b.pool.append(Value(op.results[0], x.exact, x.raw))


def strided_store(b: GridBuilder) -> None:
    """The second tile of a view whose tiles leave gaps, of any width."""
    if b.depth:
        return
    x = b.find(lambda value: len(value.shape) == 2 and value.element in (*FLOATS, i32, i8)) or b.load(
        F16, b.shape(rank=2)
    )
    steps = tuple(size + b.choices.integer(0, size) for size in x.shape)
    sizes = tuple(step + b.choices.integer(1, size) for step, size in zip(steps, x.shape))
    type = TensorViewType(x.element, sizes, [sizes[1], 1])
    base = b.argument(x.element, sizes[0] * sizes[1])
    tensor = b.emit(ct.MakeTensorViewOp, [base.ssa], [type], operandSegmentSizes=segments(1, 0, 0)).results[0]
    view = b.emit(ct.MakeStridedViewOp, [tensor], [StridedViewType(x.shape, steps, type)]).results[0]
    one = b.number(1)
    b.emit(
        ct.StoreViewTkoOp,
        [x.ssa, view, b.near(one).ssa, b.near(one).ssa],
        [TOKEN],
        memory_ordering_semantics=WEAK,
        operandSegmentSizes=segments(1, 1, 2, 0),
    )


def reduced_into_view(b: GridBuilder) -> None:
    """Numbers of all blocks joined in one tile of a tensor."""
    if b.depth:
        return
    x = b.find(lambda value: len(value.shape) == 2 and value.element == i32) or b.load(i32, b.shape(rank=2))
    view = b.partition(b.tensor(i32, [b.whole(size, 1) for size in x.shape]), x.shape, padded=False)
    zero = b.number(0)
    b.emit(
        ct.AtomicRedViewTkoOp,
        [view, b.near(zero).ssa, b.near(zero).ssa, x.ssa],
        [TOKEN],
        memory_ordering_semantics=MemoryOrderingSemanticsAttr.of("relaxed"),
        memory_scope=MemoryScopeAttr.of("device"),
        mode=AtomicRMWModeAttr.of(b.pick(("add", "and", "or", "xor", "max", "min", "umax", "umin"))),
        operandSegmentSizes=segments(1, 2, 1, 0),
    )


def product_of_elements(b: GridBuilder) -> None:
    """Products of all elements along a dimension, which may overflow or underflow on the way."""
    x = b.find(lambda value: value.shape and value.element in FLOATS) or b.load(b.pick(FLOATS), b.shape(rank=2))
    one = TileType((), x.element)
    with b.nested([one, one]) as block:
        made = b.emit(ct.MulFOp, block.args, [one], rounding_mode=NEAREST).results[0]
        b.emit(ct.YieldOp, [made], [])
    tile_programs.finish_aggregate(b, [x], block, [1.0], True)


OWN_STEPS: tuple[Callable[[GridBuilder], None], ...] = (
    matmul_loop, attention, dynamic_loop, rows_then_columns, scatter, token_chain, shared_atomic, through_tensor,
    strided_store, reduced_into_view, product_of_elements,
)  # fmt: skip
GRID_STEPS = (*LATER_STEPS, *OWN_STEPS * 3, matmul_loop, matmul_loop, attention, attention)


def random_grid_program(
    choices: Choices, steps: Sequence[Callable] = GRID_STEPS, *, every_value: bool = False
) -> GridProgram:
    """A kernel of a grid; see ``programs.random_program``."""
    b = GridBuilder(choices)
    stored = tile_programs.write_body(b, steps, every_value)
    return GridProgram(module_of(b, b.pick(CTAS)), b.buffers, stored, b.parameters, b.grid)
