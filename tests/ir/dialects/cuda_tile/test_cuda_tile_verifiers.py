"""Each rule of the cuda_tile verifiers: one operation that breaks it, and the sentence it gets."""

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from tileiras_build.ir.dialects.cuda_tile import *
from tileiras_build.ir.dialects.cuda_tile import TOKEN, TileType
from tileiras_build.ir.dialects.cuda_tile.element_types import BF16, F4E2M1, F8E4M3, F8E8M0, F16, F32, F64, TF32, i4
from tileiras_build.ir.dialects.cuda_tile.op_base import SEGMENTS
from tileiras_build.ir.dialects.cuda_tile.ops_module import Isolated
from tileiras_build.ir.dialects.cuda_tile.ops_print_assert_grid_dependency import format_expressions

UNIT = UnitAttr()


def t(element=F32, *shape) -> TileType:
    return TileType(shape, element)


def p(element=F32, *shape) -> TileType:
    return TileType(shape, PointerType(element))


def make(cls, operands=(), results=(), regions=(), **properties):
    """An operation on fresh values of the given types; ``segments`` are the sizes of the operand groups.

    A property whose name Python or ``make`` reserves is given with an underscore after it.
    """
    if (sizes := properties.pop("segments", None)) is not None:
        properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
    return cls.create(
        operands=[create_ssa_value(type) for type in operands],
        result_types=results,
        regions=regions,
        properties={key.removesuffix("_"): value for key, value in properties.items()},
    )


def ints(type, *values) -> DenseArrayBase:
    return DenseArrayBase.from_list(type, values)


def rounding(mode):
    return RoundingModeAttr.of(mode)


NEAREST, FULL = rounding("nearest_even"), rounding("full")
SIGNED, UNSIGNED = SignednessAttr.of("signed"), SignednessAttr.of("unsigned")
NONE = IntegerOverflowAttr.of("none")
WEAK, RELAXED = MemoryOrderingSemanticsAttr.of("weak"), MemoryOrderingSemanticsAttr.of("relaxed")
DEVICE, SYS = MemoryScopeAttr.of("device"), MemoryScopeAttr.of("sys")
VIEW = TensorViewType(F32, (16, 16), (16, 1))
TILES = PartitionViewType((4, 8), VIEW)
PADDED = PartitionViewType((4, 8), VIEW, padding_value=PaddingValue.ZERO)
ROWS = GatherScatterViewType((4, 8), VIEW, 0)


def load(view, index, tile, token=False, **properties):
    token_types = [TOKEN] if token else []
    return make(
        LoadViewTkoOp,
        [view, *index, *token_types],
        [tile, TOKEN],
        segments=(1, len(index), len(token_types)),
        **{"memory_ordering_semantics": WEAK} | properties,
    )


def shared(element=F32) -> PartitionViewType:
    """A view of a multicast object."""
    return PartitionViewType((4, 8), TensorViewType(element, (16, 16), (16, 1), "multicast"))


def multimem(view, element, kind, **properties):
    return make(
        MultimemLoadReduceViewTkoOp,
        [view, t(i32), t(i32)],
        [t(element, 4, 8), TOKEN],
        segments=(1, 2, 0),
        reduction=MultimemReductionKindAttr.of(kind),
        **{"memory_ordering_semantics": WEAK} | properties,
    )


def change(cls, element, **properties):
    """An operation that writes a tile to a multicast object."""
    order = {"memory_ordering_semantics": RELAXED, "memory_scope": DEVICE}
    return make(
        cls, [shared(element), t(element, 4, 8), t(i32), t(i32)], [TOKEN], segments=(1, 1, 2, 0), **order | properties
    )


def reduce(types, results, dim, identities, arguments=None, yielded=None, effect=None):
    arguments = (
        [TileType((), type.element_type) for type in types for _ in range(2)] if arguments is None else arguments
    )
    block = Block(arg_types=arguments)
    if effect is not None:
        block.add_op(effect)
    block.add_op(YieldOp.create(operands=[block.args[index] for index in yielded or range(0, len(arguments), 2)]))
    return make(ReduceOp, types, results, [Region(block)], dim=IntegerAttr(dim, i32), identities=ArrayAttr(identities))


def loop(cls, operands, results, arguments, end):
    block = Block(arg_types=arguments)
    block.add_op(end(block.args))
    return make(cls, operands, results, [Region(block)])


