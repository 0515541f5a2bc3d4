"""Clusters: special registers, distributed shared memory, the barrier, multicasts; and setmaxnreg."""

import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, run
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorError, EmulatorFault, UnsupportedInstruction
from tileiras_build.simulate.emulator.isa.setmaxnreg import bound_at_entry
from tileiras_build.simulate.emulator.ptx.parser import parse


def kernel(body, cluster="2, 1, 1", params=1, threads=32, directives=""):
    formals = ", ".join(f".param .u64 k_{i}" for i in range(params))
    loads = "".join(f"ld.param.u64 u{i}, [k_{i}];" for i in range(params))
    shape = f".reqnctapercluster {cluster}" if cluster else ""
    return f"""{HEADER}.visible .entry k({formals}) .reqntid {threads}, 1, 1 {shape} {directives} {{
    .reg .pred p<8>; .reg .b32 t<32>; .reg .b64 u<16>; .shared .align 128 .b8 pad[128]; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
    {loads} mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; mov.u32 t3, %cluster_ctarank; setp.ne.u32 p0, t0, 0;
    {body}\nret; }}"""


SYNC = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
# t8: linear number of the CTA in the grid
NUMBER = "mov.u32 t4, %ctaid.x; mov.u32 t5, %ctaid.y; mov.u32 t6, %nctaid.x; mad.lo.u32 t8, t5, t6, t4;\n"
STORE = "mul.wide.u32 u5, t8, 4; add.u64 u5, u5, u0; @!p0 st.global.u32 [u5], t9;\n"


def fault(body, grid=2, **options):
    with pytest.raises(EmulatorFault) as caught:
        run(kernel(body, **options), aligned(np.zeros(256, np.uint32)), grid=grid)
    return str(caught.value)


# -- special registers ------------------------------------------------------------------------------------------
NAMES = ["clusterid.x", "clusterid.y", "nclusterid.x", "nclusterid.y", "cluster_ctaid.x", "cluster_ctaid.y", "cluster_nctaid.x",
         "cluster_nctaid.y", "cluster_ctarank", "cluster_nctarank"]  # fmt: skip


