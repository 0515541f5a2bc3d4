"""What each ``nvvm`` operation becomes in LLVM IR: one table with two kinds of row.

An ``Intrinsic`` row names the LLVM intrinsic of a single instruction. An ``Assembly`` row gives a PTX template with
LLVM's constraints, where no intrinsic says what is meant: sequences, predicates, and modifiers that come and go with
operands. The effects of a row are those of its instruction; a call without effects may be moved or dropped.
Sources: PTX ISA 9.0 for templates, LLVM's IntrinsicsNVVM.td for names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import InternalError, Unsupported
from ...targets import MMA_ATOMS
from . import ops_copy, ops_matrix, ops_thread

NONE, READ, WRITE, ALL = "none", "read", "write", "readwrite"
SHARED, CLUSTER = 3, 7

Text = str | Callable[[Operation], str]
Argument = SSAValue | int  # an int is an i32 constant


@dataclass(frozen=True)
class Intrinsic:
    """A call of ``llvm.nvvm.<name>``; ``arguments`` default to the operands."""

    name: Text
    effects: str = NONE
    convergent: bool = False
    arguments: Callable[[Operation], Sequence[Argument]] | None = None
    result: Attribute | None = None  # of the intrinsic, where the operation drops it

    kind = "intrinsic"

    def intrinsic(self, op: Operation) -> str:
        """The full name for one operation."""
        name = self.name if isinstance(self.name, str) else self.name(op)
        return name if name.startswith("llvm.") else f"llvm.nvvm.{name}"

    def values(self, op: Operation) -> Sequence[Argument]:
        """The arguments of the call."""
        return list(op.operands) if self.arguments is None else self.arguments(op)


@dataclass(frozen=True)
class Assembly:
    """Inline assembly; ``tied`` operands share the registers of the results."""

    template: Text
    effects: str = ALL
    convergent: bool = False
    operands: Callable[[Operation], Sequence[SSAValue]] | None = None
    tied: int = 0

    kind = "assembly"

    def text(self, op: Operation) -> str:
        """The PTX template for one operation."""
        return self.template if isinstance(self.template, str) else self.template(op)

    def values(self, op: Operation) -> Sequence[SSAValue]:
        """The operands in the order of the template."""
        return list(op.operands) if self.operands is None else self.operands(op)

    def constraints(self, op: Operation) -> str:
        """One letter per result and operand; memory is clobbered where the instruction touches it."""
        results = [f"={constraint(type)}" for type in result_registers(op)]
        inputs = [] if not self.tied else [str(index) for index in range(len(results))]
        inputs += [constraint(value.type) for value in self.values(op)[self.tied :]]
        memory = ["~{memory}"] if self.effects in (WRITE, ALL) else []
        return ",".join([*results, *inputs, *memory])


Row = Intrinsic | Assembly

_INTEGER_LETTERS = {1: "b", 16: "h", 32: "r", 64: "l", 128: "q"}
_FLOAT_LETTERS = {16: "h", 32: "f", 64: "d"}


def constraint(type: Attribute) -> str:
    """LLVM's constraint letter of an operand: shared addresses have 32 bits."""
    if isinstance(type, LLVMPointerType):
        space = getattr(type.addr_space, "data", 0)
        return "r" if space in (SHARED, CLUSTER) else "l"
    if isinstance(type, VectorType):
        return _INTEGER_LETTERS[type.element_type.bitwidth * type.element_count()]
    letters = _INTEGER_LETTERS if isinstance(type, IntegerType) else _FLOAT_LETTERS
    return letters[type.bitwidth]


def result_registers(op: Operation) -> list[Attribute]:
    """The types of the registers that an operation writes."""
    if not op.results:
        return []
    type = op.results[0].type
    return list(type.types) if isinstance(type, LLVMStructType) else [type]


def _braced(start: int, count: int) -> str:
    return "{" + ", ".join(f"${index}" for index in range(start, start + count)) + "}"


def _predicated(instruction: str) -> Callable[[Operation], str]:
    """The instruction under its last operand, where the operation has a predicate."""

    def text(op: Operation) -> str:
        return f"@${len(op.operands) - 1} {instruction}" if op.predicate is not None else instruction

    return text


# Names that depend on the operation -----------------------------------------------------------------------------------


def _shuffle(op: ops_thread.ShflSyncOp) -> str:
    kind = "f32" if not isinstance(op.val.type, IntegerType) else "i32"
    return f"shfl.sync.{op.kind.word.data}.{kind}{'p' if op.return_value_and_is_valid is not None else ''}"


def _copy(op: ops_copy.CpAsyncSharedGlobalOp) -> str:
    tail = ".s" if op.cpSize is not None else ""
    return f"cp.async.{op.modifier.word.data}.shared.global.{op.size.value.data}{tail}"


