"""Moves, packing, selection and comparison."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import evaluate, kernel, run


def test_pack_and_unpack():
    a = np.array([0x1122334455667788], np.uint64)
    body = "mov.b64 {t3, t4}, a; mov.b32 {h1, h2}, t3; mov.b64 x, {t4, t3}; mov.b32 y, {h2, h1}; mov.b64 {h3, h4, h5, h6}, a; mov.b64 z, {h6, h5, h4, h3};"
    x, y, z = evaluate(body, a, out=(np.uint64, np.uint32, np.uint64))
    assert hex(x[0]) == "0x5566778811223344" and hex(y[0]) == "0x77885566" and hex(z[0]) == "0x7788556633441122"


def test_wide_moves():
    a, b = np.array([5], np.uint64), np.array([7], np.uint64)
    body = "{ .reg .b128 q; mov.b128 q, {a, b}; mov.b128 {x, y}, q; }"
    x, y = evaluate(body, a, b, out=(np.uint64,) * 2)
    assert (x[0], y[0]) == (5, 7)


CONDITIONS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integer_comparisons(type_):
    width = int(type_[1:])
    values = [0, 1, 5, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    a = np.array([x for x in values for _ in values], f"u{width // 8}")
    b = np.array([y for _ in values for y in values], f"u{width // 8}")
    view = f"i{width // 8}" if type_[0] == "s" else a.dtype
    for name, function in CONDITIONS.items():
        got = evaluate(
            f"setp.{name}.{type_} p1, a, b; selp.u32 x, 1, 0, p1; set.{name}.u32.{type_} y, a, b;",
            a,
            b,
            out=(np.uint32,) * 2,
        )
        want = function(a.view(view), b.view(view))
        np.testing.assert_array_equal(got[0], want)
        np.testing.assert_array_equal(got[1], np.where(want, 0xFFFFFFFF, 0))


def test_unsigned_condition_names():
    a, b = np.array([1, 0xFFFFFFFF], np.uint32), np.array([0xFFFFFFFF, 1], np.uint32)
    got = evaluate(
        "setp.lo.u32 p1, a, b; setp.hs.u32 p2, a, b; selp.u32 x, 1, 0, p1; selp.u32 y, 1, 0, p2;",
        a,
        b,
        out=(np.uint32,) * 2,
    )
    assert got[0].tolist() == [1, 0] and got[1].tolist() == [0, 1]


# (a < b, a == b, a > b, a NaN) for each condition of section 9.7.6, float comparison.
FLOAT_CONDITIONS = {
    "eq": "0100", "ne": "1010", "lt": "1000", "le": "1100", "gt": "0010", "ge": "0110", "equ": "0101", "neu": "1011",
    "ltu": "1001", "leu": "1101", "gtu": "0011", "geu": "0111", "num": "1110", "nan": "0001",
}  # fmt: skip


@pytest.mark.parametrize("condition", FLOAT_CONDITIONS)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_float_comparisons(type_, condition):
    dtype = {"f32": np.float32, "f64": np.float64}[type_]
    a, b = np.array([1, 2, 3, np.nan], dtype), np.array([2, 2, 2, 2], dtype)
    got = evaluate(f"setp.{condition}.{type_} p1, a, b; selp.u32 x, 1, 0, p1;", a, b, out=np.uint32)
    assert "".join(map(str, got)) == FLOAT_CONDITIONS[condition]


def test_combined_comparisons_with_two_results():
    a = np.array([0, 1, 2, 3], np.uint32)
    body = "setp.lt.u32 p1, a, 2; setp.eq.and.u32 p2|p3, a, 1, p1; selp.u32 x, 1, 0, p2; selp.u32 y, 1, 0, p3; setp.gt.xor.u32 p4, a, 0, !p1; selp.u32 z, 1, 0, p4;"
    x, y, z = evaluate(body, a, out=(np.uint32,) * 3)
    assert x.tolist() == [0, 1, 0, 0]
    assert y.tolist() == [1, 0, 0, 0]  # (not a == 1) and p1
    assert z.tolist() == [0, 1, 0, 0]


def test_set_float_and_slct():
    a = np.array([-1, 0, 5], np.int32)
    body = "set.lt.f32.s32 x, a, 0; slct.u32.s32 y, 10, 20, a;"
    x, y = evaluate(body, a.view(np.uint32), out=(np.float32, np.uint32))
    assert x.tolist() == [1, 0, 0] and y.tolist() == [20, 10, 10]


def test_predicates_combine():
    a = np.arange(8, dtype=np.uint32)
    body = """and.b32 t3, a, 1; setp.ne.u32 p1, t3, 0; setp.gt.u32 p2, a, 3;
    and.pred p3, p1, p2; or.pred p4, p1, p2; xor.pred p5, p1, p2; not.pred p6, p1; mov.pred p0, p3;
    selp.u32 x, 1, 0, p0; selp.u32 y, 1, 0, p4; selp.u32 z, 1, 0, p5; selp.u32 w, 1, 0, p6;"""
    got = evaluate(body, a, out=(np.uint32,) * 4)
    odd, big = a % 2 == 1, a > 3
    for g, want in zip(got, (odd & big, odd | big, odd ^ big, ~odd)):
        np.testing.assert_array_equal(g, want)


def test_predicated_instructions_keep_old_values():
    a = np.arange(6, dtype=np.uint32)
    body = "mov.u32 x, 100; setp.lt.u32 p1, a, 3; @p1 add.u32 x, a, 10; @!p1 mul.lo.u32 x, a, 2;"
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), np.where(a < 3, a + 10, a * 2))


def test_special_registers():
    ptx = kernel(
        """mov.u32 t0, %ctaid.x; mov.u32 t1, %ctaid.y; mov.u32 t2, %ctaid.z; mov.u32 t3, %nctaid.x; mov.u32 t4, %nctaid.y;
        mad.lo.u32 t5, t2, t4, t1; mad.lo.u32 t5, t5, t3, t0; mov.u32 t6, %tid.x; mov.u32 t7, %tid.y; mov.u32 t8, %ntid.x;
        mad.lo.u32 t9, t7, t8, t6; mov.u32 t10, %ntid.y; mul.lo.u32 t11, t10, t8; mad.lo.u32 t12, t5, t11, t9;
        mul.wide.u32 u2, t12, 16; add.u64 u2, u2, u0; mov.u32 t13, %laneid; mov.u32 t14, %lanemask_lt; mov.u32 t15, %nctaid.z;
        st.global.v4.u32 [u2], {t12, t13, t14, t15};"""
    ).replace(".reqntid 32, 1, 1", "")
    out = np.zeros((3 * 2 * 2 * 16 * 4, 4), np.uint32)
    from tileiras_build.simulate import emulator

    memory = emulator.Memory()
    address = memory.map_array(out)
    emulator.run_ptx(ptx, "k", (3, 2, 2), (16, 4, 1), [address.to_bytes(8, "little")], memory=memory)
    np.testing.assert_array_equal(out[:, 0], np.arange(len(out)))
    lane = np.arange(len(out)) % 64 % 32
    np.testing.assert_array_equal(out[:, 1], lane)
    np.testing.assert_array_equal(out[:, 2], (1 << lane) - 1)
    assert (out[:, 3] == 2).all()


def test_address_spaces():
    ptx = kernel(
        """.shared .align 16 .b8 buffer[64]; .local .align 8 .b8 stack[16]; .reg .b64 v<4>;
        mov.u64 v0, buffer; cvta.shared.u64 v1, v0; isspacep.shared p1, v1; isspacep.global p2, v1; isspacep.global p3, u0;
        mov.u64 v2, stack; cvta.local.u64 v3, v2; isspacep.local p4, v3;
        cvta.to.shared.u64 v1, v1; setp.eq.u64 p5, v1, v0;
        selp.u32 t0, 1, 0, p1; selp.u32 t1, 1, 0, p2; selp.u32 t2, 1, 0, p3; selp.u32 t3, 1, 0, p4;
        selp.u32 t4, 1, 0, p5; st.global.v4.u32 [u0], {t0, t1, t2, t3}; st.global.u32 [u0+16], t4;"""
    )
    out = np.zeros(5, np.uint32)
    run(ptx, out)
    assert out.tolist() == [1, 0, 1, 1, 1]


def test_set_on_packed_halves():
    a = np.array([1, 5, 3, 2], np.float16).view(np.uint32)
    b = np.array([2, 2, 3, 3], np.float16).view(np.uint32)
    x, y = evaluate("set.lt.u32.f16x2 x, a, b; set.lt.f16x2.f16x2 y, a, b;", a, b, out=(np.uint32,) * 2)
    assert [hex(v) for v in x] == ["0xffff", "0xffff0000"]
    assert y.view(np.float16).tolist() == [1, 0, 0, 1]


def test_set_on_halves():
    a, b = np.array([1, 2, np.nan], np.float16).view(np.uint16), np.array([2, 2, 1], np.float16).view(np.uint16)
    body = "set.lt.u32.f16 x, a, b; set.le.s32.f16 y, a, b; set.ltu.f16.f16 z, a, b;"
    x, y, z = evaluate(body, a, b, out=(np.uint32, np.uint32, np.float16))
    assert x.tolist() == [0xFFFFFFFF, 0, 0] and y.tolist() == [0xFFFFFFFF, 0xFFFFFFFF, 0] and z.tolist() == [1, 0, 1]
