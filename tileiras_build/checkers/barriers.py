"""Proof that accesses to memory which a token orders are ordered between threads too.

For each access, the accesses that it comes after are all that its token depends on, through joins, branches and loops.
If one of the two writes, or the earlier acquires or the later releases, then every path from the earlier to the later
one must pass a barrier. The paths are those of ``program_paths``, the dependencies a fixed point over all tokens; the
pass that inserts the barriers walks the program once instead.

Every check raises ``InternalError`` with id ``barrier-proof`` and names both operations.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..errors import InternalError
from ..pipeline.shared.accessors import given, string_of
from .program_paths import BREAK, CONTINUE, LOOPS, ProgramPaths, kernels_of, paths_of

TOKEN = "nv_tileaa.mem_token"
READS = ("load", "tiled_load")
WRITES = ("store", "tiled_store", "async.tiled_tma_store", "atomic_rmw", "atomic_cas", "tiled_atomic_rmw")
ACCESSES = frozenset(f"nv_tileas.{name}" for name in READS + WRITES)
# From a token, or from an access where that is None, to a token.
Edge = tuple[SSAValue | None, SSAValue, Operation | None]
FENCE, BARRIER = "nv_tileas.fence_alias", "nv_tileas.barrier"


def check_barriers(module: ModuleOp) -> int:
    """Check every kernel of a nv_tileas module; how many ordered pairs of accesses were looked at."""
    return sum(_check_kernel(kernel) for kernel in kernels_of(module))


def _check_kernel(kernel: Operation) -> int:
    paths = paths_of(kernel)
    accesses = [op for op in paths.following if op.name in ACCESSES]
    earlier = dependencies(paths)
    pairs = 0
    for first in accesses:
        for second in paths.reach(first, lambda op: op.name == BARRIER):
            ordered = second.name in ACCESSES and first in earlier[second] and _conflict(first, second)
            if second.name == FENCE or ordered:
                _fail(kernel, first, second)
    for second in accesses:
        pairs += len(earlier[second])
    return pairs


def _conflict(first: Operation, second: Operation) -> bool:
    writes = any(op.name.removeprefix("nv_tileas.") in WRITES for op in (first, second))
    return writes or _semantic(first) in ("acquire", "acq_rel") or _semantic(second) in ("release", "acq_rel")


def _semantic(op: Operation) -> str:
    return string_of(op, "mem_semantic") if "mem_semantic" in op.attributes else "weak"


# ---- what a token comes after ------------------------------------------------------------------------------------
def dependencies(paths: ProgramPaths) -> dict[Operation, set[Operation]]:
    """For each operation the accesses that its token operands come after."""
    edges = [edge for op in paths.following for edge in _token_edges(op)]
    behind: dict[SSAValue, set[Operation]] = {}
    changed = True
    while changed:
        changed = False
        for source, target, access in edges:
            known = behind.setdefault(target, set())
            size = len(known)
            known |= behind.get(source, set()) if source is not None else {given(access)}
            changed |= len(known) != size
    return {
        op: set().union(*(behind.get(value, set()) for value in op.operands if value.type.name == TOKEN))
        for op in paths.following
    }


def _token_edges(op: Operation) -> list[Edge]:
    """(from token, to token, None) where one comes after the other; (None, token, access) where an access gives it."""
    made = [value for value in op.results if value.type.name == TOKEN]
    taken = [value for value in op.operands if value.type.name == TOKEN]
    if op.name in LOOPS:
        return _loop_edges(op)
    if op.name == "nv_tileas.if":
        return []
    if (target := _receiver(op)) is not None:
        return _passed(op, target)
    edges: list[Edge] = [(value, result, None) for value in taken for result in made]
    return edges + ([(None, result, op) for result in made] if op.name in ACCESSES else [])


def _receiver(op: Operation) -> Operation | None:
    """The operation whose values a terminator gives."""
    if op.name == "nv_tileas.yield":
        return op.parent_op()
    if op.name not in (CONTINUE, BREAK):
        return None
    around = op.parent_op()
    while around is not None and around.name not in LOOPS:
        around = around.parent_op()
    return around


def _loop_edges(op: Operation) -> list[Edge]:
    """What enters a loop is what its first iteration sees, and what a counted loop gives if it does not run."""
    first = len(op.operands) - len(op.results) if op.name == LOOPS[0] else 0
    arguments = op.regions[0].blocks[0].args[1 if op.name == LOOPS[0] else 0 :]
    edges: list[Edge] = [(value, argument, None) for value, argument in zip(op.operands[first:], arguments)]
    if op.name == LOOPS[0]:
        edges += [(argument, result, None) for argument, result in zip(arguments, op.results)]
    return [edge for edge in edges if edge[1].type.name == TOKEN]


def _passed(op: Operation, target: Operation) -> list[Edge]:
    """The values of a terminator: to the next iteration, or out of the loop or branch."""
    again = target.name in LOOPS and op.name != BREAK
    receivers = target.regions[0].blocks[0].args[1 if target.name == LOOPS[0] else 0 :] if again else target.results
    return [(value, result, None) for value, result in zip(op.operands, receivers) if result.type.name == TOKEN]


def _fail(kernel: Operation, first: Operation, second: Operation) -> None:
    name = string_of(kernel, "sym_name")
    message = f"kernel {name}: no barrier on a path from {first.name} to {second.name}, which comes after it"
    raise InternalError("barrier-proof", message, remedy="report this as a bug of order_tokens")
