"""shfl, vote, match, redux, elect: each against a per-lane model of the ISA's text."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import kernel, run


def warps(body, *columns, out=np.uint32, threads=64, results=1):
    """Run over two warps; inputs in a, b, …; results x, y."""
    declare = "".join(f".reg .b32 {n};" for n in "abc"[: len(columns)]) + "".join(
        f".reg .b32 {n};" for n in "xy"[:results]
    )
    lines = [declare, "mov.u32 t0, %tid.x; mul.wide.u32 u8, t0, 4;"]
    for i in range(len(columns)):
        lines.append(f"add.u64 u9, u{i}, u8; ld.global.b32 {'abc'[i]}, [u9];")
    lines.append(body)
    outs = [np.zeros(threads, out) for _ in range(results)]
    for i in range(results):
        lines.append(f"add.u64 u9, u{i + len(columns)}, u8; st.global.b32 [u9], {'xy'[i]};")
    run(kernel("\n".join(lines), len(columns) + results, threads), *columns, *outs)
    return outs[0] if results == 1 else tuple(outs)


def reference_shuffle(mode, values, lane, b, c):
    """Section 9.7.9.6, pseudo-code."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    maximum = (lane & mask) | (cval & ~mask & 31)
    minimum = lane & mask
    if mode == "up":
        j, inside = lane - bval, lane - bval >= maximum
    elif mode == "down":
        j, inside = lane + bval, lane + bval <= maximum
    elif mode == "bfly":
        j, inside = lane ^ bval, (lane ^ bval) <= maximum
    else:
        j = minimum | (bval & ~mask & 31)
        inside = j <= maximum
    return values[j if inside else lane], inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8])
