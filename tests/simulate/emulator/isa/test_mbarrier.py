"""mbarrier counts, suspended waits, and reports of deadlocks."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import kernel, run
from tileiras_build.simulate.emulator import Counters, EmulatorFault

START = ".shared .align 8 .b64 bar; .shared .align 8 .b64 other; mov.u32 t0, %tid.x; mov.u32 t1, bar; mov.u32 t2, other; mov.u32 t9, 0; setp.ne.u32 p7, t0, 0;\n"


def words(body, count, threads=1, **options):
    """Run a body that leaves 32-bit results of thread 0 in t4, t5, …"""
    out = np.zeros(count, np.uint32)
    stores = "@p7 exit;" + "".join(f"st.global.u32 [u0+{4 * i}], t{4 + i};" for i in range(count))
    run(kernel(START + body + stores, threads=threads), out, **options)
    return out.tolist()


def fault(body, threads=1):
    with pytest.raises(EmulatorFault) as caught:
        words(body, 1, threads)
    return str(caught.value)


INIT = "mbarrier.init.shared::cta.b64 [t1], {};"
TEST = "mbarrier.test_wait.parity.shared.b64 p{0}, [t1], {1}; selp.u32 t{2}, 1, 0, p{0};"


def test_new_mbarrier_has_completed_the_preceding_phase():
    assert words(INIT.format(1) + TEST.format(1, 0, 4) + TEST.format(2, 1, 5), 2) == [0, 1]


def test_arrive_with_a_count():
    body = INIT.format(3) + "mbarrier.arrive.shared.b64 u5, [t1], 2;" + TEST.format(1, 0, 4)
    assert words(body + "mbarrier.arrive.shared.b64 u6, [t1];" + TEST.format(2, 0, 5), 2) == [0, 1]
    pending = "mbarrier.pending_count.b64 t4, u6;"
    assert words(
        INIT.format(3)
        + "mbarrier.arrive.noComplete.shared.b64 u5, [t1], 2; mbarrier.arrive.shared.b64 u6, [t1];"
        + pending,
        1,
    ) == [1]


def test_arrivals_over_two_phases_by_one_instruction():
    """32 threads arrive at a barrier that expects 16: two phases complete, so the parity is unchanged."""
    body = "@!p7 mbarrier.init.shared.b64 [t1], 16; bar.sync 0; mbarrier.arrive.shared.b64 _, [t1]; bar.sync 0;"
    assert words(body + TEST.format(1, 1, 4), 1, 32) == [1]


def test_arrive_drop_decrements_the_expected_count():
    body = (
        INIT.format(2)
        + "mbarrier.arrive_drop.shared.b64 _, [t1]; mbarrier.arrive.shared.b64 _, [t1];"
        + TEST.format(1, 0, 4)
    )
    assert words(body + "mbarrier.arrive.shared.b64 _, [t1];" + TEST.format(2, 1, 5), 2) == [1, 1]


def test_complete_tx_before_expect_tx():
    body = INIT.format(1) + "mbarrier.complete_tx.shared.b64 [t1], 64;" + TEST.format(1, 0, 4)
    assert words(body + "mbarrier.arrive.expect_tx.shared.b64 _, [t1], 64;" + TEST.format(2, 0, 5), 2) == [0, 1]


def test_a_phase_waits_for_bytes_and_arrivals():
    body = (
        INIT.format(2)
        + "mbarrier.expect_tx.relaxed.cta.shared.b64 [t1], 64; mbarrier.arrive.shared.b64 _, [t1], 2;"
        + TEST.format(1, 0, 4)
    )
    assert words(body + "mbarrier.complete_tx.shared.b64 [t1], 64;" + TEST.format(2, 0, 5), 2) == [0, 1]


def test_suspended_warp_executes_no_blocks():
    """Warp 1 waits while warp 0 runs a loop of 3000 iterations; the waiting warp executes few blocks."""
    body = """@!p7 mbarrier.init.shared.b64 [t1], 1; bar.sync 0; setp.ge.u32 p2, t0, 32; @p2 bra WAIT;
    LOOP: add.u32 t9, t9, 1; setp.lt.u32 p3, t9, 3000; @p3 bra LOOP; @!p7 mbarrier.arrive.shared.b64 _, [t1]; bra OUT;
    WAIT: mbarrier.try_wait.parity.shared.b64 p4, [t1], 0, 100; @!p4 bra WAIT; OUT: mov.u32 t4, t9;"""
    counters = Counters()
    assert words(body, 1, 64, counters=counters) == [3000]
    assert counters.blocks < 3050


def test_half_of_a_warp_waits_for_the_other():
    body = """@!p7 mbarrier.init.shared.b64 [t1], 16; bar.sync 0; and.b32 t3, t0, 1; setp.eq.u32 p2, t3, 0; @p2 bra WAIT; mbarrier.arrive.shared.b64 _, [t1]; bra OUT;
    WAIT: mbarrier.try_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra WAIT; OUT: mov.u32 t4, 1;"""
    assert words(body, 1, 32) == [1]


def test_ctas_wait_for_their_own_mbarriers():
    body = """@!p7 mbarrier.init.shared.b64 [t1], 1; bar.sync 0; setp.ge.u32 p2, t0, 32; @p2 bra WAIT; mov.u32 t3, %ctaid.x;
    LOOP: add.u32 t9, t9, 1; setp.le.u32 p3, t9, t3; @p3 bra LOOP; @!p7 mbarrier.arrive.shared.b64 _, [t1]; exit;
    WAIT: mbarrier.try_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra WAIT; mov.u32 t3, %ctaid.x; mul.wide.u32 u5, t3, 4; add.u64 u5, u5, u0; st.global.u32 [u5], t3;"""
    out = np.zeros(9, np.uint32)
    run(kernel(START + body, threads=64), out, grid=9)
    assert out.tolist() == list(range(9))


def test_try_wait_times_out():
    body = INIT.format(1) + "mbarrier.try_wait.parity.shared.b64 p1, [t1], 0; selp.u32 t4, 1, 0, p1;"
    assert words(body, 1) == [0]


# -- faults ------------------------------------------------------------------------------------------
def test_deadlock_describes_the_waits():
    body = """@!p7 mbarrier.init.shared.b64 [t1], 2; @!p7 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; setp.ge.u32 p2, t0, 64; @p2 bra LAST; setp.ge.u32 p2, t0, 32; @p2 bra MID;
    @!p7 mbarrier.arrive.expect_tx.shared.b64 _, [t1], 48;
    A: mbarrier.try_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra A; exit;
    MID:\nB: mbarrier.try_wait.parity.shared.b64 p4, [t2], 0; @!p4 bra B; exit;
    LAST: bar.sync 5, 64; mov.u32 t4, 1;"""
    message = fault(body, 96)
    assert message.startswith("deadlock: threads wait at barrier 5")
    assert (
        "warp 2 of CTA (0, 0, 0) at line" in message and "(bar.sync 5, 64)" in message and "32 of 64 threads" in message
    )
    assert "warp 0 of CTA (0, 0, 0) at line" in message and "1 of 2 arrivals and 48 bytes pending" in message
    assert "warp 1 of CTA (0, 0, 0) at line" in message and "1 of 1 arrivals and 0 bytes pending" in message


def test_deadlock_of_test_wait_in_a_loop():
    assert "deadlock" in fault(INIT.format(1) + "A: mbarrier.test_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra A;")


def test_uninitialized_mbarrier():
    assert "the mbarrier is not initialized" in fault("mbarrier.arrive.shared.b64 _, [t1];")
    assert "the mbarrier is not initialized" in fault("mbarrier.try_wait.parity.shared.b64 p4, [t1], 0;")
    assert "the mbarrier is not initialized" in fault(
        INIT.format(1) + "mbarrier.inval.shared.b64 [t1]; mbarrier.arrive.shared.b64 _, [t1];"
    )


def test_too_many_arrivals():
    assert "more arrivals" in fault(INIT.format(1) + "mbarrier.arrive.shared.b64 _, [t1], 2;")
    assert "more arrivals" in fault(
        INIT.format(1)
        + "mbarrier.expect_tx.shared.b64 [t1], 16; mbarrier.arrive.shared.b64 _, [t1]; mbarrier.arrive.shared.b64 _, [t1];"
    )


def test_too_many_bytes():
    assert "transaction count" in fault(
        INIT.format(1) + "mbarrier.expect_tx.shared.b64 [t1], 1048575; mbarrier.expect_tx.shared.b64 [t1], 1;"
    )


def test_no_arrivals_expected():
    assert "invalid arrival count 0 of an mbarrier" in fault(INIT.format(0))


def test_deadlock_of_two_warps_with_test_wait(monkeypatch):
    from tileiras_build.simulate.emulator.simt import mbarrier_waits

    monkeypatch.setattr(mbarrier_waits, "MAX_FAILED_TESTS", 3000)
    body = "@!p7 mbarrier.init.shared.b64 [t1], 1; bar.sync 0; setp.ge.u32 p2, t0, 32; @p2 bra B;\nA: mbarrier.test_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra A; exit;"
    assert "deadlock" in fault(body + "\nB: mbarrier.test_wait.parity.shared.b64 p4, [t1], 0; @!p4 bra B;", 64)