def next_of(args, skip=1):
    return ContinueOp.create(operands=args[skip:])


def branch(results, then, otherwise=()):
    regions = [Region([Block([op()]) for op in ops]) for ops in (then, otherwise)]
    return make(IfOp, [t(i1)], results, regions)


def entry(types, outputs=(), arguments=None):
    block = Block([ReturnOp.create()], arg_types=types if arguments is None else arguments)
    return make(
        EntryOp,
        regions=[Region(block)],
        sym_name=StringAttr("k"),
        function_type=FunctionType.from_lists(types, outputs),
    )


def assume(type, predicate):
    return make(AssumeOp, [type], [type], predicate=predicate)


ZERO = FloatAttr(0.0, F32)

VALID = {
    "addf": lambda: make(AddFOp, [t(), t()], [t()], rounding_mode=NEAREST, flush_to_zero=UNIT),
    "negi": lambda: make(NegIOp, [t(i32)], [t(i32)], overflow=NONE),
    "load": lambda: load(TILES, [t(i32)] * 2, t(F32, 4, 8), True),
    "gather": lambda: load(ROWS, [t(i32, 4), t(i32)], t(F32, 4, 8)),
    "reduce": lambda: reduce([t(F32, 4, 8)], [t(F32, 4)], 1, [ZERO]),
    "if": lambda: branch([], [YieldOp.create]),
    "for": lambda: loop(ForOp, [t(i32)] * 3 + [t()], [t()], [t(i32), t()], next_of),
    "entry": lambda: entry([t(), p()]),
    "assume": lambda: assume(t(i32, 8), DivByAttr(4, 4, 0)),
}


@pytest.mark.parametrize("build", VALID.values(), ids=VALID)
def test_valid(build):
    build().verify()


