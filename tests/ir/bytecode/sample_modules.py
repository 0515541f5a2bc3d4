"""Bytecode for tests, written with the encoder of the `cuda-tile` wheel; together they use every opcode.

Each function of SAMPLES fills one entry: (writer, types, code, parameters). ``build`` makes the file.
"""

from __future__ import annotations

import struct

from cuda.tile._bytecode import encodings as e
from cuda.tile._bytecode import write_bytecode
from cuda.tile._bytecode.attribute import (
    Bounded,
    DivBy,
    EntryHints,
    Float,
    Integer,
    LoadStoreHints,
    make_load_store_hints,
)
from cuda.tile._bytecode.debug_info import MISSING_DEBUG_ATTR_ID
from cuda.tile._bytecode.type import SimpleType as S
from cuda.tile._bytecode.type_base import PaddingValue, PtrAttr
from cuda.tile._bytecode.version import BytecodeVersion

V13_1, V13_2 = BytecodeVersion.V_13_1, BytecodeVersion.V_13_2
V13_3, V13_4, V13_5 = BytecodeVersion.V_13_3, BytecodeVersion.V_13_4, BytecodeVersion.V_13_5
DYNAMIC = -(1 << 63)
NEAREST = e.RoundingMode.NEAREST_EVEN
NONE = e.IntegerOverflow.NONE
SIGNED, UNSIGNED = e.Signedness.Signed, e.Signedness.Unsigned
RELAXED, WEAK, DEVICE = (e.MemoryOrderingSemantics.RELAXED, e.MemoryOrderingSemantics.WEAK, e.MemoryScope.DEVICE)


def build(fill, parameters=lambda types: [], version=V13_5, hints=None, name="k", debug=None) -> bytes:
    """One entry whose body ``fill`` writes, followed by a return.

    ``debug(table)`` gives the location of all its operations, or a pair: its own, and theirs.
    """
    data = bytearray()
    with write_bytecode(1, data, version) as writer:
        types = writer.type_table
        where = MISSING_DEBUG_ATTR_ID if debug is None else debug(writer.debug_attr_table)
        own, where = where if isinstance(where, tuple) else (where, where)
        with writer.function(name, parameters(types), [], True, hints or {}, own) as (code, values):
            code.cur_debug_attr = where
            fill(writer, types, code, values)
            e.encode_ReturnOp(code, [])
    return bytes(data)


def tile(types, element, *shape):
    return types.tile(types.simple(element) if isinstance(element, S) else element, shape)


def pointer(types, element=S.F32, *shape):
    return types.tile(types.pointer(types.simple(element), PtrAttr.Missing), shape)


def f32(types, code, value=2.0, *shape):
    return e.encode_ConstantOp(code, tile(types, S.F32, *shape), struct.pack("<f", value))


def i32(types, code, value=5, *shape):
    return e.encode_ConstantOp(code, tile(types, S.I32, *shape), struct.pack("<i", value))


def i1(types, code, value=True, *shape):
    return e.encode_ConstantOp(code, tile(types, S.I1, *shape), b"\xff" if value else b"\0")


def floats(_, types, code, values):
    t, a = tile(types, S.F32), f32(types, code)
    for unary in (
        e.encode_AbsFOp,
        e.encode_CeilOp,
        e.encode_CosHOp,
        e.encode_CosOp,
        e.encode_FloorOp,
        e.encode_Log2Op,
        e.encode_LogOp,
        e.encode_NegFOp,
        e.encode_SinHOp,
        e.encode_SinOp,
        e.encode_TanOp,
    ):
        unary(code, t, a)
    for rounded in (e.encode_AddFOp, e.encode_MulFOp, e.encode_SubFOp, e.encode_DivFOp):
        rounded(code, t, a, a, NEAREST, False)
        rounded(code, t, a, a, e.RoundingMode.ZERO, True)
    e.encode_DivFOp(code, t, a, a, e.RoundingMode.APPROX, False)
    e.encode_SqrtOp(code, t, a, e.RoundingMode.APPROX, True)
    e.encode_RsqrtOp(code, t, a, True)
    e.encode_Exp2Op(code, t, a, True)
    e.encode_ExpOp(code, t, a, e.RoundingMode.FULL)
    e.encode_TanHOp(code, t, a, e.RoundingMode.FULL)
    e.encode_FmaOp(code, t, a, a, a, NEAREST, False)
    e.encode_MaxFOp(code, t, a, a, True, True)
    e.encode_MinFOp(code, t, a, a, False, False)
    e.encode_FPowFOp(code, t, a, a)
    e.encode_RemFOp(code, t, a, a)
    e.encode_CmpFOp(code, tile(types, S.I1), a, a, e.ComparisonPredicate.EQUAL, e.ComparisonOrdering.UNORDERED)
    e.encode_FToFOp(code, tile(types, S.F16), a, NEAREST)


