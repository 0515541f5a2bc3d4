"""The scheduling order of basic blocks."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.simt.scheduler import Scheduler
from tileiras_build.simulate.emulator.simt.weak_topological_order import components, order_nodes

THREADS = 64

# A loop body of four blocks, whose latch precedes the header in the text, as LLVM lays out rotated loops.
ROTATED = """mov.u32 t0, %tid.x; mov.u32 t1, 0; mov.u32 t2, 0; and.b32 t3, t0, 1; setp.eq.u32 p0, t3, 0; bra.uni HEAD;
LATCH: add.u32 t1, t1, 1; setp.ge.u32 p1, t1, 8; @p1 bra END;
HEAD: @p0 bra LATCH; setp.lt.u32 p2, t0, 32; @p2 bra LATCH; add.u32 t2, t2, t0; bra.uni LATCH;
END: mad.wide.u32 u4, t0, 4, u0; st.global.u32 [u4], t2;"""


@pytest.mark.parametrize(
    "graph, order",
    [
        ({0: [2], 1: [2, 3], 2: [1], 3: []}, [0, 2, 1, 3]),  # the latch of a loop before its header
        ({0: [1, 2], 1: [3], 2: [3], 3: []}, [0, 1, 2, 3]),
        ({0: [5, 1], 1: [2], 2: [1, 3], 3: [4], 4: [3, 5], 5: []}, [0, 1, 2, 3, 4, 5]),  # one loop after another
        ({0: [3], 1: [2, 3], 2: [2, 1], 3: [2, 4], 4: []}, [0, 3, 2, 1, 4]),  # a loop in a loop
        ({0: [1], 1: [1, 2], 2: [], 3: [2]}, [0, 1, 3, 2]),  # an unreachable block
    ],
)
def test_blocks_follow_their_predecessors(graph, order):
    assert order_nodes(graph, 0) == order


def test_strongly_connected_components():
    rng = np.random.default_rng(0)
    for count in range(1, 9):
        graph = {node: rng.integers(0, count, rng.integers(0, 4)).tolist() for node in range(count)}
        leads = np.eye(count, dtype=bool)
        for node, after in graph.items():
            leads[node, after] = True
        for _ in range(count):
            leads |= leads @ leads
        both = leads & leads.T
        expected = {frozenset(np.flatnonzero(both[node]).tolist()) for node in range(count)}
        found = components(graph)
        assert {frozenset(nodes) for nodes in found} == expected and sum(map(len, found)) == count


def test_threads_reconverge_at_the_latch_of_a_rotated_loop(monkeypatch):
    """Each group executes each of its blocks once per iteration, and all threads execute the latch together."""
    splits, step = [], Scheduler.handle

    def handle(self, group, result):
        splits.append(group.size)
        return step(self, group, result)

    monkeypatch.setattr(Scheduler, "handle", handle)
    out = aligned(np.zeros(THREADS, np.uint32))
    run(kernel(ROTATED, 1, THREADS), out)
    tid = np.arange(THREADS)
    np.testing.assert_array_equal(out, np.where((tid % 2 == 1) & (tid >= 32), 8 * tid, 0))
    assert splits == [THREADS, THREADS // 2] * 8 + [THREADS]
