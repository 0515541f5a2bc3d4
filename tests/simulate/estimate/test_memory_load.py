"""simulate/estimate/memory_load.py: the latency of a load, by the share of bytes that come from DRAM."""

import pytest

from tests.simulate.estimate.handwritten import LAYOUT, code, launch
from tileiras_build.simulate.estimate.constant_bank_values import Constants, GlobalBuffer
from tileiras_build.simulate.estimate.cta_work_counts import WorkCounter
from tileiras_build.simulate.estimate.memory_load import IDLE, latency_and_rate
from tileiras_build.simulate.estimate.trace_warps import Tracer
from tileiras_build.target.gpu_models import GPUS

MACHINE = GPUS["rtx5090"]
ALL = "S2R R0, SR_TID.X"  # each warp reads bytes of its own
SAME = ["S2R R0, SR_TID.X", "LOP3.LUT R0, R0, 0x1f, RZ, 0xc0, !PT"]  # all warps read the same bytes


@pytest.mark.parametrize(("lanes", "reread"), [([ALL], 0), (SAME, 3 * 128)], ids=["others", "same"])
def test_warps_that_read_the_same_wait_for_dram(lanes, reread):
    place = ["IMAD.SHL.U32 R0, R0, 0x4, RZ", f"IADD3 R2, P0, PT, R0, c[0x0][{LAYOUT.parameters:#x}], RZ"]
    high = f"IADD3.X R3, PT, PT, RZ, c[0x0][{LAYOUT.parameters + 4:#x}], RZ, P0, !PT"
    words = launch([GlobalBuffer("a", 512, "loaded")], block=(128, 1, 1))
    machine_code = code(*lanes, *place, high, "LDG.E R4, desc[UR4][R2.64]", "EXIT")
    tracer = Tracer(machine_code, words, Constants.of(words, LAYOUT, {}))
    work = WorkCounter(machine_code, MACHINE).block(tracer.warp((0, 0, 0), warp) for warp in range(4))
    assert (sum(work.read.values()), work.reread) == (512, reread)
    latency, _ = latency_and_rate(MACHINE, words, work, 512 - reread, IDLE)
    assert latency == MACHINE.dram_latency
