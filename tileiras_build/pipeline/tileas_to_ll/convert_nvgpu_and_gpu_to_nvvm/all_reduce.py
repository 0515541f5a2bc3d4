"""``gpu.all_reduce``: reduce a value over all threads of the block.

Each warp reduces by a butterfly shuffle; lane 0 has the result of all lanes, also in a partial warp. The first warp
reduces the results of the warps from shared memory, and every thread loads the total from a separate slot: a later
reduction overwrites that slot only after a barrier that follows these loads.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.fast_xdsl import create
from ....ir.dialects.gpu_ext import ShuffleMode
from ....ir.dialects.llvm_ext import NO_FAST_MATH, make_global
from ....ir.dialects.nvgpu.types import SHARED
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.nvvm.ops_thread import READS, Barrier0Op
from ...common.llvm_type_constructors import array, integer
from .llvm_type_helpers import SHARED_POINTER
from .rewriter import Emitter
from .shuffle_and_subgroup_reduce import FLOAT, INTEGER, WARP, range_of, shuffle
from .symbols import symbol

# How two lanes combine.
Combiner = Callable[[SSAValue, SSAValue, Emitter], SSAValue]
WARPS = 32  # of the largest block: 1,024 threads
RESULT = WARPS  # slot of the total, after those of the warps
STORAGE, STORAGE_ALIGNMENT = "__all_reduce", 16
REGISTER_TYPE = 32  # bits per shuffle
FLAGS = {"fastmathFlags": NO_FAST_MATH}


def expand(emit: Emitter, op: gpu.AllReduceOp) -> None:
    """Insert the instructions of one reduction before it."""
    value, join = emit.converted(op.value), _combiner_of(op, emit)
    _check_type(value.type, emit)
    thread, threads = _thread(emit), _linear_size(emit, "ntid")
    lane, warp = emit.binary("and", thread, WARP - 1), emit.binary("lshr", thread, 5)
    warps = emit.binary("lshr", emit.binary("add", threads, WARP - 1), 5)
    rest = emit.binary("sub", threads, emit.binary("shl", warp, 5))
    lanes = emit.insert(target_independent_intrinsics.UMinOp.make([rest, emit.constant(WARP)], [i32]))
    storage = _storage(value.type, emit)
    partial = _reduce(value, lanes, lanes, join, emit)
    first_lane = _is_zero(lane, emit)
    inside = _if_then(first_lane, emit)
    _store(partial, storage, warp, inside)
    emit.insert(create(Barrier0Op))
    first_warp = _if_then(_is_zero(warp, emit), emit)
    last = first_warp.binary("sub", warps, 1)
    place = first_warp.insert(target_independent_intrinsics.UMinOp.make([lane, last], [i32]))
    total = _reduce(_load(storage, place, value.type, first_warp), lanes, warps, join, first_warp)
    _store(total, storage, first_warp.constant(RESULT), _if_then(first_lane, first_warp))
    emit.insert(create(Barrier0Op))
    emit.replace(_load(storage, emit.constant(RESULT), value.type, emit))


def _check_type(type: Attribute, emit: Emitter) -> None:
    if _bits(type) not in (8, 16, 32, 64):
        raise emit.unsupported("reduce-type", f"reduces integers and floats of 8 to 64 bits, but got '{type}'")


def _bits(type: Attribute) -> int:
    return getattr(type, "bitwidth", 0)


def _combiner_of(op: gpu.AllReduceOp, emit: Emitter) -> Combiner:
    if op.op is None:
        return _by_body(op, emit)
    kind, table = op.op.data, INTEGER if isinstance(op.value.type, IntegerType | IndexType) else FLOAT
    if kind not in table:
        raise emit.unsupported("reduce-kind", f"cannot reduce '{op.value.type}' by {kind}")
    return lambda a, b, inside: inside.insert(table[kind](a, b))


def _by_body(op: gpu.AllReduceOp, emit: Emitter) -> Combiner:
    """Clone the body for each combination."""
    if len(op.body.blocks) != 1:
        raise emit.unsupported("reduce-body", "has a body of several blocks", "use arith.select in place of branches")
    if op.value.type != emit.types.convert(op.value.type):
        raise emit.unsupported("reduce-body", f"has a body for '{op.value.type}'", "cast it to i64 first")

    def join(a: SSAValue, b: SSAValue, inside: Emitter) -> SSAValue:
        values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, (a, b), strict=True))
        *computed, last = op.body.block.ops
        for one in computed:
            inside.insert(one.clone(value_mapper=values))
        return values.get(last.operands[0], last.operands[0])

    return join


# Numbers of the thread ------------------------------------------------------------------------------------------------


def _read(register: str, emit: Emitter) -> SSAValue:
    return emit.create(READS[register], (), i32)


def _thread(emit: Emitter) -> SSAValue:
    """The thread's linear index in its block, x fastest, as warps are formed."""
    rows = emit.binary("mul", _read("tid.z", emit), _read("ntid.y", emit))
    rows = emit.binary("add", rows, _read("tid.y", emit))
    return emit.binary("add", emit.binary("mul", rows, _read("ntid.x", emit)), _read("tid.x", emit))


