"""Verify that stage buffers with bytes in common hold tiles at different times.

Of two such buffers, each access of one, and each instruction of the asynchronous proxy that it issues, is over before a thread accesses the
other one: on every path, all threads synchronize in between, or have waited for the instruction. And on every path from a write to one of
them to a read of the other, threads write the tile that is read. Both are of compute warps alone: another partition would run beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from itertools import permutations

from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, cast, int_attr
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp, LocalLoadOp, LocalStoreOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import MmaRole, is_async_mma, traits_of
from .control_flow_paths import ControlFlowPaths

Stops = Callable[[Operation], bool]


def overlapping_stages_faults(
    rings: Iterable[Operation], paths: ControlFlowPaths, is_cta_barrier: Stops
) -> Iterator[str]:
    """What is wrong of stage buffers with bytes in common."""
    for one, other in permutations(rings, 2):
        if not _overlap(one, other):
            continue
        others = _users(other)
        for op in _users(one):
            if op not in paths.successors:
                yield f"{op.name} of another partition accesses a stage buffer that shares bytes"
            elif not others.isdisjoint(_reached_before_end(op, paths, is_cta_barrier)):
                yield f"{op.name} may access a stage buffer while another one is written or read in its bytes"
            elif op.name == LocalStoreOp.name and any(_is_read_after(op, read, other, paths) for read in others):
                yield f"{op.name} overwrites the tile of another stage buffer that is read later"


def _overlap(one: Operation, other: Operation) -> bool:
    a, b = _bytes(one), _bytes(other)
    return a.start < b.stop and b.start < a.stop


def _bytes(ring: Operation) -> range:
    start = int_attr(ring, "shared_offset")
    return range(start, start + cast(BufferType, ring.results[0].type).size_bytes)


def _users(ring: Operation) -> set[Operation]:
    return {use.operation for use in ring.results[0].uses}


def _reached_before_end(op: Operation, paths: ControlFlowPaths, is_cta_barrier: Stops) -> set[Operation]:
    """The operations that may run while an access, or what it issues, is not over for all threads."""
    reached, ends = reached_in_flight(op, paths)
    return reached | {later for end in ends for later in paths.reachable_from(end, is_cta_barrier)}


def reached_in_flight(op: Operation, paths: ControlFlowPaths) -> tuple[set[Operation], set[Operation]]:
    """The operations that may run while what an access issues is in flight, and those after which it is over for their thread alone."""
    if not is_async_mma(op):
        return set(), {op}
    return _until_registers(op, paths) if op.results else (_until_complete(as_op(op), paths), set())


def _until_registers(op: Operation, paths: ControlFlowPaths) -> tuple[set[Operation], set[Operation]]:
    """The operations reached from an MMA up to the waits for all that accumulate in registers, and these waits."""
    if _waits_for_registers(op):
        return set(), {op}
    reached = set(paths.reachable_from(op, _waits_for_registers))
    return reached, set(filter(_waits_for_registers, reached))


def _until_complete(op: TableOp, paths: ControlFlowPaths) -> set[Operation]:
    """The operations reached from an MMA in tensor memory up to a wait for it, or for what completes after it: an MMA, or a commit, behind it."""
    waiting = [(later, _ready_of(op)) for later in paths.successors[op]]
    seen: set[tuple[Operation, frozenset[SSAValue]]] = set()
    while waiting:
        if (state := waiting.pop()) in seen:
            continue
        seen.add(state)
        one, ready = state
        if not _waits_for(one, ready):
            waiting += [(later, ready | _ready_of(one)) for later in paths.successors[one]]
    return {one for one, _ in seen}


def _ready_of(op: Operation) -> frozenset[SSAValue]:
    """The pipeline that an MMA in tensor memory, or a commit, fills, if it does."""
    completes = MmaRole.COMMIT in traits_of(op).mma or is_async_mma(op) and not op.results
    return frozenset({as_op(op).ready} - {None}) if completes else frozenset()


def _waits_for_registers(op: Operation) -> bool:
    waits = MmaRole.WAIT in traits_of(op).mma or is_async_mma(op) and bool(op.results)
    return waits and "pending" in op.attributes and int_attr(op, "pending") == 0


def _waits_for(op: Operation, ready: Container[SSAValue]) -> bool:
    """Whether all threads wait for the last MMA that fills one of some pipelines: one of several stages may be full before."""
    if op.name != ConsumerWaitOp.name or as_op(op).pipeline not in ready or as_op(op).by_issuer:
        return False
    return as_op(op).pipeline.type.stages.data == 1


def _is_read_after(store: Operation, read: Operation, ring: Operation, paths: ControlFlowPaths) -> bool:
    """Whether an operation may read a stage of a ring after a write to another ring, with none to this stage in between."""
    return any(read in paths.reachable_from(store, stops) for stops in _writes_of_stages(read, ring.results[0]))


def _writes_of_stages(read: Operation, ring: SSAValue) -> Iterator[Stops]:
    """For each stage that an operation reads, whether another one writes it."""
    is_single = cast(BufferType, ring.type).stages.data == 1
    for stage in _stages_read(read, ring):
        yield partial(_writes, ring=ring, stage=None if is_single else stage)


def _writes(op: Operation, ring: SSAValue, stage: SSAValue | None) -> bool:
    return op.name == LocalStoreOp.name and as_op(op).buffer is ring and stage in (None, as_op(op).stage)


def _stages_read(op: Operation, ring: SSAValue) -> list[SSAValue]:
    if op.name == LocalLoadOp.name:
        return [as_op(op).stage]
    if not is_async_mma(op):
        return []
    mma = as_op(op)
    return [stage for value, stage in ((mma.lhs, mma.lhs_stage), (mma.rhs, mma.rhs_stage)) if value is ring]
