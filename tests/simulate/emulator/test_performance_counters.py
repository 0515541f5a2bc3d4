"""Performance counters of accesses and instructions."""

import numpy as np

from tileiras_build.simulate import emulator

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 a) .reqntid 64 {{
.reg .b32 %r<4>; .reg .b64 %p<4>; .reg .f32 %f<4>;
ld.param.b64 %p0, [a]; mov.u32 %r0, %tid.x; mul.lo.s32 %r0, %r0, {step}; mul.wide.u32 %p1, %r0, 4; add.s64 %p1, %p1, %p0;
{body}
ret; }}"""


def counted(body: str, step: int = 1, jobs: int = 1) -> emulator.Counters:
    counters, memory = emulator.Counters(), emulator.Memory()
    whole = np.zeros(64 * step + 32, np.float32)
    at = -whole.__array_interface__["data"][0] % 128 // 4
    address = memory.map_array(whole) + 4 * at
    ptx = HEAD + KERNEL.format(step=step, body=body)
    emulator.run_ptx(
        ptx, "k", (3,), params=[address.to_bytes(8, "little")], memory=memory, counters=counters, jobs=jobs
    )
    return counters


def test_sectors_of_adjacent_and_scattered_words():
    near, far = counted("ld.global.f32 %f0, [%p1];"), counted("ld.global.f32 %f0, [%p1];", step=8)
    assert (near.requests, near.sectors, near.global_read) == (3 * 2, 3 * 8, 3 * 256)
    assert (far.requests, far.sectors, far.global_read) == (3 * 2, 3 * 64, 3 * 256)


def test_masked_threads_are_not_counted():
    counts = counted("setp.lt.u32 %q0, %r0, 8; @%q0 st.global.f32 [%p1], 0f00000000;".join([".reg .pred %q<1>; ", ""]))
    assert (counts.requests, counts.sectors, counts.global_written) == (3, 3, 3 * 32)


def test_atomics_count_as_writes():
    counts = counted("red.global.add.f32 [%p1], 0f3F800000;")
    assert (counts.global_written, counts.global_read) == (3 * 256, 0)


def test_instructions_are_counted_by_kind():
    counts = counted("add.f32 %f1, %f0, %f0; fma.rn.f32 %f1, %f0, %f0, %f1; add.s32 %r1, %r0, 1;")
    threads = 3 * 64
    assert counts.instructions["floating point"] == 2 * threads
    assert counts.instructions["control flow"] == threads
    assert sum(counts.instructions.values()) == counts.thread_instructions
