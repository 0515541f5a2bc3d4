"""ldmatrix in native code: the same registers as NumPy; NumPy reports the faults."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use_kernels, use_numpy
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.simulate.emulator.native import ldmatrix_rows

THREADS, CTAS = 64, 3
START = """.shared .align 128 .b8 s[2048]; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, %ctaid.x; mad.lo.u32 t3, t2, 64, t0;
mad.wide.u32 u4, t3, 16, u0; shl.b32 t4, t0, 4; add.u32 t4, t4, t1;"""
FILL = "ld.global.v4.u32 {t8, t9, t10, t11}, [u4]; st.shared.v4.u32 [t4], {t8, t9, t10, t11}; bar.sync 0;"
# Rows written by other threads: the same in every CTA, or different.
SAME = "xor.b32 t5, t0, 37; shl.b32 t5, t5, 4; add.u32 t5, t5, t1; sub.u32 t5, t5, 1040;"
OWN = "add.u32 t5, t0, t2; xor.b32 t5, t5, 37; and.b32 t5, t5, 63; shl.b32 t5, t5, 4; add.u32 t5, t5, t1; sub.u32 t5, t5, 1040;"
STORE = "mad.wide.u32 u5, t3, 16, u1; st.global.v4.u32 [u5], {t8, t9, t10, t11};"


@pytest.fixture
def loads(monkeypatch):
    """Whether native code executed each call."""
    made, load = [], ldmatrix_rows.load

    def noted(*arguments):
        made.append(load(*arguments))
        return made[-1]

    monkeypatch.setattr(ldmatrix_rows, "load", noted)
    use_kernels(monkeypatch)
    return made


def load(count: int, trans: str, rows: str) -> str:
    names = ", ".join(f"t{8 + i}" for i in range(count))
    return f"{rows} mov.u32 t9, 0; mov.u32 t10, 0; mov.u32 t11, 0; ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [t5+1040];"


def launch(body: str) -> bytes:
    source = aligned(np.arange(CTAS * THREADS * 8, dtype=np.uint16))
    out = aligned(np.zeros((CTAS * THREADS, 4), np.uint32))
    run(kernel(START + body + STORE, 2, THREADS), source, out, grid=CTAS)
    return out.tobytes()


@pytest.mark.parametrize("rows", [SAME, OWN])
@pytest.mark.parametrize(("count", "trans"), [(1, ""), (2, ".trans"), (4, ""), (4, ".trans")])
def test_registers_equal_numpys(count, trans, rows, loads, monkeypatch):
    by_code = launch(FILL + load(count, trans, rows))
    assert len(loads) == 1 and loads[0] is not None
    use_numpy(monkeypatch)
    assert launch(FILL + load(count, trans, rows)) == by_code and len(loads) == 1


COPY = "cp.async.ca.shared.global [t4], [u4], 16;"
FAULTS = {
    "misaligned": ("setp.eq.u32 p1, t0, 9; @p1 add.u32 t5, t5, 8;", "misaligned"),
    "outside": ("setp.eq.u32 p1, t0, 9; @p1 add.u32 t5, t5, 2048;", "outside the shared memory"),
    "too early": ("setp.eq.u32 p1, t2, 2; @p1 " + COPY, "before a wait for the copy to it"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_reported(name, loads):
    before, why = FAULTS[name]
    with pytest.raises(EmulatorFault, match=why) as caught:
        launch(FILL + load(4, "", SAME + before))
    assert loads == [None] and "ldmatrix" in str(caught.value)
    if name != "too early":
        assert caught.value.thread == ((0, 0, 0), (9, 0, 0))


def test_load_after_a_wait(loads):
    launch(COPY + "cp.async.wait_all; bar.sync 0;" + load(4, "", SAME))
    assert loads[0] is not None


def test_numpy_loads_with_observers(loads):
    source, out = aligned(np.zeros(CTAS * THREADS * 8, np.uint16)), aligned(np.zeros((CTAS * THREADS, 4), np.uint32))
    run(kernel(START + FILL + load(4, "", SAME) + STORE, 2, THREADS), source, out, grid=CTAS, check_races=True)
    assert not loads