def _linear_size(emit: Emitter, register: str) -> SSAValue:
    x, y, z = (_read(f"{register}.{axis}", emit) for axis in "xyz")
    return emit.binary("mul", emit.binary("mul", x, y), z)


def _is_zero(value: SSAValue, emit: Emitter) -> SSAValue:
    equal = IntegerAttr(llvm.ICmpPredicateFlag.EQ.to_int(), 64)
    return emit.create(llvm.ICmpOp, (value, emit.constant(0)), i1, {"predicate": equal})


def _if_then(condition: SSAValue, emit: Emitter) -> Emitter:
    """An emitter for operations under a condition."""
    end = scf.YieldOp()
    emit.insert(scf.IfOp(condition, [], Region(Block([end]))))
    return emit.at(end)


# Shared memory --------------------------------------------------------------------------------------------------------


def _storage(type: Attribute, emit: Emitter) -> SSAValue:
    """The shared-memory slots of a module's reductions of a type."""
    name = f"{STORAGE}_{type}"
    if symbol(emit.symbols, name) is None:
        emit.add_global(make_global(array(WARPS + 1, type), name, "internal", SHARED, alignment=STORAGE_ALIGNMENT))
    return emit.insert(llvm.AddressOfOp(name, SHARED_POINTER))


def _store(value: SSAValue, storage: SSAValue, place: SSAValue, emit: Emitter) -> None:
    emit.insert(llvm.StoreOp(value, emit.offset(storage, place, value.type)))


def _load(storage: SSAValue, place: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    return emit.create(llvm.LoadOp, (emit.offset(storage, place, type),), type, {"ordering": IntegerAttr(0, i64)})


# Lanes ----------------------------------------------------------------------------------------------------------------


def _reduce(value: SSAValue, lanes: SSAValue, width: SSAValue, join: Combiner, emit: Emitter) -> SSAValue:
    """Reduce the first ``width`` of the ``lanes`` of this warp to lane 0."""
    unused = emit.binary("sub", WARP, lanes)
    mask = emit.binary("lshr", -1, unused)
    clamp = emit.binary("sub", width, 1)
    for distance in range_of(WARP, 1):
        other, there = _shuffled(value, mask, distance, clamp, emit)
        value = emit.create(llvm.SelectOp, (there, join(value, other, emit), value), value.type, FLAGS)
    return value


def _shuffled(
    value: SSAValue, mask: SSAValue, distance: int, clamp: SSAValue, emit: Emitter
) -> tuple[SSAValue, SSAValue]:
    """The value of the lane at ``distance``, and whether that lane exists."""
    offset, bits = emit.constant(distance), _bits(value.type)
    move = lambda word: emit.fields(shuffle(emit, ShuffleMode.XOR, word, mask, offset, clamp, with_flag=True))
    if bits == REGISTER_TYPE:
        moved, there = move(value)
        return moved, there
    number = _cast(value, integer(bits), emit)
    if bits < REGISTER_TYPE:
        moved, there = move(emit.create(llvm.ZExtOp, (number,), i32))
        return _cast(emit.create(llvm.TruncOp, (moved,), integer(bits)), value.type, emit), there
    low, there = move(emit.create(llvm.TruncOp, (number,), i32))
    high, _ = move(emit.create(llvm.TruncOp, (emit.binary("lshr", number, REGISTER_TYPE, i64),), i32))
    wide = [emit.create(llvm.ZExtOp, (half,), i64) for half in (low, high)]
    whole = emit.binary("or", emit.binary("shl", wide[1], REGISTER_TYPE, i64), wide[0], i64)
    return _cast(whole, value.type, emit), there


def _cast(value: SSAValue, type: Attribute, emit: Emitter) -> SSAValue:
    return value if value.type == type else emit.create(llvm.BitcastOp, (value,), type)