INVALID = {
    # operands, results and attributes
    "operand-count": (lambda: make(AbsFOp, [], [t()]), "wrong number of operands: 0"),
    "result-count": (lambda: make(AbsFOp, [t()], [t(), t()]), "wrong number of results: 2"),
    "no-attribute": (lambda: make(NegIOp, [t(i32)], [t(i32)]), "the attribute 'overflow' is missing"),
    "attribute-kind": (lambda: make(NegIOp, [t(i32)], [t(i32)], overflow=UNIT), "unexpected attribute 'overflow'"),
    "unknown-attribute": (lambda: make(AbsFOp, [t()], [t()], color=UNIT), "unexpected attribute 'color'"),
    "region-count": (lambda: make(ForOp, [t(i32)] * 3), "expected 1 regions, got 0"),
    # arithmetic
    "types": (
        lambda: make(AddIOp, [t(i32), t(i64)], [t(i32)], overflow=NONE),
        "'lhs' and 'rhs' must have the same type",
    ),
    "float-element": (lambda: make(AbsFOp, [t(i32)], [t(i32)]), "'source' must be a tile of"),
    "low-precision": (lambda: make(AbsFOp, [t(F8E4M3)], [t(F8E4M3)]), "'source' must be a tile of"),
    "integer-element": (lambda: make(AbsIOp, [t()], [t()]), "'source' must be a tile of"),
    "not-a-tile": (lambda: make(AbsFOp, [TOKEN], [TOKEN]), "'source' must be a tile, got !cuda_tile.token"),
    "rounding": (lambda: make(AddFOp, [t(), t()], [t()], rounding_mode=FULL), "'rounding_mode' must be one of"),
    "flush-f16": (
        lambda: make(AddFOp, [t(F16)] * 2, [t(F16)], rounding_mode=NEAREST, flush_to_zero=UNIT),
        "flush_to_zero modifier only supported for f32",
    ),
    "full-f64": (
        lambda: make(DivFOp, [t(F64)] * 2, [t(F64)], rounding_mode=FULL),
        "full modifier only supported for f32",
    ),
    "exp-mode": (lambda: make(ExpOp, [t()], [t()], rounding_mode=NEAREST), "must be one of full, approx"),
    "sqrt-full": (lambda: make(SqrtOp, [t()], [t()], rounding_mode=FULL), "'rounding_mode' must be one of"),
    "unsigned-floor": (
        lambda: make(DivIOp, [t(i32)] * 2, [t(i32)], signedness=UNSIGNED, rounding=rounding("negative_inf")),
        "not allowed with 'unsigned' flag",
    ),
    "negi-nuw": (
        lambda: make(NegIOp, [t(i32)], [t(i32)], overflow=IntegerOverflowAttr.of("no_unsigned_wrap")),
        "'overflow' must be one of",
    ),
    "cmp-result": (
        lambda: make(
            CmpIOp,
            [t(i32, 4)] * 2,
            [t(i1)],
            signedness=SIGNED,
            comparison_predicate=ComparisonPredicateAttr.of("equal"),
        ),
        "'result' must be a tile of i1",
    ),
    "fpowi-shape": (lambda: make(FPowIOp, [t(), t(i32, 4)], [t()]), "'exponent' must have the shape of 'source'"),
    # matrices
    "mma-rank": (lambda: make(MmaFOp, [t(F16, 4)] * 2 + [t(F32, 4)], [t(F32, 4)]), "operands must be 2D or 3D"),
    "mma-inner": (
        lambda: make(MmaFOp, [t(F16, 4, 8), t(F16, 4, 8), t(F32, 4, 8)], [t(F32, 4, 8)]),
        "the columns of lhs (4, 8) and the rows of rhs (4, 8) must match",
    ),
    "mma-outer": (
        lambda: make(MmaFOp, [t(F16, 4, 8), t(F16, 8, 4), t(F32, 4, 8)], [t(F32, 4, 8)]),
        "does not give the shape of acc",
    ),
    "mma-batch": (
        lambda: make(MmaFOp, [t(F16, 2, 4, 8), t(F16, 1, 8, 4), t(F32, 2, 4, 4)], [t(F32, 2, 4, 4)]),
        "the batch dimensions",
    ),
    "mma-types": (
        lambda: make(MmaFOp, [t(BF16, 4, 4)] * 2 + [t(F16, 4, 4)], [t(F16, 4, 4)]),
        "Input type bf16 expects accumulator/result type to be one of {f32}",
    ),
    "mmai-types": (
        lambda: make(
            MmaIOp, [t(i16, 4, 4)] * 2 + [t(i32, 4, 4)], [t(i32, 4, 4)], signedness_lhs=SIGNED, signedness_rhs=SIGNED
        ),
        "'lhs' must be a tile of i8",
    ),
    "scale-block": (
        lambda: make(
            MmaFScaledOp,
            [t(F8E4M3, 16, 32), t(F8E4M3, 32, 16), t(F32, 16, 16), t(F8E8M0, 16, 2), t(F8E8M0, 2, 16)],
            [t(F32, 16, 16)],
        ),
        "requires a block scale factor of 32",
    ),
    "scale-type": (
        lambda: make(
            MmaFScaledOp,
            [t(F8E4M3, 16, 32), t(F8E4M3, 32, 16), t(F32, 16, 16), t(F8E4M3, 16, 1), t(F8E4M3, 1, 16)],
            [t(F32, 16, 16)],
        ),
        "f8E4M3FN scaled by f8E4M3FN",
    ),
    # shapes and conversions
    "bitcast": (lambda: make(BitcastOp, [t(i32)], [t(i64)]), "types must be equal width"),
    "broadcast": (lambda: make(BroadcastOp, [t(F32, 2)], [t(F32, 4)]), "(2,) and (4,)"),
    "cat-dim": (lambda: make(CatOp, [t(F32, 4)] * 2, [t(F32, 8)], dim=IntegerAttr(1, i64)), "expect dim to be [0, 1)"),
    "cat-size": (lambda: make(CatOp, [t(F32, 4)] * 2, [t(F32, 4)], dim=IntegerAttr(0, i64)), "expected: 8 but got: 4"),
    "cat-other": (
        lambda: make(CatOp, [t(F32, 4, 2), t(F32, 4, 4)], [t(F32, 8, 2)], dim=IntegerAttr(0, i64)),
        "to match at non-concat positions",
    ),
    "constant": (
        lambda: make(ConstantOp, [], [t()], value=DenseConstantAttr(t(i32), bytes(4))),
        "'value' and 'result' must have the same type",
    ),
    "exti": (lambda: make(ExtIOp, [t(i32)], [t(i16)], signedness=SIGNED), "extending to smaller"),
    "trunci": (lambda: make(TruncIOp, [t(i16)], [t(i32)], overflow=NONE), "truncating to larger"),
    "extract-divides": (lambda: make(ExtractOp, [t(F32, 2), t(i32)], [t(F32, 4)]), "must be evenly divisible"),
    "extract-count": (lambda: make(ExtractOp, [t(F32, 4)], [t(F32, 2)]), "expected 1 indices, but got 0"),
    "extract-index": (lambda: make(ExtractOp, [t(F32, 4), t(i64)], [t(F32, 2)]), "indices must be scalar tiles of i32"),
    "insert": (lambda: make(InsertOp, [t(F32, 4), t(F32, 2), t(i32)], [t(F32, 2)]), "must be evenly divisible"),
    "ftof-same": (lambda: make(FToFOp, [t()], [t()], rounding_mode=NEAREST), "must not be a no-op"),
    "ftof-scale": (
        lambda: make(FToFOp, [t()], [t(F8E8M0)], rounding_mode=NEAREST),
        "must be one of zero, positive_inf",
    ),
    "ftof-low": (
        lambda: make(FToFOp, [t()], [t(F8E4M3)], rounding_mode=rounding("zero")),
        "must be one of nearest_even",
    ),
    "ftof-tf32": (
        lambda: make(FToFOp, [t()], [t(TF32)], rounding_mode=rounding("positive_inf")),
        "must be one of nearest_even, zero, nearest_away",
    ),
    "ftoi-mode": (
        lambda: make(FToIOp, [t()], [t(i32)], signedness=SIGNED, rounding_mode=NEAREST),
        "nearest_int_to_zero",
    ),
    "itof-scale": (
        lambda: make(IToFOp, [t(i32)], [t(F8E8M0)], signedness=SIGNED, rounding_mode=NEAREST),
        "first convert to another float type",
    ),
    "int-to-ptr": (lambda: make(IntToPtrOp, [t(i32)], [p()]), "'source' must be a tile of i64"),
    "iota-rank": (lambda: make(IotaOp, [], [t(i32)]), "expects result type to be 1-d tile"),
    "iota-range": (lambda: make(IotaOp, [], [t(i8, 512)]), "exceeds the maximum value of element type i8"),
    "offset": (lambda: make(OffsetOp, [p(F32, 4), t(i32)], [p(F32, 4)]), "must have the same shape"),
    "pack-rank": (lambda: make(PackOp, [t(F32, 2, 2)], [t(i8, 16)]), "rank-1 tiles"),
    "pack-size": (lambda: make(PackOp, [t(F32, 2)], [t(i8, 4)]), "the same size in bytes"),
    "unpack-width": (lambda: make(UnpackOp, [t(i8, 4)], [t(F8E4M3, 4)]), "different element type widths"),
    "permute-rank": (lambda: make(PermuteOp, [t(F32, 4)], [t(F32, 4)], permutation=ints(i32, 0)), "at least rank 2"),
    "permute-order": (
        lambda: make(PermuteOp, [t(F32, 4, 2)], [t(F32, 2, 4)], permutation=ints(i32, 1, 1)),
        "expect a permutation of the 2 dimensions",
    ),
    "permute-shape": (
        lambda: make(PermuteOp, [t(F32, 4, 2)], [t(F32, 4, 2)], permutation=ints(i32, 1, 0)),
        "does not give",
    ),
    "reshape": (lambda: make(ReshapeOp, [t(F32, 4)], [t(F32, 8)]), "same number of elements"),
    "select-cond": (lambda: make(SelectOp, [t(i8), t(), t()], [t()]), "'cond' must be a tile of i1"),
    "select-f4": (lambda: make(SelectOp, [t(i1, 2), t(F4E2M1, 2), t(F4E2M1, 2)], [t(F4E2M1, 2)]), "sub-byte type"),
    # assumptions
    "div-power": (lambda: assume(t(i32), DivByAttr(3)), "the divisor must be a power of two, got 3"),
    "div-float": (lambda: assume(t(), DivByAttr(4)), "expected a tile of integers or pointers"),
    "div-half": (lambda: assume(t(i32, 4), DivByAttr(4, 2, None)), "must be used together"),
    "div-view": (lambda: assume(VIEW, DivByAttr(4, 2, 0)), "cannot be used on a tensor_view"),
    "div-scalar": (lambda: assume(t(i32), DivByAttr(4, 1, 0)), "cannot be used on a scalar tile"),
    "div-along": (lambda: assume(t(i32, 4), DivByAttr(4, 2, 1)), "'along' must name a dimension"),
    "div-every": (lambda: assume(t(i32, 4), DivByAttr(4, 8, 0)), "'every' must be in [1, 4]"),
    "same-rank": (lambda: assume(t(i32, 4), SameElementsAttr([1, 1])), "expected 1 values, got 2"),
    "same-value": (lambda: assume(t(i32, 4), SameElementsAttr([8])), "expected a value in [1, 4], got 8"),
    "bounded-type": (lambda: assume(p(), BoundedAttr(0, None)), "expected a tile of integers"),
    "bounded-range": (lambda: assume(t(i8), BoundedAttr(None, 128)), "the bound 128 does not fit in i8"),
    "bounded-order": (lambda: assume(t(i8), BoundedAttr(3, 2)), "the lower bound 3 is greater"),
    "predicate": (lambda: assume(t(i8), UNIT), "unexpected predicate"),
    # memory
    "weak-scope": (
        lambda: load(TILES, [t(i32)] * 2, t(F32, 4, 8), memory_scope=DEVICE),
        "must not have a memory scope",
    ),
    "needs-scope": (
        lambda: load(TILES, [t(i32)] * 2, t(F32, 4, 8), memory_ordering_semantics=RELAXED),
        "a memory scope is required for relaxed",
    ),
    "load-release": (
        lambda: load(
            TILES,
            [t(i32)] * 2,
            t(F32, 4, 8),
            memory_scope=SYS,
            memory_ordering_semantics=MemoryOrderingSemanticsAttr.of("release"),
        ),
        "must be one of",
    ),
    "load-type": (lambda: load(TILES, [t(i32)] * 2, t(F32, 8, 4)), "expected 'tile' of type !cuda_tile.tile<4x8xf32>"),
    "load-view": (lambda: load(VIEW, [t(i32)] * 2, t(F32, 4, 8)), "'view' must be a tile view"),
    "index-count": (lambda: load(TILES, [t(i32)], t(F32, 4, 8)), "expected 2 index operands"),
    "index-types": (lambda: load(TILES, [t(i32), t(i64)], t(F32, 4, 8)), "expected indices of one type"),
    "index-scalar": (lambda: load(TILES, [t(i32, 4), t(i32)], t(F32, 4, 8)), "expected scalar integer indices"),
    "gather-index": (lambda: load(ROWS, [t(i32, 8), t(i32)], t(F32, 4, 8)), "index tile of 4 integers at position 0"),
    "inbounds": (
        lambda: load(TILES, [t(i32)] * 2, t(F32, 4, 8), inbounds=ints(i1, 1)),
        "expected 2 inbounds flags, got 1",
    ),
    "token": (lambda: make(MemoryFenceAliasTkoOp, [t()], [TOKEN]), "'token' must be a token"),
    "join": (lambda: make(JoinTokensOp, [TOKEN], [TOKEN]), "expect two or more tokens"),
    "pointee": (
        lambda: make(LoadPtrTkoOp, [p(F16)], [t(), TOKEN], memory_ordering_semantics=WEAK, segments=(1, 0, 0, 0)),
        "pointers to the elements of 'result'",
    ),
    "mask": (
        lambda: make(
            LoadPtrTkoOp, [p(F32, 4), t(i1)], [t(F32, 4), TOKEN], memory_ordering_semantics=WEAK, segments=(1, 1, 0, 0)
        ),
        "'mask' must be a tile of i1 in the shape of 'source'",
    ),
    "padding": (
        lambda: make(
            LoadPtrTkoOp, [p(), t(i1), t(F16)], [t(), TOKEN], memory_ordering_semantics=WEAK, segments=(1, 1, 1, 0)
        ),
        "type of 'padding_value' must match",
    ),
    "cas-width": (
        lambda: make(
            AtomicCASTkoOp,
            [p(i16), t(i16), t(i16)],
            [t(i16), TOKEN],
            segments=(1, 1, 1, 0, 0),
            memory_ordering_semantics=RELAXED,
            memory_scope=DEVICE,
        ),
        "32 or 64 bit",
    ),
    "rmw-weak": (
        lambda: make(
            AtomicRMWTkoOp,
            [p(), t()],
            [t(), TOKEN],
            segments=(1, 1, 0, 0),
            memory_scope=DEVICE,
            memory_ordering_semantics=WEAK,
            mode=AtomicRMWModeAttr.of("addf"),
        ),
        "must be one of",
    ),
    "rmw-mode": (
        lambda: make(
            AtomicRMWTkoOp,
            [p(), t()],
            [t(), TOKEN],
            segments=(1, 1, 0, 0),
            memory_scope=DEVICE,
            memory_ordering_semantics=RELAXED,
            mode=AtomicRMWModeAttr.of("add"),
        ),
        "'add' works only with i32, i64, got f32",
    ),
    "red-padding": (
        lambda: make(
            AtomicRedViewTkoOp,
            [PADDED, t(i32), t(i32), t(F32, 4, 8)],
            [TOKEN],
            segments=(1, 2, 1, 0),
            memory_ordering_semantics=RELAXED,
            memory_scope=DEVICE,
            mode=AtomicRMWModeAttr.of("addf"),
        ),
        "views with padding_value are not supported",
    ),
    "red-sys": (
        lambda: make(
            AtomicRedViewTkoOp,
            [TILES, t(i32), t(i32), t(F32, 4, 8)],
            [TOKEN],
            segments=(1, 2, 1, 0),
            memory_ordering_semantics=RELAXED,
            memory_scope=SYS,
            mode=AtomicRMWModeAttr.of("addf"),
        ),
        "'memory_scope' must be one of tl_blk, device",
    ),
    "red-inbounds": (
        lambda: make(
            AtomicRedViewTkoOp,
            [TILES, t(i32), t(i32), t(F32, 4, 8)],
            [TOKEN],
            segments=(1, 2, 1, 0),
            memory_ordering_semantics=RELAXED,
            memory_scope=DEVICE,
            mode=AtomicRMWModeAttr.of("addf"),
            inbounds=ints(i1, 1),
        ),
        "expected 2 inbounds flags, got 1",
    ),
    "load-multicast": (
        lambda: load(shared(), [t(i32)] * 2, t(F32, 4, 8)),
        "load_view_tko cannot access a multicast pointer",
    ),
    "pointer-multicast": (
        lambda: make(
            LoadPtrTkoOp,
            [t(PointerType(F32, "multicast"))],
            [t(), TOKEN],
            segments=(1, 0, 0, 0),
            memory_ordering_semantics=WEAK,
        ),
        "load_ptr_tko cannot access a multicast pointer",
    ),
    "multimem-plain": (
        lambda: multimem(TILES, F32, "add"),
        "a view of a multicast pointer, the pointer attribute is absent",
    ),
    "multimem-strided": (
        lambda: multimem(StridedViewType((4, 8), (4, 8), shared().tensor_view, (0, 1)), F32, "add"),
        "multimem operations support only partition_view",
    ),
    "multimem-type": (
        lambda: multimem(shared(i8), i8, "add"),
        "'add' works only with i32, i64, f16, bf16, f32, f64, got i8",
    ),
    "multimem-min": (lambda: multimem(shared(), F32, "min"), "'min' works only with i32, i64, f16, bf16, got f32"),
    "multimem-xor": (lambda: multimem(shared(F16), F16, "xor"), "'xor' works only with i32, i64, got f16"),
    "multimem-release": (
        lambda: multimem(
            shared(), F32, "add", memory_scope=SYS, memory_ordering_semantics=MemoryOrderingSemanticsAttr.of("release")
        ),
        "must be one of weak, relaxed, acquire",
    ),
    "multimem-reduce-min": (
        lambda: change(MultimemReduceViewTkoOp, F16, reduction=MultimemReductionKindAttr.of("min")),
        "'min' works only with i32, i64, got f16",
    ),
    "multimem-reduce-weak": (
        lambda: change(
            MultimemReduceViewTkoOp, F32, memory_ordering_semantics=WEAK, reduction=MultimemReductionKindAttr.of("add")
        ),
        "must be one of relaxed, release",
    ),
    "multimem-store-type": (lambda: change(MultimemStoreViewTkoOp, i16), "multimem operations work only with i32"),
    "alloca": (
        lambda: make(AllocaOp, [], [p(F64)], num_elem=IntegerAttr(1, i64), alignment=IntegerAttr(4, i64)),
        "must be at least the natural size (8 bytes)",
    ),
    "view-source": (
        lambda: make(MakePartitionViewOp, [TensorViewType(F32, (8, 8), (8, 1))], [TILES]),
        "the same as the view's tensor_view type",
    ),
    "view-kind": (lambda: make(MakeStridedViewOp, [VIEW], [TILES]), "'result' must be a strided_view"),
    "view-dynamic": (
        lambda: make(MakeTensorViewOp, [p(), t(i32)], [VIEW], segments=(1, 1, 0)),
        "expected 0 dynamic shape operands, got 1",
    ),
    "view-base": (lambda: make(MakeTensorViewOp, [p(F16)], [VIEW], segments=(1, 0, 0)), "expected pointer to f32"),
    "view-attribute": (
        lambda: make(MakeTensorViewOp, [t(PointerType(F32, "unicast"))], [VIEW], segments=(1, 0, 0)),
        "the pointer attribute of the base is unicast, that of the view absent",
    ),
    "view-mixed": (
        lambda: make(
            MakeTensorViewOp, [p(), t(i32), t(i64)], [TensorViewType(F32, (None,), (None,))], segments=(1, 1, 1)
        ),
        "scalar integers of one type",
    ),
    "shape-count": (lambda: make(GetTensorShapeOp, [VIEW], [t(i32)]), "expected 2 results due to the rank, but got 1"),
    "index-space": (lambda: make(GetIndexSpaceShapeOp, [VIEW], [t(i32)] * 2), "'src' must be a tile view"),
    "print": (
        lambda: make(PrintTkoOp, [t()], [TOKEN], segments=(1, 0), str=StringAttr("%d %f")),
        "incorrect number of operands: expected 2, found 1",
    ),
    "print-cut": (lambda: make(PrintTkoOp, [], [TOKEN], segments=(0, 0), str=StringAttr("%5")), "unterminated format"),
    # structure
    "entry-tile": (lambda: entry([t(F32, 4)]), "the arguments of an entry must be scalar tiles"),
    "entry-result": (lambda: entry([t()], [t()]), "entry op must not return values"),
    "entry-body": (lambda: entry([t()], arguments=[]), "the arguments of the body differ from the signature"),
    "global-rank": (
        lambda: make(
            GlobalOp,
            sym_name=StringAttr("g"),
            value=DenseConstantAttr(t(i32), bytes(4)),
            alignment=IntegerAttr(0, i64),
            symbol_visibility=SymbolVisibilityAttr.of("public"),
        ),
        "type must have rank 1",
    ),
    "block-id": (lambda: make(GetTileBlockIdOp, [], [t(i64)] * 3), "results must be scalar tiles of i32"),
    "for-bounds": (lambda: loop(ForOp, [t(i32), t(i64), t(i32)], [], [t(i32)], next_of), "must have the same type"),
    "for-arguments": (lambda: loop(ForOp, [t(i32)] * 3, [], [t(i64)], next_of), "must be the induction variable"),
    "for-results": (
        lambda: loop(ForOp, [t(i32)] * 3 + [t()], [], [t(i32), t()], lambda args: next_of(args, 2)),
        "the results must have the types of the initial values",
    ),
    "for-view": (lambda: loop(ForOp, [t(i32)] * 3 + [VIEW], [VIEW], [t(i32), VIEW], next_of), "is a view"),
    "continue": (
        lambda: loop(ForOp, [t(i32)] * 3 + [t()], [t()], [t(i32), t()], lambda args: next_of(args, 2)),
        "cuda_tile.continue: passes () but the carried values of the loop are",
    ),
    "break": (
        lambda: loop(LoopOp, [t()], [], [t()], lambda args: BreakOp.create(operands=args)),
        "but the results of the loop are ()",
    ),
    "break-in-for": (
        lambda: loop(ForOp, [t(i32)] * 3, [], [t(i32)], lambda args: BreakOp.create()),
        "can only be nested within cuda_tile.loop, cuda_tile.if",
    ),
    "return-in-for": (
        lambda: loop(ForOp, [t(i32)] * 3, [], [t(i32)], lambda args: ReturnOp.create()),
        "expects a parent entry, if or loop, not cuda_tile.for",
    ),
    "if-else": (lambda: branch([t()], [YieldOp.create]), "must define else branch"),
    "if-then": (lambda: branch([], []), "must define then branch"),
    "if-yield": (lambda: branch([t()], [YieldOp.create], [YieldOp.create]), "a branch yields () but the results are"),
    "if-view": (lambda: branch([VIEW], [YieldOp.create], [YieldOp.create]), "result 0 is a view"),
    "terminator": (lambda: branch([], [lambda: make(MakeTokenOp, [], [TOKEN])]), "terminator"),
    "yield-in-for": (
        lambda: loop(ForOp, [t(i32)] * 3, [], [t(i32)], lambda args: YieldOp.create()),
        "expects a parent if, reduce or scan",
    ),
    "reduce-dim": (lambda: reduce([t(F32, 4)], [t()], 1, [ZERO]), "dimension (1) is out of bound [0, 1)"),
    "reduce-result": (
        lambda: reduce([t(F32, 4)], [t(F32, 4)], 0, [ZERO]),
        "expected a result of type !cuda_tile.tile<f32>",
    ),
    "reduce-identities": (lambda: reduce([t(F32, 4)], [t()], 0, []), "1 operands and 0 identities"),
    "reduce-identity": (lambda: reduce([t(F32, 4)], [t()], 0, [IntegerAttr(0, i32)]), "to have type f32"),
    "reduce-shapes": (lambda: reduce([t(F32, 4), t(F32, 8)], [t(), t()], 0, [ZERO, ZERO]), "must have the same shape"),
    "reduce-arguments": (
        lambda: reduce([t(F32, 4)], [t()], 0, [ZERO], arguments=[t()]),
        "a pair of scalars per operand",
    ),
    "reduce-yield": (lambda: reduce([t(F32, 4)], [t()], 0, [ZERO], yielded=[0, 1]), "must yield one value per operand"),
    "reduce-effect": (
        lambda: reduce([t(F32, 4)], [t()], 0, [ZERO], effect=make(AssertOp, [t(i1)], message=StringAttr(""))),
        "only pure operations are allowed inside",
    ),
}