def integers(_, types, code, values):
    t, a = tile(types, S.I32), i32(types, code)
    e.encode_AbsIOp(code, t, a)
    e.encode_NegIOp(code, t, a, NONE)
    for overflowing in (e.encode_AddIOp, e.encode_MulIOp, e.encode_ShLIOp, e.encode_SubIOp):
        overflowing(code, t, a, a, e.IntegerOverflow.NW)
    for signed in (e.encode_MaxIOp, e.encode_MinIOp, e.encode_RemIOp, e.encode_ShRIOp):
        signed(code, t, a, a, UNSIGNED)
    for bitwise in (e.encode_AndIOp, e.encode_OrIOp, e.encode_XOrIOp, e.encode_MulhiIOp):
        bitwise(code, t, a, a)
    e.encode_DivIOp(code, t, a, a, SIGNED, e.RoundingMode.NEGATIVE_INF)
    e.encode_CmpIOp(code, tile(types, S.I1), a, a, e.ComparisonPredicate.LESS_THAN, SIGNED)
    e.encode_ExtIOp(code, tile(types, S.I64), a, SIGNED)
    e.encode_TruncIOp(code, tile(types, S.I8), a, NONE)
    e.encode_IToFOp(code, tile(types, S.F32), a, SIGNED, NEAREST)
    e.encode_BitcastOp(code, tile(types, S.F32), a)


def shapes(_, types, code, values):
    source = i32(types, code, 5, 4, 2)
    zero = i32(types, code, 0)
    e.encode_BroadcastOp(code, tile(types, S.I32, 4, 2), i32(types, code, 1, 4, 1))
    e.encode_CatOp(code, tile(types, S.I32, 4, 4), source, source, 1)
    e.encode_ExtractOp(code, tile(types, S.I32, 2, 2), source, [zero, zero])
    e.encode_IotaOp(code, tile(types, S.I32, 8))
    e.encode_PermuteOp(code, tile(types, S.I32, 2, 4), source, [1, 0])
    e.encode_ReshapeOp(code, tile(types, S.I32, 8), source)
    e.encode_SelectOp(code, tile(types, S.I32), i1(types, code), zero, zero)
    e.encode_FToIOp(code, tile(types, S.I32), f32(types, code), SIGNED, e.RoundingMode.NEAREST_INT_TO_ZERO, False)
    e.encode_GetNumTileBlocksOp(code, *[tile(types, S.I32)] * 3)
    e.encode_GetTileBlockIdOp(code, *[tile(types, S.I32)] * 3)


def matrices(_, types, code, values):
    half = e.encode_ConstantOp(code, tile(types, S.F16, 16, 16), b"\0\0")
    byte = e.encode_ConstantOp(code, tile(types, S.I8, 16, 16), b"\1")
    e.encode_MmaFOp(code, tile(types, S.F32, 16, 16), half, half, f32(types, code, 0.0, 16, 16), False)
    e.encode_MmaIOp(code, tile(types, S.I32, 16, 16), byte, byte, i32(types, code, 0, 16, 16), SIGNED, UNSIGNED)


