"""The race check of mbarriers: arrivals that another order of execution counts in another phase, and waits that are overtaken."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault

# Two warps, the first of which arrives and the second of which waits.
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
    """What each warp does."""
    return f"@p1 bra SECOND;\n{first} bra END;\nSECOND: {second} END: bar.sync 0;\n"


def test_a_phase_that_is_waited_for_in_time():
    check(two(ARRIVE + wait("A", "t2", 0) + ARRIVE, wait("B", "t1", 0) + BACK + wait("C", "t1", 1)))


def test_a_phase_that_may_be_missed():
    """Here the second warp looks in between."""
    with pytest.raises(EmulatorFault, match="nothing orders a wait for the one before it, which may be missed"):
        check(two(ARRIVE + DELAY.format("L") + ARRIVE, wait("B", "t1", 0) + wait("C", "t1", 1)))


def test_arrivals_of_one_phase_need_no_order():
    check(ARRIVE + "bar.sync 0;\n" + ARRIVE, count=2)


@pytest.mark.parametrize("second", [ARRIVE, wait("B", "t2", 0) + ARRIVE])
def test_an_arrival_past_the_phase(second):
    """One too many: the second arrival completes the next phase, unless it comes first."""
    message = "this may arrive in the phase before: nothing orders it behind all arrivals there"
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
    with pytest.raises(EmulatorFault, match="race on the mbarrier at shared .* this may arrive in the phase before"):
        check(body, count)


def test_initialised_again_it_begins_anew():
    again = "bar.sync 0; @!p0 mbarrier.inval.shared.b64 [t1]; @!p0 mbarrier.init.shared.b64 [t1], 1; bar.sync 0;\n"
    check(two(ARRIVE, "") + again + two("", ARRIVE + wait("B", "t1", 0)).replace("SECOND", "S").replace("END", "E"))


def test_products_of_a_warpgroup_tell_that_all_its_warps_have_begun():
    """The warps wait for a tile, and multiply; behind their product one of them gives the stage back."""
    products = """@!p0 mbarrier.arrive.shared.b64 _, [t1]; {0} wgmma.fence.sync.aligned;
    {1} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; @!p0 mbarrier.arrive.shared.b64 _, [t1]; bar.sync 0;"""
    product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {D0, D1, D2, D3}, u3, u3, p5, 1, 1, 0, 0;"
    head = """.shared .align 256 .b8 s[4096]; .reg .f32 D<4>; mov.u32 t6, s; shr.u32 t6, t6, 4; cvt.u64.u32 u3, t6; or.b64 u3, u3, 0x0000000800010000; mov.pred p5, 0;"""
    start = START.replace("COUNT", "1") + head

    def of(text: str) -> str:
        return kernel(start + products.format(wait("W", "t1", 0), text), threads=128).replace("sm_120a", "sm_90a")

    run(of(product), aligned(np.zeros(64, np.uint32)), check_races=True)
    with pytest.raises(EmulatorFault, match="may be missed"):
        run(of(""), aligned(np.zeros(64, np.uint32)), check_races=True)
