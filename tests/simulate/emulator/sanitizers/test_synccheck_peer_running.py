"""Synccheck of clusters: a CTA must be running while another CTA accesses its shared memory."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, run
from tileiras_build.simulate.emulator import EmulatorFault

SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
RELAXED = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n"
PEER = "xor.b32 t4, t3, 1; mapa.shared::cluster.u32 t5, t1, t4; mapa.shared::cluster.u32 t6, t2, t4;\n"
STORE = "@!p0 st.shared::cluster.u32 [t5+512], t0;\n"
USES = {
    "store": STORE,
    "load": "ld.shared::cluster.u32 t7, [t5+512];\n",
    "atomic operation": "atom.shared::cluster.add.u32 t7, [t5+512], 1;\n",
    "arrival": "@!p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [t6];\n",
    "asynchronous store": "@!p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [t5+512], t0, [t6];\n",
    "copy to both": "mov.b16 h0, 3; @!p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "[t1+512], [u0], 16, [t2], h0;\n",
    "commit": "mov.b16 h0, 3; @!p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [t2], h0;\n",
    "copy": "@!p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [t5+512], [t1], 16, [t6];\n",
}
BYTES = {"asynchronous store": 4, "copy": 16, "copy to both": 32}
ARRIVE = ("arrival", "commit")
WAIT = "W: mbarrier.try_wait.parity.shared.b64 p1, [t2], 0; @!p1 bra W;\n"


def check(body: str, findings: str = "fault", arrivals: int = 1) -> None:
    ptx = f"""{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 32, 1, 1 .reqnctapercluster 2, 1, 1 {{
    .reg .pred p<8>; .reg .b16 h<2>; .reg .b32 t<16>; .reg .b64 u<2>; ld.param.u64 u0, [k_0]; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
    mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; mov.u32 t3, %cluster_ctarank; setp.ne.u32 p0, t0, 0;
    @!p0 mbarrier.init.shared.b64 [t2], {arrivals}; fence.mbarrier_init.release.cluster; {PEER} {body} ret; }}"""
    run(ptx, aligned(np.zeros(64, np.uint32)), grid=4, check_races=True, findings=findings)


def awaited(name: str) -> str:
    """An access, and the wait for its phase if it completes a phase of the other CTA's mbarrier."""
    if name in BYTES:
        return f"@!p0 mbarrier.arrive.expect_tx.shared.b64 _, [t2], {BYTES[name]};\n" + USES[name] + WAIT
    return USES[name] + (WAIT if name in ARRIVE else "")


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("before", [SYNC, RELAXED])
def test_ctas_that_synchronize_before_and_after(name, before):
    check(before + awaited(name) + SYNC, arrivals=2 if name == "commit" else 1)


@pytest.mark.parametrize("name", ["store", "load", "atomic operation", "arrival"])
def test_relaxed_barrier_does_not_order_accesses_before_the_exit(name):
    with pytest.raises(EmulatorFault, match="may have exited before"):
        check(SYNC + USES[name] + RELAXED)
    check(SYNC + USES[name] + "fence.acq_rel.cluster;" + RELAXED)


@pytest.mark.parametrize("name", [name for name in USES if name not in BYTES and name != "arrival"])
def test_cta_that_may_not_have_started(name):
    message = r"no synchronization guarantees that CTA \(., 0, 0\), whose shared memory this accesses, has started .*\(finding peer-cta-not-running\)"
    with pytest.raises(EmulatorFault, match=message):
        check(USES[name] + SYNC)
    check(USES[name] + SYNC, findings="silent")


@pytest.mark.parametrize("name", [name for name in USES if name not in BYTES and name != "commit"])
def test_cta_that_may_have_exited(name):
    """In the emulator both exit together."""
    with pytest.raises(
        EmulatorFault,
        match=r"whose shared memory this accesses, may have exited before .*\(finding peer-cta-not-running\)",
    ):
        check(SYNC + USES[name])


def test_one_synchronized_thread_is_enough():
    """One thread waits for an arrival that follows the access."""
    check(SYNC + STORE + USES["arrival"] + WAIT)
    with pytest.raises(EmulatorFault, match="may have exited before"):
        check(SYNC + USES["arrival"] + STORE + WAIT)


def test_own_shared_memory_needs_no_synchronization():
    check(
        "mapa.shared::cluster.u32 t5, t1, t3; @!p0 st.shared::cluster.u32 [t5], t3; @!p0 ld.shared::cluster.u32 t7, [t5];"
    )
