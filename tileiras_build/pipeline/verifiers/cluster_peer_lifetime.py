"""Verify that a CTA accesses another CTA of the cluster only while that CTA runs.

The CTAs of a cluster run concurrently, but they may start and end at different times (CUDA Programming Guide,
distributed shared memory). Accesses to another CTA are:

- an operation on an address from ``mapa``, such as an arrival at its mbarrier;
- a multicast copy, and one that completes on the mbarrier of a pair's first CTA;
- a commit that arrives in several CTAs;
- all tensor memory operations of a CTA pair (PTX ISA 9.0, section 9.7.16.5.1): allocation, MMAs, copies.

Every path from the kernel's entry to such an operation contains a wait at the cluster's barrier; every path from it to
the kernel's end contains an arrival there. Copies, commits and arrivals need none: the other CTA waits at its mbarriers for
all of them (``mbarrier_pipelines.py`` verifies that it does). The deallocation of tensor memory may be last: the pair
performs it together.

A violation raises ``InternalError`` with id ``peer-verifier``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...core.errors import InternalError
from ...ir.casting import as_op
from ...ir.dialects.nvvm.intrinsic_or_inline_asm import int_attr, keyword_attr
from ...ir.dialects.nvvm.ops_copy import TensorLoadOp

FUNCTION, RETURN = "llvm.func", "llvm.return"
MAPPED, ARRIVES, WAIT = "nvvm.mapa", ("nvvm.cluster.arrive", "nvvm.cluster.arrive.relaxed"), "nvvm.cluster.wait"
FREES = ("nvvm.tcgen05.relinquish_alloc_permit", "nvvm.tcgen05.dealloc")
COMMIT, ARRIVAL = "nvvm.tcgen05.commit", "nvvm.mbarrier.arrive"
CASTS = ("llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast", "llvm.getelementptr", "llvm.bitcast")


def verify_peer_lifetime(module: ModuleOp) -> int:
    """Check every function of a module after lowering to NVVM; return how many operations access another CTA."""
    return sum(_check(op) for op in module.walk() if op.name == FUNCTION and op.regions[0].blocks)


def _check(function: Operation) -> int:
    remote = _remote(function)
    uses = {op for op in function.walk() if _needs_peer(op, remote)}
    if not uses:
        return 0
    blocks = function.regions[0].blocks
    for op in _ops_before(blocks[0], WAIT):
        if op in uses:
            _fail(op, "the other CTA may not have started")
    for op in _ops_after(list(blocks)):
        if op in uses and op.name not in FREES and not _is_awaited(op):
            _fail(op, "the other CTA may have ended")
    return len(uses)


def _fail(op: Operation, why: str) -> None:
    raise InternalError(
        "peer-verifier", f"{op.name} accesses another CTA of the cluster: {why}", remedy="report this as a bug"
    )


def _remote(function: Operation) -> set[SSAValue]:
    """Values that are derived from addresses in other CTAs."""
    found: set[SSAValue] = set()
    waiting: list[SSAValue] = [result for op in function.walk() if op.name == MAPPED for result in op.results]
    while waiting:
        value = waiting.pop()
        if value in found:
            continue
        found.add(value)
        for use in value.uses:
            waiting.extend(_forwarded_to(use.operation, use.index))
    return found


def _forwarded_to(user: Operation, index: int) -> Iterable[SSAValue]:
    """The values that an operation forwards an operand to: its results, or arguments of successor blocks."""
    if not user.successors:
        return user.results if _is_computed(user) else ()
    return [arg for block in user.successors for arg in block.args]


def _is_computed(op: Operation) -> bool:
    return op.has_trait(Pure) or op.name in CASTS


def _needs_peer(op: Operation, remote: set[SSAValue]) -> bool:
    if op.successors or _is_computed(op):
        return False
    in_pair = keyword_attr(op, "group") == "cg2" or int_attr(op, "ctas") == 2
    return in_pair or _targets_several_ctas(op) or any(operand in remote for operand in op.operands)


def _targets_several_ctas(op: Operation) -> bool:
    """Whether a copy or a commit has a mask of CTAs, or the copy is one of a CTA pair."""
    if isinstance(op, TensorLoadOp):
        return op.multicastMask is not None or op.pair is not None
    return op.name == COMMIT and as_op(op).mask is not None


def _is_awaited(op: Operation) -> bool:
    """Whether an operation ends at an mbarrier of the other CTA."""
    return isinstance(op, TensorLoadOp) or op.name == COMMIT or op.name.startswith(ARRIVAL)


def _ops_before(entry: Block, stop: str) -> Iterator[Operation]:
    """The operations that may run before the first operation with a name."""
    return _walk([entry], lambda block: block.ops, _following, lambda op: op.name == stop)


def _ops_after(blocks: list[Block]) -> Iterator[Operation]:
    """The operations that may run with no arrival at the cluster barrier after them."""
    preceding: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in _following(block):
            preceding[successor].append(block)
    ends = [block for block in blocks if block.last_op is not None and block.last_op.name == RETURN]
    return _walk(ends, lambda block: reversed(tuple(block.ops)), preceding.__getitem__, lambda op: op.name in ARRIVES)


def _following(block: Block) -> Iterable[Block]:
    return () if block.last_op is None else block.last_op.successors


def _walk(
    blocks: list[Block],
    ops: Callable[[Block], Iterable[Operation]],
    onwards: Callable[[Block], Iterable[Block]],
    stops: Callable[[Operation], bool],
) -> Iterator[Operation]:
    """Traverse operations block by block, up to those that stop."""
    waiting, seen = list(blocks), set()
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        for op in ops(block):
            if stops(op):
                break
            yield op
        else:
            waiting.extend(onwards(block))
