"""The race check names both instructions; the counters count bank conflicts."""

import numpy as np
import pytest
from ptx_kernels import aligned, kernel, run

from tileiras_build.emulator import Counters, EmulatorFault

START = ".shared .align 16 .b8 s[1024]; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 4, t1; xor.b32 t3, t0, 33; mad.lo.u32 t3, t3, 4, t1;\n"
WRITE, READ, BARRIER = "st.shared.u32 [t2], t0;\n", "ld.shared.u32 t4, [t3];\n", "bar.sync 0;\n"


def check(body, **options):
    run(kernel(START + body, threads=64), np.zeros(64, np.uint32), check_races=True, **options)


def races(body):
    with pytest.raises(EmulatorFault, match="race on shared byte") as caught:
        check(body)
    return str(caught.value)


def test_barriers_make_it_clean():
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


def test_the_check_is_off_by_default(monkeypatch):
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


def test_matrix_loads_are_checked():
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
    """16-byte loads go in four phases of eight lanes: rows of 128 bytes collide, swizzled ones do not."""
    counters = Counters()
    body = """.shared .align 128 .b8 s[8192]; mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 128, t1; and.b32 t3, t0, 7; mad.lo.u32 t4, t3, 16, t2;
    ld.shared.v4.u32 {t5, t6, t7, t8}, [t2]; ld.shared.v4.u32 {t5, t6, t7, t8}, [t4];"""
    run(kernel(body), aligned(np.zeros(4, np.uint32)), counters=counters)
    assert list(counters.bank_conflicts.values()) == [4 * 7, 0]