def control(_, types, code, values):
    t, a, b = tile(types, S.I32), i32(types, code, 0), i32(types, code, 9)
    loop = e.encode_ForOp(code, [t], a, b, b, [a], False)
    with loop.new_block([t, t]) as (_index, carried):
        e.encode_ContinueOp(code, [carried])
    loop.done()
    branch = e.encode_IfOp(code, [t], i1(types, code))
    with branch.new_block([]):
        e.encode_YieldOp(code, [a])
    with branch.new_block([]):
        e.encode_YieldOp(code, [b])
    branch.done()
    loop = e.encode_LoopOp(code, [t], [a])
    with loop.new_block([t]) as (carried,):
        branch = e.encode_IfOp(code, [], i1(types, code))
        with branch.new_block([]):
            e.encode_BreakOp(code, [carried])
        with branch.new_block([]):
            e.encode_YieldOp(code, [])
        branch.done()
        e.encode_ContinueOp(code, [carried])
    loop.done()


def aggregates(_, types, code, values):
    scalar, row = tile(types, S.F32), f32(types, code, 1.0, 4, 8)
    reduce = e.encode_ReduceOp(code, [tile(types, S.F32, 4)], [row], 1, [Float(float("-inf"), S.F32, types)])
    with reduce.new_block([scalar, scalar]) as (lhs, rhs):
        e.encode_YieldOp(code, [e.encode_MaxFOp(code, scalar, lhs, rhs, False, False)])
    reduce.done()
    zero = Integer(types.I32, 32, 0)
    column = i32(types, code, 1, 8)
    scan = e.encode_ScanOp(code, [tile(types, S.I32, 8)], [column], 0, True, [zero])
    with scan.new_block([types.tile(types.I32, [])] * 2) as (lhs, rhs):
        e.encode_YieldOp(code, [e.encode_AddIOp(code, types.tile(types.I32, []), lhs, rhs, NONE)])
    scan.done()


def memory(_, types, code, values):
    (base,) = values
    token = e.encode_MakeTokenOp(code, types.Token)
    size = e.encode_AssumeOp(code, tile(types, S.I32), i32(types, code), Bounded(0, None))
    base = e.encode_AssumeOp(code, pointer(types), base, DivBy(16))
    place = e.encode_OffsetOp(code, pointer(types), base, size)
    e.encode_PtrToIntOp(code, tile(types, S.I64), place)
    e.encode_IntToPtrOp(code, pointer(types), e.encode_ConstantOp(code, tile(types, S.I64), bytes(8)))
    e.encode_PtrToPtrOp(code, pointer(types, S.I32), place)
    mask = i1(types, code)
    value, after = e.encode_LoadPtrTkoOp(
        code, tile(types, S.F32), types.Token, place, mask, f32(types, code), token, RELAXED, DEVICE, None
    )
    e.encode_StorePtrTkoOp(
        code,
        types.Token,
        place,
        value,
        mask,
        after,
        WEAK,
        None,
        make_load_store_hints({"sm_90": LoadStoreHints(3, False)}),
    )
    e.encode_AtomicRMWTkoOp(
        code, tile(types, S.F32), types.Token, place, value, None, token, RELAXED, DEVICE, e.AtomicRMWMode.ADDF
    )
    e.encode_AtomicCASTkoOp(code, tile(types, S.F32), types.Token, place, value, value, mask, None, RELAXED, DEVICE)
    e.encode_JoinTokensOp(code, types.Token, [token, after])
    e.encode_AssertOp(code, mask, 'not "ok"\n')


def views(_, types, code, values):
    (base,) = values
    size = i32(types, code, 32)
    view_type = types.tensor_view(types.F32, [DYNAMIC, 16], [16, DYNAMIC], PtrAttr.Missing)
    view = e.encode_MakeTensorViewOp(code, view_type, base, [size], [size])
    tiles = e.encode_MakePartitionViewOp(
        code, types.partition_view([4, 8], view_type, [1, 0], PaddingValue.NegInf), view
    )
    value, token = e.encode_LoadViewTkoOp(
        code,
        tile(types, S.F32, 4, 8),
        types.Token,
        tiles,
        [size, size],
        None,
        WEAK,
        None,
        make_load_store_hints({"default": LoadStoreHints(2)}),
        [False, False],
    )
    e.encode_StoreViewTkoOp(code, types.Token, value, tiles, [size, size], token, WEAK, None, None, [False, False])
    e.encode_GetTensorShapeOp(code, [tile(types, S.I32)] * 2, view)
    e.encode_GetIndexSpaceShapeOp(code, [tile(types, S.I32)] * 2, tiles)


