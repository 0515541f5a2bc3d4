"""The operations that depend on an access by its tokens, through joins, branches and loops.

``earlier`` is a fixed point over all tokens of a program: fast, but a loop-carried token has the predecessors of any
iteration. ``carries_token`` follows the paths from one access with the tokens that it has produced so far: the token of
the previous iteration's access is a different value than that of the current one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ...ir.casting import unwrap
from .control_flow_paths import BREAK, CONTINUE, LOOPS, ControlFlowPaths

TOKEN = "nv_tileaa.mem_token"
READS = frozenset(f"nv_tileas.{name}" for name in ("load", "tiled_load", "multimem_load_reduce"))
WRITES = frozenset(
    f"nv_tileas.{name}"
    for name in (
        *("store", "tiled_store", "async.tiled_tma_store", "atomic_rmw", "atomic_cas", "tiled_atomic_rmw"),
        *("multimem_reduce", "multimem_store"),
    )
)
ACCESSES = READS | WRITES
# An edge from a token to one that depends on it.
Edge = tuple[SSAValue, SSAValue]
Tokens = frozenset[SSAValue]
Stops = Callable[[Operation], bool]


@dataclass(frozen=True)
class TokenPaths:
    """``earlier[op]``: the accesses that the tokens of an operation depend on, in any iteration."""

    paths: ControlFlowPaths
    predecessors: dict[Operation, set[Operation]]
    _led: dict[tuple[Operation, Stops], set[Operation]] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: ControlFlowPaths) -> TokenPaths:
        """The token paths of a program with these control flow paths."""
        return cls(paths, _earlier(paths))

    def carries_token(self, first: Operation, second: Operation, stops: Stops) -> bool:
        """Whether a path from ``first`` to ``second`` carries a token that ``first`` produced on it. Paths end at
        operations that stop.
        """
        if (first, stops) not in self._led:
            self._led[first, stops] = self._token_users(first, stops)
        return second in self._led[first, stops]

    def _token_users(self, first: Operation, stops: Stops) -> set[Operation]:
        """The operations that use such a token: a fixed point over the tokens that may be live before each operation."""
        before: dict[Operation, Tokens] = {}
        waiting = list(self._next(first, _tokens(first.results)))
        while waiting:
            op, tokens = waiting.pop()
            known = before.get(op)
            if known is not None and tokens <= known:
                continue
            before[op] = tokens = tokens | (known or frozenset())
            if not stops(op):
                waiting += self._next(op, _tokens_after(tokens, _made(op)))
        return {op for op, tokens in before.items() if tokens.intersection(op.operands)}

    def _next(self, op: Operation, tokens: Tokens) -> Iterable[tuple[Operation, Tokens]]:
        for following in self.paths.successors[op]:
            yield (
                following,
                _tokens_after(tokens, _first_iteration_tokens(following)) if _enters(op, following) else tokens,
            )


def _tokens_after(tokens: Tokens, edges: list[Edge]) -> Tokens:
    """The tokens after an operation. A redefined token has none of its former predecessors."""
    produced = {target for source, target in edges if source in tokens}
    return (tokens - {target for _, target in edges}) | produced


def _earlier(paths: ControlFlowPaths) -> dict[Operation, set[Operation]]:
    predecessors: dict[SSAValue, set[Operation]] = {}
    for op in paths.successors:
        if op.name in ACCESSES:
            predecessors |= {result: {op} for result in _tokens(op.results)}
    edges = [edge for op in paths.successors for edge in (*_first_iteration_tokens(op), *_made(op))]
    changed = True
    while changed:
        changed = False
        for source, target in edges:
            known = predecessors.setdefault(target, set())
            size = len(known)
            known |= predecessors.get(source, set())
            changed |= len(known) != size
    return {
        op: set().union(*(predecessors.get(value, set()) for value in _tokens(op.operands))) for op in paths.successors
    }


# ---- token edges ---------------------------------------------------------------------------------------------------
def _tokens(values: Iterable[SSAValue]) -> Tokens:
    return frozenset(value for value in values if value.type.name == TOKEN)


def _pairs(sources: Iterable[SSAValue], targets: Iterable[SSAValue]) -> list[Edge]:
    return [pair for pair in zip(sources, targets) if pair[1].type.name == TOKEN]


def _enters(op: Operation, following: Operation) -> bool:
    """Whether ``following`` is a loop that is entered from ``op``, which is outside of it."""
    around: Operation | None = op
    while following.name in LOOPS and around is not None:
        if around is following:
            return False
        around = around.parent_op()
    return following.name in LOOPS


def _first_iteration_tokens(op: Operation) -> list[Edge]:
    """The token edges at a loop's first iteration."""
    if op.name not in LOOPS:
        return []
    first = len(op.operands) - len(op.results) if op.name == LOOPS[0] else 0
    return _pairs(op.operands[first:], _carried(op))


def _carried(loop: Operation) -> Iterable[SSAValue]:
    return loop.regions[0].blocks[0].args[1 if loop.name == LOOPS[0] else 0 :]


def _made(op: Operation) -> list[Edge]:
    """The edges from an operation's tokens. A counted loop that ends yields its carried values."""
    if op.name in LOOPS:
        return _pairs(_carried(op), op.results) if op.name == LOOPS[0] else []
    if op.name == "nv_tileas.if":
        return []
    if (target := _terminator_target(op)) is not None:
        again = target.name in LOOPS and op.name != BREAK
        return _pairs(op.operands, _carried(target) if again else target.results)
    return [(value, result) for value in _tokens(op.operands) for result in _tokens(op.results)]


def _terminator_target(op: Operation) -> Operation | None:
    """The operation whose values a terminator yields."""
    if op.name == "nv_tileas.yield":
        return op.parent_op()
    if op.name not in (CONTINUE, BREAK):
        return None
    around = op.parent_op()
    while around is not None and around.name not in LOOPS:
        around = around.parent_op()
    return unwrap(around)
