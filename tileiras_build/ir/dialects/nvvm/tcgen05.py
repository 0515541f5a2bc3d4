"""tcgen05: tensor memory, its loads, stores and copies, and MMAs that accumulate in it (PTX ISA 9.0, section 9.7.16).

``group`` is cg1, or cg2 for an instruction of a CTA pair, as in the suffixes of LLVM's names.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.dialects.llvm import LLVMPointerType

from ..op_definition import TableOp
from .intrinsic_or_inline_asm import ALL, Assembly, Intrinsic, define_instruction, int_attr, keyword_attr

_NO = IntegerAttr(0, i1)


def _with_cta_group(name: str) -> Intrinsic:
    return Intrinsic(lambda op: f"tcgen05.{name}.{keyword_attr(op, 'group')}", ALL, convergent=True)


def _plain(name: str, convergent: bool = False) -> Intrinsic:
    return Intrinsic(f"tcgen05.{name}", ALL, convergent)


# ---- allocation ----------------------------------------------------------------------------------

AllocOp = define_instruction(
    "tcgen05.alloc",
    "slot columns",
    "",
    "allocate columns; writes their address to shared memory",
    _with_cta_group("alloc.shared"),
)
RelinquishAllocPermitOp = define_instruction(
    "tcgen05.relinquish_alloc_permit", "", "", "this CTA allocates no more", _with_cta_group("relinq.alloc.permit")
)
DeallocOp = define_instruction("tcgen05.dealloc", "address columns", "", "free columns", _with_cta_group("dealloc"))

# ---- registers -----------------------------------------------------------------------------------


def _access(direction: str) -> Intrinsic:
    def name(op: TableOp) -> str:
        return f"tcgen05.{direction}.{keyword_attr(op, 'shape')}.x{int_attr(op, 'repetitions')}"

    # The last argument: 16-bit elements do not share columns.
    return Intrinsic(name, ALL, convergent=True, arguments=lambda op: [*op.operands, _NO])


LoadOp = define_instruction(
    "tcgen05.ld",
    "address",
    "words",
    "registers of the lanes of this warp: `shape`, `repetitions` times",
    _access("ld"),
)
StoreOp = define_instruction("tcgen05.st", "address words", "", "the other way round", _access("st"))
WaitLoadOp = define_instruction(
    "tcgen05.wait.ld", "", "", "this thread's loads are done", _plain("wait.ld", convergent=True)
)
WaitStoreOp = define_instruction("tcgen05.wait.st", "", "", "its stores are done", _plain("wait.st", convergent=True))


def _copy(op: TableOp) -> str:
    guard = "" if op.predicate is None else "@$2 "
    return f"{guard}tcgen05.cp.cta_group::{keyword_attr(op, 'group')[-1]}.{keyword_attr(op, 'shape')} [$0], $1;"


CopyOp = define_instruction(
    "tcgen05.cp",
    "address descriptor predicate?",
    "",
    "a matrix in shared memory, of PTX's `shape`, to a 32-bit address",
    Assembly(_copy, ALL, convergent=True),
)
FenceBeforeOp = define_instruction(
    "tcgen05.fence.before_thread_sync",
    "",
    "",
    "order earlier instructions before the next barrier",
    _plain("fence.before.thread.sync"),
)
FenceAfterOp = define_instruction(
    "tcgen05.fence.after_thread_sync",
    "",
    "",
    "order later instructions after the last barrier",
    _plain("fence.after.thread.sync"),
)

# ---- MMA -----------------------------------------------------------------------------------------


def _commit(op: TableOp) -> str:
    multicast = ".mc" if op.mask is not None else ""
    return f"tcgen05.commit{multicast}.shared.{keyword_attr(op, 'group')}"


def _mma(op: TableOp) -> str:
    """Where the left operand is: a pointer into tensor memory, or the descriptor of a matrix in shared memory."""
    return f"tcgen05.mma.{'tensor' if isinstance(op.left.type, LLVMPointerType) else 'shared'}"


CommitOp = define_instruction(
    "tcgen05.commit",
    "barrier mask?",
    "",
    "arrive at an mbarrier, of each CTA of a mask, when all MMAs of this thread are complete",
    Intrinsic(_commit, ALL),
)
# The last argument of both: the collector buffer of the left operand, unused.
MmaOp = define_instruction(
    "tcgen05.mma",
    "target left right descriptor adds",
    "",
    "an MMA of `mma_kind`, in LLVM's numbering, by `ctas` CTAs; accumulates where `adds`",
    Intrinsic(_mma, ALL, arguments=lambda op: [*op.operands, int_attr(op, "mma_kind"), int_attr(op, "ctas"), 0]),
)
BlockScaledMmaOp = define_instruction(
    "tcgen05.mma.block_scale",
    "target left right descriptor adds left_scales right_scales",
    "",
    "a block-scaled MMA of operands in shared memory and scales in tensor memory, by `ctas` CTAs; `mma_kind`: LLVM's name",
    Intrinsic(
        lambda op: f"tcgen05.mma.shared.{keyword_attr(op, 'mma_kind')}",
        ALL,
        arguments=lambda op: [*op.operands, int_attr(op, "ctas"), 0],
    ),
)
