"""Divergence, loops, calls, barriers, and progress of waiting threads."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, evaluate, kernel, run
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def test_divergent_loop_with_divergent_body():
    a = np.arange(1, 200, dtype=np.uint32)
    body = """mov.u32 x, 0; mov.u32 t5, a;
    LOOP: setp.eq.u32 p1, t5, 1; @p1 bra DONE;
    and.b32 t6, t5, 1; setp.eq.u32 p2, t6, 0; @p2 bra EVEN;
    mad.lo.u32 t5, t5, 3, 1; bra.uni NEXT;
    EVEN: shr.u32 t5, t5, 1;
    NEXT: add.u32 x, x, 1; bra.uni LOOP;
    DONE:"""
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), [collatz(int(n)) for n in a])


def test_nested_branches_reconverge():
    a = np.arange(64, dtype=np.uint32)
    body = """mov.u32 x, 1; setp.lt.u32 p1, a, 32; @!p1 bra B;
    setp.lt.u32 p2, a, 10; @!p2 bra A2; add.u32 x, x, 10; bra AE; A2: add.u32 x, x, 20; AE: mul.lo.u32 x, x, 2; bra E;
    B: and.b32 t5, a, 1; setp.ne.u32 p3, t5, 0; @p3 exit; add.u32 x, x, 100;
    E: add.u32 x, x, 1000;"""
    got = evaluate(body, a, out=np.uint32)
    want = [0 if n >= 32 and n % 2 else 1000 + (22 if n < 10 else 42 if n < 32 else 101) for n in range(64)]
    np.testing.assert_array_equal(got, want)


def test_uniform_branch_per_cta():
    """CTAs loop different numbers of times; threads of a CTA agree."""
    body = """mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mov.u32 t2, 0; mov.u32 t3, 0;
    L: setp.ge.u32 p1, t2, t0; @p1 bra D; add.u32 t3, t3, t1; add.u32 t2, t2, 1; bra L;
    D: mad.lo.u32 t4, t0, 32, t1; mul.wide.u32 u1, t4, 4; add.u64 u1, u0, u1; st.global.u32 [u1], t3;"""
    out = np.zeros((20, 32), np.uint32)
    run(kernel(body), out, grid=20)
    np.testing.assert_array_equal(out, np.arange(20)[:, None] * np.arange(32)[None])


def test_indexed_branch():
    a = np.arange(40, dtype=np.uint32)
    body = """rem.u32 t5, a, 3; TS: .branchtargets L0, L1, L2; brx.idx t5, TS;
    L0: mov.u32 x, 5; bra END; L1: mov.u32 x, 6; bra END; L2: mov.u32 x, 7; END:"""
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), 5 + a % 3)


def test_block_scopes_hide_registers_and_labels():
    a = np.arange(8, dtype=np.uint32)
    body = """mov.u32 t5, 3; { .reg .b32 t5; .reg .pred q; mov.u32 t5, 100; setp.gt.u32 q, a, 3; @q bra L; add.u32 t5, t5, 1; L: mov.u32 x, t5; }
    { .reg .pred q; setp.gt.u32 q, a, 5; @q bra L; add.u32 x, x, 1000; L: } add.u32 x, x, t5;"""
    want = [3 + (100 if n > 3 else 101) + (0 if n > 5 else 1000) for n in range(8)]
    np.testing.assert_array_equal(evaluate(body, a, out=np.uint32), want)


FUNCTIONS = """
.func (.param .b32 r) square(.param .b32 x) { .reg .b32 v<2>; ld.param.b32 v0, [x]; mul.lo.u32 v1, v0, v0; st.param.b32 [r], v1; ret; }
.func (.param .align 8 .b8 r[16]) both(.param .b32 x, .param .align 8 .b8 y[8]) {
 .reg .b32 v<4>; .reg .b64 w; .reg .pred p; ld.param.b32 v0, [x]; ld.param.v2.b32 {v1, v2}, [y];
 setp.gt.u32 p, v0, 4; @p bra BIG; add.u32 v3, v1, v2; bra OUT;
 BIG: { .param .b32 q; .param .b32 s; st.param.b32 [q], v0; call.uni (s), square, (q); ld.param.b32 v3, [s]; }
 OUT: cvt.u64.u32 w, v3; st.param.b64 [r], w; st.param.b32 [r+8], v0; ret; }