def test_special_registers():
    """A 6 x 4 grid in clusters of 3 x 2."""
    body = NUMBER + "mul.wide.u32 u5, t8, 40; add.u64 u5, u5, u0;"
    body += "".join(f"mov.u32 t10, %{n}; st.global.u32 [u5+{4 * i}], t10;" for i, n in enumerate(NAMES))
    out = np.zeros((4, 6, len(NAMES)), np.uint32)
    run(kernel(body, "3, 2, 1", threads=1), out, grid=(6, 4))
    y, x = np.indices((4, 6))
    ones = np.ones_like(x)
    expected = [x // 3, y // 2, 2 * ones, 2 * ones, x % 3, y % 2, 3 * ones, 2 * ones, x % 3 + 3 * (y % 2), 6 * ones]
    np.testing.assert_array_equal(out, np.stack(expected, axis=-1))


def test_without_clusters_each_cta_is_a_cluster():
    body = (
        NUMBER
        + "mov.u32 t9, %cluster_nctarank; mov.u32 t10, %clusterid.x; mad.lo.u32 t9, t10, 100, t9; mov.pred p1, %is_explicit_cluster; @p1 add.u32 t9, t9, 1000;"
    )
    out = np.zeros(3, np.uint32)
    run(kernel(body + STORE, ""), out, grid=3)
    assert out.tolist() == [1, 101, 201]


def test_cluster_shape_of_the_launch():
    body = NUMBER + "mov.u32 t9, %cluster_nctarank; mov.pred p1, %is_explicit_cluster; @p1 add.u32 t9, t9, 1000;"
    out = np.zeros(4, np.uint32)
    run(kernel(body + STORE, ""), out, grid=4, cluster=(2, 1, 1))
    assert out.tolist() == [1002] * 4


def test_indivisible_grids():
    with pytest.raises(EmulatorError, match="is not divisible into clusters"):
        run(kernel(""), np.zeros(1, np.uint32), grid=3)
    with pytest.raises(EmulatorError, match="cluster of 32 CTAs"):
        run(kernel("", "32"), np.zeros(1, np.uint32), grid=32)


# -- distributed shared memory ----------------------------------------------------------------------
@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize(("cluster", "grid"), [("4, 1, 1", (8, 1)), ("2, 2, 1", (4, 4))])
def test_reading_a_neighbor(cluster, grid, generic):
    """Every CTA reads the value that the next rank has written to its own shared memory."""
    read = "mapa.shared::cluster.u32 t11, t1, t10; ld.shared::cluster.u32 t9, [t11];"
    if generic:
        read = "cvt.u64.u32 u6, t1; cvta.shared.u64 u6, u6; mapa.u64 u7, u6, t10; ld.u32 t9, [u7];"
    body = (
        NUMBER + "@!p0 st.shared.u32 [s], t8;" + SYNC + "add.u32 t10, t3, 1; and.b32 t10, t10, 3;" + read + SYNC + STORE
    )
    out = np.zeros(grid[0] * grid[1], np.uint32)
    run(kernel(body, cluster), out, grid=grid)
    x, y = [int(n) for n in cluster.split(",")[:2]]
    for cy in range(grid[1] // y):
        for cx in range(grid[0] // x):
            ranks = [(cy * y + r // x) * grid[0] + cx * x + r % x for r in range(4)]
            assert [out[n] for n in ranks] == ranks[1:] + ranks[:1]


def test_ranks_of_addresses():
    body = (
        NUMBER
        + """mapa.shared::cluster.u32 t11, t1, 1; getctarank.shared::cluster.u32 t12, t11; getctarank.shared::cluster.u32 t13, t1;
    cvt.u64.u32 u6, t11; cvta.shared::cluster.u64 u6, u6; isspacep.shared::cta p1, u6; isspacep.shared::cluster p2, u6; selp.u32 t14, 1, 0, p1; selp.u32 t15, 1, 0, p2;
    mad.lo.u32 t9, t12, 10, t13; mad.lo.u32 t9, t9, 10, t14; mad.lo.u32 t9, t9, 10, t15;"""
    )
    out = np.zeros(2, np.uint32)
    run(kernel(body + STORE), out, grid=2)
    assert out.tolist() == [
        1001,
        1111,
    ]  # digits: rank of rank 1's address, own rank, is shared::cta, is shared::cluster


def test_bit_24_of_an_address_is_the_rank():
    """Clearing it addresses the even CTA of a pair, as kernels for CTA pairs do."""
    body = (
        NUMBER
        + "st.shared.u32 [s], t8;"
        + SYNC
        + "and.b32 t11, t1, 0xFEFFFFFF; ld.shared::cluster.u32 t9, [t11];"
        + SYNC
        + STORE
    )
    out = np.zeros(4, np.uint32)
    run(kernel(body), out, grid=4)
    assert out.tolist() == [0, 0, 2, 2]


def test_atomics_and_stores_reach_the_first_cta():
    body = (
        NUMBER
        + """mov.u32 t10, 0; @!p0 st.shared.u32 [s], t10; """
        + SYNC
        + """mapa.shared::cluster.u32 t11, t1, 0; atom.add.shared::cluster.u32 t12, [t11], 1;
    mad.lo.u32 t12, t3, 4, t11; @!p0 st.shared::cluster.u32 [t12+64], t8;"""
        + SYNC
        + """ld.shared::cluster.u32 t9, [t11]; add.u32 t13, t11, 68; ld.shared::cluster.u32 t14, [t13]; mad.lo.u32 t9, t14, 1000, t9;"""
        + SYNC
        + STORE
    )
    out = np.zeros(4, np.uint32)
    run(kernel(body), out, grid=4)
    assert out.tolist() == [1064, 1064, 3064, 3064]


def test_a_remote_arrival_wakes_the_waiting_cta():
    body = (
        NUMBER
        + "@!p0 mbarrier.init.shared.b64 [t2], 32; fence.mbarrier_init.release.cluster;"
        + SYNC
        + """setp.eq.u32 p1, t3, 0; @p1 bra WAIT;
    mov.u32 t9, 0; LOOP: add.u32 t9, t9, 1; setp.lt.u32 p2, t9, 100; @p2 bra LOOP; mapa.shared::cluster.u32 t10, t2, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [t10]; bra OUT;
    WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p2, [t2], 0; @!p2 bra WAIT; mov.u32 t9, 7; OUT:"""
        + STORE
    )
    out = np.zeros(4, np.uint32)
    run(kernel(body), out, grid=4)
    assert out.tolist() == [7, 100, 7, 100]


def test_asynchronous_stores():
    """st.async writes the neighbor's memory and completes bytes on its mbarrier; red.async adds to that memory."""
    body = (
        NUMBER
        + "mov.u32 t10, 5; mul.lo.u32 t11, t0, 4; add.u32 t11, t11, t1; st.shared.u32 [t11], t10; @!p0 mbarrier.init.shared.b64 [t2], 1; @!p0 mbarrier.arrive.expect_tx.shared.b64 _, [t2], 264;"
        + SYNC
        + """
    xor.b32 t12, t3, 1; mapa.shared::cluster.u32 t13, t11, t12; mapa.shared::cluster.u32 t14, t2, t12; add.u32 t15, t0, t8;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [t13+128], t15, [t14]; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [t13], t15, [t14];
    mapa.shared::cluster.u32 t16, t1, t12; @!p0 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [t16+512], {t8, t8}, [t14];
    WAIT: mbarrier.try_wait.parity.shared.b64 p2, [t2], 0; @!p2 bra WAIT; ld.shared.u32 t17, [t11+128]; ld.shared.u32 t18, [t11]; ld.shared.u32 t19, [s+516];
    mad.lo.u32 t20, t8, 32, t0; mul.wide.u32 u5, t20, 16; add.u64 u5, u5, u0; st.global.v4.u32 [u5], {t17, t18, t19, t15};"""
    )
    out = aligned(np.zeros((2, 32, 4), np.uint32))
    run(kernel(body), out, grid=2)
    lane = np.arange(32)
    for cta in (0, 1):
        sent = lane + 1 - cta
        np.testing.assert_array_equal(out[cta], np.stack([sent, sent + 5, 0 * lane + 1 - cta, lane + cta], axis=1))


@pytest.mark.parametrize("waits", [True, False])
def test_asynchronous_store_read_before_its_wait(waits):
    body = (
        NUMBER
        + "@!p0 mbarrier.init.shared.b64 [t2], 1; @!p0 mbarrier.arrive.expect_tx.shared.b64 _, [t2], 256;"
        + SYNC
        + """mad.lo.u32 t11, t0, 8, t1; xor.b32 t12, t3, 1; mapa.shared::cluster.u32 t13, t11, t12; mapa.shared::cluster.u32 t14, t2, t12;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [t13+128], {t0, t8}, [t14];"""
        + SYNC
        + "WAIT: mbarrier.try_wait.parity.shared.b64 p2, [t2], 0; @!p2 bra WAIT; " * waits
        + "ld.shared.u32 t9, [t11+132];" + SYNC + "LATE: mbarrier.try_wait.parity.shared.b64 p2, [t2], 0; @!p2 bra LATE;" + STORE
    )  # fmt: skip
    out = np.zeros(2, np.uint32)
    if waits:
        run(kernel(body), out, grid=2)
        assert out.tolist() == [1, 0]
        return
    with pytest.raises(EmulatorFault, match="shared memory read before a wait for the copy to it at line .*st.async"):
        run(kernel(body), out, grid=2)


# -- the barrier -------------------------------------------------------------------------------------
def test_threads_that_exited_are_not_waited_for():
    body = NUMBER + "setp.ge.u32 p1, t0, 16; @p1 exit;" + SYNC + "mov.u32 t9, 3;" + STORE
    out = np.zeros(2, np.uint32)
    run(kernel(body), out, grid=2)
    assert out.tolist() == [3, 3]


def test_work_between_arrive_and_wait():
    """Warps diverge; each CTA's later write is visible after a second phase."""
    body = (
        NUMBER
        + "setp.ge.u32 p1, t0, 32; @p1 bra W; mov.u32 t9, 0; L: add.u32 t9, t9, 1; setp.lt.u32 p2, t9, 50; @p2 bra L;\nW: st.shared.u32 [s+4], t8; barrier.cluster.arrive.release; mul.lo.u32 t9, t8, 3; barrier.cluster.wait.acquire;"
    )
    body += (
        SYNC
        + "xor.b32 t10, t3, 1; mapa.shared::cluster.u32 t11, t1, t10; ld.shared::cluster.u32 t12, [t11+4]; add.u32 t9, t9, t12;"
        + SYNC
        + STORE
    )
    out = np.zeros(4, np.uint32)
    run(kernel(body, threads=64), out, grid=4)
    assert out.tolist() == [1, 3, 9, 11]


def test_misuse_of_the_barrier():
    assert "arrives at the cluster's barrier twice" in fault("barrier.cluster.arrive; barrier.cluster.arrive;")
    assert "without arriving" in fault("barrier.cluster.wait;")
    message = fault("setp.eq.u32 p1, t3, 1; @p1 bra A;\n" + SYNC + "exit; A:\nbar.sync 3, 64;")
    assert "deadlock" in message and "waits at the cluster's barrier" in message and "barrier 3" in message


# -- multicast ---------------------------------------------------------------------------------------
def test_multicast_copy():
    """Rank 0 of four copies 128 bytes to ranks 1 and 3; only their mbarriers complete."""
    body = (
        NUMBER
        + """mov.u32 t9, 0; mul.lo.u32 t10, t0, 4; add.u32 t10, t10, t1; st.shared.u32 [t10], t9; @!p0 mbarrier.init.shared.b64 [t2], 1; and.b32 t11, t3, 1; mul.lo.u32 t11, t11, 128;
    @!p0 mbarrier.arrive.expect_tx.shared.b64 _, [t2], t11;"""
        + SYNC
        + """setp.ne.u32 p1, t3, 0; @p1 bra W; .reg .b16 m; mov.u16 m, 10; add.u64 u6, u0, 4096;
    @!p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [t1], [u6], 128, [t2], m;
    W: mbarrier.try_wait.parity.shared.b64 p2, [t2], 0; @!p2 bra W; ld.shared.u32 t9, [t10]; mad.lo.u32 t12, t8, 32, t0; mul.wide.u32 u5, t12, 4; add.u64 u5, u5, u0; st.global.u32 [u5], t9;"""
        + SYNC
    )
    memory = aligned(np.zeros(2048, np.uint32))
    memory[1024:1056] = np.arange(100, 132)
    run(kernel(body, "4"), memory, grid=8)
    out = memory[:256].reshape(8, 32)
    np.testing.assert_array_equal(out, [np.arange(100, 132) if cta % 2 else np.zeros(32) for cta in range(8)])


def test_wait_that_completes_for_one_cta_only():
    """Rank 1 can continue only after rank 0: the group of both CTAs must split."""
    body = (
        "@!p0 mbarrier.init.shared.b64 [t2], 1; @!p0 fence.mbarrier_init.release.cluster;"
        + SYNC
        + """setp.eq.u32 p1, t3, 0; @!p1 bra WAIT; @!p0 mbarrier.arrive.shared.b64 _, [t2];
    WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p2, [t2], 0; @!p2 bra WAIT;
    mapa.shared::cluster.u32 t10, t2, 1; not.pred p3, p0; and.pred p1, p1, p3; @p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [t10]; add.u32 t9, t3, 7;"""
        + SYNC
    )
    out = np.zeros(2, np.uint32)
    run(kernel(body + NUMBER + STORE), out, grid=2)
    assert out.tolist() == [7, 8]


def test_grid_in_clusters():
    """PTX ISA 9.0, section 11.8, .blocksareclusters."""
    out = np.zeros(12, np.uint32)
    body = (
        NUMBER
        + "mov.u32 t9, %clusterid.x; mov.u32 t10, %ctaid.x; mad.lo.u32 t9, t9, 100, t10; mov.u32 t10, %nctaid.x; mad.lo.u32 t9, t10, 10000, t9;"
    )
    run(kernel(body + STORE, directives=".blocksareclusters"), out, grid=(3, 2))
    assert (out % 10000).tolist() == [0, 1, 102, 103, 204, 205] * 2 and (out // 10000 == 6).all()


def test_masks_outside_the_cluster():
    body = "@!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; .reg .b16 m; mov.u16 m, 5; @!p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [t1], [u0], 128, [t2], m;"
    assert "selects CTAs outside the cluster of 2" in fault(body)


# -- faults ------------------------------------------------------------------------------------------
def test_accesses_of_nonexistent_ctas():
    there = "mapa.shared::cluster.u32 t11, t1, {};"
    assert "rank 2 is outside the cluster of 2" in fault(there.format(2))
    assert "outside the cluster's shared memory" in fault(
        "or.b32 t11, t1, 0x03000000; ld.shared::cluster.u32 t9, [t11];"
    )
    assert "in a .shared::cta access" in fault(there.format(1) + "ld.shared::cta.u32 t9, [t11];")
    late = (
        "setp.eq.u32 p1, t3, 1; @p1 exit; mov.u32 t9, 0; L: add.u32 t9, t9, 1; setp.lt.u32 p2, t9, 3000; @p2 bra L;"
        + there.format(1)
    )
    assert "a CTA that has exited" in fault(late + "ld.shared::cluster.u32 t9, [t11];")


# -- registers ---------------------------------------------------------------------------------------
REGISTERS_KNOWN = ".minnctapersm 1"  # with this directive ptxas knows the register count at entry


def test_registers_move_between_warpgroups():
    """384 threads start with 168 registers each; the second group's 240 wait until the first one releases registers."""
    body = """setp.lt.u32 p1, t0, 128; @p1 bra FIRST; setmaxnreg.inc.sync.aligned.u32 240; bra OUT;
    FIRST: mov.u32 t9, 0; L: add.u32 t9, t9, 1; setp.lt.u32 p2, t9, 200; @p2 bra L; setmaxnreg.dec.sync.aligned.u32 24; OUT: mov.u32 t8, 0; mov.u32 t9, 5;"""
    out = np.zeros(1, np.uint32)
    run(kernel(body + STORE, "", threads=384, directives=REGISTERS_KNOWN), out)
    assert out[0] == 5


NEVER = "setp.lt.u32 p1, t0, 128; @p1 bra FIRST; setmaxnreg.inc.sync.aligned.u32 240; bra OUT; FIRST: setmaxnreg.dec.sync.aligned.u32 32; OUT:"


@pytest.mark.parametrize("directives", [REGISTERS_KNOWN, ".maxnreg 168", ".maxnreg 168 .minnctapersm 1"])
def test_setmaxnreg_inc_deadlock(directives):
    message = fault(NEVER, 1, cluster="", threads=384, directives=directives)
    assert "deadlock" in message and "240 registers per thread" in message
    assert "has 168 registers" in fault(
        "setmaxnreg.dec.sync.aligned.u32 176;", 1, cluster="", threads=384, directives=directives
    )


@pytest.mark.parametrize("text", [NEVER, "setmaxnreg.dec.sync.aligned.u32 176;"])
def test_setmaxnreg_that_ptxas_ignores(text):
    """Without .maxnreg and .minnctapersm, ptxas does not know the register count at entry."""
    out = np.zeros(1, np.uint32)
    run(kernel(text + "mov.u32 t8, 0; mov.u32 t9, 3;" + STORE, "", threads=384), out)
    assert out[0] == 3


@pytest.mark.parametrize("directives", [REGISTERS_KNOWN, ".maxnreg 248"])
def test_unknown_registers_at_entry(directives):
    """Without a cubin, the count at entry is ptxas' choice: 232 after 248 may be an increase."""
    out = np.zeros(1, np.uint32)
    body = "setmaxnreg.inc.sync.aligned.u32 232; mov.u32 t8, 0; mov.u32 t9, 3;" + STORE
    run(kernel(body, "", threads=128, directives=directives), out)
    assert out[0] == 3


@pytest.mark.parametrize(
    ("registers", "count", "why"), [(64, 56, "has 64 registers"), (104, 232, "deadlock"), (None, 56, None)]
)
def test_registers_of_a_cubin(registers, count, why):
    """The manifest of artifacts records the count that ptxas assigned."""
    resources = {} if registers is None else {"resources": {"registers": registers}}
    body = f"setmaxnreg.inc.sync.aligned.u32 {count};"
    artifacts = SimpleNamespace(
        ptx=kernel(body, "", threads=128, directives=REGISTERS_KNOWN), manifest={"kernels": {"k": resources}}
    )
    memory = emulator.Memory()
    params = [memory.map_array(aligned(np.zeros(16, np.uint32))).to_bytes(8, "little")]
    if why is None:
        return emulator.launch(artifacts, "k", 1, params, memory=memory)
    with pytest.raises(EmulatorFault, match=why):
        emulator.launch(artifacts, "k", 1, params, memory=memory)


def test_registers_are_allocated_in_multiples_of_eight():
    """255 registers at entry take 256 of the pool, so no registers remain."""
    out = np.zeros(1, np.uint32)
    body = "setmaxnreg.inc.sync.aligned.u32 256; mov.u32 t8, 0; mov.u32 t9, 3;" + STORE
    run(kernel(body, "", threads=256, directives=".maxnreg 256"), out)
    assert out[0] == 3


ENTRIES = [(384, REGISTERS_KNOWN), (256, ".minnctapersm 2"), (288, REGISTERS_KNOWN), (416, REGISTERS_KNOWN), (160, REGISTERS_KNOWN), (1024, REGISTERS_KNOWN), (384, ".maxnreg 100"),
           (384, ".maxnreg 104 .minnctapersm 1"), (256, ".maxnreg 255 .minnctapersm 3"), (128, REGISTERS_KNOWN)]  # fmt: skip


@pytest.mark.parametrize(("threads", "directives"), ENTRIES)
def test_registers_at_entry_are_those_of_ptxas(threads, directives, tmp_path):
    text = kernel("setmaxnreg.dec.sync.aligned.u32 24;", "", 0, threads, directives)
    (tmp_path / "k.ptx").write_text(text)
    command = [find_ptxas(), "-arch=sm_120a", "-v", "-o", tmp_path / "k.cubin", tmp_path / "k.ptx"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert bound_at_entry(parse(text).functions["k"].directives, threads) == int(
        re.search(r"Used (\d+) registers", done.stderr)[1]
    )


def test_warps_of_a_warpgroup_change_together():
    """Each warp may execute its own setmaxnreg, with the same count."""
    body = "setp.lt.u32 p1, t0, 32; @p1 bra A; setmaxnreg.dec.sync.aligned.u32 {}; bra OUT; A: setmaxnreg.dec.sync.aligned.u32 40; {} OUT: mov.u32 t8, 0; mov.u32 t9, 1;"
    out = np.zeros(1, np.uint32)
    run(kernel(body.format(40, "") + STORE, "", threads=128, directives=REGISTERS_KNOWN), out)
    assert out[0] == 1
    assert "of the warpgroup changes to" in fault(
        body.format(48, "mov.u32 t9, 2;"), 1, cluster="", threads=128, directives=REGISTERS_KNOWN
    )
    assert "has not executed the preceding setmaxnreg" in fault(
        "setp.ge.u32 p1, t0, 32; @p1 bra B; setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.dec.sync.aligned.u32 32; B: bar.sync 0;",
        1,
        cluster="",
        threads=128,
        directives=REGISTERS_KNOWN,
    )


@pytest.mark.parametrize("count", [16, 100, 264])
def test_invalid_register_counts(count):
    with pytest.raises(UnsupportedInstruction, match="a multiple of 8 from 24 to 256"):
        run(
            kernel(f"setmaxnreg.dec.sync.aligned.u32 {count};", "", threads=128, directives=REGISTERS_KNOWN),
            np.zeros(1, np.uint32),
        )
