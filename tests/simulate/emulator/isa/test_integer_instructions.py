"""Integer instructions against Python integers."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import evaluate

EDGES = {
    16: [0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF, 0x100, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x1234],
    32: [0, 1, 2, 3, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x12345678, 0xDEADBEEF, 0xFFFF, 0x10000],
    64: [0, 1, 2, 63, 64, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 0x123456789ABCDEF0, 0xFFFFFFFF, 3, 10**18, 7],
}  # fmt: skip


def pairs(width):
    edges = EDGES[width]
    a = np.array([x for x in edges for _ in edges], f"u{width // 8}")
    b = np.array([y for _ in edges for y in edges], f"u{width // 8}")
    return a, b


def signed(x, width):
    x = int(x) & ((1 << width) - 1)
    return x - (1 << width) if x >> (width - 1) else x


def value(x, type_):
    width = int(type_[1:])
    return signed(x, width) if type_[0] == "s" else int(x)


def check(body, type_, function, width=None, arrays=None, out=None):
    width = width or int(type_[1:])
    a, b = arrays or pairs(width)
    out_width = out or width
    got = evaluate(body, a, b, out=f"u{out_width // 8}")
    mask = (1 << out_width) - 1
    want = [function(value(x, type_), value(y, type_)) & mask for x, y in zip(a, b)]
    np.testing.assert_array_equal(got, np.array(want, got.dtype))


def quotient(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_arithmetic_wraps(name, type_):
    check(f"{name}.{type_} x, a, b;", type_, OPERATIONS[name])


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_multiply_high_and_wide(type_):
    width = int(type_[1:])
    check(f"mul.hi.{type_} x, a, b;", type_, lambda a, b: (a * b) >> width)
    if width < 64:
        check(f"mul.wide.{type_} x, a, b;", type_, lambda a, b: a * b, out=2 * width)


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_division(type_):
    """Away from zero divisors; INT_MIN / -1 wraps."""
    a, b = pairs(int(type_[1:]))
    keep = b != 0
    check(f"div.{type_} x, a, b;", type_, quotient, arrays=(a[keep], b[keep]))
    check(f"rem.{type_} x, a, b;", type_, lambda x, y: x - quotient(x, y) * y, arrays=(a[keep], b[keep]))


def test_division_by_zero_gives_all_ones():
    a = np.array([0, 5, 0xFFFFFFFF], np.uint32)
    got = evaluate("div.u32 x, a, b; rem.u32 y, a, b;", a, a * 0, out=(np.uint32, np.uint32))
    assert (got[0] == 0xFFFFFFFF).all() and (got[1] == a).all()


@pytest.mark.parametrize("type_", ["u32", "s32"])
def test_multiply_add(type_):
    check(f"mad.lo.{type_} x, a, b, a;", type_, lambda a, b: a * b + a)
    check(f"mad.hi.{type_} x, a, b, b;", type_, lambda a, b: ((a * b) >> 32) + b)
    check(f"cvt.{type_[0]}64.{type_} u8, b; mad.wide.{type_} x, a, b, u8;", type_, lambda a, b: a * b + b, out=64)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts_clamp(width):
    values = np.array(EDGES[width], f"u{width // 8}")
    amounts = np.array([0, 1, 5, width - 1, width, width + 1, 63, 64, 200, 0x80000000, 0xFFFFFFFF], np.uint32)
    a = np.repeat(values, len(amounts))
    b = np.tile(amounts, len(values))
    got = evaluate(f"shl.b{width} x, a, b; shr.u{width} y, a, b; shr.s{width} z, a, b;", a, b, out=(a.dtype,) * 3)
    mask = (1 << width) - 1
    clamp = [min(int(n), width) for n in b]
    np.testing.assert_array_equal(got[0], np.array([(int(x) << n) & mask for x, n in zip(a, clamp)], a.dtype))
    np.testing.assert_array_equal(got[1], np.array([int(x) >> n for x, n in zip(a, clamp)], a.dtype))
    np.testing.assert_array_equal(got[2], np.array([(signed(x, width) >> n) & mask for x, n in zip(a, clamp)], a.dtype))


def test_funnel_shift():
    a, b = pairs(32)
    c = (np.arange(len(a)) % 70).astype(np.uint32)
    body = (
        "shf.l.wrap.b32 x, a, b, c; shf.r.wrap.b32 y, a, b, c; shf.l.clamp.b32 z, a, b, c; shf.r.clamp.b32 w, a, b, c;"
    )
    got = evaluate(body, a, b, c, out=(np.uint32,) * 4)
    for i, (lo, hi, n) in enumerate(zip(a.tolist(), b.tolist(), c.tolist())):
        wide = hi << 32 | lo
        for result, amount, left in zip(got, (n & 31, n & 31, min(n, 32), min(n, 32)), (True, False, True, False)):
            want = (wide << amount) >> 32 if left else wide >> amount
            assert int(result[i]) == want & 0xFFFFFFFF


@pytest.mark.parametrize("width", [32, 64])
def test_bit_counts(width):
    a, _ = pairs(width)
    got = evaluate(
        f"popc.b{width} x, a; clz.b{width} y, a; brev.b{width} z, a;", a, out=(np.uint32, np.uint32, a.dtype)
    )
    for i, x in enumerate(a.tolist()):
        text = format(x, f"0{width}b")
        assert got[0][i] == text.count("1")
        assert got[1][i] == (text.index("1") if "1" in text else width)
        assert int(got[2][i]) == int(text[::-1], 2)


def reference_bfind(x, type_, shift):
    width = int(type_[1:])
    if type_[0] == "s" and x < 0:
        x = ~x
    if x == 0:
        return 0xFFFFFFFF
    top = x.bit_length() - 1
    return width - 1 - top if shift else top


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bfind(type_):
    a, _ = pairs(int(type_[1:]))
    got = evaluate(f"bfind.{type_} x, a; bfind.shiftamt.{type_} y, a;", a, out=(np.uint32, np.uint32))
    for i, x in enumerate(a):
        assert got[0][i] == reference_bfind(value(x, type_), type_, False)
        assert got[1][i] == reference_bfind(value(x, type_), type_, True)


def reference_bfe(a, pos, length, type_):
    """The ISA's pseudo-code (section 9.7.1.19), bit by bit."""
    width = int(type_[1:])
    pos, length, msb = pos & 0xFF, length & 0xFF, width - 1
    u = a & ((1 << width) - 1)
    if type_[0] == "u" or length == 0:
        sign = 0
    else:
        sign = u >> min(pos + length - 1, msb) & 1
    out = 0
    for i in range(width):
        bit = u >> (pos + i) & 1 if i < length and pos + i <= msb else sign
        out |= bit << i
    return out


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bfe(type_):
    width = int(type_[1:])
    rng = np.random.default_rng(3)
    a = np.array(EDGES[width] * 20, f"u{width // 8}")
    b = rng.integers(0, 70, len(a)).astype(np.uint32)
    c = rng.integers(0, 70, len(a)).astype(np.uint32)
    got = evaluate(f"bfe.{type_} x, a, b, c;", a, b, c, out=a.dtype)
    want = [reference_bfe(int(x), int(p), int(n), type_) for x, p, n in zip(a, b, c)]
    np.testing.assert_array_equal(got, np.array(want, a.dtype))