@pytest.mark.parametrize("computed", [False, True])
def test_shuffle(mode, width, computed):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 1 << 32, 64, np.uint32)
    c = (32 - width) << 8 | (0 if mode == "up" else 31)
    for b in (0, 1, 3, 7, 16, 31):
        amount = np.full(64, b, np.uint32)
        operand = "b" if computed else str(b)
        body = f"shfl.sync.{mode}.b32 x|p1, a, {operand}, {c}, 0xffffffff; selp.u32 y, 1, 0, p1;"
        got, inside = warps(body, a, amount, results=2)
        for t in range(64):
            value, valid = reference_shuffle(mode, a[t // 32 * 32 :], t % 32, b, c)
            assert (got[t], inside[t]) == (value, valid), (t, b)


def test_shuffle_by_lane_dependent_index():
    a, b = np.arange(64, dtype=np.uint32), (np.arange(64) * 7 + 3).astype(np.uint32)
    got = warps("shfl.sync.idx.b32 x, a, b, 31, -1;", a, b)
    np.testing.assert_array_equal(got, np.arange(64) // 32 * 32 + b % 32)


def test_vote_and_ballot():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 64, np.uint32)
    bits = [sum(int(v) << i for i, v in enumerate(a[w : w + 32])) for w in (0, 32)]
    got = warps(
        "setp.ne.u32 p1, a, 0; vote.sync.ballot.b32 x, p1, -1; vote.sync.ballot.b32 y, !p1, 0xff00ff00;", a, results=2
    )
    for w in (0, 1):
        assert (got[0][w * 32 : w * 32 + 32] == bits[w]).all()
        assert (got[1][w * 32 : w * 32 + 32] == ~bits[w] & 0xFF00FF00).all()


@pytest.mark.parametrize("ones", [0, 1, 31, 32])
def test_vote_all_any_uni(ones):
    a = np.tile((np.arange(32) < ones).astype(np.uint32), 2)
    body = """setp.ne.u32 p1, a, 0; vote.all.sync.pred p2, p1, -1; vote.any.sync.pred p3, p1, -1; vote.uni.sync.pred p4, p1, -1;
    selp.u32 t5, 1, 0, p2; selp.u32 t6, 2, 0, p3; selp.u32 t7, 4, 0, p4; or.b32 t5, t5, t6; or.b32 x, t5, t7;"""
    assert (warps(body, a) == (ones == 32) + 2 * (ones > 0) + 4 * (ones in (0, 32))).all()


def test_match():
    a = (np.arange(64) % 5).astype(np.uint32)
    a[32:] = 9
    body = "match.any.sync.b32 x, a, -1; match.all.sync.b32 t5|p1, a, -1; selp.u32 t6, 1, 0, p1; xor.b32 y, t5, t6;"
    got, every = warps(body, a, results=2)
    for t in range(64):
        warp = a[t // 32 * 32 : t // 32 * 32 + 32]
        assert got[t] == sum(1 << i for i, v in enumerate(warp) if v == a[t])
    assert (every[:32] == 0).all() and (every[32:] == 0xFFFFFFFE).all()


REDUCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@pytest.mark.parametrize("name, type_", [("add", "u32"), ("add", "s32"), ("min", "u32"), ("min", "s32"), ("max", "u32"), ("max", "s32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")])  # fmt: skip
def test_redux(name, type_):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 1 << 32, 64, np.uint32)
    got = warps(f"redux.sync.{name}.{type_} x, a, -1;", a)
    view = a.view(np.int32 if type_ == "s32" else np.uint32)
    for w in (0, 1):
        want = REDUCTIONS[name].reduce(view[w * 32 : w * 32 + 32], dtype=view.dtype)
        assert (got.view(view.dtype)[w * 32 : w * 32 + 32] == want).all()


def test_redux_of_half_warps():
    """Each half runs its own redux with its own mask."""
    a = np.arange(64, dtype=np.uint32)
    body = """and.b32 t5, t0, 16; setp.eq.u32 p1, t5, 0; @p1 bra LOW; redux.sync.add.u32 x, a, 0xffff0000; bra E;
    LOW: redux.sync.add.u32 x, a, 0x0000ffff; E:"""
    got = warps(body, a)
    np.testing.assert_array_equal(got, np.repeat(a.reshape(4, 16).sum(1), 16))


def test_redux_float():
    a = np.array([1, -5, np.nan, 2] * 16, np.float32)
    got = warps("redux.sync.min.f32 x, a, -1; redux.sync.max.abs.NaN.f32 y, a, -1;", a.view(np.uint32), results=2)
    assert (got[0].view(np.float32) == -5).all() and (got[1] == 0x7FFFFFFF).all()


def test_elect_and_activemask():
    a = np.zeros(64, np.uint32)
    body = """mov.u32 x, 0; mov.u32 y, 0; and.b32 t5, t0, 31; setp.lt.u32 p1, t5, 4; @p1 bra E; activemask.b32 y; elect.sync t6|p2, 0xfffffff0; selp.u32 x, 1, 0, p2; E:"""
    got, active = warps(body, a, results=2)
    np.testing.assert_array_equal(got, np.arange(64) % 32 == 4)
    np.testing.assert_array_equal(active, np.where(np.arange(64) % 32 >= 4, 0xFFFFFFF0, 0))


def test_incomplete_last_warp():
    a = np.arange(40, dtype=np.uint32)
    got = warps("shfl.sync.bfly.b32 x, a, 1, 31, -1; redux.sync.add.u32 y, a, -1;", a, threads=40, results=2)
    np.testing.assert_array_equal(got[0], np.arange(40) ^ 1)
    np.testing.assert_array_equal(got[1], np.where(np.arange(40) < 32, 496, 284))


def test_code_before_a_warp_barrier_executes_once():
    """Some lanes diverge: the others add and wait, and must not add again after reconvergence."""
    body = """mov.u32 t0, %tid.x; shfl.sync.idx.b32 t1, t0, 0, 31, -1; setp.lt.u32 p0, t0, 8; @p0 bra DETOUR;
    MEET: red.global.add.u32 [u0], 1; bar.warp.sync -1; ret;
    DETOUR: add.u32 t0, t0, 1; bra MEET;"""
    total = np.zeros(1, np.uint32)
    run(kernel(body), total)
    assert total[0] == 32
