"""CUTLASS pipelines: a full and an empty barrier per stage, and states of (phase, index, count).

The full barrier of stage i is at byte 8 i of the storage, its empty barrier 8 * stages bytes later. A consumer starts
with phase 0, a producer with phase 1, so that its first wait finds every stage empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import SSAValue

from ....ir.casting import unwrap
from ....ir.dialects.checked_cast import cast
from ....ir.dialects.cutlass.types import PipelineType
from ....ir.dialects.nvvm import ops_mbarrier, warp_sync
from ....ir.dialects.op_definition import TableOp
from ...rewriting.dialect_conversion import RuleTable
from .converted_values import (
    ConvertedValue,
    Converter,
    Leaf,
    Rewrite,
    State,
    int_parameter,
    keyword_parameter,
)

REWRITES = RuleTable(dialect="cutlass")
rewrite = REWRITES.rule
BARRIERS = 16  # named barriers of a CTA (PTX ISA 9.0, "bar")
TICKS = 10_000_000  # time limit of one try_wait, in nanoseconds


# ---- states ------------------------------------------------------------------------------------------
@rewrite("pipeline.state.create")
def create_state(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The initial state by role: a producer's first acquire passes."""
    role = keyword_parameter(op, "role")
    if role not in ("producer", "consumer"):
        raise cv.invalid("pipeline-role", "needs the attribute role: producer or consumer")
    return [State(1 if role == "producer" else 0, 0, 0)]


