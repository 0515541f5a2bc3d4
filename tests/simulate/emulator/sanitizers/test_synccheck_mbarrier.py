"""Synccheck of mbarriers: arrivals that another schedule counts in another phase, and waits that miss their phase."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault

# Two warps: the first one arrives, the second one waits.
START = """.shared .align 8 .b64 bar; .shared .align 8 .b64 back; mov.u32 t0, %tid.x; mov.u32 t1, bar; mov.u32 t2, back; shr.u32 t3, t0, 5; setp.ne.u32 p0, t0, 0;
@!p0 mbarrier.init.shared.b64 [t1], COUNT; @!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; setp.ne.u32 p1, t3, 0; and.b32 t4, t0, 31; setp.ne.u32 p3, t4, 0;
"""
ARRIVE = "@!p3 mbarrier.arrive.shared.b64 _, [t1];\n"
BACK = "@!p3 mbarrier.arrive.shared.b64 _, [t2];\n"
DELAY = "mov.u32 t5, 0; {0}: add.u32 t5, t5, 1; setp.lt.u32 p4, t5, 200; @p4 bra {0};\n"


def wait(label: str, barrier: str, parity: int) -> str:
    return f"{label}: mbarrier.try_wait.parity.shared.b64 p2, [{barrier}], {parity}; @!p2 bra {label};\n"


def check(body: str, count: int = 1) -> None:
    run(
        kernel(START.replace("COUNT", str(count)) + body, threads=64),
        aligned(np.zeros(64, np.uint32)),
        check_races=True,
    )


def two(first: str, second: str) -> str:
    """Code of the first and of the second warp."""
    return f"@p1 bra SECOND;\n{first} bra END;\nSECOND: {second} END: bar.sync 0;\n"


def test_wait_before_the_next_phase_completes():
    check(two(ARRIVE + wait("A", "t2", 0) + ARRIVE, wait("B", "t1", 0) + BACK + wait("C", "t1", 1)))


def test_wait_that_may_miss_its_phase():
    """In the emulator's schedule, the second warp waits between the two phases."""
    with pytest.raises(EmulatorFault, match="may do so before a wait for the preceding phase"):
        check(two(ARRIVE + DELAY.format("L") + ARRIVE, wait("B", "t1", 0) + wait("C", "t1", 1)))


def test_arrivals_of_one_phase_are_unordered():
    check(ARRIVE + "bar.sync 0;\n" + ARRIVE, count=2)


@pytest.mark.parametrize("second", [ARRIVE, wait("B", "t2", 0) + ARRIVE])
def test_arrival_beyond_the_phase(second):
    """An arrival too many: the second arrival completes the next phase, unless it executes first."""
    message = "this may arrive in the preceding phase: it is not ordered after all arrivals of that phase"
    if second is ARRIVE:
        with pytest.raises(EmulatorFault, match=message):
            check(two(ARRIVE, DELAY.format("L") + second))
    else:
        check(two(ARRIVE + BACK, second))


@pytest.mark.parametrize(("count", "is_right"), [(64, True), (32, False), (16, False)])
def test_arrivals_of_one_instruction(count, is_right):
    body = "mbarrier.arrive.shared.b64 _, [t1];"
    if is_right:
        return check(body, count)
    with pytest.raises(EmulatorFault, match="race on the mbarrier at shared .* this may arrive in the preceding phase"):
        check(body, count)


def test_reinitialization_resets_the_phases():
    again = "bar.sync 0; @!p0 mbarrier.inval.shared.b64 [t1]; @!p0 mbarrier.init.shared.b64 [t1], 1; bar.sync 0;\n"
    check(two(ARRIVE, "") + again + two("", ARRIVE + wait("B", "t1", 0)).replace("SECOND", "S").replace("END", "E"))


def test_wgmma_synchronizes_the_warps_of_its_warpgroup():
    """All warps wait for a tile; after the wgmma, one warp releases the stage."""
    mmas = """@!p0 mbarrier.arrive.shared.b64 _, [t1]; {0} wgmma.fence.sync.aligned;
    {1} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; @!p0 mbarrier.arrive.shared.b64 _, [t1]; bar.sync 0;"""
    mma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {D0, D1, D2, D3}, u3, u3, p5, 1, 1, 0, 0;"
    head = """.shared .align 256 .b8 s[4096]; .reg .f32 D<4>; mov.u32 t6, s; shr.u32 t6, t6, 4; cvt.u64.u32 u3, t6; or.b64 u3, u3, 0x0000000800010000; mov.pred p5, 0;"""
    start = START.replace("COUNT", "1") + head

    def ptx_of(text: str) -> str:
        return kernel(start + mmas.format(wait("W", "t1", 0), text), threads=128).replace("sm_120a", "sm_90a")

    run(ptx_of(mma), aligned(np.zeros(64, np.uint32)), check_races=True)
    with pytest.raises(EmulatorFault, match="before a wait for the preceding phase"):
        run(ptx_of(""), aligned(np.zeros(64, np.uint32)), check_races=True)
