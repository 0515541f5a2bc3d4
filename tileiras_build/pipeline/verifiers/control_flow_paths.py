"""The paths of a tile program: which operation may run right after which.

Structured control flow becomes a graph of operations. A counted loop exits from its header or by a break, an infinite
loop by a break only; the regions of reductions and scans are not part of the graph. Of warp partitions, the paths of
the consumers count: a producer runs concurrently, and ``mbarrier_pipelines.py`` proves that they agree. The other
verifiers of programs traverse these paths; the passes that they verify recurse over the structure instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

LOOPS = ("nv_tileas.for", "nv_tileas.loop")
BRANCH, CONTINUE, BREAK = "nv_tileas.if", "nv_tileas.continue", "nv_tileas.break"
AGENT_SWITCH, RETURN = "nv_tileas.agent_switch", "nv_tileaa.return"


@dataclass
class ControlFlowPaths:
    """``following[op]``: the operations that may run next."""

    successors: dict[Operation, set[Operation]] = field(default_factory=dict)

    def connect(self, sources: Iterable[Operation], target: Operation) -> None:
        """``target`` may run right after each of the sources."""
        self.successors.setdefault(target, set())
        for source in sources:
            self.successors[source].add(target)

    def reachable_from(self, start: Operation, stops: Callable[[Operation], bool]) -> Iterator[Operation]:
        """The operations that may run after ``start`` (itself, too, around a loop), up to operations that stop."""
        waiting, seen = list(self.successors[start]), set()
        while waiting:
            op = waiting.pop()
            if op in seen:
                continue
            seen.add(op)
            yield op
            if not stops(op):
                waiting.extend(self.successors[op])


def control_flow_paths(kernel: Operation) -> ControlFlowPaths:
    """The paths of a ``nv_tileaa.func``."""
    paths = ControlFlowPaths()
    _walk(paths, kernel.regions[0].blocks[0], [], None, [])
    return paths


def kernels_of(module: ModuleOp) -> list[Operation]:
    """The kernels of a module."""
    return [op for op in module.body.block.ops if op.name == "nv_tileaa.func"]


def _walk(
    paths: ControlFlowPaths, block: Block, before: list[Operation], header: Operation | None, breaks: list[Operation]
) -> list[Operation]:
    """Add a block that is entered from ``before``; return the operations after which it is left."""
    for op in block.ops:
        paths.connect(before, op)
        before = [op]
        if op.name in LOOPS:
            left: list[Operation] = []
            ends = _walk(paths, op.regions[0].blocks[0], [op], op, left)
            paths.connect(ends, op)
            before = left + ([op] if op.name == LOOPS[0] else [])
        elif op.name == BRANCH:
            before = [end for region in op.regions for end in _walk(paths, region.blocks[0], [op], header, breaks)]
        elif op.name == AGENT_SWITCH:
            before = _walk(paths, op.regions[-1].blocks[0], [op], header, breaks)
        elif op.name == RETURN:
            return []
        elif op.name == BREAK:
            breaks.append(op)
            return []
        elif op.name == CONTINUE and header is not None and op.parent_op() is not header:
            paths.connect([op], header)
            return []
    return before
