"""Vector clocks: relaxed arrivals and waits synchronize execution but do not order memory accesses."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, run
from tileiras_build.simulate.emulator import EmulatorFault

INIT, RELEASED = "@!p0 mbarrier.init.shared.b64 [t2], 1;\n", "fence.mbarrier_init.release.cluster;\n"
ARRIVE, RELAXED, WAIT = (
    "barrier.cluster.arrive.aligned;\n",
    "barrier.cluster.arrive.relaxed.aligned;\n",
    "barrier.cluster.wait.aligned;\n",
)
STORE, FENCE = "st.shared.u32 [t4], t0;\n", "fence.acq_rel.cluster;\n"
END = ARRIVE + WAIT
# The other CTA arrives at rank 0's mbarrier, and rank 0 waits.
USE = """setp.eq.u32 p1, t3, 0; mapa.shared::cluster.u32 t5, t2, 0; @p1 bra W; @!p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [t5]; bra X;
W: mbarrier.try_wait.parity.shared.b64 p2, [t2], 0; @!p2 bra W; X:\n"""
LOOK = "xor.b32 t6, t3, 1; mapa.shared::cluster.u32 t5, t4, t6; ld.shared::cluster.u32 t7, [t5];\n"


def check(body: str, findings: str = "fault") -> None:
    ptx = f"""{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 32, 1, 1 .reqnctapercluster 2, 1, 1 {{
    .reg .pred p<8>; .reg .b32 t<16>; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
    mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; mov.u32 t3, %cluster_ctarank; mad.lo.u32 t4, t0, 4, t1; setp.ne.u32 p0, t0, 0;
    {body} ret; }}"""
    run(ptx, aligned(np.zeros(64, np.uint32)), grid=2, check_races=True, findings=findings)


@pytest.mark.parametrize("before", [RELEASED + RELAXED, ARRIVE, RELEASED + ARRIVE, FENCE + RELAXED])
def test_fence_releases_an_initialization(before):
    check(INIT + before + WAIT + USE + END)


@pytest.mark.parametrize("before", [RELAXED, RELAXED + RELEASED])
def test_relaxed_arrival_does_not_release_an_initialization(before):
    with pytest.raises(EmulatorFault, match=r"race on the mbarrier .* no fence.mbarrier_init before this use"):
        check(INIT + before + WAIT + USE + END, findings="silent")


def test_initialization_without_a_barrier():
    with pytest.raises(EmulatorFault, match="no barrier before this use"):
        check(INIT + RELEASED + USE + END, findings="silent")


@pytest.mark.parametrize("before", [ARRIVE, FENCE + RELAXED])
def test_fence_releases_data(before):
    check(STORE + before + WAIT + LOOK + END)


@pytest.mark.parametrize("before", [RELAXED, RELAXED + FENCE, RELEASED + RELAXED])
def test_relaxed_arrival_does_not_release_data(before):
    body = STORE + before + WAIT + LOOK + END
    with pytest.raises(EmulatorFault, match=r"no non-relaxed barrier before this read.*\(finding arrival-relaxed\)"):
        check(body)
    check(body, findings="silent")
    with pytest.raises(EmulatorFault, match="no barrier before this read"):  # a fault, not a finding
        check(STORE + LOOK + END, findings="silent")


def test_relaxed_arrival_does_not_release_a_read():
    again = STORE.replace("t0;", "t3;")
    check(STORE + ARRIVE + WAIT + LOOK + ARRIVE + WAIT + again)
    with pytest.raises(EmulatorFault, match=r"read it at line .* before this write.*\(finding arrival-relaxed\)"):
        check(STORE + ARRIVE + WAIT + LOOK + RELAXED + WAIT + again)


@pytest.mark.parametrize(("release", "acquire", "is_ordered"), [
    ("", "", True), (".relaxed.cluster", "", False), ("", ".relaxed.cluster", False), (FENCE, FENCE, True), (FENCE, "", True),
    ("fence.acquire.cluster;", FENCE, False), (FENCE, "fence.release.cluster;", False), ("fence.release.cluster;", "fence.acquire.cluster;", True),
])  # fmt: skip
def test_relaxed_mbarrier_operations_with_fences(release, acquire, is_ordered):
    """A fence after a relaxed wait, or before a relaxed arrival, makes it an acquire or a release."""
    first, last = (text if "fence" in text else "" for text in (release, acquire))
    sem, seen = (".relaxed.cluster" if "fence" in text else text for text in (release, acquire))
    use = USE.replace(".release.cluster", sem or ".release.cluster").replace(
        "parity.shared", f"parity{seen}.shared::cta"
    )
    body = (
        INIT + ARRIVE + WAIT + STORE + ARRIVE + WAIT + STORE.replace("t0;", "t3;") + "bar.sync 0;" + first + use + last
    )
    look = "setp.eq.u32 p1, t3, 0; @!p1 bra Y;" + LOOK + "Y:\n"
    if is_ordered:
        return check(body + look + END)
    with pytest.raises(EmulatorFault, match=r"\(finding arrival-relaxed\)"):
        check(body + look + END)