def _product(op: ops_matrix.MmaSyncOp) -> str:
    a, b = op.multiplicandAPtxType.word.data, op.multiplicandBPtxType.word.data
    c = _accumulator(op)
    m, n, k = op.shape.sizes
    wanted = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{b}.{c}"
    saturates = op.intOverflowBehavior is not None and op.intOverflowBehavior.word.data == "satfinite"
    for atom in MMA_ATOMS:
        # The table's names are for products that wrap; saturation is a word before the types.
        if atom.ptx_name(a != "u8", b != "u8").replace(".satfinite", "") == wanted:
            name = atom.intrinsic_name(a != "u8", b != "u8")
            return name.replace(".row.col.", ".row.col.satfinite.") if saturates else name
    raise Unsupported("mma-no-row", f"no tensor-core instruction {wanted}", remedy="targets.py: MMA_ATOMS lists them")


def _accumulator(op: ops_matrix.MmaSyncOp) -> str:
    type = op.operandC[0].type
    if isinstance(type, VectorType):
        return "f16"
    return f"{'s' if isinstance(type, IntegerType) else 'f'}{type.bitwidth}"


def _ldmatrix(op: ops_matrix.LdMatrixOp) -> str:
    transposed = ".trans" if op.layout.word.data == "col" else ""
    return f"ldmatrix.sync.aligned.m8n8.x{op.num.value.data}{transposed}.b16.p3"


_HALVES = {"f16": "ff2f16x2", "bf16": "ff2bf16x2"}


def _narrow(op: ops_matrix.ConvertFromF32x2Op) -> str:
    name, rounding = op.dstTy.data, op.rnd.word.data
    relu = ".relu" if op.relu is not None else ""
    if name in _HALVES:
        return f"{_HALVES[name]}.{rounding}{relu}"
    # Conversions to 8 bits always saturate, and their names do not say so.
    saturates = "" if name in ("e4m3", "e5m2") else ".satfinite"
    return f"ff.to.{name}x2.{rounding}{relu}{saturates}"


def _widen(op: ops_matrix.ConvertToF16x2Op) -> str:
    name = op.srcTy.data
    return "ue8m0x2.to.bf16x2" if name == "ue8m0" else f"{name}x2.to.f16x2.rn"


# Templates that depend on the operation -------------------------------------------------------------------------------

WAIT_LOOP = (
    "{\n.reg .pred p;\nWAIT_${:uid}:\n"
    "mbarrier.try_wait.parity.shared.b64 p, [$0], $1, $2;\n@!p bra.uni WAIT_${:uid};\n}"
)


def _tensor_load(op: ops_copy.TensorLoadOp) -> str:
    rank = len(op.coordinates)
    mask, hint = op.multicastMask is not None, op.l2CacheHint is not None
    modifiers = (".multicast::cluster" if mask else "") + (".L2::cache_hint" if hint else "")
    slots = "".join(f", ${3 + rank + index}" for index in range(mask + hint))
    instruction = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{modifiers}"
    return _predicated(f"{instruction} [$0], [$1, {_braced(2, rank)}], [${2 + rank}]{slots};")(op)


def _tensor_store(op: ops_copy.TensorStoreOp) -> str:
    rank, hint = len(op.coordinates), op.l2CacheHint is not None
    modifier, slot = (".L2::cache_hint", f", ${2 + rank}") if hint else ("", "")
    instruction = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group{modifier}"
    return _predicated(f"{instruction} [$0, {_braced(1, rank)}], [${1 + rank}]{slot};")(op)


def _wgmma(op: ops_matrix.WgmmaMmaAsyncOp) -> str:
    count = len(op.inouts.type.types)
    m, n, k = op.shape.sizes
    a, b, d = (getattr(op, f"type{letter}").word.data for letter in "ABD")
    integer = d == "s32"
    overflow = ".satfinite" if op.satfinite is not None and op.satfinite.word.data == "satfinite" else ""
    name = f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{d}.{a}.{b}{overflow}"
    tail = "" if integer else f", {_sign(op.scaleA)}, {_sign(op.scaleB)}"
    # Only 16-bit operands may lie across k; the flags say which do.
    if a in ("f16", "bf16"):
        tail += f", {int(op.layoutA.word.data == 'col')}, {int(op.layoutB.word.data == 'row')}"
    scale = int(op.scaleD.word.data == "one")
    # LLVM writes accumulators to the tied registers right before the assembly, behind every fence that stands outside it.
    follows = isinstance(op.inouts.owner, ops_matrix.WgmmaMmaAsyncOp)
    fence = "" if follows else "wgmma.fence.sync.aligned; "
    return (
        f"{fence}{{.reg .pred p; setp.ne.b32 p, {scale}, 0; "
        f"{name} {_braced(0, count)}, ${2 * count}, ${2 * count + 1}, p{tail};}}"
    )


def _sign(scale: Operation) -> int:
    return 1 if scale.word.data == "one" else -1


def _packed(name: str, count: int) -> Callable[[Operation], str]:
    def text(op: Operation) -> str:
        ftz = ".ftz" if op.ftz is not None else ""
        return f"{name}.rn{ftz}.f32x2 {', '.join(f'${index}' for index in range(count))};"

    return text


# The table ------------------------------------------------------------------------------------------------------------

