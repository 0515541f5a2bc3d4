"""The lowering of ``nvvm`` operations to LLVM IR: the instruction table, one row for each operation.

Rows of MLIR's ``nvvm`` operations are here; operations that are defined only by a row are in the imported modules.
``instruction_row`` finds the row of any operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.dialects.builtin import IntAttr, IntegerType, UnitAttr, VectorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.core import OpOperands

from ....core.errors import InternalError, Unsupported
from ....target.mma_atoms import MMA_ATOMS, OTHER_MMA_INTRINSICS
from ..checked_cast import cast
from ..debuginfo.ops import MoveOp
from ..fast_xdsl import integer_attr
from . import (  # noqa: F401 - the modules of rows register theirs
    arithmetic,
    cluster_sync_and_fences,
    memory_access,
    ops_copy,
    ops_fence_proxy,
    ops_matrix,
    ops_mbarrier,
    ops_packed_arith,
    ops_thread,
    register_packing,
    target_independent_intrinsics,
    tcgen05,
    tma_reduce,
    warp_sync,
    wgmma,
)
from .attrs import Keyword
from .intrinsic_or_inline_asm import (
    ALL,
    CLUSTER,
    INSTRUCTION_TABLE,
    NONE,
    READ,
    WRITE,
    Argument,
    Assembly,
    Extended,
    Intrinsic,
    Row,
    bits_of,
    result_registers,
    space_of,
)  # fmt: skip
from .intrinsic_or_inline_asm import braced as _braced


class Predicated(Protocol):
    """An operation whose last operand may be a predicate."""

    operands: OpOperands
    predicate: SSAValue | None


def _predicated(instruction: str) -> Callable[[Predicated], str]:
    """The instruction, predicated by its last operand if the operation has a predicate."""

    def text(op: Predicated) -> str:
        return f"@${len(op.operands) - 1} {instruction}" if op.predicate is not None else instruction

    return text


def _try_wait(op: ops_mbarrier.MBarrierTryWaitParitySharedOp) -> str:
    """A wait with acquire semantics at CTA scope: an mbarrier guards the CTA's shared memory."""
    return f"mbarrier.try.wait.parity.{'tl.' if op.ticks is not None else ''}scope.cta.space.cta"


def _try_wait_arguments(op: ops_mbarrier.MBarrierTryWaitParitySharedOp) -> list[Argument]:
    address, phase, *ticks = op.operands
    return [address, Extended(phase, i32) if phase.type == i1 else phase, *ticks]


# Names that depend on the operation -----------------------------------------------------------------------------------


def _shuffle(op: ops_thread.ShflSyncOp) -> str:
    kind = "f32" if not isinstance(op.val.type, IntegerType) else "i32"
    return f"shfl.sync.{op.kind.keyword.data}.{kind}{'p' if op.return_value_and_is_valid is not None else ''}"


def _copy(op: ops_copy.CpAsyncSharedGlobalOp) -> str:
    tail = ".s" if op.cpSize is not None else ""
    return f"cp.async.{op.modifier.keyword.data}.shared.global.{op.size.value.data}{tail}"


def _mma(op: ops_matrix.MmaSyncOp) -> str:
    a, b = (cast(Keyword, kind).keyword.data for kind in (op.multiplicandAPtxType, op.multiplicandBPtxType))
    c = _accumulator(op)
    m, n, k = op.shape.sizes
    wanted = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{b}.{c}"
    saturates = op.intOverflowBehavior is not None and op.intOverflowBehavior.keyword.data == "satfinite"
    for atom in MMA_ATOMS:
        # The table has the names of wrapping MMAs; ``satfinite`` precedes the types.
        if atom.ptx_name(a != "u8", b != "u8").replace(".satfinite", "") == wanted:
            name = atom.intrinsic_name(a != "u8", b != "u8")
            return name.replace(".row.col.", ".row.col.satfinite.") if saturates else name
    name = f"mma.m{m}n{n}k{k}.row.col.{a}"
    if a == b and name in OTHER_MMA_INTRINSICS:
        return f"llvm.nvvm.{name.replace('.row.col.', '.row.col.satfinite.') if saturates else name}"
    raise Unsupported(
        "mma-no-row", f"no tensor-core instruction {wanted}", remedy="target/mma_atoms.py: MMA_ATOMS lists them"
    )


def _accumulator(op: ops_matrix.MmaSyncOp) -> str:
    type = op.operandC[0].type
    if isinstance(type, VectorType):
        return "f16"
    return f"{'s' if isinstance(type, IntegerType) else 'f'}{bits_of(type)}"


