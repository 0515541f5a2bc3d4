"""Racecheck of global memory between the threads of a CTA or a cluster."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault

# u1: the thread's own word. u2, u3: words of a thread of the other warp and of the same warp.
START = """mov.u32 t0, %tid.x; mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; xor.b32 t3, t0, 33; mul.wide.u32 u2, t3, 4; add.u64 u2, u2, u0;
xor.b32 t3, t0, 1; mul.wide.u32 u3, t3, 4; add.u64 u3, u3, u0; setp.ne.u32 p0, t0, 0;\n"""
WRITE, READ, NEAR, BARRIER = (
    "st.global.u32 [u1], t0;\n",
    "ld.global.u32 t4, [u2];\n",
    "ld.global.u32 t4, [u3];\n",
    "bar.sync 0;\n",
)
AGAIN = "add.u32 t5, t0, 7; st.global.u32 [u1], t5;\n"


def check(body: str, grid: int = 1, **options) -> None:
    run(kernel(START + body, threads=64), aligned(np.zeros(256, np.uint32)), grid=grid, check_races=True, **options)


def race(body: str) -> str:
    with pytest.raises(EmulatorFault, match="race on global memory: tid") as caught:
        check(body)
    assert caught.value.kind == "thread-race" and caught.value.thread and caught.value.address
    return str(caught.value)


def test_barriers_prevent_the_race():
    check(WRITE + BARRIER + READ + BARRIER + AGAIN + BARRIER + READ)


def test_read_after_write():
    message = race(WRITE + READ)
    assert "wrote it at line" in message and "no barrier before this read" in message and "ld.global.u32 t4" in message


def test_write_after_read():
    message = race(WRITE + BARRIER + READ + AGAIN)
    assert "read it at line" in message and "no barrier before this write" in message


def test_write_after_write():
    race(WRITE + "st.global.u32 [u2], t0;")


def test_race_within_a_warp():
    race(WRITE + NEAR)
    check(WRITE + "bar.warp.sync -1;" + NEAR)


def test_accesses_of_one_thread_are_ordered():
    check(WRITE + "ld.global.u32 t4, [u1];" + AGAIN)


def test_writes_of_one_instruction_to_one_address():
    race("st.global.u32 [u0], t0;")
    check("mov.u32 t5, 3; st.global.u32 [u0], t5;")  # one value: harmless
    check("mov.u32 t5, 3; @!p0 st.global.u32 [u0], t5; st.global.u32 [u0], t5;")


def test_accesses_of_parts_of_words():
    race("st.global.u32 [u1], t0; ld.global.u8 t4, [u2+3];")
    check("st.global.u8 [u1], t0; ld.global.u8 t4, [u2+1]; ld.global.v2.u8 {t4, t5}, [u2+2];")
    race("st.global.u8 [u1+3], t0; ld.global.u32 t4, [u2];")


def test_barrier_without_the_reader_does_not_synchronize():
    part = "setp.ge.u32 p1, t0, 32; @p1 bra X; bar.sync 1, 32; X:\n"
    race(WRITE + part + READ)


def test_cp_async_is_a_read():
    body = ".shared .align 16 .b8 s[1024]; mov.u32 t6, s; mad.lo.u32 t6, t0, 4, t6; cp.async.ca.shared.global [t6], [u2], 4; cp.async.wait_all;"
    race(WRITE + body)
    check(WRITE + BARRIER + body)


def test_accesses_of_other_ctas_are_not_checked():
    check(WRITE + BARRIER + READ, grid=2)
    with pytest.raises(EmulatorFault, match="race on global memory"):
        check(WRITE + READ, grid=2)


@pytest.mark.parametrize("other", ["atom.global.add.u32 t6, [u0+512], 1;", "ld.relaxed.gpu.global.u32 t6, [u0+512];"])
def test_kernels_that_synchronize_through_global_memory_are_not_checked(other):
    check(other + WRITE + READ)


def test_kernels_that_synchronize_through_shared_memory_are_checked():
    body = ".shared .align 16 .b8 s[64]; mov.u32 t6, s; mov.u32 t7, 0; @!p0 st.shared.u32 [t6], t7; bar.sync 0; "
    race(body + "atom.shared.add.u32 t7, [t6], 1; ld.volatile.shared.u32 t7, [t6];" + WRITE + READ)


def test_strong_stores_do_not_race():
    check("st.relaxed.gpu.global.u32 [u0], t0;")


@pytest.mark.parametrize(
    ("barrier", "is_right"), [("barrier.cluster.arrive; barrier.cluster.wait;", True), ("bar.sync 0;", False)]
)
def test_clusters(barrier, is_right):
    ptx = f"""{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 32, 1, 1 .reqnctapercluster 2, 1, 1 {{
    .reg .b32 t<8>; .reg .b64 u<8>; ld.param.u64 u0, [k_0]; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, 32, t0; xor.b32 t3, t2, 32;
    mul.wide.u32 u1, t2, 4; add.u64 u1, u1, u0; mul.wide.u32 u2, t3, 4; add.u64 u2, u2, u0;
    st.global.u32 [u1], t2; {barrier} ld.global.u32 t4, [u2]; ret; }}"""
    if is_right:
        return run(ptx, aligned(np.zeros(256, np.uint32)), grid=4, check_races=True)
    with pytest.raises(EmulatorFault, match="race on global memory"):
        run(ptx, aligned(np.zeros(256, np.uint32)), grid=4, check_races=True)
