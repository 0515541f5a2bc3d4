"""Constant offsets of local addresses may be negative."""

import numpy as np

from tileiras_build.simulate import emulator

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .local .align 8 .b8 depot[64];
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, depot;
    add.u32 %r2, %r1, 48;
    mov.u64 %rd1, 77;
    st.local.b64 [%r2+-40], %rd1;
    ld.local.b64 %rd2, [%r1+8];
    ld.param.u64 %rd3, [out];
    st.global.b64 [%rd3], %rd2;
    ret;
}
"""


def test_negative_offset():
    out = np.zeros(1, np.uint64)
    memory = emulator.Memory()
    memory.map_array(out)
    parameter = out.ctypes.data.to_bytes(8, "little")
    emulator.run_ptx(PTX, "k", (1, 1, 1), (1, 1, 1), [parameter], memory=memory)
    assert out[0] == 77