def _ldmatrix(op: ops_matrix.LdMatrixOp) -> str:
    transposed = ".trans" if op.layout.keyword.data == "col" else ""
    return f"ldmatrix.sync.aligned.m8n8.x{op.num.value.data}{transposed}.b16.p3"


_HALVES = {"f16": "ff2f16x2", "bf16": "ff2bf16x2"}


def _narrow(op: ops_packed_arith.ConvertFromF32x2Op) -> str:
    name, rounding = op.dstTy.data, op.rnd.keyword.data
    relu = ".relu" if op.relu is not None else ""
    if name in _HALVES:
        return f"{_HALVES[name]}.{rounding}{relu}"
    # Conversions to 8 bits always saturate; their names lack that.
    saturates = "" if name in ("e4m3", "e5m2") else ".satfinite"
    return f"ff.to.{name}x2.{rounding}{relu}{saturates}"


def _widen(op: ops_packed_arith.ConvertToF16x2Op) -> str:
    name = op.srcTy.data
    return "ue8m0x2.to.bf16x2" if name == "ue8m0" else f"{name}x2.to.f16x2.rn"


# Templates that depend on the operation -------------------------------------------------------------------------------


def _wait_loop(op: ops_mbarrier.MBarrierTryWaitParitySharedOp) -> str:
    ticks = "" if op.ticks is None else ", $2"
    return (
        "{\n.reg .pred p;\nWAIT_${:uid}:\n"
        f"mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1{ticks};\n@!p bra.uni WAIT_${{:uid}};\n}}"
    )


# Of tensor copies: under a predicate they are assembly, else intrinsics, with slots and flags for all options.
_PAIR = 2  # cta_group::2, as the intrinsic encodes it


def _tensor_load(op: ops_copy.TensorLoadOp) -> str:
    rank = len(op.coordinates)
    mask, hint = op.multicastMask is not None, op.l2CacheHint is not None
    modifiers = (".multicast::cluster" if mask else "") + (".L2::cache_hint" if hint else "")
    slots = "".join(f", ${3 + rank + index}" for index in range(mask + hint))
    instruction = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{modifiers}"
    return _predicated(f"{instruction} [$0], [$1, {_braced(2, rank)}], [${2 + rank}]{slots};")(op)


def _is_in_cluster(op: ops_copy.TensorLoadOp) -> bool:
    type = op.dstMem.type
    return isinstance(type, LLVMPointerType) and space_of(type) == CLUSTER


def _tensor_load_name(op: ops_copy.TensorLoadOp) -> str:
    return f"cp.async.bulk.tensor.g2s{'' if _is_in_cluster(op) else '.cta'}.tile.{len(op.coordinates)}d"


def _tensor_load_arguments(op: ops_copy.TensorLoadOp) -> list[Argument]:
    """The arguments of a copy, with operands for the multicast mask and the CTA pair."""
    first, mask = [op.dstMem, op.mbar, op.tmaDescriptor, *op.coordinates], op.multicastMask
    hint, has_hint = _hint(op)
    if not _is_in_cluster(op):
        return [*first, hint, has_hint]
    slots = [integer_attr(0, i16) if mask is None else mask, hint, integer_attr(int(mask is not None), i1), has_hint]
    return [*first, *slots, _PAIR if op.pair is not None else 0]


def _hint(op: ops_copy.TensorLoadOp | ops_copy.TensorStoreOp) -> tuple[Argument, Argument]:
    """The cache hint and whether there is one."""
    hint = op.l2CacheHint
    return (integer_attr(0, i64), integer_attr(0, i1)) if hint is None else (hint, integer_attr(1, i1))


def _tensor_store(op: ops_copy.TensorStoreOp) -> str:
    rank, hint = len(op.coordinates), op.l2CacheHint is not None
    modifier, slot = (".L2::cache_hint", f", ${2 + rank}") if hint else ("", "")
    instruction = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group{modifier}"
    return _predicated(f"{instruction} [$0, {_braced(1, rank)}], [${1 + rank}]{slot};")(op)


def _wgmma(op: ops_matrix.WgmmaMmaAsyncOp) -> str:
    count = len(result_registers(op))
    m, n, k = op.shape.sizes
    a, b, d = (getattr(op, f"type{letter}").keyword.data for letter in "ABD")
    integer = d == "s32"
    overflow = ".satfinite" if op.satfinite is not None and op.satfinite.keyword.data == "satfinite" else ""
    name = f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{d}.{a}.{b}{overflow}"
    tail = "" if integer else f", {_sign(op.scaleA)}, {_sign(op.scaleB)}"
    # Only 16-bit operands may be MN-major, as the flags select.
    if a in ("f16", "bf16"):
        tail += f", {int(op.layoutA.keyword.data == 'col')}, {int(op.layoutB.keyword.data == 'row')}"
    scale = int(op.scaleD.keyword.data == "one")
    # LLVM writes accumulators to the tied registers right before the assembly, after every fence outside of it.
    follows = isinstance(op.inouts.owner, ops_matrix.WgmmaMmaAsyncOp)
    fence = "" if follows else "wgmma.fence.sync.aligned; "
    return (
        f"{fence}{{.reg .pred p; setp.ne.b32 p, {scale}, 0; "
        f"{name} {_braced(0, count)}, ${2 * count}, ${2 * count + 1}, p{tail};}}"
    )


