"""cp.async in native code; NumPy reports the faults."""

import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use
from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorError


@pytest.fixture(params=[False, True], ids=["numpy", "native code"])
def by_code(request, monkeypatch):
    use(monkeypatch, kernels=request.param)


def copy(more: str, size: str = "16") -> np.ndarray:
    body = f""".shared .align 128 .b8 s[512]; mov.u32 t0, %tid.x; mov.u32 t3, s; mad.lo.u32 t4, t0, 16, t3; mul.wide.u32 u4, t0, 16;
    add.u64 u4, u4, u0; mov.u32 t5, 16; {more} cp.async.ca.shared.global [t4], [u4], 16, {size}; cp.async.wait_all; bar.sync 0;
    ld.shared.u32 t8, [t4]; mad.lo.u32 t4, t0, 16, t3; ld.shared.u32 t9, [t4+12]; mul.wide.u32 u5, t0, 8; add.u64 u5, u5, u1;
    st.global.v2.u32 [u5], {{t8, t9}};"""
    source = aligned(np.arange(1, 129, dtype=np.uint32).reshape(32, 4))
    out = aligned(np.zeros((32, 2), np.uint32))
    run(kernel(body, 2), source, out)
    return out


def test_partial_source_size(by_code):
    out = copy("setp.eq.u32 p0, t0, 3; selp.u32 t5, 8, 16, p0;", "t5")
    expected = np.arange(1, 129, dtype=np.uint32).reshape(32, 4)[:, [0, 3]]
    expected[3, 1] = 0
    np.testing.assert_array_equal(out, expected)


def test_source_size_of_zero_with_an_invalid_address(by_code):
    out = copy("setp.eq.u32 p0, t0, 5; selp.u32 t5, 0, 16, p0; @p0 mov.u64 u4, 24;", "t5")
    assert out[5].tolist() == [0, 0] and out[6].tolist() == [25, 28]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("@p0 add.u64 u4, u4, 8;", "misaligned"), ("@p0 add.u64 u4, u4, 4096;", "outside mapped memory"),
        ("@p0 add.u32 t4, t4, 8;", "misaligned"), ("@p0 add.u32 t4, t4, 4096;", "outside the shared memory"),
    ],
)  # fmt: skip
def test_faults_are_reported(more, why, by_code):
    with pytest.raises(EmulatorError, match=why):
        copy(f"setp.eq.u32 p0, t0, 7; {more}")