@pytest.mark.parametrize("width", [32, 64])
def test_bfi(width):
    rng = np.random.default_rng(4)
    a = np.array(EDGES[width] * 20, f"u{width // 8}")
    b = a[::-1].copy()
    c, d = (rng.integers(0, 70, len(a)).astype(np.uint32) for _ in range(2))
    got = evaluate(f"bfi.b{width} x, a, b, c, d;", a, b, c, d, out=a.dtype)
    for x, y, p, n, g in zip(a.tolist(), b.tolist(), c.tolist(), d.tolist(), got.tolist()):
        for i in range(width):
            source = x >> (i - p) & 1 if p <= i < p + n else y >> i & 1
            assert g >> i & 1 == source


def test_permute_default_mode():
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(0, 1 << 32, 200, np.uint32) for _ in range(3))
    got = evaluate("prmt.b32 x, a, b, c; prmt.b32 y, a, b, 0x7B40;", a, b, c, out=(np.uint32, np.uint32))
    for control, result in ((c, got[0]), (np.full(200, 0x7B40), got[1])):
        for x, y, s, g in zip(a.tolist(), b.tolist(), control.tolist(), result.tolist()):
            source = x.to_bytes(4, "little") + y.to_bytes(4, "little")
            for i in range(4):
                nibble = s >> 4 * i & 15
                byte = source[nibble & 7]
                want = (0xFF if byte & 0x80 else 0) if nibble & 8 else byte
                assert g >> 8 * i & 0xFF == want


# Section 9.7.8.7, table of the special modes: source bytes (d.b3 … d.b0) for selector values 0 to 3.
PERMUTE_MODES = {
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


@pytest.mark.parametrize("mode", PERMUTE_MODES)
def test_permute_modes(mode):
    a = np.full(4, 0x33221100, np.uint32)
    b = np.full(4, 0x77665544, np.uint32)
    got = evaluate(f"prmt.b32.{mode} x, a, b, c;", a, b, np.arange(4, dtype=np.uint32), out=np.uint32)
    want = [int("".join(2 * digit for digit in row), 16) for row in PERMUTE_MODES[mode]]
    np.testing.assert_array_equal(got, np.array(want, np.uint32))


@pytest.mark.parametrize("table", [0x80, 0xFE, 0x96, 0x1A, 0xCA, 0x00, 0xFF])
def test_lop3(table):
    rng = np.random.default_rng(6)
    a, b, c = (rng.integers(0, 1 << 32, 50, np.uint32) for _ in range(3))
    got = evaluate(f"lop3.b32 x, a, b, c, {table};", a, b, c, out=np.uint32)
    for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist()):
        for i in range(32):
            index = (x >> i & 1) << 2 | (y >> i & 1) << 1 | z >> i & 1
            assert g >> i & 1 == table >> index & 1