def _sign(scale: Keyword) -> int:
    return 1 if scale.keyword.data == "one" else -1


class Flushable(Protocol):
    """An operation that may flush subnormal numbers to zero."""

    ftz: UnitAttr | None


def _packed(name: str, count: int) -> Callable[[Flushable], str]:
    def text(op: Flushable) -> str:
        ftz = ".ftz" if op.ftz is not None else ""
        return f"{name}.rn{ftz}.f32x2 {', '.join(f'${index}' for index in range(count))};"

    return text


# Kind of a reduction over a warp -> operation and type of redux.sync (PTX ISA 9.0, section 9.7.13.6).
_REDUX = {
    "add": ("add", "s32"), "min": ("min", "s32"), "max": ("max", "s32"), "umin": ("min", "u32"), "umax": ("max", "u32"),
    "and": ("and", "b32"), "or": ("or", "b32"), "xor": ("xor", "b32"), "fmin": ("min", "f32"), "fmax": ("max", "f32"),
}  # fmt: skip


def _redux(op: ops_thread.ReduxSyncOp) -> str:
    word, type = _REDUX[op.kind.keyword.data]
    return f"redux.sync.{word}{'.NaN' if op.nan is not None else ''}.{type} $0, $1, $2;"


# Type -> the suffix of the intrinsic that makes a value opaque to optimization. LLVM has none for 16-bit floats.
_MOVES: dict[Attribute, str] = {
    i16: "i16", i32: "i32", i64: "i64", f32: "float", f64: "double", LLVMPointerType(): "ptr.p0",
    LLVMPointerType(IntAttr(1)): "ptr.p1",
}  # fmt: skip
_NARROW_MOVE = Assembly("mov.b16 $0, $1;", READ)


def _move(op: MoveOp) -> str:
    if (found := _MOVES.get(op.source.type)) is None:
        raise Unsupported("ll-move", f"a value of type {op.source.type} cannot be pinned for a debugger")
    return f"move.{found}"


_MOVE = Intrinsic(_move)


# The table ------------------------------------------------------------------------------------------------------------

