"""clusterlaunchcontrol: each CTA's work is done once, by the CTA itself or by one that has canceled it."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, run
from tileiras_build.simulate.emulator import EmulatorFault

QUERY = {
    "one by one": """clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 t8, q0;
        clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 t9, q0;
        clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 t10, q0;""",
    "at once": "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {t8, t9, t10, _}, q0;",
}


def persistent(query: str, cluster: str = "1, 1, 1", more: str = "", before: str = "") -> str:
    """Each cluster adds 1 + 100 * (its own first block) to the words of its blocks, then takes over others until refused.

    t8 to t10: the first block at work, t4: this CTA's place in the cluster along x.
    """
    return f"""{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 32, 1, 1 .reqnctapercluster {cluster} {{
    .reg .pred p<4>; .reg .b32 t<24>; .reg .b64 u<8>; .reg .b128 q<2>; .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;
    ld.param.u64 u0, [k_0]; mov.u32 t0, %tid.x; setp.ne.u32 p0, t0, 0; mov.u32 t1, answer; mov.u32 t2, bar; mov.u32 t3, 0;
    mov.u32 t4, %cluster_ctaid.x; mov.u32 t8, %ctaid.x; sub.u32 t8, t8, t4; mov.u32 t9, %ctaid.y; mov.u32 t10, %ctaid.z;
    mov.u32 t11, %nctaid.x; mov.u32 t12, %nctaid.y; mad.lo.u32 t13, t10, t12, t9; mad.lo.u32 t13, t13, t11, t8; mad.lo.u32 t14, t13, 100, 1;
    @!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; {before}
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.ne.u32 p2, t4, 0;
    WORK: mad.lo.u32 t15, t10, t12, t9; mad.lo.u32 t15, t15, t11, t8; add.u32 t15, t15, t4; mul.wide.u32 u2, t15, 4; add.u64 u2, u2, u0;
    @!p0 ld.global.u32 t16, [u2]; @!p0 add.u32 t16, t16, t14; @!p0 st.global.u32 [u2], t16;
    @!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 16; bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @p2 bra WAIT; @!p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{more}.b128 [t1], [t2];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 p1, [t2], t3; @!p1 bra WAIT; xor.b32 t3, t3, 1;
    ld.shared.b128 q0, [answer]; bar.sync 0;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p3, q0; @!p3 bra OUT; {query} bra WORK;
    OUT: ret; }}"""


@pytest.mark.parametrize("query", QUERY)
@pytest.mark.parametrize("grid", [(1,), (7,), (3, 2, 2)])
def test_all_work_is_done_once(query, grid):
    words = aligned(np.zeros(int(np.prod(grid)), np.uint32))
    run(persistent(QUERY[query]), words, grid=grid)
    assert (words % 100 == 1).all()
    own = np.arange(len(words)) == words // 100
    assert own.sum() == -(-len(words) // 2) or len(words) == 1  # the other half was taken over


def test_multicast_response():
    """One CTA of a pair requests; both receive the same response."""
    words = aligned(np.zeros(12, np.uint32))
    run(persistent(QUERY["at once"], "2, 1, 1", ".multicast::cluster::all"), words, grid=12)
    assert (words % 100 == 1).all() and (words[::2] == words[1::2]).all()
    assert (words // 100 % 2 == 0).all() and (words[::2] // 100 != np.arange(0, 12, 2)).any()


def test_first_cta_of_a_failed_request():
    text = persistent(QUERY["at once"]).replace("@!p3 bra OUT;", "")
    with pytest.raises(EmulatorFault, match="did not cancel a cluster"):
        run(text, aligned(np.zeros(3, np.uint32)), grid=3)


def test_bytes_that_are_not_a_response():
    before = "ld.shared.b128 q0, [answer]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p3, q0;"
    with pytest.raises(EmulatorFault, match="not a response of clusterlaunchcontrol.try_cancel"):
        run(persistent(QUERY["at once"], before=before), aligned(np.zeros(3, np.uint32)), grid=3)


def test_response_read_before_its_wait():
    text = persistent(QUERY["at once"]).replace("WAIT: mbarrier", "ld.shared.b128 q0, [answer]; WAIT: mbarrier")
    with pytest.raises(EmulatorFault, match="before a wait for the copy to it"):
        run(text, aligned(np.zeros(3, np.uint32)), grid=3)
