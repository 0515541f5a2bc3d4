"""Merged 16-byte stores: the same bytes and faults as separate stores."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use, use_kernels
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.errors import EmulatorFault
from tileiras_build.simulate.emulator.native import batch_shared_stores

CTAS, THREADS = 3, 64
# Two stores per thread; with ``step`` 16, the second one overwrites a neighbor's first one.
BODY = """.shared .align 16 .b8 s[4096]; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, {threads}, t0;
mov.u32 t3, s; mad.lo.u32 t3, t0, {step}, t3; add.u32 t4, t2, 1; mul.lo.u32 t5, t2, 3; not.b32 t6, t2; xor.b32 t7, t2, 77;
st.shared.v4.u32 [t3], {{t4, t5, t6, t7}}; st.shared.v4.u32 [t3+{second}], {{t7, t6, t5, t4}}; bar.sync 0;
mov.u32 t3, s; mad.lo.u32 t3, t0, 16, t3; ld.shared.v4.u32 {{t8, t9, t10, t11}}, [t3]; add.u32 t8, t8, t9; xor.b32 t10, t10, t11;
mad.lo.u32 t8, t8, 5, t10; mad.wide.u32 u4, t2, 4, u0; st.global.u32 [u4], t8;"""


@pytest.fixture
def calls(monkeypatch):
    """Whether native code executed each call."""
    found, at_once = [], batch_shared_stores.BatchedStores.run_natively
    monkeypatch.setattr(
        batch_shared_stores.BatchedStores, "run_natively", lambda *given: (found.append(at_once(*given)), found[-1])[1]
    )
    return found


def stored(monkeypatch, *, is_ready: bool, step: int = 16, second: int = 16) -> bytes:
    use(monkeypatch, kernels=is_ready)
    out = aligned(np.zeros((CTAS, THREADS), np.uint32))
    text = (
        kernel(BODY.format(threads=THREADS, step=step, second=second), 1, THREADS) + f"// {is_ready}"
    )  # translated anew
    run(text, out, grid=CTAS)
    return out.tobytes()


@pytest.mark.parametrize(("step", "second"), [(16, 16), (16, 1024), (32, 16)])
def test_native_stores_equal_numpys(step, second, calls, monkeypatch):
    expected = stored(monkeypatch, is_ready=False, step=step, second=second)
    assert stored(monkeypatch, is_ready=True, step=step, second=second) == expected
    assert calls[-1] is True and True not in calls[:-1]


@pytest.mark.parametrize(
    ("step", "second", "why"), [(16, 8, "misaligned"), (8, 16, "misaligned"), (16, 3088, "outside the shared memory")]
)
def test_numpy_reports_faults(step, second, why, calls, monkeypatch):
    """No store has executed before the fault."""
    with pytest.raises(EmulatorFault, match=why):
        stored(monkeypatch, is_ready=True, step=step, second=second)
    assert calls == [False]


COPY = """.shared .align 16 .b8 s[4096]; mov.u32 t0, %tid.x; mov.u32 t3, s; mad.lo.u32 t3, t0, 16, t3; setp.eq.u32 p0, t0, 5;
@p0 cp.async.cg.shared.global [t3+1024], [u0], 16; st.shared.v4.u32 [t3], {t0, t0, t0, t0}; st.shared.v4.u32 [t3+1024], {t0, t0, t0, t0};
cp.async.wait_all;"""


def test_stores_to_words_of_a_copy_in_flight(calls, monkeypatch):
    use_kernels(monkeypatch)
    with pytest.raises(EmulatorFault, match="written before a wait for the copy to it"):
        run(kernel(COPY, 1, THREADS), aligned(np.zeros(16, np.uint8)), grid=CTAS)
    assert calls == [False]
