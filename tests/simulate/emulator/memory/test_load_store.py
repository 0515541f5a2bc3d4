"""Loads, stores, parameters, variables, local memory, and every kind of fault."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, evaluate, kernel, run
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault

GLOBAL_INDEX = "mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; mad.lo.u32 t2, t1, 32, t0; cvt.u64.u32 u9, t2;"


@pytest.mark.parametrize("space", ["global", ""])
@pytest.mark.parametrize("type_, count", [("b8", 1), ("b16", 1), ("b32", 1), ("b64", 1), ("b16", 2), ("b16", 4), ("b32", 2), ("b32", 4), ("b64", 2), ("b32", 8), ("b64", 4), ("b8", 4)])  # fmt: skip
def test_copies(space, type_, count):
    width = int(type_[1:]) // 8 * count
    prefix = {"b8": "h", "b16": "h", "b32": "t", "b64": "u"}[type_]
    names = [f"{prefix}{i + 4}" if prefix != "h" else f"h{i}" for i in range(count)]
    registers = names[0] if count == 1 else "{" + ", ".join(names) + "}"
    vector = f".v{count}" if count > 1 else ""
    dot = f".{space}" if space else ""
    body = f"{GLOBAL_INDEX} mad.lo.u64 u10, u9, {width}, u0; mad.lo.u64 u11, u9, {width}, u1; ld{dot}{vector}.{type_} {registers}, [u10]; st{dot}{vector}.{type_} [u11], {registers};"
    source = aligned(np.random.default_rng(0).integers(0, 256, 64 * width).astype(np.uint8))
    target = aligned(np.zeros_like(source))
    run(kernel(body, 2), source, target, grid=2)
    np.testing.assert_array_equal(target, source)


def test_sub_word_loads_extend():
    a = np.array([0x80, 0x7F, 0xFF], np.uint8)
    ptx = kernel(
        """mov.u32 t0, %tid.x; cvt.u64.u32 u2, t0; add.u64 u3, u0, u2; mad.lo.u64 u4, u2, 16, u1;
        ld.global.s8 t1, [u3]; ld.global.u8 t2, [u3]; ld.global.s8 h1, [u3]; cvt.u32.u16 t3, h1; ld.global.u8 h2, [u3]; cvt.u32.u16 t4, h2;
        st.global.v4.b32 [u4], {t1, t2, t3, t4};""",
        2, threads=3,
    )  # fmt: skip
    out = np.zeros((3, 4), np.uint32)
    run(ptx, a, out)
    assert out[0].tolist() == [0xFFFFFF80, 0x80, 0xFF80, 0x80]
    assert out[1].tolist() == [0x7F, 0x7F, 0x7F, 0x7F]


def test_qualifiers_and_hints_are_accepted():
    a = np.arange(32, dtype=np.uint32)
    body = """.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;
    cvt.u64.u32 u2, a; mad.lo.u64 u3, u10, 4, u0; prefetch.global.L2 [u3]; ld.relaxed.gpu.global.u32 t1, [u3];
    ld.volatile.global.u32 t3, [u3]; ld.acquire.sys.global.u32 t4, [u3]; ld.global.nc.L1::no_allocate.L2::128B.b32 t5, [u3];
    ld.weak.global.L2::cache_hint.u32 t6, [u3], policy; ldu.global.u32 t7, [u3]; add.u32 t1, t1, t3; add.u32 t4, t4, t5; add.u32 t6, t6, t7;
    st.release.gpu.global.u32 [u3], t1; add.u32 x, t1, t4; add.u32 x, x, t6; fence.acq_rel.gpu; membar.gl;"""
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), np.arange(32) * 6)


def test_parameters_of_all_sizes():
    ptx = (
        kernel("").split(".visible")[0]
        + """
    .visible .entry k(.param .u8 p0, .param .u16 p1, .param .f32 p2, .param .align 16 .b8 p3[20], .param .u64 .ptr .global .align 16 p4) .reqntid 1 {
    .reg .b32 t<8>; .reg .b64 u<4>; .reg .b16 h<2>;
    ld.param.u8 t0, [p0]; ld.param.u16 t1, [p1]; ld.param.b32 t2, [p2]; ld.param.v2.b32 {t3, t4}, [p3+8]; ld.param.u32 t5, [p3+16];
    ld.param.u64 u0, [p4]; st.global.v4.b32 [u0], {t0, t1, t2, t3}; st.global.v2.b32 [u0+16], {t4, t5}; ret; }"""
    )
    out = np.zeros(6, np.uint32)
    memory = emulator.Memory()
    blob = np.arange(5, dtype=np.uint32).tobytes()
    params = [b"\x81", b"\x34\x12", np.float32(1.5).tobytes(), blob, memory.map_array(out).to_bytes(8, "little")]
    emulator.run_ptx(ptx, "k", 1, None, params, memory=memory)
    assert out.tolist() == [0x81, 0x1234, 0x3FC00000, 2, 3, 4]
    with pytest.raises(ValueError, match="has 5 parameters"):
        emulator.run_ptx(ptx, "k", 1, None, params[:-1], memory=memory)


def test_generic_addresses_of_parameters():
    ptx = (
        kernel("").split(".visible")[0]
        + """
    .visible .entry k(.param .u64 p0, .param .align 16 .b8 p1[32]) .reqntid 4 {
    .reg .b32 t<8>; .reg .b64 u<8>; ld.param.u64 u0, [p0]; mov.b64 u1, p1; cvta.param.u64 u2, u1; mov.u32 t0, %tid.x; mul.wide.u32 u3, t0, 8; add.u64 u4, u2, u3;
    ld.v2.u32 {t1, t2}, [u4]; ld.param.u32 t3, [u1+4]; isspacep.param p, u2; add.u64 u5, u0, u3; add.u32 t1, t1, t3; st.global.v2.u32 [u5], {t1, t2}; ret; }"""
    )
    ptx = ptx.replace(".reg .b32 t<8>;", ".reg .b32 t<8>; .reg .pred p;")
    out = aligned(np.zeros((4, 2), np.uint32))
    memory = emulator.Memory()
    blob = np.arange(8, dtype=np.uint32)
    emulator.run_ptx(ptx, "k", 1, None, [memory.map_array(out).to_bytes(8, "little"), blob.tobytes()], memory=memory)
    np.testing.assert_array_equal(out, blob.reshape(4, 2) + [1, 0])


def test_module_variables_start_from_their_initialisers():
    extra = """.const .align 4 .b32 table[4] = {1, 2, 3, 4}; .global .align 8 .u64 pointer = generic(table)+4;
    .global .align 4 .u32 counter; .global .align 4 .f32 weights[2] = {1.5, 0f40000000}; .global .align 1 .b8 text[6] = {104, 101, 108, 108, 111};"""
    ptx = kernel(
        """ld.const.u32 t0, [table+8]; ld.global.u64 u1, [pointer]; ld.u32 t1, [u1]; ld.global.u32 t2, [counter];
        add.u32 t3, t2, 5; st.global.u32 [counter], t3; ld.global.u32 t3, [counter]; mov.u64 u2, weights; ld.global.b32 t4, [u2+4];
        ld.global.u8 t5, [text+1]; st.global.v4.u32 [u0], {t0, t1, t2, t3}; st.global.v2.u32 [u0+16], {t4, t5};""",
        extra=extra, threads=1,
    )  # fmt: skip
    for _ in range(2):
        out = np.zeros(6, np.uint32)
        run(ptx, out)
        assert out.tolist() == [3, 2, 0, 5, 0x40000000, ord("e")]


def test_local_memory_is_private():
    body = """.local .align 16 .b8 stack[32]; .reg .b64 v<3>; mov.u64 v0, stack; cvta.local.u64 v1, v0; mov.u32 t0, %tid.x;
    st.local.u32 [v0+8], t0; add.u32 t1, t0, 7; st.u32 [v1+12], t1; bar.sync 0; ld.local.v2.u32 {t2, t3}, [v0+8]; bar.sync 0;
    and.b32 t4, t0, 3; cvt.u64.u32 u1, t4; add.u64 u1, v0, u1; st.local.u8 [u1+16], t0; ld.local.u8 t5, [u1+16];
    mul.wide.u32 u2, t0, 16; add.u64 u2, u2, u0; st.global.v4.u32 [u2], {t2, t3, t5, t0};"""
    out = np.zeros((64, 4), np.uint32)
    run(kernel(body, threads=64), out)
    t = np.arange(64)
    np.testing.assert_array_equal(out, np.stack([t, t + 7, t, t], axis=1))


def test_static_and_dynamic_shared_memory():
    extra = ".extern .shared .align 128 .b8 dynamic[];"
    body = """.shared .align 4 .b8 fixed[512]; mov.u32 t0, %tid.x; shl.b32 t1, t0, 2; mov.u32 t2, fixed; add.u32 t3, t2, t1;
    mov.u32 t4, dynamic; add.u32 t5, t4, t1; st.shared.u32 [t3], t0; not.b32 t6, t0; st.shared.u32 [t5], t6; bar.sync 0;
    xor.b32 t1, t1, 508; add.u32 t3, t2, t1; add.u32 t5, t4, t1; ld.shared.u32 t7, [t3]; ld.shared.u32 t8, [t5];
    mov.u32 t9, %ctaid.x; mad.lo.u32 t9, t9, 128, t0; mul.wide.u32 u1, t9, 8; add.u64 u1, u1, u0; st.global.v2.u32 [u1], {t7, t8};"""
    out = np.zeros((3, 128, 2), np.uint32)
    run(kernel(body, threads=128, extra=extra), out, grid=3, dynamic_shared=512)
    other = 127 - np.arange(128, dtype=np.uint32)
    for cta in out:
        np.testing.assert_array_equal(cta[:, 0], other)
        np.testing.assert_array_equal(cta[:, 1], ~other)


def test_generic_addresses_of_mixed_windows():
    """Even lanes point at shared memory, odd ones at global."""
    body = """.shared .align 4 .b8 fixed[128]; mov.u32 t0, %tid.x; shl.b32 t1, t0, 2; mov.u32 t2, fixed; add.u32 t2, t2, t1; add.u32 t3, t0, 100;
    st.shared.u32 [t2], t3; cvt.u64.u32 u2, t2; cvta.shared.u64 u3, u2; cvt.u64.u32 u4, t1; add.u64 u5, u0, u4; and.b32 t4, t0, 1;
    setp.eq.u32 p1, t4, 0; selp.b64 u6, u3, u5, p1; ld.u32 t5, [u6]; add.u32 t5, t5, 1; st.u32 [u6], t5; ld.shared.u32 t6, [t2];
    add.u64 u7, u1, u4; st.global.u32 [u7], t6;"""
    a, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    run(kernel(body, 2), a, out)
    t = np.arange(32)
    np.testing.assert_array_equal(a, np.where(t % 2 == 1, t + 1, t))
    np.testing.assert_array_equal(out, np.where(t % 2 == 0, t + 101, t + 100))


def test_lanes_in_several_regions():
    a, b = np.arange(32, dtype=np.uint32), np.arange(100, 132, dtype=np.uint32)
    body = f"""{GLOBAL_INDEX} and.b32 t3, t0, 4; setp.eq.u32 p1, t3, 0; selp.b64 u3, u0, u1, p1; mad.lo.u64 u3, u9, 4, u3;
    ld.global.u32 t4, [u3]; add.u32 t5, t4, 1000; st.global.u32 [u3], t5; mad.lo.u64 u4, u9, 4, u2; st.global.u32 [u4], t4;"""
    out = np.zeros(32, np.uint32)
    t = np.arange(32)
    run(kernel(body, 3), a, b, out)
    first = t & 4 == 0
    np.testing.assert_array_equal(out, np.where(first, t, t + 100))
    np.testing.assert_array_equal(a, np.where(first, t + 1000, t))
    np.testing.assert_array_equal(b, np.where(first, t + 100, t + 1100))


def test_unaligned_mappings_work():
    raw = np.zeros(257, np.uint8)
    skip = (1 - raw.__array_interface__["data"][0]) % 16  # an address that is 1 modulo 16
    piece = raw[skip : skip + 64]
    body = f"{GLOBAL_INDEX} add.u64 u1, u0, u9; cvt.u16.u32 h0, t0; st.global.u8 [u1], h0;"
    run(kernel(body), piece)
    np.testing.assert_array_equal(piece[:32], np.arange(32))


# -- faults ------------------------------------------------------------------------------------------
def fault_of(ptx, *arrays, **options) -> EmulatorFault:
    with pytest.raises(EmulatorFault) as caught:
        run(ptx, *arrays, **options)
    return caught.value


def test_out_of_bounds_global_access():
    a = np.zeros(40, np.uint32)
    body = f"{GLOBAL_INDEX} mad.lo.u64 u1, u9, 4, u0;\nst.global.u32 [u1+4], t0;"
    fault = fault_of(kernel(body), a, grid=2)
    address = a.__array_interface__["data"][0]
    assert fault.address == address + 160 and fault.thread == ((1, 0, 0), (7, 0, 0))
    assert "st.global.u32 [u1+4], t0" in str(fault) and "outside mapped memory" in str(fault)
    line = kernel(body).splitlines().index("st.global.u32 [u1+4], t0;") + 1
    assert fault.line == line


def test_masked_lane_does_not_fault():
    a = np.zeros(8, np.uint32)
    body = f"{GLOBAL_INDEX} mad.lo.u64 u1, u9, 4, u0; setp.lt.u32 p1, t0, 8; mov.u32 t5, 9; @p1 ld.global.u32 t5, [u1]; add.u32 t6, t5, t0; @p1 st.global.u32 [u1], t6;"
    run(kernel(body), a)
    np.testing.assert_array_equal(a, np.arange(8))


def test_null_pointer_and_unmapped():
    fault = fault_of(kernel("mov.u64 u1, 16; ld.global.u32 t0, [u1];"), np.zeros(4, np.uint32))
    assert fault.address == 16
    fault = fault_of(kernel("ld.u32 t0, [u0+4096];"), np.zeros(4, np.uint32))
    assert "outside mapped memory" in fault.message


def test_misaligned_vector_access():
    fault = fault_of(kernel("ld.global.v4.u32 {t0, t1, t2, t3}, [u0+4];"), aligned(np.zeros(64, np.uint32)))
    assert "misaligned" in fault.message and "16" in fault.message


def test_shared_out_of_range():
    body = ".shared .align 4 .b8 fixed[64]; mov.u32 t0, %tid.x; shl.b32 t1, t0, 2; mov.u32 t2, fixed; add.u32 t1, t1, t2; st.shared.u32 [t1], t0;"
    fault = fault_of(kernel(body), np.zeros(1, np.uint32))
    assert fault.thread == ((0, 0, 0), (16, 0, 0)) and fault.address == 64
    assert "outside the shared memory (64 bytes)" in fault.message


def test_local_out_of_range():
    body = ".local .align 4 .b8 stack[16]; mov.u64 u1, stack; ld.local.u32 t0, [u1+4096];"
    assert "local" in fault_of(kernel(body), np.zeros(1, np.uint32)).message


def test_last_element_of_a_region_and_one_past_it():
    a = np.zeros(4, np.uint32)
    run(kernel("ld.global.u32 t0, [u0+12];"), a)
    assert fault_of(kernel("ld.global.u32 t0, [u0+16];"), a).address == a.__array_interface__["data"][0] + 16
    assert "outside" in fault_of(kernel("ld.global.u32 t0, [u0+-4];"), a).message