def flagged_views(_, types, code, values):
    """The same accesses with the flags of 13.4."""
    (base,) = values
    zero = i32(types, code, 0)
    view_type = types.tensor_view(types.F32, [16], [1], PtrAttr.Missing)
    view = e.encode_MakeTensorViewOp(code, view_type, base, [], [])
    tiles = e.encode_MakePartitionViewOp(code, types.partition_view([4], view_type, [0], PaddingValue.Missing), view)
    value, token = e.encode_LoadViewTkoOp(
        code, tile(types, S.F32, 4), types.Token, tiles, [zero], None, RELAXED, DEVICE, None, [True]
    )
    e.encode_StoreViewTkoOp(code, types.Token, value, tiles, [zero], token, WEAK, None, None, [False])


def globals_(writer, types, code, values):
    writer.global_section.define_global("table", tile(types, S.F32, 2), struct.pack("<2f", 1, 2), 16)
    e.encode_GetGlobalOp(code, pointer(types), "table")


def since_13_2(_, types, code, values):
    a, t = f32(types, code), tile(types, S.F32)
    e.encode_Atan2Op(code, t, a, a)
    e.encode_TanHOp(code, t, a, e.RoundingMode.APPROX)
    e.encode_NegIOp(code, tile(types, S.I32), i32(types, code), e.IntegerOverflow.NSW)
    token = e.encode_PrintTkoOp(code, types.Token, [a], None, "%f\n")
    e.encode_PrintTkoOp(code, types.Token, [], token, "100%%")
    loop = e.encode_ForOp(code, [], *[i32(types, code)] * 3, [], True)
    with loop.new_block([tile(types, S.I32)]):
        e.encode_ContinueOp(code, [])
    loop.done()


def since_13_3(writer, types, code, values):
    (base,) = values
    writer.global_section.define_global(
        "hidden", tile(types, S.I32, 2), struct.pack("<2i", 7, 7), 0, True, e.SymbolVisibility.Private
    )
    e.encode_ExpOp(code, tile(types, S.F32), f32(types, code), e.RoundingMode.APPROX)
    floats = f32(types, code, 1.0, 4)
    packed = e.encode_PackOp(code, tile(types, S.I8, 16), floats)
    e.encode_UnpackOp(code, tile(types, S.F32, 4), packed)
    e.encode_AllocaOp(code, pointer(types), 16, 8, True)
    low = e.encode_ConstantOp(code, tile(types, S.F8E4M3FN, 16, 32), b"\0")
    lower = e.encode_ConstantOp(code, tile(types, S.F8E4M3FN, 32, 16), b"\0")
    scale = e.encode_ConstantOp(code, tile(types, S.F8E8M0FNU, 16, 1), b"\x7f")
    scales = e.encode_ConstantOp(code, tile(types, S.F8E8M0FNU, 1, 16), b"\x7f")
    zero = f32(types, code, 0.0, 16, 16)
    e.encode_MmaFScaledOp(code, tile(types, S.F32, 16, 16), low, lower, zero, scale, scales)
    e.encode_MmaFOp(code, tile(types, S.F32, 16, 16), low, lower, zero, True)
    view_type = types.tensor_view(types.F32, [16, 16], [16, 1], PtrAttr.Missing)
    view = e.encode_MakeTensorViewOp(code, view_type, base, [], [])
    rows = types.gather_scatter_view([4, 2], view_type, 0, PaddingValue.Nan)
    gathered = e.encode_MakeGatherScatterViewOp(code, rows, view)
    index = i32(types, code, 1)
    e.encode_LoadViewTkoOp(
        code,
        tile(types, S.F32, 4, 2),
        types.Token,
        gathered,
        [i32(types, code, 1, 4), index],
        None,
        WEAK,
        None,
        None,
        [False, False],
    )
    strided = types.strided_view([4, 2], [3, 3], view_type, [0, 1], PaddingValue.Missing)
    strips = e.encode_MakeStridedViewOp(code, strided, view)
    e.encode_AtomicRedViewTkoOp(
        code,
        types.Token,
        strips,
        [index, index],
        f32(types, code, 1.0, 4, 2),
        None,
        RELAXED,
        DEVICE,
        e.AtomicRMWMode.ADDF,
        [False, False],
    )


