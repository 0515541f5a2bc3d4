"""A warp-specialized GEMM, correct and with typical synchronization errors."""

import numpy as np
import pytest
from ptx_kernels import kernel, run
from warp_specialized_gemm import multiply

from tileiras_build.simulate.emulator import EmulatorFault


@pytest.mark.parametrize(
    ("m", "n", "k", "stages"), [(128, 128, 64, 1), (128, 128, 448, 3), (256, 384, 192, 2), (200, 136, 72, 4)]
)
def test_gemm_results(m, n, k, stages):
    """Also for sizes that are not multiples of the tile: out-of-bounds loads are zero, out-of-bounds stores are dropped."""
    c, expected = multiply(m, n, k, stages)
    np.testing.assert_array_equal(c, expected)


def broken(*edit):
    with pytest.raises(EmulatorFault) as caught:
        multiply(k=512, stages=2, edit=edit)
    return str(caught.value)


def test_stage_that_is_never_released():
    message = broken(("@!p2 mbarrier.arrive.shared::cta.b64 _, [last];", ""))
    assert "deadlock" in message and "thread 0 of CTA (0, 0, 0)" in message and "2 of 2 arrivals" in message
    assert "warps 4-11 of CTA (0, 0, 0)" in message and "1 of 1 arrivals" in message


def test_too_few_bytes_expected():
    assert "shared memory read before a wait for the copy to it" in broken(("_, [full], 32768", "_, [full], 16384"))


def test_named_barriers_of_two_groups():
    """Warps 0-1 and 2-3 synchronize at barriers 1 and 2, chosen by a register; the code before runs once."""
    body = """.shared .b32 n[2]; mov.u32 t0, %tid.x; shr.u32 t1, t0, 6; setp.ge.u32 p1, t0, 2; mov.u32 t3, n; mad.lo.u32 t4, t0, 4, t3; mov.u32 t5, 0; @!p1 st.shared.u32 [t4], t5; bar.sync 0;
    mad.lo.u32 t4, t1, 4, t3; red.shared.add.u32 [t4], 1; add.u32 t1, t1, 1; bar.sync t1, 64; ld.shared.u32 t6, [t4]; mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t6;"""
    out = np.zeros(128, np.uint32)
    run(kernel(body, threads=128), out)
    assert (out == 64).all()


# -- racecheck ----------------------------------------------------------------------------------
def test_racecheck_passes():
    c, expected = multiply(256, 128, 512, 3, check_races=True)
    np.testing.assert_array_equal(c, expected)


RACES = {
    "a stage released while an MMA may read it": (
        "race on shared byte", ("wgmma.wait_group.sync.aligned 1;\nsetp.eq.u32 p2, last", "wgmma.wait_group.sync.aligned 2;\nsetp.eq.u32 p2, last")
    ),
    "an MMA before its tile is loaded": ("shared memory read before a wait for the copy to it", ("READY: mbarrier.try_wait.parity.shared::cta.b64 p1, [full], parity; @!p1 bra READY;", "")),
    "a stage without a wait": ("more arrivals than", ("FREE: mbarrier.try_wait.parity.shared::cta.b64 p1, [empty], parity; @!p1 bra FREE;", "")),
    "results stored before the other warps have written them": ("race on shared byte", ("bar.sync t1, 128;", "bar.warp.sync -1;")),
    "results stored without a proxy fence": ("no fence.proxy.async before this copy", ("fence.proxy.async.shared::cta;", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_racecheck_reports(name):
    why, edit = RACES[name]
    with pytest.raises(EmulatorFault, match=why):
        multiply(k=512, stages=2, edit=[edit], check_races=True)