def test_dot_products():
    rng = np.random.default_rng(7)
    a, b, c = (rng.integers(0, 1 << 32, 100, np.uint32) for _ in range(3))
    body = "dp4a.s32.u32 x, a, b, c; dp4a.u32.s32 y, a, b, c; dp2a.lo.s32.s32 z, a, b, c; dp2a.hi.u32.u32 w, a, b, c;"
    got = evaluate(body, a, b, c, out=(np.uint32,) * 4)
    s8, u8, s16, u16 = np.int8, np.uint8, np.int16, np.uint16
    four = lambda x, t: x[:, None].view(t).astype(np.int64)
    want = [
        (four(a, s8) * four(b, u8)).sum(1) + c.view(np.int32),
        (four(a, u8) * four(b, s8)).sum(1) + c.view(np.int32),
        (four(a, s16) * four(b, s8)[:, :2]).sum(1) + c.view(np.int32),
        (four(a, u16) * four(b, u8)[:, 2:]).sum(1) + c,
    ]
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g, (w & 0xFFFFFFFF).astype(np.uint32))


def test_carry_chain_adds_128_bits():
    rng = np.random.default_rng(8)
    a, b, c, d = (rng.integers(0, 1 << 64, 200, np.uint64) for _ in range(4))
    a[:50] = (1 << 64) - 1
    body = "add.cc.u64 x, a, c; addc.u64 y, b, d; sub.cc.u64 z, a, c; subc.u64 w, b, d;"
    x, y, z, w = evaluate(body, a, b, c, d, out=(np.uint64,) * 4)
    for i in range(200):
        left, right = int(a[i]) | int(b[i]) << 64, int(c[i]) | int(d[i]) << 64
        assert int(x[i]) | int(y[i]) << 64 == (left + right) % (1 << 128)
        assert int(z[i]) | int(w[i]) << 64 == (left - right) % (1 << 128)


def test_multiply_carry_chain():
    """A 64 x 32 multiplication from 32-bit pieces."""
    rng = np.random.default_rng(9)
    a, b, c = (rng.integers(0, 1 << 32, 200, np.uint32) for _ in range(3))
    body = "mul.lo.u32 x, a, c; mul.hi.u32 t5, a, c; mad.lo.cc.u32 y, b, c, t5; madc.hi.u32 z, b, c, 0;"
    x, y, z = evaluate(body, a, b, c, out=(np.uint32,) * 3)
    for i in range(200):
        assert (int(a[i]) | int(b[i]) << 32) * int(c[i]) == int(x[i]) | int(y[i]) << 32 | int(z[i]) << 64


def test_mul24_and_sad():
    a, b = pairs(32)
    body = "mul24.lo.s32 x, a, b; mul24.hi.u32 y, a, b; sad.s32 z, a, b, a; sad.u32 w, a, b, 5;"
    x, y, z, w = evaluate(body, a, b, out=(np.uint32,) * 4)
    for i, (m, n) in enumerate(zip(a.tolist(), b.tolist())):
        assert x[i] == signed(m & 0xFFFFFF, 24) * signed(n & 0xFFFFFF, 24) & 0xFFFFFFFF
        assert y[i] == ((m & 0xFFFFFF) * (n & 0xFFFFFF) >> 16) & 0xFFFFFFFF
        assert z[i] == (m + abs(signed(m, 32) - signed(n, 32))) & 0xFFFFFFFF
        assert w[i] == (5 + abs(m - n)) & 0xFFFFFFFF


def test_saturating_add_and_sub():
    check("add.sat.s32 x, a, b;", "s32", lambda a, b: max(-(1 << 31), min(a + b, (1 << 31) - 1)))
    check("sub.sat.s32 x, a, b;", "s32", lambda a, b: max(-(1 << 31), min(a - b, (1 << 31) - 1)))