def since_13_4(_, types, code, values):
    a, index = f32(types, code), i32(types, code)
    e.encode_FPowIOp(code, tile(types, S.F32), a, index)
    e.encode_FToIOp(code, tile(types, S.I32), a, SIGNED, e.RoundingMode.NEAREST_INT_TO_ZERO, True)
    e.encode_InsertOp(code, tile(types, S.F32, 8), f32(types, code, 1.0, 2), f32(types, code, 0.0, 8), [index])
    token = e.encode_GdcWaitTkoOp(code, types.Token, None)
    e.encode_GdcLaunchDependentsTkoOp(code, types.Token, token)
    e.encode_MemoryFenceAliasTkoOp(code, types.Token, token)
    e.encode_FToFOp(code, tile(types, S.TF32), a, e.RoundingMode.NEAREST_AWAY)


class Multicast:
    """The pointer attribute that the encoder of the wheel has no name for."""

    _value_ = b"\x02"


def since_13_5(_, types, code, values):
    """The operations on multicast objects, and an atomic reduction with flags."""
    multicast, plain = values
    zero, row = i32(types, code, 0), f32(types, code, 1.0, 4, 8)

    def tiles(base, attribute):
        view_type = types.tensor_view(types.F32, [16, 16], [16, 1], attribute)
        view = e.encode_MakeTensorViewOp(code, view_type, base, [], [])
        partition = types.partition_view([4, 8], view_type, [0, 1], PaddingValue.Missing)
        return e.encode_MakePartitionViewOp(code, partition, view)

    shared, index, kind = tiles(multicast, Multicast), [zero, zero], e.MultimemReductionKind.ADD
    reduced, token = e.encode_MultimemLoadReduceViewTkoOp(
        code, tile(types, S.F32, 4, 8), types.Token, shared, index, None, WEAK, None, kind, [False, False]
    )
    token = e.encode_MultimemReduceViewTkoOp(
        code, types.Token, shared, reduced, index, token, RELAXED, e.MemoryScope.SYS, kind, [True, False]
    )
    e.encode_MultimemStoreViewTkoOp(code, types.Token, shared, row, index, token, RELAXED, DEVICE, [False, False])
    e.encode_AtomicRedViewTkoOp(
        code,
        types.Token,
        tiles(plain, PtrAttr.Missing),
        index,
        row,
        None,
        RELAXED,
        DEVICE,
        e.AtomicRMWMode.ADDF,
        [True, True],
    )


def multicast_pointer(types):
    return [types.tile(types.pointer(types.F32, Multicast), ()), pointer(types)]


def one_pointer(types):
    return [pointer(types)]


def nothing(types):
    return []


# name -> (body, parameters, oldest version that can express it)
SAMPLES = {
    "floats": (floats, nothing, V13_1),
    "integers": (integers, nothing, V13_1),
    "shapes": (shapes, nothing, V13_1),
    "matrices": (matrices, nothing, V13_1),
    "control": (control, nothing, V13_1),
    "aggregates": (aggregates, nothing, V13_1),
    "memory": (memory, one_pointer, V13_1),
    "views": (views, one_pointer, V13_1),
    "globals": (globals_, nothing, V13_1),
    "since_13_2": (since_13_2, nothing, V13_2),
    "since_13_3": (since_13_3, one_pointer, V13_3),
    "since_13_4": (since_13_4, nothing, V13_4),
    "flagged_views": (flagged_views, one_pointer, V13_4),
    "since_13_5": (since_13_5, multicast_pointer, V13_5),
}


def sample(name: str, version=V13_5, **options) -> bytes:
    fill, parameters, _ = SAMPLES[name]
    return build(fill, parameters, version, **options)


__all__ = ["SAMPLES", "V13_4", "V13_5", "EntryHints", "build", "e", "f32", "i1", "i32", "pointer", "sample", "tile"]
