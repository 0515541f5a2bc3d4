"""Shuffles and reductions over the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerType, StringAttr, UnitAttr, f32, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.checked_cast import cast
from ....ir.dialects.fast_xdsl import operands_of
from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.gpu_reductions import ReduceKind
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.nvvm.attrs import ReduxKindAttr, ShflKindAttr
from ....ir.dialects.nvvm.ops_thread import ReduxSyncOp, ShflSyncOp
from ....ir.dialects.op_definition import TableOp
from .llvm_type_helpers import struct_of
from .rewriter import Emitter, rewrite

WARP = 32
KINDS: dict[ShuffleMode, Attribute] = {
    mode: ShflKindAttr.new([StringAttr("bfly" if mode == ShuffleMode.XOR else mode.value)]) for mode in ShuffleMode
}

# Reductions of i32 with a warp-wide instruction (sm_80 and newer).
REDUX = {
    ReduceKind.ADD: "add",
    ReduceKind.AND: "and",
    ReduceKind.OR: "or",
    ReduceKind.XOR: "xor",
    ReduceKind.MINSI: "min",
    ReduceKind.MAXSI: "max",
    ReduceKind.MINUI: "umin",
    ReduceKind.MAXUI: "umax",
}
# Reductions of f32 with a warp-wide instruction (sm_100, sm_103, sm_107), and whether NaN propagates.
FLOAT_REDUX = {
    ReduceKind.MINNUMF: ("fmin", False),
    ReduceKind.MAXNUMF: ("fmax", False),
    ReduceKind.MINIMUMF: ("fmin", True),
    ReduceKind.MAXIMUMF: ("fmax", True),
}
Combine = Callable[[SSAValue, SSAValue], Operation]


def _row(kind: type[TableOp]) -> Combine:
    return lambda lhs, rhs: kind.make([lhs, rhs], [lhs.type])


# The instruction that combines two lanes, if none reduces a warp.
INTEGER: dict[ReduceKind, Combine] = {
    ReduceKind.ADD: llvm.AddOp,
    ReduceKind.MUL: llvm.MulOp,
    ReduceKind.AND: llvm.AndOp,
    ReduceKind.OR: llvm.OrOp,
    ReduceKind.XOR: llvm.XOrOp,
    ReduceKind.MINSI: _row(target_independent_intrinsics.SMinOp),
    ReduceKind.MAXSI: _row(target_independent_intrinsics.SMaxOp),
    ReduceKind.MINUI: _row(target_independent_intrinsics.UMinOp),
    ReduceKind.MAXUI: _row(target_independent_intrinsics.UMaxOp),
}
FLOAT: dict[ReduceKind, Combine] = {
    ReduceKind.ADD: llvm.FAddOp,
    ReduceKind.MUL: llvm.FMulOp,
    ReduceKind.MINNUMF: _row(target_independent_intrinsics.MinNumOp),
    ReduceKind.MAXNUMF: _row(target_independent_intrinsics.MaxNumOp),
    ReduceKind.MINIMUMF: _row(target_independent_intrinsics.MinimumOp),
    ReduceKind.MAXIMUMF: _row(target_independent_intrinsics.MaximumOp),
}


@rewrite(gpu.ShuffleOp)
def convert_shuffle(emit: Emitter, op: gpu.ShuffleOp) -> None:
    """``nvvm.shfl.sync`` over the first ``width`` lanes; with the validity flag, if it is used."""
    (value, offset, width), (_, flag) = operands_of(op), op.results
    _check_type(value, emit)
    mode = cast(gpu.ShuffleModeAttr, op.properties["mode"]).data
    mask, clamp = _whole_warp(mode, emit) if emit.constant_of(width) == WARP else _sub_warp_mask(mode, width, emit)
    moved = shuffle(emit, mode, value, mask, offset, clamp, with_flag=flag.first_use is not None)
    if flag.first_use is None:
        return emit.replace_first(moved)
    return emit.replace(emit.field(moved, 0), emit.field(moved, 1))


# The clamp bounds the source lane: from below for up, from above for the others (PTX ISA 9.0, section 9.7.9.6).
def _whole_warp(mode: ShuffleMode, emit: Emitter) -> tuple[SSAValue, SSAValue]:
    return emit.constant(-1), emit.constant(0 if mode == ShuffleMode.UP else WARP - 1)


def _sub_warp_mask(mode: ShuffleMode, width: SSAValue, emit: Emitter) -> tuple[SSAValue, SSAValue]:
    minus_one = emit.constant(-1)
    unused = emit.binary("sub", WARP, width)
    mask = emit.binary("lshr", minus_one, unused)
    return mask, unused if mode == ShuffleMode.UP else emit.binary("sub", width, 1)


def shuffle(
    emit: Emitter,
    mode: ShuffleMode,
    value: SSAValue,
    mask: SSAValue,
    offset: SSAValue,
    clamp: SSAValue,
    *,
    with_flag: bool = False,
) -> SSAValue:
    """``nvvm.shfl.sync``: the value of another lane, with its validity flag in a struct."""
    properties: dict[str, Attribute] = {"kind": KINDS[mode]}
    if with_flag:
        properties["return_value_and_is_valid"] = UnitAttr()
    result = struct_of([value.type, i1]) if with_flag else value.type
    return emit.create(ShflSyncOp, (mask, value, offset, clamp), result, properties)


def _check_type(value: SSAValue, emit: Emitter) -> None:
    if value.type not in (i32, f32):
        remedy = "split it into i32 values"
        raise emit.unsupported("shuffle-type", f"moves i32 and f32 only, but got '{value.type}'", remedy)


@rewrite(gpu.SubgroupReduceOp)
def convert_subgroup_reduce(emit: Emitter, op: gpu.SubgroupReduceOp) -> None:
    """``nvvm.redux.sync`` if one instruction reduces the whole warp, else a butterfly of shuffles."""
    _check_type(op.value, emit)
    size = op.cluster_size.value.data if op.cluster_size else WARP
    stride = op.cluster_stride.value.data if op.cluster_stride else 1
    if size * stride > WARP:
        message = f"has clusters of {size} lanes with stride {stride}, a warp has {WARP}"
        raise emit.unsupported("reduce-cluster", message)
    kind, mask = op.op.data, emit.constant(-1)
    if size == WARP and (properties := _redux(kind, op.value.type, emit)) is not None:
        emit.replace(ReduxSyncOp.build(operands=[op.value, mask], result_types=[op.value.type], properties=properties))
        return
    emit.replace(_butterfly(op.value, _combine_function(op, emit), mask, range_of(size, stride), emit))


def _redux(kind: ReduceKind, type: Attribute, emit: Emitter) -> dict[str, Attribute] | None:
    """The instruction that reduces a warp; None where there is none."""
    has = emit.job.target.has
    if type == i32 and kind in REDUX and has("redux_i32"):
        return {"kind": ReduxKindAttr.new([StringAttr(REDUX[kind])])}
    if type == f32 and kind in FLOAT_REDUX and has("redux_f32"):
        word, nan = FLOAT_REDUX[kind]
        return {"kind": ReduxKindAttr.new([StringAttr(word)])} | ({"nan": UnitAttr()} if nan else {})
    return None


def range_of(size: int, stride: int) -> list[int]:
    """The distances of a butterfly over ``size`` lanes: stride, 2 stride, …"""
    return [stride << step for step in range(size.bit_length() - 1)]


def _combine_function(op: gpu.SubgroupReduceOp, emit: Emitter) -> Combine:
    table = INTEGER if isinstance(op.value.type, IntegerType) else FLOAT
    if op.op.data not in table:
        raise emit.unsupported("reduce-kind", f"cannot reduce '{op.value.type}' by {op.op.data}")
    return table[op.op.data]


def _butterfly(value: SSAValue, combine: Combine, mask: SSAValue, distances: list[int], emit: Emitter) -> SSAValue:
    clamp = emit.constant(WARP - 1)
    for distance in distances:
        other = shuffle(emit, ShuffleMode.XOR, value, mask, emit.constant(distance), clamp)
        value = emit.insert(combine(value, other))
    return value