@rewrite("pipeline.state.increment")
def increment(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Add, compare, select; a wrap flips the phase."""
    held, stages = cv.state(op.state), int_parameter(op, "stages")
    if stages < 1:
        raise cv.invalid("pipeline-stages", "needs the attribute stages")
    if isinstance(held.phase, int) and isinstance(held.index, int):
        ends = held.index + 1 == stages
        return [State(held.phase ^ ends, 0 if ends else held.index + 1, cv.add(held.count, 1))]
    raised = cv.value(cv.add(held.index, 1))
    wraps = cv.insert(llvm.ICmpOp(raised, cv.constant(stages), IntegerAttr(0, i64)))
    index = cv.insert(llvm.SelectOp(wraps, cv.constant(0), raised))
    phase = cv.xor(cv.value(held.phase), cv.insert(llvm.ZExtOp(wraps, i32)))
    return [State(phase, index, cv.add(held.count, 1))]


def _field(name: str) -> Rewrite:
    return lambda cv, op: [getattr(cv.state(op.state), name)]


REWRITES.add({f"cutlass.pipeline.state.get_{name}": _field(name) for name in ("index", "phase", "count")})


# ---- pipelines ---------------------------------------------------------------------------------------
@rewrite("pipeline.create")
def create(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """A pipeline is represented by the address of its barriers."""
    return [cv[op.storage]]


def _stages(op: TableOp, cv: Converter) -> int:
    return cast(PipelineType, cv.type_of(op.pipeline)).stages.data


def _barrier(op: TableOp, cv: Converter, index: Leaf, side: str) -> SSAValue:
    position = cv.add(index, _stages(op, cv)) if side == "empty" else index
    return cv.offset(cv.plain(op.pipeline), position, i64)


@rewrite("pipeline.init")
def init(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Initialize the arrival counts that fill and empty a stage."""
    counts = {"full": int_parameter(op, "num_producers"), "empty": int_parameter(op, "num_consumers")}
    if not all(count > 0 for count in counts.values()):
        raise cv.invalid("pipeline-participants", "cutlass.pipeline.init: participants length mismatch")
    for side, count in counts.items():
        for stage in range(_stages(op, cv)):
            operands = [_barrier(op, cv, stage, side), cv.constant(count), None]
            cv.insert(ops_mbarrier.MBarrierInitSharedOp.build(operands=operands))
    return []


def _wait(op: TableOp, cv: Converter, index: Leaf, phase: Leaf, side: str, *, once: bool = False) -> SSAValue | None:
    operands = [_barrier(op, cv, index, side), cv.value(phase), cv.constant(TICKS)]
    results = [[i1]] if once else [[]]
    if once:
        operands[1] = cv.insert(llvm.TruncOp(operands[1], i1))
    return cv.insert(ops_mbarrier.MBarrierTryWaitParitySharedOp.build(operands=operands, result_types=results))


@rewrite("pipeline.producer_acquire")
def producer_acquire(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Wait on the empty barrier."""
    state = cv.state(op.state)
    _wait(op, cv, state.index, state.phase, "empty")
    return []


def _expect(barrier: SSAValue, bytes: int, cv: Converter) -> None:
    operands = [barrier, cv.constant(bytes), None]
    cv.insert(ops_mbarrier.MBarrierArriveExpectTxSharedOp.build(operands=operands))


def _arrive(op: TableOp, cv: Converter, side: str) -> Sequence[ConvertedValue]:
    barrier = _barrier(op, cv, cv.state(op.state).index, side)
    cv.insert(ops_mbarrier.MBarrierArriveSharedOp.build(operands=[barrier], result_types=[i64]))
    return []


@rewrite("pipeline.producer_commit")
def producer_commit(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Arrive on the full barrier; with tx_count, also expect that many bytes of asynchronous copies."""
    if "tx_count" not in op.attributes:
        return _arrive(op, cv, "full")
    _expect(_barrier(op, cv, cv.state(op.state).index, "full"), int_parameter(op, "tx_count"), cv)
    return []


@rewrite("pipeline.consumer_release")
def consumer_release(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Arrive on the empty barrier."""
    return _arrive(op, cv, "empty")


@rewrite("pipeline.consumer_wait")
def consumer_wait(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Wait on the full barrier."""
    state = cv.state(op.state)
    _wait(op, cv, state.index, state.phase, "full")
    return []


@rewrite("pipeline.producer_try_acquire", "pipeline.consumer_try_wait")
def try_wait(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One try_wait."""
    state, side = cv.state(op.state), "empty" if op.name.endswith("acquire") else "full"
    return [unwrap(_wait(op, cv, state.index, state.phase, side, once=True))]


@rewrite("pipeline.producer_tail")
def producer_tail(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Wait for every stage in turn, so that no CTA exits while others use its barriers; ``invalidate`` invalidates
    them.

    One thread invalidates a barrier: the attribute must be in code that a single thread executes.
    """
    state, stages = cv.state(op.state), _stages(op, cv)
    for _ in range(stages):
        _wait(op, cv, state.index, state.phase, "empty")
        state = _next(state, stages, cv)
    for position in range(2 * stages if "invalidate" in op.attributes else 0):
        barrier = cv.offset(cv.plain(op.pipeline), position, i64)
        cv.insert(ops_mbarrier.MBarrierInvalSharedOp.build(operands=[barrier]))
    return []


def _next(state: State, stages: int, cv: Converter) -> State:
    raised = cv.add(state.index, 1)
    wraps = cv.div(raised, stages)
    return replace(state, index=cv.rem(raised, stages) if stages > 1 else 0, phase=cv.xor(state.phase, wraps))


@rewrite("pipeline.get_producer_barrier")
def get_producer_barrier(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The address of the full barrier, for copies that arrive on it themselves."""
    return [_barrier(op, cv, cv.state(op.state).index, "full")]


# ---- named barriers ----------------------------------------------------------------------------------
@rewrite("named_barrier.arrive", "named_barrier.arrive_and_wait")
def named_barrier(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """bar.arrive and bar.sync."""
    barrier, threads = int_parameter(op, "id", -1), int_parameter(op, "threads")
    if not 0 <= barrier < BARRIERS:
        raise cv.invalid("barrier-id", f"has barrier {barrier}: a CTA has {BARRIERS}")
    if threads < 32 or threads % 32:
        raise cv.invalid("barrier-threads", f"waits for {threads} threads, which is no multiple of a warp")
    kind = warp_sync.BarrierArriveCountOp if op.name.endswith(".arrive") else warp_sync.BarrierCountOp
    cv.issue(kind, barrier, threads)
    return []