MAPPING: dict[type[Operation], Row] = {
    **{read: Intrinsic(f"read.ptx.sreg.{name}") for name, read in ops_thread.READS.items()},
    ops_thread.Barrier0Op: Intrinsic(
        "barrier.cta.sync.aligned.all", ALL, convergent=True, arguments=lambda op: [0]
    ),
    ops_thread.ShflSyncOp: Intrinsic(_shuffle, ALL, convergent=True),
    # As assembly, because libNVVM lacks the intrinsic.
    ops_thread.ReduxSyncOp: Assembly(_redux, NONE, convergent=True),
    # As assembly, because the intrinsic takes the count in a register, which ptxas sets for each mbarrier: 8 of 304
    # instructions of a matmul on sm_90.
    ops_mbarrier.MBarrierInitSharedOp: Assembly(
        _predicated("mbarrier.init.shared::cta.b64 [$0], $1;"), WRITE, immediates=True
    ),
    ops_mbarrier.MBarrierInvalSharedOp: Intrinsic("mbarrier.inval.shared", WRITE),
    ops_mbarrier.MBarrierArriveSharedOp: Intrinsic("mbarrier.arrive.shared", ALL),
    ops_mbarrier.MBarrierArriveNoCompleteSharedOp: Intrinsic("mbarrier.arrive.noComplete.shared", ALL),
    # Without a predicate it is an intrinsic.
    ops_mbarrier.MBarrierArriveExpectTxSharedOp: Assembly(
        _predicated("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;")
    ),
    ops_mbarrier.MBarrierTestWaitSharedOp: Intrinsic("mbarrier.test.wait.shared", ALL),
    ops_mbarrier.MBarrierTryWaitParitySharedOp: Intrinsic(_try_wait, ALL, arguments=_try_wait_arguments),
    ops_fence_proxy.FenceProxyAcquireOp: Intrinsic(
        lambda op: f"fence.proxy.tensormap_generic.acquire.{op.scope.keyword.data}", ALL,
    ),
    ops_fence_proxy.FenceProxyReleaseOp: Intrinsic(
        lambda op: f"fence.proxy.tensormap_generic.release.{op.scope.keyword.data}", ALL,
    ),
    # LLVM would emit the intrinsic twice: once more with the parameter's own address space.
    ops_fence_proxy.PrefetchTensorMapOp: Assembly(_predicated("prefetch.tensormap [$0];")),
    ops_copy.CpAsyncSharedGlobalOp: Intrinsic(_copy, ALL),
    ops_copy.CpAsyncCommitGroupOp: Intrinsic("cp.async.commit.group", ALL),
    ops_copy.CpAsyncWaitGroupOp: Intrinsic("cp.async.wait.group", ALL, arguments=lambda op: [op.n.value.data]),
    ops_copy.TensorLoadOp: Intrinsic(_tensor_load_name, ALL, arguments=_tensor_load_arguments),
    ops_copy.TensorStoreOp: Intrinsic(
        lambda op: f"cp.async.bulk.tensor.s2g.tile.{len(op.coordinates)}d", ALL,
        arguments=lambda op: [op.srcMem, op.tmaDescriptor, *op.coordinates, *_hint(op)],
    ),
    ops_matrix.WgmmaFenceAlignedOp: Intrinsic("wgmma.fence.sync.aligned", ALL, convergent=True),
    ops_matrix.WgmmaCommitGroupOp: Intrinsic("wgmma.commit_group.sync.aligned", ALL, convergent=True),
    ops_matrix.WgmmaWaitGroupOp: Intrinsic(
        "wgmma.wait_group.sync.aligned", ALL, convergent=True, arguments=lambda op: [op.group.value.data], constants=i64
    ),
    ops_matrix.WgmmaMmaAsyncOp: Assembly(_wgmma, convergent=True, tied_operands=1),
    ops_matrix.MmaSyncOp: Intrinsic(_mma, convergent=True),
    ops_matrix.LdMatrixOp: Intrinsic(_ldmatrix, READ, convergent=True),
    ops_packed_arith.RcpApproxFtzF32Op: Intrinsic("rcp.approx.ftz.f"),
    ops_packed_arith.FmaPackedF32x2Op: Assembly(_packed("fma", 4), NONE),
    ops_packed_arith.MulPackedF32x2Op: Assembly(_packed("mul", 3), NONE),
    ops_packed_arith.ConvertFromF32x2Op: Intrinsic(_narrow),
    ops_packed_arith.ConvertToF16x2Op: Intrinsic(_widen),
}  # fmt: skip

_EXPECT = Intrinsic("mbarrier.arrive.expect.tx.scope.cta.space.cta", ALL, result=i64)
# Forms without an intrinsic: with a predicate, and the loop around a wait.
_TRY_WAIT_LOOP = Assembly(_wait_loop)
_WITH_PREDICATE: dict[type[Operation], Row] = {
    ops_copy.TensorLoadOp: Assembly(_tensor_load),
    ops_copy.TensorStoreOp: Assembly(_tensor_store),
}


def _is_predicated(op: Operation) -> bool:
    kinds = (ops_copy.TensorLoadOp, ops_copy.TensorStoreOp)
    return isinstance(op, kinds) and op.predicate is not None


def _is_counted_copy(op: Operation) -> bool:
    """Whether a copy without a predicate has an optional byte count."""
    return isinstance(op, memory_access.CopyOp) and op.predicate is None and op.taken.type == i32


def _is_from_shared_cta(op: Operation) -> bool:
    """Whether a multicast load has a pointer to the own CTA's shared memory, which the intrinsic does not support."""
    return isinstance(op, ops_copy.TensorLoadOp) and op.multicastMask is not None and not _is_in_cluster(op)


def instruction_row(op: Operation) -> Row:
    """The row of one operation; a predicate, or a wait without a result, selects assembly."""
    if (row := INSTRUCTION_TABLE.get(type(op))) is not None:
        return memory_access.COPY_WITH_SIZE if _is_counted_copy(op) else row
    if isinstance(op, ops_mbarrier.MBarrierArriveExpectTxSharedOp) and op.predicate is None:
        return _EXPECT
    if type(op) in _WITH_PREDICATE and (_is_predicated(op) or _is_from_shared_cta(op)):
        return _WITH_PREDICATE[type(op)]
    if isinstance(op, ops_mbarrier.MBarrierTryWaitParitySharedOp) and op.res is None:
        return _TRY_WAIT_LOOP
    if isinstance(op, MoveOp):
        return _NARROW_MOVE if op.source.type in (f16, bf16, i8) else _MOVE
    if type(op) not in MAPPING:
        raise InternalError("nvvm-no-row", f"operation {op.name} has no row in the NVVM mapping")
    return MAPPING[type(op)]