"""


def test_device_functions_nest_and_diverge():
    a = np.arange(10, dtype=np.uint32)
    body = """{ .param .b32 q; .param .align 8 .b8 s[8]; .param .align 8 .b8 r[16];
    st.param.b32 [q], a; st.param.b32 [s], a; st.param.b32 [s+4], 100; call.uni (r), both, (q, s); ld.param.b64 u8, [r]; ld.param.b32 y, [r+8]; }
    cvt.u32.u64 x, u8;"""
    declared = kernel("", extra=FUNCTIONS)
    assert "both" in declared
    inputs = np.arange(10, dtype=np.uint32)
    x, y = np.zeros(10, np.uint32), np.zeros(10, np.uint32)
    full = kernel(
        f""".reg .b32 a, x, y; mov.u32 t0, %tid.x; setp.gt.u32 p1, t0, 9; @p1 exit; mul.wide.u32 u4, t0, 4; add.u64 u5, u0, u4; ld.global.u32 a, [u5];
        {body} add.u64 u6, u1, u4; st.global.u32 [u6], x; add.u64 u7, u2, u4; st.global.u32 [u7], y;""",
        3, extra=FUNCTIONS,
    )  # fmt: skip
    run(full, inputs, x, y)
    np.testing.assert_array_equal(x, np.where(a > 4, a * a, a + 100))
    np.testing.assert_array_equal(y, a)


# -- barriers ----------------------------------------------------------------------------------------
def test_barrier_in_divergent_warps():
    """Warps take different paths before one barrier; half the CTAs take a longer one."""
    body = """.shared .align 4 .b8 s[512]; mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; shr.u32 t2, t0, 5; add.u32 t2, t2, t1; and.b32 t2, t2, 1;
    setp.eq.u32 p1, t2, 0; @p1 bra A; mov.u32 t3, 0; L: add.u32 t3, t3, 1; setp.lt.u32 p2, t3, 50; @p2 bra L; A:
    shl.b32 t4, t0, 2; mov.u32 t5, s; add.u32 t4, t4, t5; st.shared.u32 [t4], t0; bar.sync 0; xor.b32 t6, t0, 127; shl.b32 t6, t6, 2; add.u32 t6, t6, t5;
    ld.shared.u32 t7, [t6]; mad.lo.u32 t8, t1, 128, t0; mul.wide.u32 u1, t8, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t7;"""
    out = np.zeros((4, 128), np.uint32)
    run(kernel(body, threads=128), out, grid=4)
    assert (out == 127 - np.arange(128)).all()


def test_named_barriers_between_producer_and_consumer():
    """Warp 0 produces, warp 1 consumes, three iterations, bar.arrive / bar.sync on two named barriers."""
    body = """.shared .align 4 .b8 s[128]; .reg .b32 acc, round; mov.u32 t0, %tid.x; and.b32 t1, t0, 31; shl.b32 t2, t1, 2; mov.u32 t3, s; add.u32 t2, t2, t3;
    mov.u32 round, 0; mov.u32 acc, 0; setp.ge.u32 p1, t0, 32; @p1 bra CONSUMER;
    P: mad.lo.u32 t4, round, 1000, t1; st.shared.u32 [t2], t4; bar.arrive 1, 64; bar.sync 2, 64; add.u32 round, round, 1; setp.lt.u32 p2, round, 3; @p2 bra P; exit;
    CONSUMER: bar.sync 1, 64; ld.shared.u32 t4, [t2]; add.u32 acc, acc, t4; bar.arrive 2, 64; add.u32 round, round, 1; setp.lt.u32 p2, round, 3; @p2 bra CONSUMER;
    mul.wide.u32 u1, t1, 4; add.u64 u1, u1, u0; st.global.u32 [u1], acc;"""
    out = np.zeros(32, np.uint32)
    run(kernel(body, threads=64), out)
    np.testing.assert_array_equal(out, 3000 + 3 * np.arange(32))


def test_barrier_reductions():
    body = """mov.u32 t0, %tid.x; mov.u32 t1, %ctaid.x; setp.lt.u32 p1, t0, t1; bar.red.popc.u32 t2, 0, p1; bar.red.or.pred p2, 0, p1; barrier.cta.red.and.pred p3, 0, !p1;
    selp.u32 t3, 1, 0, p2; selp.u32 t4, 1, 0, p3; mad.lo.u32 t5, t1, 64, t0; mul.wide.u32 u1, t5, 16; add.u64 u1, u1, u0; st.global.v4.u32 [u1], {t2, t3, t4, t0};"""
    out = np.zeros((3, 64, 4), np.uint32)
    run(kernel(body, threads=64), out, grid=3)
    for cta in range(3):
        assert (
            (out[cta, :, 0] == cta).all()
            and (out[cta, :, 1] == (cta > 0)).all()
            and (out[cta, :, 2] == (cta == 0)).all()
        )


def test_barrier_reduction_by_diverged_warps():
    body = """mov.u32 t0, %tid.x; setp.lt.u32 p4, t0, 32; @p4 bra A; mov.u32 t9, 1; A: setp.eq.u32 p1, t9, 1; bar.red.popc.u32 t2, 0, p1;
    mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t2;"""
    out = np.zeros(64, np.uint32)
    run(kernel(body, threads=64), out)
    assert (out == 32).all()


def test_exited_threads_do_not_block_a_barrier():
    body = "mov.u32 t0, %tid.x; setp.ge.u32 p1, t0, 40; @p1 exit; bar.sync 0; mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t0;"
    out = np.zeros(64, np.uint32)
    run(kernel(body, threads=64), out)
    np.testing.assert_array_equal(out, np.where(np.arange(64) < 40, np.arange(64), 0))


def test_deadlock_is_reported():
    body = "mov.u32 t0, %tid.x; setp.ge.u32 p1, t0, 32; @p1 bra E;\nbar.sync 3, 64;\nE:"
    with pytest.raises(EmulatorFault, match="deadlock: threads wait at barrier 3"):
        run(kernel(body, threads=64), np.zeros(1, np.uint32))


# -- progress ----------------------------------------------------------------------------------------
LOCK = """L: atom.global.cas.b32 t1, [u0], 0, 1; setp.ne.u32 p1, t1, 0; @p1 bra L;
ld.volatile.global.u32 t2, [u1]; add.u32 t2, t2, 1; st.volatile.global.u32 [u1], t2; membar.gl; atom.global.exch.b32 t3, [u0], 0;"""


def test_spin_lock_between_ctas():
    lock, count = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    run(kernel(LOCK, 2, threads=1), lock, count, grid=40)
    assert count[0] == 40 and lock[0] == 0


def test_spin_lock_between_threads_of_a_warp():
    lock, count = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    run(kernel(LOCK, 2, threads=32), lock, count, grid=2)
    assert count[0] == 64


def test_flag_from_a_later_cta():
    """CTA 0 waits for a flag that the last CTA sets."""
    body = """mov.u32 t0, %ctaid.x; setp.eq.u32 p1, t0, 0; @p1 bra W; setp.ne.u32 p2, t0, 99; @p2 exit; atom.global.add.u32 t1, [u0], 1; exit;
    W: ld.acquire.gpu.global.u32 t2, [u0]; setp.eq.u32 p3, t2, 0; @p3 bra W; st.global.u32 [u1], 77;"""
    flag, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    run(kernel(body, 2, threads=32), flag, out, grid=100)
    assert out[0] == 77 and flag[0] == 32


def test_divergent_threads_wait_for_each_other_at_a_shuffle():
    """Half of the warp runs a long loop before a shuffle of the whole warp."""
    body = """mov.u32 t0, %tid.x; mov.u32 t3, t0; setp.lt.u32 p1, t0, 16; @p1 bra S; mov.u32 t4, 0;
    L: add.u32 t4, t4, 1; add.u32 t3, t3, 1; setp.lt.u32 p2, t4, 400; @p2 bra L;
    S: shfl.sync.bfly.b32 t5, t3, 16, 31, -1; mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t5;"""
    out = np.zeros(32, np.uint32)
    run(kernel(body), out)
    t = np.arange(32) ^ 16
    np.testing.assert_array_equal(out, np.where(t < 16, t, t + 400))


def test_trap_and_assert():
    with pytest.raises(EmulatorFault, match="trap"):
        run(kernel("mov.u32 t0, %tid.x; setp.eq.u32 p1, t0, 5; @p1 trap;"), np.zeros(1, np.uint32))


def test_printf(capsys):
    extra = """.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 b);
    .global .align 1 .b8 fmt[31] = {118, 61, 37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 32, 37, 108, 108, 120, 37, 37, 10, 0};
    .global .align 1 .b8 word[3] = {104, 105, 0};"""
    body = """.local .align 8 .b8 stack[32]; .reg .b64 v<6>; mov.u64 v0, stack; cvta.local.u64 v1, v0; mov.u32 t0, %tid.x; sub.u32 t1, 0, t0; st.local.u32 [v0], t1;
    mov.f64 g0, 0d400921FB54442D18; st.local.f64 [v0+8], g0; mov.u64 v2, word; cvta.global.u64 v2, v2; st.local.u64 [v0+16], v2; mov.u64 v3, 0xABCDEF0123; st.local.u64 [v0+24], v3;
    mov.u64 v4, fmt; cvta.global.u64 v5, v4;
    { .param .b64 q0; .param .b64 q1; .param .b32 s; st.param.b64 [q0], v5; st.param.b64 [q1], v1; call.uni (s), vprintf, (q0, q1); ld.param.b32 t2, [s]; }"""
    run(kernel(body, extra=extra, threads=2), np.zeros(1, np.uint32))
    assert capsys.readouterr().out == "v=0  3.14 hi abcdef0123%\nv=-1  3.14 hi abcdef0123%\n"


def test_assertfail_names_message_file_and_line():
    letters = lambda text: ", ".join(str(b) for b in text.encode() + b"\0")
    extra = f""".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
    .global .align 1 .b8 message[16] = {{{letters("x < n")}}}; .global .align 1 .b8 file[16] = {{{letters("k.py")}}};"""
    body = """.reg .b64 v<4>; mov.u32 t0, %tid.x; setp.lt.u32 p1, t0, 3; @p1 bra OK; mov.u64 v0, message; mov.u64 v1, file;
    { .param .b64 a0; .param .b64 a1; .param .b32 a2; .param .b64 a3; .param .b64 a4; st.param.b64 [a0], v0; st.param.b64 [a1], v1; st.param.b32 [a2], 12;
    st.param.b64 [a3], v1; st.param.b64 [a4], 1; call.uni __assertfail, (a0, a1, a2, a3, a4); } OK:"""
    with pytest.raises(EmulatorFault, match=r"assertion failed: x < n \(k.py:12\)") as caught:
        run(kernel(body, extra=extra), np.zeros(1, np.uint32))
    assert caught.value.thread == ((0, 0, 0), (3, 0, 0))


# -- loading -----------------------------------------------------------------------------------------
def test_unknown_instruction_is_refused_when_loaded():
    with pytest.raises(emulator.UnsupportedInstruction, match="frobnicate.sync.b32"):
        run(kernel("setp.eq.u32 p1, t0, t0; @p1 exit; frobnicate.sync.b32 t0, t1;"), np.zeros(1, np.uint32))


def test_syntax_errors_name_the_line():
    with pytest.raises(emulator.PtxSyntaxError, match="line 5"):
        run(HEADER + ".visible .entry k() {\n ??? ;\n}", np.zeros(1, np.uint32))


def test_unknown_entry_lists_the_kernels():
    with pytest.raises(emulator.EmulatorError, match="no kernel 'other'.*has: k"):
        emulator.run_ptx(kernel(""), "other", 1)


def test_debug_sections_and_comments_are_ignored():
    ptx = kernel('// a comment; with { braces\n.loc 1 2 3\n/* more */ .pragma "nounroll";\nst.global.u32 [u0], 7;')
    ptx += '.file 1 "a//b.py"\n.section .debug_abbrev\n{\n.b8 1\n.b8 0\n}\n'
    out = np.zeros(1, np.uint32)
    run(ptx, out)
    assert out[0] == 7


def test_branch_index_out_of_range():
    text = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 r<2>;
  mov.u32 r0, %tid.x;
  cases: .branchtargets a, b;
  brx.idx r0, cases;
a: b: ret;
}
"""
    emulator.run_ptx(text, "k", 1, 2)
    with pytest.raises(EmulatorFault, match="branch index 31 is out of range: the list has 2 labels") as caught:
        emulator.run_ptx(text, "k", 1, 32)
    assert caught.value.line == 8 and caught.value.thread[1] == (31, 0, 0)
