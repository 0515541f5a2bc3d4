"""Verify that shared memory stays unchanged until TMA has read it, and that accesses wait until TMA has written.

Each async.tiled_tma_store starts copies that only an async.tma_store_wait completes; with ``read``, the wait is for
reads of shared memory, otherwise also for writes to global memory. A barrier after the wait informs the other threads.
So every path from a store is followed

- to the next wait: the kernel does not end on it, and nothing on it uses the store's bytes of shared memory;
- from there to the next barrier: nothing on it writes to those bytes, unless it begins with a barrier;
- to the next wait for writes, and from there to the next barrier: neither part contains an access that a token orders
  after the store, in the first part one that the path itself carries there, nor a fence; the store itself is allowed, if each
  iteration of its loop stores different tiles.

``shared_memory_allocation.py`` proves that the partitions have finished with the stages that a store overlaps.

A violation raises ``InternalError`` with id ``tma-store-verifier`` that names both operations.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...core.errors import InternalError
from ...ir.casting import as_op, cast, defining_op, int_attr, str_attr
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ..analysis.disjoint_stores import iterations_store_disjoint_tiles
from .control_flow_paths import RETURN, ControlFlowPaths, control_flow_paths, kernels_of
from .shared_memory_allocation import overlap, scratch_region
from .token_barriers import BARRIER, FENCE
from .token_dependencies import ACCESSES, TokenPaths

STORE, WAIT = "nv_tileas.async.tiled_tma_store", "nv_tileas.async.tma_store_wait"
COPY = "nv_tileas.async_tiled_load"
PATTERN_BYTES = 1024  # period of the longest swizzle


def verify_tma_stores(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return the number of TMA stores."""
    return sum(_check_kernel(kernel) for kernel in kernels_of(module))


def _check_kernel(kernel: Operation) -> int:
    paths = control_flow_paths(kernel)
    stores = [as_op(op) for op in paths.successors if op.name == STORE]
    if not stores:
        return 0
    tokens = TokenPaths.of(paths)
    for store in stores:
        if scratch_region(store).start % PATTERN_BYTES:
            _fail(kernel, f"{store.name} copies from an address that is not aligned to the swizzle", store)
        _check_reading(kernel, paths, store)
        _check_writing(kernel, paths, store, tokens)
    return len(stores)


def _check_reading(kernel: Operation, paths: ControlFlowPaths, store: Operation) -> None:
    waits = []
    for op in paths.reachable_from(store, lambda op: op.name == WAIT):
        if op.name == WAIT:
            waits.append(op)
        elif op.name == RETURN or _touches(op, store):
            _fail(kernel, f"{op.name} comes while the copies of {store.name} may still read", store)
    for wait in waits:
        for op in paths.reachable_from(wait, _is_cta_barrier):
            if _touches(op, store) and "sync_before" not in op.attributes:
                _fail(kernel, f"{op.name} comes before a barrier after the wait for reads of {store.name}", store)


def _check_writing(kernel: Operation, paths: ControlFlowPaths, store: TableOp, tokens: TokenPaths) -> None:
    def relies(op: Operation, stops: Callable[[Operation], bool]) -> bool:
        ordered = op.name in ACCESSES and store in tokens.predecessors[op] and not is_disjoint(op)
        return op.name == FENCE or (ordered and tokens.carries_token(store, op, stops))

    def is_disjoint(op: Operation) -> bool:
        return op is store and iterations_store_disjoint_tiles(store)

    written = []
    for op in paths.reachable_from(store, _is_full_wait):
        if relies(op, _is_full_wait):
            _fail(kernel, f"{op.name} comes after {store.name} and does not wait until it has written", store)
        written += [op] * _is_full_wait(op)
    for wait in written:
        for op in paths.reachable_from(wait, lambda op: op.name == BARRIER):
            if relies(op, _never):
                _fail(kernel, f"{op.name} comes after {store.name} with no barrier between the wait and it", store)


def _never(_: Operation) -> bool:
    return False


def _is_full_wait(op: Operation) -> bool:
    return op.name == WAIT and "read" not in op.attributes


def _is_cta_barrier(op: Operation) -> bool:
    return op.name == BARRIER or "scratch_offset" in op.attributes


def _touches(op: Operation, store: Operation) -> bool:
    """Whether an operation writes to the bytes that a store copies, including the store itself around a loop."""
    if "scratch_offset" in op.attributes:
        return overlap(scratch_region(op), scratch_region(store))
    return op.name == COPY and overlap(_stage_buffer_of(defining_op(as_op(op).buffer)), scratch_region(store))


def _stage_buffer_of(op: Operation) -> range:
    start = int_attr(op, "shared_offset")
    return range(start, start + cast(BufferType, op.results[0].type).size_bytes)


def _fail(kernel: Operation, message: str, store: Operation) -> None:
    name, region = str_attr(kernel, "sym_name"), scratch_region(store)
    message = f"kernel {name}: {message} (shared memory [{region.start}, {region.stop}))"
    raise InternalError(
        "tma-store-verifier", message, remedy="report this as a bug of use_tma_stores or allocate_shared_memory"
    )
