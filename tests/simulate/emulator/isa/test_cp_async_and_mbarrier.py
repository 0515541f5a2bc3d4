"""cp.async is performed at its wait; mbarriers complete phases."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault

START = ".shared .align 128 .b8 s[2048]; mov.u32 t0, %tid.x; mul.wide.u32 u4, t0, 16; add.u64 u5, u0, u4; mov.u32 t1, s; mad.lo.u32 t2, t0, 16, t1;"
STORE = "ld.shared.v4.u32 {t4, t5, t6, t7}, [t2]; add.u64 u6, u1, u4; st.global.v4.u32 [u6], {t4, t5, t6, t7};"


def copy(body, threads=32):
    source = aligned(np.arange(4 * threads, dtype=np.uint32))
    out = aligned(np.zeros((threads, 4), np.uint32))
    run(kernel(START + body + STORE, 2, threads), source, out)
    return out, source.reshape(threads, 4)


def test_bytes_are_visible_after_the_wait():
    out, source = copy(
        "cp.async.cg.shared.global.L2::128B [t2], [u5], 16; cp.async.commit_group; cp.async.wait_group 0;"
    )
    np.testing.assert_array_equal(out, source)


ZERO = "mov.u32 t9, 7; st.shared.v4.u32 [t2], {t9, t9, t9, t9};"
ISSUE = "cp.async.ca.shared.global [t2], [u5], 16; cp.async.commit_group;"
TOUCHES = {
    "read": "ld.shared.u32 t8, [t2];", "read wide": "ld.shared.v4.u32 {t4, t5, t6, t7}, [t2];", "read a byte": "ld.shared.u8 t8, [t2+15];",
    "read by another thread": "xor.b32 t8, t0, 1; mad.lo.u32 t8, t8, 16, t1; ld.shared.u32 t8, [t8];",
    "read by one thread": "setp.eq.u32 p1, t0, 3; @p1 ld.shared.u32 t8, [t2];",
    "read through a generic address": "cvt.u64.u32 u6, t2; cvta.shared.u64 u6, u6; ld.u32 t8, [u6];",
    "read as a matrix": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {t4, t5, t6, t7}, [t2];", "written": "st.shared.u32 [t2+4], t0;",
}  # fmt: skip


@pytest.mark.parametrize("name", TOUCHES)
def test_accesses_before_the_wait(name):
    with pytest.raises(
        EmulatorFault, match=r"shared memory (read|written) before a wait for the copy to it at line \d+ .cp.async.ca"
    ):
        copy(ISSUE + TOUCHES[name] + "cp.async.wait_all;")
    out, source = copy(TOUCHES[name].replace("st.shared.u32 [t2+4], t0;", "") + ISSUE + "cp.async.wait_all;")
    np.testing.assert_array_equal(out, source)


def test_accesses_of_adjacent_words():
    """Words 2 and 3 of each chunk of 16 bytes while the copies of the other words are in flight."""
    body = (
        ZERO
        + "cp.async.ca.shared.global [t2], [u5], 8; ld.shared.v2.u32 {t4, t5}, [t2+8]; st.shared.u32 [t2+12], t5; cp.async.wait_all;"
    )
    out, source = copy(body)
    np.testing.assert_array_equal(out[:, :2], source[:, :2])
    assert (out[:, 2:] == 7).all()


def test_fault_names_the_reading_thread():
    with pytest.raises(EmulatorFault) as caught:
        copy(ISSUE + TOUCHES["read by one thread"] + "cp.async.wait_all;")
    assert caught.value.thread == ((0, 0, 0), (3, 0, 0)) and caught.value.address == 48


def test_groups_complete_in_order():
    """Two groups; waiting for all but the newest leaves only the second one out."""
    body = """cp.async.ca.shared.global [t2], [u5], 8; cp.async.commit_group; cp.async.ca.shared.global [t2+8], [u5+8], 8;
    cp.async.commit_group; cp.async.wait_group 1; ld.shared.v2.u32 {t4, t5}, [t2];"""
    out, source = copy(body + "cp.async.wait_all;")
    np.testing.assert_array_equal(out, source)
    with pytest.raises(EmulatorFault, match="before a wait for the copy to it"):
        copy(body)


@pytest.mark.parametrize("size", [0, 4, 10, 16])
def test_source_size_fills_with_zeros(size):
    out, source = copy(f"mov.u32 t8, {size}; cp.async.cg.shared.global [t2], [u5], 16, t8; cp.async.wait_all;")
    want = source.copy().view(np.uint8)
    want[:, size:] = 0
    np.testing.assert_array_equal(out.view(np.uint8), want)


def test_source_size_of_zero_reads_nothing():
    out, _ = copy("add.u64 u5, u5, 1048576; cp.async.cg.shared.global [t2], [u5], 16, 0; cp.async.wait_all;")
    assert (out == 0).all()
    with pytest.raises(EmulatorFault, match="outside mapped memory"):
        copy("add.u64 u5, u5, 1048576; cp.async.cg.shared.global [t2], [u5], 16; cp.async.wait_all;")


def test_predicated_copies_and_diverged_waits():
    """Even lanes copy; lanes below 8 wait in a branch of their own, where alone the bytes are there."""
    body = """mov.u32 t9, 7; st.shared.v4.u32 [t2], {t9, t9, t9, t9}; and.b32 t3, t0, 1; setp.eq.u32 p1, t3, 0; @p1 cp.async.cg.shared.global [t2], [u5], 16;
    cp.async.commit_group; setp.lt.u32 p2, t0, 8; @!p2 bra OTHER; cp.async.wait_group 0; OTHER: setp.lt.u32 p3, t0, LANES; @p3 ld.shared.u32 t4, [t2];
    cp.async.wait_all;"""
    out, source = copy(body.replace("LANES", "8"))
    np.testing.assert_array_equal(out, np.where(np.arange(32)[:, None] % 2 == 0, source, 7))
    with pytest.raises(EmulatorFault, match="before a wait for the copy to it") as caught:
        copy(body.replace("LANES", "10"))
    assert caught.value.thread[1] == (8, 0, 0)


# -- mbarrier ----------------------------------------------------------------------------------------
def test_mbarrier_phases_synchronize_two_warps():
    """Warp 0 writes three rounds; warp 1 waits for each phase by parity."""
    body = """.shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 4 .b8 s[128]; .reg .b32 round, parity, acc, f, e; mov.u32 t0, %tid.x; and.b32 t1, t0, 31; shl.b32 t2, t1, 2;
    mov.u32 t3, s; add.u32 t2, t2, t3; mov.u32 f, full; mov.u32 e, empty; mov.u32 acc, 0; mov.u32 round, 0; mov.u32 parity, 0;
    setp.ne.u32 p1, t0, 0; @p1 bra I; mbarrier.init.shared::cta.b64 [f], 32; mbarrier.init.shared.b64 [e], 32; I: bar.sync 0; setp.ge.u32 p2, t0, 32; @p2 bra CONSUME;
    P: mad.lo.u32 t4, round, 100, t1; st.shared.u32 [t2], t4; mbarrier.arrive.shared.b64 u8, [f];
    WE: mbarrier.try_wait.parity.shared::cta.b64 p3, [e], parity; @!p3 bra WE; xor.b32 parity, parity, 1; add.u32 round, round, 1; setp.lt.u32 p4, round, 3; @p4 bra P; exit;
    CONSUME: mbarrier.try_wait.parity.shared.b64 p3, [f], parity; @!p3 bra CONSUME; ld.shared.u32 t4, [t2]; add.u32 acc, acc, t4; mbarrier.arrive.shared.b64 _, [e];
    xor.b32 parity, parity, 1; add.u32 round, round, 1; setp.lt.u32 p4, round, 3; @p4 bra CONSUME; mul.wide.u32 u1, t1, 4; add.u64 u1, u1, u0; st.global.u32 [u1], acc;"""
    out = np.zeros(32, np.uint32)
    run(kernel(body, threads=64), out)
    np.testing.assert_array_equal(out, 300 + 3 * np.arange(32))


def test_mbarrier_waits_for_expected_bytes():
    body = """.shared .align 8 .b64 bar; mov.u32 t0, bar; mbarrier.init.shared.b64 [t0], 1; mbarrier.arrive.expect_tx.shared.b64 u1, [t0], 256;
    mbarrier.test_wait.shared.b64 p1, [t0], u1; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [t0], 256; mbarrier.test_wait.shared.b64 p2, [t0], u1; mbarrier.test_wait.parity.shared.b64 p3, [t0], 1;
    selp.u32 t1, 1, 0, p1; selp.u32 t2, 1, 0, p2; selp.u32 t3, 1, 0, p3; st.global.u32 [u0], t1; st.global.u32 [u0+4], t2; st.global.u32 [u0+8], t3;"""
    out = np.zeros(3, np.uint32)
    run(kernel(body, threads=1), out)
    assert out.tolist() == [0, 1, 0]


BARRIER = """.shared .align 8 .b64 bar; .reg .b32 b; .reg .pred q; mov.u32 b, bar; setp.eq.u32 q, t0, 0;
    @q mbarrier.init.shared.b64 [b], {count}; bar.sync 0; cp.async.ca.shared.global [t2], [u5], 16;"""
WAIT = "WAIT: mbarrier.test_wait.parity.shared.b64 p1, [b], 0; @!p1 bra WAIT;"


@pytest.mark.parametrize("threads", [32, 96])
def test_mbarrier_arrive_of_copies(threads):
    """Each thread's arrival is one of those that the barrier was initialised for; its copies have landed by then."""
    arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [b];"
    out, source = copy(BARRIER.format(count=threads) + arrive + WAIT, threads)
    np.testing.assert_array_equal(out, source)


def test_mbarrier_arrive_of_copies_without_noinc():
    """Without .noinc, the pending count is incremented first: the phase completes after the initialized count."""
    arrive = "cp.async.mbarrier.arrive.shared.b64 [b]; bar.sync 0; @q mbarrier.arrive.shared.b64 u7, [b];"
    out, source = copy(BARRIER.format(count=1) + arrive + WAIT, 64)
    np.testing.assert_array_equal(out, source)


def test_mbarrier_arrive_of_copies_with_noinc():
    """With .noinc and a count of one, the first thread's copy completes the phase."""
    body = BARRIER.format(count=2) + "@q cp.async.mbarrier.arrive.noinc.shared.b64 [b]; bar.sync 0;"
    tested = "mbarrier.test_wait.parity.shared.b64 p1, [b], 0; selp.u32 t4, 1, 0, p1; st.shared.u32 [t2], t4;"
    out, _ = copy(body + "cp.async.wait_all; bar.sync 0;" + tested)
    assert (out[:, 0] == 0).all()
