"""malloc and free (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation")."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import kernel, run
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.simulate.emulator.memory.device_heap import HEAP_BYTES

DECLARED = ".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);\n"


def allocate(size: int | str, to: str) -> str:
    return f"{{ .param .b64 n; .param .b64 r; st.param.b64 [n], {size}; call.uni (r), malloc, (n); ld.param.b64 {to}, [r]; }}"


def free(address: str) -> str:
    return f"{{ .param .b64 p; st.param.b64 [p], {address}; call.uni free, (p); }}"


def test_each_thread_gets_its_own_block():
    body = f"""mov.u32 t0, %tid.x; add.u32 t1, t0, 100; {allocate(24, "u1")} st.global.u32 [u1+20], t1; bar.sync 0;
    ld.global.u32 t2, [u1+20]; and.b64 u2, u1, 15; cvt.u32.u64 t3, u2; add.u32 t2, t2, t3;
    mul.wide.u32 u3, t0, 4; add.u64 u3, u3, u0; st.global.u32 [u3], t2; {free("u1")}"""
    out = np.zeros(32, np.uint32)
    run(kernel(body, extra=DECLARED), out)
    np.testing.assert_array_equal(out, 100 + np.arange(32))


def test_full_heap_returns_null_until_a_block_is_freed():
    body = f"""{allocate(HEAP_BYTES - 64, "u1")} {allocate(65, "u2")} st.global.u64 [u0], u2; {free("u2")} {free("u1")}
    {allocate(65, "u3")} st.global.u64 [u0+8], u3;"""
    out = np.zeros(2, np.uint64)
    run(kernel(body, extra=DECLARED, threads=1), out)
    assert out[0] == 0 and out[1] != 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (f"{allocate(8, 'u1')} {free('u1')} {free('u1')}", "free of 0x.*which is not allocated by malloc"),
        (f"{allocate(8, 'u1')} add.u64 u1, u1, 4; {free('u1')}", "which is not allocated by malloc"),
        (f"{allocate(8, 'u1')} {free('u1')} ld.global.u32 t0, [u1];", "address|mapped|memory"),
        (f"{allocate(8, 'u1')} st.global.u32 [u1+8], 1;", "address|mapped|memory"),
    ],
    ids=["twice", "inside", "after", "behind"],
)
def test_misuse_faults(body, says):
    with pytest.raises(EmulatorFault, match=says):
        run(kernel(body, extra=DECLARED, threads=1), np.zeros(1, np.uint32))