def test_logic_and_negation():
    a, b = pairs(32)
    got = evaluate("and.b32 x, a, b; or.b32 y, a, b; xor.b32 z, a, b; not.b32 w, a;", a, b, out=(np.uint32,) * 4)
    for g, want in zip(got, (a & b, a | b, a ^ b, ~a)):
        np.testing.assert_array_equal(g, want)
    got = evaluate("neg.s32 x, a; abs.s32 y, a; cnot.b32 z, a;", a, out=(np.uint32,) * 3)
    np.testing.assert_array_equal(got[0], (-a.astype(np.int64)).astype(np.uint32))
    np.testing.assert_array_equal(got[1], np.abs(a.view(np.int32).astype(np.int64)).astype(np.uint32))
    np.testing.assert_array_equal(got[2], (a == 0).astype(np.uint32))


def reference_fns(mask, base, offset):
    """The ISA's loop (section 9.7.1.21)."""
    pos = base
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    count = abs(offset)
    while 0 <= pos < 32:
        if mask >> pos & 1:
            count -= 1
            if count == 0:
                return pos
        pos += step
    return 0xFFFFFFFF


def test_find_nth_set():
    rng = np.random.default_rng(10)
    a = rng.integers(0, 1 << 32, 300, np.uint32)
    b = rng.integers(0, 32, 300).astype(np.uint32)
    c = rng.integers(-8, 9, 300).astype(np.int32)
    got = evaluate("fns.b32 x, a, b, c;", a, b, c.view(np.uint32), out=np.uint32)
    want = [reference_fns(int(m), int(p), int(n)) for m, p, n in zip(a, b, c)]
    np.testing.assert_array_equal(got, np.array(want, np.uint32))


def test_masks_and_extension():
    a = np.array([0, 1, 8, 31, 32, 40] * 6, np.uint32)
    b = np.repeat(np.array([0, 1, 8, 31, 32, 40], np.uint32), 6)
    got = evaluate("bmsk.clamp.b32 x, a, b; bmsk.wrap.b32 y, a, b;", a, b, out=(np.uint32,) * 2)
    for i, (s, w) in enumerate(zip(a.tolist(), b.tolist())):
        assert got[0][i] == (((1 << min(w, 32)) - 1) << min(s, 32)) & 0xFFFFFFFF
        assert got[1][i] == (((1 << (w & 31)) - 1) << (s & 31)) & 0xFFFFFFFF
    x = evaluate(
        "szext.wrap.s32 x, a, b;", np.full(3, 0x1234_80F0, np.uint32), np.array([8, 16, 12], np.uint32), out=np.uint32
    )
    assert [hex(v) for v in x] == ["0xfffffff0", "0xffff80f0", "0xf0"]


def test_packed_halves():
    rng = np.random.default_rng(11)
    a, b = (rng.integers(0, 1 << 32, 100, np.uint32) for _ in range(2))
    got = evaluate("add.u16x2 x, a, b; min.s16x2 y, a, b; max.u16x2 z, a, b;", a, b, out=(np.uint32,) * 3)
    x, y = a[:, None].view(np.uint16), b[:, None].view(np.uint16)
    np.testing.assert_array_equal(got[0][:, None].view(np.uint16), x + y)
    np.testing.assert_array_equal(got[1][:, None].view(np.int16), np.minimum(x.view(np.int16), y.view(np.int16)))
    np.testing.assert_array_equal(got[2][:, None].view(np.uint16), np.maximum(x, y))


def test_saturating_multiply_add():
    a, b = pairs(32)
    c = np.roll(a, 3)
    x = evaluate("mad.hi.sat.s32 x, a, b, c;", a, b, c, out=np.uint32)
    for i, (m, n, k) in enumerate(zip(a.tolist(), b.tolist(), c.tolist())):
        total = (signed(m, 32) * signed(n, 32) >> 32) + signed(k, 32)
        assert signed(int(x[i]), 32) == max(-(1 << 31), min(total, (1 << 31) - 1))


def test_24_bit_multiply_add():
    """The low or the high 32 bits of the 48-bit result of mul24, plus c; .sat clamps the signed result of the latter."""
    a, b = pairs(32)
    c = np.roll(a, 3)
    body = "mad24.lo.s32 x, a, b, c; mad24.hi.u32 y, a, b, c; mad24.hi.sat.s32 z, a, b, c;"
    x, y, z = evaluate(body, a, b, c, out=(np.uint32,) * 3)
    for i, (m, n, k) in enumerate(zip(a.tolist(), b.tolist(), c.tolist())):
        wide = signed(m & 0xFFFFFF, 24) * signed(n & 0xFFFFFF, 24)
        assert x[i] == (wide + k) & 0xFFFFFFFF
        assert y[i] == (((m & 0xFFFFFF) * (n & 0xFFFFFF) >> 16) + k) & 0xFFFFFFFF
        total = signed(wide >> 16 & 0xFFFFFFFF, 32) + signed(k, 32)
        assert signed(int(z[i]), 32) == max(-(1 << 31), min(total, (1 << 31) - 1))