@pytest.mark.parametrize("build, message", INVALID.values(), ids=INVALID)
def test_invalid(build, message):
    with pytest.raises(VerifyException) as caught:
        build().verify()
    assert message in str(caught.value)


def module(*ops):
    return make(ModuleOp, regions=[Region(Block(ops))], sym_name=StringAttr("kernels"))


def test_a_global_must_exist_and_match():
    def user(element):
        get = make(GetGlobalOp, [], [p(element)], name_=SymbolRefAttr("g"))
        return make(
            EntryOp,
            regions=[Region(Block([get, ReturnOp.create()]))],
            sym_name=StringAttr("k"),
            function_type=FunctionType.from_lists([], []),
        )

    table = make(
        GlobalOp,
        sym_name=StringAttr("g"),
        value=DenseConstantAttr(t(i32, 2), bytes(8)),
        alignment=IntegerAttr(0, i64),
        symbol_visibility=SymbolVisibilityAttr.of("public"),
    )
    with pytest.raises(VerifyException, match="'g' does not reference a valid global"):
        module(user(i32)).verify()
    with pytest.raises(VerifyException, match="pointee type f32 does not match type i32"):
        module(user(F32), table.clone()).verify()
    module(user(i32), table).verify()


@pytest.mark.parametrize("nested", [False, True])
def test_an_entry_uses_only_its_own_values(nested):
    """Also in regions of its operations, which use what is defined around them."""
    signature = FunctionType.from_lists([t(i32)], [])

    def entry(given=None):
        block = Block(arg_types=[t(i32)])
        use = ExtIOp.create(operands=[given or block.args[0]], result_types=[t(i64)], properties={"signedness": SIGNED})
        block.add_ops([LoopOp.create(regions=[Region(Block([use]))]) if nested else use, ReturnOp.create()])
        return make(EntryOp, regions=[Region(block)], sym_name=StringAttr("k"), function_type=signature)

    Isolated().verify(entry())
    with pytest.raises(VerifyException, match="defined out of its IsolatedFromAbove parent"):
        Isolated().verify(entry(create_ssa_value(t(i32))))


@pytest.mark.parametrize("text, count", [("", 0), ("%d", 1), ("100%% %5.2f%x", 2), ("%lld", 1)])
def test_format_expressions(text, count):
    assert format_expressions(text) == count


def test_names_of_the_public_dialect_that_python_reserves():
    assert i4 in BITS
    assert make(ExtIOp, [t(i8)], [t(i32)], signedness=SIGNED).from_.type == t(i8)
    assert PowOp is FPowFOp
