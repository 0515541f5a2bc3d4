"""mma.sync, ldmatrix, stmatrix, movmatrix: fragments by the ISA's index formulas, matmuls by NumPy."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run

LANES = range(32)
DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip

# Index formulas of section 9.7.14.5, one entry per "Matrix Fragments for mma.…" subsection: element i of a lane
# with group g = lane >> 2 and t = lane % 4 is at (row, column).
A_FORMULAS = {
    ("m16n8k8", 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ("m16n8k16", 16): lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
    ("m16n8k4", 32): lambda g, t, i: (g if i == 0 else g + 8, t),
    ("m16n8k8", 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m8n8k4", 64): lambda g, t, i: (g, t),
    ("m16n8k4", 64): lambda g, t, i: (g if i == 0 else g + 8, t),
    ("m16n8k8", 64): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    ("m16n8k16", 64): lambda g, t, i: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t),
    ("m8n8k16", 8): lambda g, t, i: (g, t * 4 + i),
    ("m16n8k16", 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    ("m16n8k32", 8): lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (0 if i < 8 else 16)),
    ("m8n8k32", 4): lambda g, t, i: (g, t * 8 + i),
    ("m16n8k32", 4): lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)),
    ("m16n8k64", 4): lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (0 if i < 16 else 32)),
}  # fmt: skip
B_FORMULAS = {
    ("m16n8k8", 16): lambda g, t, i: (t * 2 + i, g),
    ("m16n8k16", 16): lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ("m16n8k4", 32): lambda g, t, i: (t, g),
    ("m16n8k8", 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    ("m8n8k4", 64): lambda g, t, i: (t, g),
    ("m16n8k4", 64): lambda g, t, i: (t, g),
    ("m16n8k8", 64): lambda g, t, i: (t if i == 0 else t + 4, g),
    ("m16n8k16", 64): lambda g, t, i: (t + i * 4, g),
    ("m8n8k16", 8): lambda g, t, i: (t * 4 + i, g),
    ("m16n8k16", 8): lambda g, t, i: (t * 4 + i, g),
    ("m16n8k32", 8): lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    ("m8n8k32", 4): lambda g, t, i: (t * 8 + i, g),
    ("m16n8k32", 4): lambda g, t, i: (t * 8 + i, g),
    ("m16n8k64", 4): lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
}  # fmt: skip


def place_c(m, g, t, i):
    """Accumulators: c0, c1 in row g, c2, c3 in row g + 8."""
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def pack(codes, width):
    """Element codes of a lane (low first) as 32- or 64-bit words."""
    word = max(width, 32)
    per = word // width
    out = []
    for start in range(0, len(codes), per):
        value = 0
        for k, code in enumerate(codes[start : start + per]):
            value |= int(code) << (k * width)
        out.append(value)
    return np.array(out, f"u{word // 8}")


def fragments(matrix, formula, width, count):
    """(32, registers) words from a matrix of element codes."""
    return np.stack([pack([matrix[formula(lane >> 2, lane & 3, i)] for i in range(count)], width) for lane in LANES])


def random_matrix(rng, shape, type_):
    """(codes, values) of random elements."""
    if type_ in ("s4", "u4"):
        values = rng.integers(-8 if type_ == "s4" else 0, 8 if type_ == "s4" else 16, shape)
        return values & 15, values.astype(float)
    if type_ in ("s8", "u8"):
        values = rng.integers(-128 if type_ == "s8" else 0, 128 if type_ == "s8" else 256, shape)
        return values & 255, values.astype(float)
    dtype = DTYPES[type_]
    values = rng.standard_normal(shape).astype(np.float32).astype(dtype)
    if type_ == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    codes = values.view(f"u{values.dtype.itemsize}")
    if type_ == "e2m1":
        codes = codes & 15
    return codes, values.astype(np.float64)


def mma(opcode, shape, a_words, b_words, c_words, extra=(), suffix="", threads=32):
    """Run one mma with given registers; returns D words (32, registers)."""
    kinds = {4: ("b32", "r"), 8: ("b64", "d")}
    names, lines, arrays = [], ["mov.u32 t0, %tid.x;"], []
    for letter, words in (("A", a_words), ("B", b_words), ("C", c_words), *extra):
        words = aligned(np.ascontiguousarray(words))
        kind = kinds[words.dtype.itemsize][0]
        size = words.dtype.itemsize
        lines.append(
            f".reg .{kind} {letter}<{words.shape[1]}>; mul.wide.u32 u9, t0, {size * words.shape[1]}; add.u64 u9, u9, u{len(arrays)};"
        )
        lines += [f"ld.global.{kind} {letter}{i}, [u9+{i * size}];" for i in range(words.shape[1])]
        names.append("{" + ", ".join(f"{letter}{i}" for i in range(words.shape[1])) + "}")
        arrays.append(words)
    out = np.zeros_like(np.ascontiguousarray(c_words))
    kind, size = kinds[out.dtype.itemsize][0], out.dtype.itemsize
    d = [f"D{i}" for i in range(out.shape[1])]
    lines.append(f".reg .{kind} D<{len(d)}>;")
    lines.append(f"{opcode} {{{', '.join(d)}}}, {', '.join(names[:3])}{suffix};")
    lines.append(f"mul.wide.u32 u9, t0, {size * len(d)}; add.u64 u9, u9, u{len(arrays)};")
    lines += [f"st.global.{kind} [u9+{i * size}], D{i};" for i in range(len(d))]
    run(kernel("\n".join(lines), len(arrays) + 1, threads), *arrays, out)
    return out


def dimensions(shape):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def collect_c(words, m, dtype):
    values = words.view(dtype).reshape(32, -1)
    out = np.zeros((m, 8), dtype)
    for lane in LANES:
        for i in range(values.shape[1]):
            out[place_c(m, lane >> 2, lane & 3, i)] = values[lane, i]
    return out


def scatter_c(matrix, m, count):
    out = np.zeros((32, count), matrix.dtype)
    for lane in LANES:
        for i in range(count):
            out[lane, i] = matrix[place_c(m, lane >> 2, lane & 3, i)]
    return out


CASES = [
    ("m16n8k8", 16, "f16", "f16", "f32"), ("m16n8k16", 16, "f16", "f16", "f32"), ("m16n8k8", 16, "f16", "f16", "f16"),
    ("m16n8k16", 16, "f16", "f16", "f16"), ("m16n8k8", 16, "bf16", "bf16", "f32"), ("m16n8k16", 16, "bf16", "bf16", "f32"),
    ("m16n8k4", 32, "tf32", "tf32", "f32"), ("m16n8k8", 32, "tf32", "tf32", "f32"),
    ("m8n8k4", 64, "f64", "f64", "f64"), ("m16n8k4", 64, "f64", "f64", "f64"), ("m16n8k8", 64, "f64", "f64", "f64"), ("m16n8k16", 64, "f64", "f64", "f64"),
    ("m8n8k16", 8, "s8", "s8", "s32"), ("m16n8k16", 8, "s8", "u8", "s32"), ("m16n8k32", 8, "u8", "s8", "s32"), ("m16n8k32", 8, "u8", "u8", "s32"),
    ("m8n8k32", 4, "s4", "s4", "s32"), ("m16n8k32", 4, "u4", "s4", "s32"), ("m16n8k64", 4, "s4", "u4", "s32"),
    ("m16n8k16", 8, "e4m3", "e5m2", "f32"), ("m16n8k32", 8, "e4m3", "e4m3", "f32"), ("m16n8k32", 8, "e5m2", "e4m3", "f16"),
]  # fmt: skip


@pytest.mark.parametrize("shape, width, a_type, b_type, acc", CASES, ids=lambda v: str(v))
def test_mma(shape, width, a_type, b_type, acc):
    m, n, k = dimensions(shape)
    rng = np.random.default_rng(0)
    a_codes, a = random_matrix(rng, (m, k), a_type)
    b_codes, b = random_matrix(rng, (k, n), b_type)
    dtype = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "s32": np.int32}[acc]
    c = (rng.integers(-1000, 1000, (m, n)) if acc == "s32" else rng.standard_normal((m, n))).astype(dtype)
    a_words = fragments(a_codes, A_FORMULAS[shape, width], width, m * k // 32)
    b_words = fragments(b_codes, B_FORMULAS[shape, width], width, k * n // 32)
    c_words = scatter_c(c, m, m * n // 32)
    words = c_words.view(np.uint64 if acc == "f64" else np.uint32)
    d = mma(f"mma.sync.aligned.{shape}.row.col.{acc}.{a_type}.{b_type}.{acc}", shape, a_words, b_words, words)
    got = collect_c(d, m, dtype).astype(np.float64)
    want = a @ b + c.astype(np.float64)
    tolerance = {"f16": 2e-2, "f32": 1e-5, "f64": 1e-14, "s32": 0}[acc]
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("a_type, b_type", [("e4m3", "e3m2"), ("e2m3", "e5m2"), ("e2m1", "e2m1"), ("e3m2", "e2m1")])
def test_mma_with_8_bit_containers(a_type, b_type):
    """kind::f8f6f4: fp6 in the low six bits of a byte, fp4 in bits 2 to 5."""
    rng = np.random.default_rng(1)
    a_codes, a = random_matrix(rng, (16, 32), a_type)
    b_codes, b = random_matrix(rng, (32, 8), b_type)
    a_words = fragments(a_codes << (2 if a_type == "e2m1" else 0), A_FORMULAS["m16n8k32", 8], 8, 16)
    b_words = fragments(b_codes << (2 if b_type == "e2m1" else 0), B_FORMULAS["m16n8k32", 8], 8, 8)
    c = np.zeros((32, 4), np.uint32)
    d = mma(f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{a_type}.{b_type}.f32", "", a_words, b_words, c)
    np.testing.assert_allclose(collect_c(d, 16, np.float32), a @ b, rtol=1e-6)


def scale_words(codes, side, byte_id, thread_id):
    """Scale factors (rows, count) put where the selector makes the hardware look; other bytes are rubbish."""
    words = np.full((32, 4), 0xAA, np.uint8)
    rows, count = codes.shape
    for row in range(rows):
        lane = (row % 8) * 4 + (thread_id * 2 + row // 8 if side == "A" else thread_id)
        words[lane, byte_id : byte_id + count] = codes[row]
    return words.view(np.uint32)


SCALED = [
    ("mxf8f6f4", "m16n8k32", "e4m3", "scale_vec::1X", 1, "ue8m0", (2, 1), (3, 2)),
    ("mxf8f6f4", "m16n8k32", "e5m2", "scale_vec::1X", 1, "ue8m0", (0, 0), (0, 0)),
    ("mxf4", "m16n8k64", "e2m1", "scale_vec::2X", 2, "ue8m0", (2, 0), (0, 3)),
    ("mxf4nvf4", "m16n8k64", "e2m1", "scale_vec::2X", 2, "ue8m0", (0, 1), (2, 1)),
    ("mxf4nvf4", "m16n8k64", "e2m1", "scale_vec::4X", 4, "ue4m3", (0, 1), (0, 2)),
]


@pytest.mark.parametrize("kind, shape, type_, vector, count, scale, sel_a, sel_b", SCALED)
def test_block_scaled_mma(kind, shape, type_, vector, count, scale, sel_a, sel_b):
    _, _, k = dimensions(shape)
    width = 4 if k == 64 else 8
    rng = np.random.default_rng(2)
    a_codes, a = random_matrix(rng, (16, k), type_)
    b_codes, b = random_matrix(rng, (k, 8), type_)
    a_words = fragments(a_codes, A_FORMULAS[shape, width], width, 16 * k // 32)
    b_words = fragments(b_codes, B_FORMULAS[shape, width], width, 8 * k // 32)
    if scale == "ue8m0":
        sa, sb = (
            rng.integers(120, 134, (16, count)).astype(np.uint8),
            rng.integers(120, 134, (8, count)).astype(np.uint8),
        )
        fa, fb = np.exp2(sa.astype(float) - 127), np.exp2(sb.astype(float) - 127)
    else:
        sa, sb = (
            rng.integers(0x28, 0x50, (16, count)).astype(np.uint8),
            rng.integers(0x28, 0x50, (8, count)).astype(np.uint8),
        )
        fa, fb = (s.view(ml_dtypes.float8_e4m3fn).astype(float) for s in (sa, sb))
    extra = (("S", scale_words(sa, "A", *sel_a)), ("T", scale_words(sb, "B", *sel_b)))
    suffix = f", {{S0}}, {{{sel_a[0]}, {sel_a[1]}}}, {{T0}}, {{{sel_b[0]}, {sel_b[1]}}}"
    opcode = f"mma.sync.aligned.{shape}.row.col.kind::{kind}.block_scale.{vector}.f32.{type_}.{type_}.f32.{scale}"
    d = mma(opcode, shape, a_words, b_words, np.zeros((32, 4), np.uint32), extra, suffix)
    want = (a * np.repeat(fa, k // count, axis=1)) @ (b * np.repeat(fb, k // count, axis=1).T)
    np.testing.assert_allclose(collect_c(d, 16, np.float32), want, rtol=1e-5, atol=1e-5)


def test_integer_accumulators_wrap_or_saturate():
    ones = np.full((32, 4), 0x7F7F7F7F, np.uint32)
    c = np.full((32, 4), 0x7FFFFFF0, np.uint32)
    opcode = "mma.sync.aligned.m16n8k32.row.col{}.s32.s8.s8.s32"
    dot = 127 * 127 * 32
    assert (mma(opcode.format(""), "", ones, ones[:, :2], c) == (0x7FFFFFF0 + dot) % (1 << 32)).all()
    assert (mma(opcode.format(".satfinite"), "", ones, ones[:, :2], c) == 0x7FFFFFFF).all()


def test_tf32_ignores_low_bits():
    a = np.full((32, 4), 0x3F801FFF, np.uint32)
    b = np.full((32, 2), 0x3F800000, np.uint32)
    d = mma("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "", a, b, np.zeros((32, 4), np.uint32))
    assert (d.view(np.float32) == 8).all()


def test_wrong_register_counts_are_refused():
    from tileiras_build.simulate.emulator import UnsupportedInstruction

    with pytest.raises(UnsupportedInstruction, match="expected 4 and 2 registers"):
        run(
            kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, {t0,t1}, {t2,t3}, {f0,f1,f2,f3};"),
            np.zeros(1, np.uint32),
        )


# -- ldmatrix and stmatrix ---------------------------------------------------------------------------
def shared_roundtrip(body, data, out, threads=32):
    """Copy ``data`` (bytes) to shared memory, run ``body`` with t1 = base address, store results per thread."""
    copy = f""".shared .align 128 .b8 s[{data.nbytes}]; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, 0;
    C: cvt.u64.u32 u4, t2; add.u64 u4, u4, u0; ld.global.u8 h0, [u4]; add.u32 t3, t1, t2; st.shared.u8 [t3], h0; add.u32 t2, t2, 1; setp.lt.u32 p1, t2, {data.nbytes}; @p1 bra C; bar.sync 0;
    {body}"""
    run(kernel(copy, 2, threads), data.view(np.uint8).reshape(-1), out)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix(count, trans):
    """Rows in scrambled order: lane 8 i + r addresses row r of matrix i."""
    rows = np.arange(8 * count * 8, dtype=np.uint16).reshape(count, 8, 8)
    order = np.random.default_rng(0).permutation(8 * count)
    data = np.zeros((8 * count, 8), np.uint16)
    data[order] = rows.reshape(-1, 8)
    table = np.concatenate([order, np.zeros(32 - 8 * count, int)]) * 16
    selects = " ".join(f"setp.eq.u32 p2, t0, {lane}; @p2 mov.u32 t4, {offset};" for lane, offset in enumerate(table))
    names = ", ".join(f"t{8 + i}" for i in range(count))
    stores = " ".join(f"st.global.u32 [u6+{4 * i}], t{8 + i};" for i in range(count))
    body = f"mov.u32 t4, 0; {selects} add.u32 t4, t4, t1; ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if trans else ''}.shared.b16 {{{names}}}, [t4]; mul.wide.u32 u6, t0, {4 * count}; add.u64 u6, u6, u1; {stores}"
    out = np.zeros((32, count, 2), np.uint16)
    shared_roundtrip(body, data, out)
    for lane in LANES:
        for i in range(count):
            for e in (0, 1):
                row, column = lane // 4, lane % 4 * 2 + e
                want = rows[i, column, row] if trans else rows[i, row, column]
                assert out[lane, i, e] == want


@pytest.mark.parametrize("count", [1, 2])
def test_ldmatrix_of_bytes(count):
    """m16n16: register 2 i + h of lane 4 g + t contains rows 4 t … 4 t + 3 of column g + 8 h of matrix i."""
    data = np.random.default_rng(1).integers(0, 256, (16 * count, 16)).astype(np.uint8)
    names = ", ".join(f"t{8 + i}" for i in range(2 * count))
    stores = " ".join(f"st.global.u32 [u6+{4 * i}], t{8 + i};" for i in range(2 * count))
    body = f"and.b32 t5, t0, {16 * count - 1}; mad.lo.u32 t4, t5, 16, t1; ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8 {{{names}}}, [t4]; mul.wide.u32 u6, t0, {8 * count}; add.u64 u6, u6, u1; {stores}"
    out = np.zeros((32, count, 2, 4), np.uint8)
    shared_roundtrip(body, data, out)
    for lane in LANES:
        g, t = lane // 4, lane % 4
        for i in range(count):
            for h in (0, 1):
                assert out[lane, i, h].tolist() == [data[16 * i + 4 * t + e, g + 8 * h] for e in range(4)]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_undoes_ldmatrix(count, trans):
    data = np.arange(8 * count * 8, dtype=np.uint16)
    names = ", ".join(f"t{8 + i}" for i in range(count))
    body = f""".shared .align 16 .b8 z[{data.nbytes}]; and.b32 t5, t0, {8 * count - 1}; mad.lo.u32 t4, t5, 16, t1; ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [t4];
    mov.u32 t6, z; mad.lo.u32 t6, t5, 16, t6; stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [t6], {{{names}}}; bar.sync 0;
    setp.ge.u32 p3, t0, {8 * count}; @p3 exit; ld.shared.v4.u32 {{t8, t9, t10, t11}}, [t6]; mul.wide.u32 u6, t0, 16; add.u64 u6, u6, u1; st.global.v4.u32 [u6], {{t8, t9, t10, t11}};"""
    out = aligned(np.zeros_like(data))
    shared_roundtrip(body, data, out)
    np.testing.assert_array_equal(out, data)


def padded_rows(codes, bits):
    """Rows of 16 codes of 4 or 6 bits, low first, padded to 16 bytes."""
    planes = (codes[:, :, None] >> np.arange(bits) & 1).astype(np.uint8).reshape(len(codes), -1)
    packed = np.packbits(planes, axis=1, bitorder="little")
    return np.pad(packed, ((0, 0), (0, 16 - packed.shape[1])), constant_values=0xEE)


@pytest.mark.parametrize("bits, source", [(4, "b4x16_p64"), (6, "b6x16_p32")])
@pytest.mark.parametrize("shape, count", [("m8n16", 1), ("m8n16", 2), ("m8n16", 4), ("m16n16", 1), ("m16n16", 2)])
def test_ldmatrix_of_padded_formats(bits, source, shape, count):
    """16 packed codes become bytes: 4-bit codes in bits 2 to 5, 6-bit codes in the low six."""
    turned = shape == "m16n16"
    rows, per = (16, 2) if turned else (8, 1)
    codes = np.random.default_rng(2).integers(0, 1 << bits, (rows * count, 16)).astype(np.uint8)
    names = ", ".join(f"t{8 + i}" for i in range(per * count))
    stores = " ".join(f"st.global.u32 [u6+{4 * i}], t{8 + i};" for i in range(per * count))
    body = f"and.b32 t5, t0, {rows * count - 1}; mad.lo.u32 t4, t5, 16, t1; ldmatrix.sync.aligned.{shape}.x{count}{'.trans' if turned else ''}.shared.b8x16.{source} {{{names}}}, [t4]; mul.wide.u32 u6, t0, {4 * per * count}; add.u64 u6, u6, u1; {stores}"
    out = np.zeros((32, per * count, 4), np.uint8)
    shared_roundtrip(body, padded_rows(codes, bits), out)
    want = (codes << 2 if bits == 4 else codes).reshape(count, rows, 16)
    for lane in LANES:
        g, t = lane >> 2, lane & 3
        for r in range(per * count):
            for e in range(4):
                i, h = r // per, r % per
                assert out[lane, r, e] == (want[i, 4 * t + e, g + 8 * h] if turned else want[i, g, 4 * t + e])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix_of_bytes(count):
    """m16n8: byte v of lane 4 g + t is row g + 8 (v / 2), column 2 t + v % 2; a column is 16 bytes of memory."""
    data = np.random.default_rng(3).integers(0, 256, (32, count, 4)).astype(np.uint8)
    names = ", ".join(f"t{8 + i}" for i in range(count))
    loads = " ".join(f"ld.shared.u32 t{8 + i}, [t4+{4 * i}];" for i in range(count))
    body = f""".shared .align 16 .b8 z[{128 * count}]; mad.lo.u32 t4, t0, {4 * count}, t1; {loads} mov.u32 t6, z; and.b32 t5, t0, {8 * count - 1}; mad.lo.u32 t6, t5, 16, t6;
    stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [t6], {{{names}}}; bar.sync 0;
    setp.ge.u32 p3, t0, {8 * count}; @p3 exit; ld.shared.v4.u32 {{t8, t9, t10, t11}}, [t6]; mul.wide.u32 u6, t0, 16; add.u64 u6, u6, u1; st.global.v4.u32 [u6], {{t8, t9, t10, t11}};"""
    out = aligned(np.zeros((count, 8, 16), np.uint8))
    shared_roundtrip(body, data, out)
    for i in range(count):
        for lane in LANES:
            for v in range(4):
                assert out[i, 2 * (lane & 3) + v % 2, (lane >> 2) + 8 * (v // 2)] == data[lane, i, v]


def test_movmatrix_transposes():
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    words, out = matrix.reshape(-1).view(np.uint32).copy(), np.zeros(32, np.uint32)
    body = "mov.u32 t0, %tid.x; mul.wide.u32 u2, t0, 4; add.u64 u3, u0, u2; ld.global.u32 t1, [u3]; movmatrix.sync.aligned.m8n8.trans.b16 t2, t1; add.u64 u3, u1, u2; st.global.u32 [u3], t2;"
    run(kernel(body, 2), words, out)
    np.testing.assert_array_equal(out.view(np.uint16).reshape(8, 8), matrix.T)


def test_mma_in_some_warps_of_several_ctas():
    """Only warp 1 multiplies; each CTA has its own C."""
    a = np.full((32, 4), 0x3C003C00, np.uint32)  # ones
    body = """mov.u32 t0, %tid.x; setp.lt.u32 p1, t0, 32; @p1 exit; mov.u32 t1, 0x3C003C00; mov.u32 t2, %ctaid.x; cvt.rn.f32.u32 f0, t2;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1, f2, f3, f4}, {t1, t1, t1, t1}, {t1, t1}, {f0, f0, f0, f0};
    mad.lo.u32 t3, t2, 32, t0; sub.u32 t3, t3, 32; mul.wide.u32 u1, t3, 16; add.u64 u1, u1, u0; st.global.v4.f32 [u1], {f1, f2, f3, f4};"""
    out = aligned(np.zeros((5, 32, 4), np.float32))
    run(kernel(body, threads=64), out, grid=5)
    assert (out == 16 + np.arange(5)[:, None, None]).all() and a.size
