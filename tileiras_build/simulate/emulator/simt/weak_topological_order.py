"""The scheduling order of basic blocks, which makes diverged threads reconverge early.

Diverged threads reconverge if groups at later blocks wait for groups at earlier blocks. The order of blocks in the PTX text
is not suitable, because compilers place the latch of a loop before its header. This order is a weak topological order
(Bourdoncle, "Efficient chaotic iteration strategies with widenings"): a block follows all its predecessors except along back
edges, and a loop is contiguous: its header, its body, then its successors. Ties follow the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

Successors = Mapping[int, Sequence[int]]


def schedule_order(
    count: int, starts: Iterable[int], ends: Mapping[int, int], successors: Callable[[int], list[int]]
) -> list[int]:
    """The rank of each of ``count`` instructions in the order.

    ``starts``: the first instructions of functions; ``ends``: first instruction of a block -> its end; ``successors``: those
    of an instruction.
    """
    graph = {start: [s for s in successors(end - 1) if s < count] for start, end in ends.items()}
    order: list[int] = []
    entries = sorted(starts)
    for start, end in zip(entries, [*entries[1:], count]):
        inside = {block for block in graph if start <= block < end}
        order += order_nodes({block: [s for s in graph[block] if s in inside] for block in inside}, start)
    out, rank = [0] * count, 0
    for block in order:
        for pc in range(block, ends[block]):
            out[pc] = rank
            rank += 1
    return out


def order_nodes(graph: Successors, entry: int) -> list[int]:
    """The nodes of a graph in weak topological order."""
    order: list[int] = []
    for nodes in order_components(graph, components(graph)):
        if len(nodes) == 1:
            order += nodes
            continue
        head = loop_header(graph, nodes, entry)
        rest = nodes - {head}
        inner = {node: [s for s in graph[node] if s in rest] for node in rest}
        order += [head, *order_nodes(inner, min((s for s in graph[head] if s in rest), default=min(rest)))]
    return order


def order_components(graph: Successors, components_: Sequence[set[int]]) -> Iterator[set[int]]:
    """Components in topological order; ties in the order of the text."""
    part_of = {node: number for number, nodes in enumerate(components_) for node in nodes}
    edges = {(part_of[node], part_of[s]) for node, after in graph.items() for s in after if part_of[node] != part_of[s]}
    after: dict[int, list[int]] = {}
    missing = [0] * len(components_)
    for before, number in edges:
        after.setdefault(before, []).append(number)
        missing[number] += 1
    ready = [(min(nodes), number) for number, nodes in enumerate(components_) if not missing[number]]
    heapify(ready)
    while ready:
        _, number = heappop(ready)
        yield components_[number]
        for other in after.get(number, ()):
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, (min(components_[other]), other))


def loop_header(graph: Successors, nodes: set[int], entry: int) -> int:
    """The first entry of a loop."""
    if entry in nodes:
        return entry
    entered = {s for node, after in graph.items() if node not in nodes for s in after if s in nodes}
    return min(entered or nodes)


def components(graph: Successors) -> list[set[int]]:
    """The strongly connected components (Tarjan's algorithm)."""
    found: list[set[int]] = []
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    open_: set[int] = set()
    for root in graph:
        path = [] if root in number else [root]
        left = {root: iter(graph[root])}
        while path:
            node = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
                open_.add(node)
            after = next((s for s in left[node] if s not in number or s in open_), None)
            if after is None:
                path.pop()
                if low[node] == number[node]:
                    at = stack.index(node)
                    found.append(set(stack[at:]))
                    open_.difference_update(stack[at:])
                    del stack[at:]
                elif path:
                    low[path[-1]] = min(low[path[-1]], low[node])
            elif after in number:
                low[node] = min(low[node], number[after])
            else:
                left[after] = iter(graph[after])
                path.append(after)
    return found
