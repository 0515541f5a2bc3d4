"""Racecheck reports both instructions of a race; the counters count bank conflicts."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import Counters, EmulatorFault

START = ".shared .align 16 .b8 s[1024]; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 4, t1; xor.b32 t3, t0, 33; mad.lo.u32 t3, t3, 4, t1;\n"
WRITE, READ, BARRIER = "st.shared.u32 [t2], t0;\n", "ld.shared.u32 t4, [t3];\n", "bar.sync 0;\n"


def check(body, **options):
    run(kernel(START + body, threads=64), np.zeros(64, np.uint32), check_races=True, **options)


def races(body):
    with pytest.raises(EmulatorFault, match="race on shared byte") as caught:
        check(body)
    return str(caught.value)


def test_barriers_prevent_the_race():
    check(WRITE + BARRIER + READ + BARRIER + WRITE)


def test_read_after_write():
    message = races(WRITE + READ)
    assert "wrote it at line" in message and "st.shared.u32 [t2], t0" in message and "ld.shared.u32 t4, [t3]" in message


def test_write_after_read():
    message = races(WRITE + BARRIER + READ + "add.u32 t5, t0, 1; st.shared.u32 [t2], t5;")
    assert "read it at line" in message and "before this write" in message


def test_two_writers_of_one_byte():
    races("st.shared.u32 [t1], t0;")
    check("mov.u32 t5, 3; st.shared.u32 [t1], t5;")  # one value: harmless


def test_racecheck_is_off_by_default(monkeypatch):
    monkeypatch.delenv("TILEIRAS_EMULATOR_RACES", raising=False)
    run(kernel(START + WRITE + READ, threads=64), np.zeros(1, np.uint32))
    monkeypatch.setenv("TILEIRAS_EMULATOR_RACES", "1")
    with pytest.raises(EmulatorFault, match="race"):
        run(kernel(START + WRITE + READ, threads=64), np.zeros(1, np.uint32))


def test_warp_barrier_orders_a_warp():
    near = START.replace("xor.b32 t3, t0, 33", "xor.b32 t3, t0, 1")
    body = WRITE + "bar.warp.sync -1;\n" + READ
    run(kernel(near + body, threads=64), np.zeros(1, np.uint32), check_races=True)
    races(body)  # with lane 33 of the other warp
    with pytest.raises(EmulatorFault, match="race"):
        run(kernel(near + WRITE + READ, threads=64), np.zeros(1, np.uint32), check_races=True)


def test_async_copies_are_writes():
    body = "mul.wide.u32 u4, t0, 4; add.u64 u5, u0, u4; cp.async.ca.shared.global [t2], [u5], 4; cp.async.wait_all;\n"
    assert "cp.async" in races(body + READ)
    check(body + BARRIER + READ)


def test_atomics_are_exempt():
    check("mov.u32 t5, 0; st.shared.u32 [t2], t5; bar.sync 0; red.shared.add.u32 [t1], 1;")


def test_ldmatrix_is_checked():
    body = WRITE + "and.b32 t5, t0, 7; mad.lo.u32 t5, t5, 16, t1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {t6}, [t5];"
    assert "ldmatrix" in races(body)
    check(body.replace("ldmatrix", "bar.sync 0; ldmatrix"))


@pytest.mark.parametrize("stride, extra", [(4, 0), (8, 1), (128, 31), (0, 0), (132, 0)])
def test_bank_conflicts(stride, extra):
    counters = Counters()
    body = f".shared .align 16 .b8 s[8192]; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, {stride}, t1; ld.shared.u32 t3, [t2];"
    run(kernel(body), np.zeros(1, np.uint32), counters=counters)
    assert list(counters.bank_conflicts.values()) == [extra]


def test_bank_conflicts_of_wide_loads():
    """16-byte loads take four phases of eight lanes: rows of 128 bytes conflict, swizzled rows do not."""
    counters = Counters()
    body = """.shared .align 128 .b8 s[8192]; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 128, t1; and.b32 t3, t0, 7; mad.lo.u32 t4, t3, 16, t2;
    ld.shared.v4.u32 {t5, t6, t7, t8}, [t2]; ld.shared.v4.u32 {t5, t6, t7, t8}, [t4];"""
    run(kernel(body), aligned(np.zeros(4, np.uint32)), counters=counters)
    assert list(counters.bank_conflicts.values()) == [4 * 7, 0]


# -- mbarriers, named barriers, clusters -------------------------------------------------------------
RING = """.shared .align 16 .b8 s[256]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty; .reg .b32 a, f, e, round, parity; mov.u32 t0, %tid.x; and.b32 t1, t0, 31; mov.u32 a, s; mad.lo.u32 a, t1, 4, a;
mov.u32 f, full; mov.u32 e, empty; mov.u32 round, 0; mov.u32 parity, 0; setp.ne.u32 p1, t0, 0; @p1 bra I; mbarrier.init.shared.b64 [f], 32; mbarrier.init.shared.b64 [e], 32; I: bar.sync 0; setp.ge.u32 p2, t0, 32; @p2 bra READ;
WRITE: st.shared.u32 [a], round; mbarrier.arrive.shared.b64 _, [f];
WE: mbarrier.try_wait.parity.shared.b64 p3, [e], parity; @!p3 bra WE; xor.b32 parity, parity, 1; add.u32 round, round, 1; setp.lt.u32 p4, round, 3; @p4 bra WRITE; exit;
READ: mbarrier.try_wait.parity.shared.b64 p3, [f], parity; @!p3 bra READ;
ld.shared.u32 t4, [a]; mbarrier.arrive.shared.b64 _, [e]; xor.b32 parity, parity, 1; add.u32 round, round, 1; setp.lt.u32 p4, round, 3; @p4 bra READ;"""


def test_mbarriers_synchronize():
    run(kernel(RING, threads=64), np.zeros(1, np.uint32), check_races=True)


@pytest.mark.parametrize(
    "edit",
    [("ld.shared.u32 t4, [a]; mbarrier.arrive.shared.b64 _, [e];", "mbarrier.arrive.shared.b64 _, [e]; ld.shared.u32 t4, [a];"),
     ("st.shared.u32 [a], round; mbarrier.arrive.shared.b64 _, [f];", "mbarrier.arrive.shared.b64 _, [f]; st.shared.u32 [a], round;"),
     ("READ: mbarrier.try_wait.parity.shared.b64 p3, [f], parity; @!p3 bra READ;", "READ:")],
    ids=["empty barrier arrives too early", "full barrier arrives too early", "no wait"],
)  # fmt: skip
def test_misplaced_mbarrier_operations_race(edit):
    assert edit[0] in RING
    with pytest.raises(EmulatorFault, match="race on shared byte"):
        run(kernel(RING.replace(*edit), threads=64), np.zeros(1, np.uint32), check_races=True)


@pytest.mark.parametrize(("other", "clean"), [(32, True), (64, False)])
def test_named_barriers_synchronize_participating_warps_only(other, clean):
    """Warps 0 and 1 synchronize at barrier 1; the reader is warp 1, or warp 2, which does not participate."""
    body = f"""{START} setp.lt.u32 p1, t0, 64; @!p1 bra R; @p1 bra W; W: setp.ge.u32 p2, t0, 32; @!p2 st.shared.u32 [t2], t0; bar.sync 1, 64;
    R: setp.ge.u32 p3, t0, {other}; setp.lt.u32 p4, t0, {other + 32}; and.pred p3, p3, p4; @p3 ld.shared.u32 t5, [t1+16];"""
    if clean:
        return run(kernel(body, threads=96), np.zeros(1, np.uint32), check_races=True)
    with pytest.raises(EmulatorFault, match="race on shared byte"):
        run(kernel(body, threads=96), np.zeros(1, np.uint32), check_races=True)


@pytest.mark.parametrize("barrier", ["barrier.cluster.arrive; barrier.cluster.wait;", "bar.sync 0;"])
def test_clusters_need_the_cluster_barrier(barrier):
    body = f"""{START} mov.u32 t5, %cluster_ctarank; st.shared.u32 [t2], t0; {barrier} xor.b32 t5, t5, 1; mapa.shared::cluster.u32 t6, t2, t5; ld.shared::cluster.u32 t7, [t6];
    barrier.cluster.arrive; barrier.cluster.wait;"""
    ptx = kernel(body, threads=32)
    if "cluster" in barrier:
        return run(ptx, np.zeros(1, np.uint32), grid=2, cluster=2, check_races=True)
    with pytest.raises(EmulatorFault, match="of CTA rank"):
        run(ptx, np.zeros(1, np.uint32), grid=2, cluster=2, check_races=True, findings="silent")


@pytest.mark.parametrize(
    "order", ["fence.proxy.async; bar.sync 0;", "bar.sync 0; fence.proxy.async;", "bar.sync 0;", "fence.proxy.async;"]
)
def test_wgmma_reads_through_the_async_proxy(order):
    """The proxy fence may be on either side of the barrier; the barrier or the fence alone is not enough."""
    layout = 16 >> 4 << 16 | 256 >> 4 << 32 | 3 << 62
    zeros = "".join(f"st.shared.v4.u32 [t2+{i * 2048}], {{t3, t3, t3, t3}};" for i in range(2))
    body = f""".shared .align 256 .b8 s[4096]; .reg .b64 da, db; .reg .f32 D<4>; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 16, t1; mov.u32 t3, 0; {zeros}
    shr.u32 t4, t1, 4; cvt.u64.u32 da, t4; or.b64 da, da, {layout}; add.u64 db, da, 128; {order}
    wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{D0, D1, D2, D3}}, da, db, 0, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"""
    ptx = kernel(body, threads=128)
    if "fence" in order and "bar" in order:
        return run(ptx, np.zeros(1, np.uint32), check_races=True)
    with pytest.raises(
        EmulatorFault,
        match="no barrier before this MMA" if "bar" not in order else "no fence.proxy.async before this MMA",
    ):
        run(ptx, np.zeros(1, np.uint32), check_races=True)


def test_stmatrix_of_equal_rows_does_not_race():
    """Two rows stored to one address: no race if both have the same values."""
    body = """.shared .align 16 .b8 s[1024]; mov.u32 t0, %tid.x; mov.u32 t1, s; and.b32 t2, t0, 3; and.b32 t3, t0, 7; shr.u32 t4, t3, 1; mad.lo.u32 t3, t4, 16, t1; {}
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [t3], {{t2}};"""
    run(kernel(body.format("")), np.zeros(1, np.uint32), check_races=True)
    with pytest.raises(EmulatorFault, match="race on shared byte"):
        run(kernel(body.format("mov.u32 t2, t0;")), np.zeros(1, np.uint32), check_races=True)


def test_mbarrier_use_must_follow_initialization():
    body = """.shared .align 8 .b64 bar; mov.u32 t0, %tid.x; mov.u32 t1, bar; setp.ge.u32 p1, t0, 32; @p1 bra W; setp.ne.u32 p2, t0, 0; @!p2 mbarrier.init.shared.b64 [t1], 32; {0} bra OUT;
    W: {0} {1} mbarrier.arrive.shared.b64 _, [t1]; OUT:"""
    run(kernel(body.format("bar.sync 0;", ""), threads=64), np.zeros(1, np.uint32), check_races=True)
    wait = "mov.u32 t3, 0; L: add.u32 t3, t3, 1; setp.lt.u32 p3, t3, 200; @p3 bra L;"
    with pytest.raises(EmulatorFault, match="race on the mbarrier"):
        run(kernel(body.format("", wait), threads=64), np.zeros(1, np.uint32), check_races=True)
