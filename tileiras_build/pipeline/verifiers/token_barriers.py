"""Verify that accesses which a token orders are also ordered between threads.

The predecessors of an access are all accesses that its token depends on, through joins, branches and loops. If either
access writes, or the earlier one acquires or the later one releases, every path from the earlier to the later one must
contain a barrier, one of the cluster where several CTAs have the accesses. The paths are those of ``control_flow_paths``, the
dependences those of ``token_paths``; the pass that inserts the barriers walks the program once instead.

A violation raises ``InternalError`` with id ``barrier-verifier`` that names both operations.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...core.errors import InternalError
from ...ir.casting import str_attr
from .control_flow_paths import control_flow_paths, kernels_of
from .token_dependencies import ACCESSES, WRITES, TokenPaths

FENCE, BARRIER = "nv_tileas.fence_alias", "nv_tileas.barrier"


def verify_token_barriers(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; return the number of ordered pairs of accesses."""
    return sum(_check_kernel(kernel) for kernel in kernels_of(module))


def _check_kernel(kernel: Operation) -> int:
    paths = control_flow_paths(kernel)
    accesses = [op for op in paths.successors if op.name in ACCESSES]
    tokens = TokenPaths.of(paths)
    stops = _is_cluster_barrier if "cluster_barriers" in kernel.attributes else _is_barrier
    for first in accesses:
        for second in paths.reachable_from(first, stops):
            ordered = second.name in ACCESSES and first in tokens.predecessors[second] and _conflict(first, second)
            if second.name == FENCE or (ordered and tokens.carries_token(first, second, stops)):
                _fail(kernel, first, second)
    return sum(len(tokens.predecessors[second]) for second in accesses)


def _is_barrier(op: Operation) -> bool:
    return op.name == BARRIER


def _is_cluster_barrier(op: Operation) -> bool:
    return _is_barrier(op) and "cluster" in op.attributes


def _conflict(first: Operation, second: Operation) -> bool:
    writes = any(op.name in WRITES for op in (first, second))
    return writes or _semantic(first) in ("acquire", "acq_rel") or _semantic(second) in ("release", "acq_rel")


def _semantic(op: Operation) -> str:
    return str_attr(op, "mem_semantic") if "mem_semantic" in op.attributes else "weak"


def _fail(kernel: Operation, first: Operation, second: Operation) -> None:
    name = str_attr(kernel, "sym_name")
    message = f"kernel {name}: no barrier on a path from {first.name} to {second.name}, which comes after it"
    raise InternalError("barrier-verifier", message, remedy="report this as a bug of insert_token_barriers")