I64 = IntegerType(64)
_PREDICATED = {
    ops_thread.MBarrierInitSharedOp: _predicated("mbarrier.init.shared.b64 [$0], $1;"),
    ops_thread.MBarrierArriveExpectTxSharedOp: _predicated("mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;"),
    ops_thread.PrefetchTensorMapOp: _predicated("prefetch.tensormap [$0];"),
}
MAPPING: dict[type[Operation], Row] = {
    **{read: Intrinsic(f"read.ptx.sreg.{name}") for name, read in ops_thread.READS.items()},
    ops_thread.Barrier0Op: Intrinsic(
        "barrier.cta.sync.aligned.all", ALL, convergent=True, arguments=lambda op: [0]
    ),
    ops_thread.ShflSyncOp: Intrinsic(_shuffle, ALL, convergent=True),
    ops_thread.ReduxSyncOp: Intrinsic(lambda op: f"redux.sync.{op.kind.word.data}", ALL, convergent=True),
    ops_thread.MBarrierInitSharedOp: Intrinsic("mbarrier.init.shared", WRITE),
    ops_thread.MBarrierInvalSharedOp: Intrinsic("mbarrier.inval.shared", WRITE),
    ops_thread.MBarrierArriveSharedOp: Intrinsic("mbarrier.arrive.shared", ALL),
    ops_thread.MBarrierArriveNoCompleteSharedOp: Intrinsic("mbarrier.arrive.noComplete.shared", ALL),
    ops_thread.MBarrierArriveExpectTxSharedOp: Intrinsic(
        "mbarrier.arrive.expect.tx.scope.cta.space.cta", ALL, result=I64
    ),
    ops_thread.MBarrierTestWaitSharedOp: Intrinsic("mbarrier.test.wait.shared", ALL),
    ops_thread.MBarrierTryWaitParitySharedOp: Intrinsic("mbarrier.try.wait.parity.tl.scope.cta.space.cta", ALL),
    ops_thread.FenceProxyAcquireOp: Intrinsic(
        lambda op: f"fence.proxy.tensormap_generic.acquire.{op.scope.word.data}", ALL,
    ),
    ops_thread.FenceProxyReleaseOp: Intrinsic(
        lambda op: f"fence.proxy.tensormap_generic.release.{op.scope.word.data}", ALL,
    ),
    ops_thread.PrefetchTensorMapOp: Intrinsic("prefetch.tensormap.p0", READ),
    ops_copy.CpAsyncSharedGlobalOp: Intrinsic(_copy, ALL),
    ops_copy.CpAsyncCommitGroupOp: Intrinsic("cp.async.commit.group", ALL),
    ops_copy.CpAsyncWaitGroupOp: Intrinsic("cp.async.wait.group", ALL, arguments=lambda op: [op.n.value.data]),
    ops_copy.TensorLoadOp: Assembly(_tensor_load),
    ops_copy.TensorStoreOp: Assembly(_tensor_store),
    ops_matrix.WgmmaFenceAlignedOp: Intrinsic("wgmma.fence.sync.aligned", ALL, convergent=True),
    ops_matrix.WgmmaCommitGroupOp: Intrinsic("wgmma.commit_group.sync.aligned", ALL, convergent=True),
    # An i64 constant: LLVM wants it so.
    ops_matrix.WgmmaWaitGroupOp: Intrinsic(
        "wgmma.wait_group.sync.aligned", ALL, convergent=True, arguments=lambda op: [op.group.value.data]
    ),
    ops_matrix.WgmmaMmaAsyncOp: Assembly(_wgmma, convergent=True, tied=1),
    ops_matrix.MmaSyncOp: Intrinsic(_product, convergent=True),
    ops_matrix.LdMatrixOp: Intrinsic(_ldmatrix, READ, convergent=True),
    ops_matrix.RcpApproxFtzF32Op: Intrinsic("rcp.approx.ftz.f"),
    ops_matrix.FmaPackedF32x2Op: Assembly(_packed("fma", 4), NONE),
    ops_matrix.MulPackedF32x2Op: Assembly(_packed("mul", 3), NONE),
    ops_matrix.ConvertFromF32x2Op: Intrinsic(_narrow),
    ops_matrix.ConvertToF16x2Op: Intrinsic(_widen),
}  # fmt: skip

# Forms that no intrinsic has: under a predicate, and the loop around a wait.
_TRY_WAIT_LOOP = Assembly(WAIT_LOOP)
_WITH_PREDICATE: dict[type[Operation], Row] = {form: Assembly(text) for form, text in _PREDICATED.items()}


def row_of(op: Operation) -> Row:
    """The row of one operation; a predicate and a wait without a result choose assembly."""
    if type(op) in _WITH_PREDICATE and op.predicate is not None:
        return _WITH_PREDICATE[type(op)]
    if isinstance(op, ops_thread.MBarrierTryWaitParitySharedOp) and op.res is None:
        return _TRY_WAIT_LOOP
    if type(op) not in MAPPING:
        raise InternalError("nvvm-no-row", f"operation {op.name} has no row in the NVVM mapping")
    return MAPPING[type(op)]
