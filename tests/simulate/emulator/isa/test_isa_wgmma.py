"""wgmma.mma_async: shared-memory layouts by the ISA's patterns, fragments by its formulas, matmuls by NumPy."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator import EmulatorFault, UnsupportedInstruction

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
SWIZZLE = {0: 0, 128: 1, 64: 2, 32: 3}  # bytes of a pattern's row -> code of the descriptor, bits 62-63
A_AT, B_AT = 0, 32768  # addresses of the operands in shared memory
THREADS = 128


def random_matrix(rng, shape, type_):
    if type_ in ("s8", "u8"):
        low, high = (-128, 128) if type_ == "s8" else (0, 256)
        return rng.integers(low, high, shape).astype(DTYPES[type_])
    values = rng.integers(-8, 9, shape).astype(np.float32) / 4
    return values.astype(DTYPES[type_])


def descriptor(at, swizzle, leading, stride, base_offset=0):
    return at >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base_offset << 49 | SWIZZLE[swizzle] << 62


def place(image, matrix, at, swizzle, leading, stride, transposed=False, pattern=0):
    """Write (rows, k) elements into shared memory, one by one.

    Section 9.7.15.5.1, canonical layouts with T elements per 16 bytes. K-major: rows of the pattern are ``swizzle``
    (or 16) bytes; 8 of them make a core matrix, ``stride`` bytes apart; without swizzle, the second 16 bytes of k lie
    ``leading`` bytes on. MN-major: the same with the roles of rows and k transposed; the next ``swizzle`` bytes of rows lie
    ``leading`` bytes on, the next eight k ``stride`` bytes on - without swizzle the other way around. The swizzle
    XORs bits 4-6 of an address with its bits 7-9 (counted from ``pattern``), as many as the pattern's row has chunks.
    """
    size, width = matrix.dtype.itemsize, swizzle or 16
    for (row, k), value in np.ndenumerate(matrix):
        major, minor = (row, k) if transposed else (k, row)
        byte = major * size
        eight, chunk = minor // 8, byte // width
        if transposed and not swizzle:
            address = at + minor % 8 * 16 + eight * leading + chunk * stride + byte % 16
        else:
            address = at + minor % 8 * width + eight * stride + chunk * leading + byte % width
        if swizzle:
            mask = swizzle // 16 - 1
            address ^= ((address - pattern) >> 7 & mask) << 4
        image[address : address + size] = np.frombuffer(value.tobytes(), np.uint8)


COPY = """.shared .align 1024 .b8 s[65536]; .reg .b64 da, db; .reg .pred scale; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, 0; setp.ge.u32 p3, t0, 128; @p3 bra DONE;
COPY: mad.lo.u32 t3, t0, 16, t2; cvt.u64.u32 u10, t3; add.u64 u10, u10, u0; ld.global.v4.u32 {t4, t5, t6, t7}, [u10]; add.u32 t3, t3, t1;
st.shared.v4.u32 [t3], {t4, t5, t6, t7}; add.u32 t2, t2, 2048; setp.lt.u32 p1, t2, 65536; @p1 bra COPY; DONE:
fence.proxy.async; bar.sync 0; setp.ne.u32 scale, 1, 0;
"""


def d_rows_columns(n, packed):
    """(row, column) of each element of D by thread and position, from the figures of section 9.7.15.5.2."""
    thread = np.arange(THREADS)[:, None]
    i = np.arange(n // 2)[None]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (i // 2 % 2)
    return row, 8 * (i // 4) + thread % 4 * 2 + i % 2


def execute(
    text, image, n, d_type, desc_a, desc_b, start=None, before="wgmma.fence.sync.aligned;", a=None, threads=THREADS,
    matmul_rounding="exact",
):  # fmt: skip
    """Run one wgmma ``text`` (with {D} and {A}); returns D as (64, n) per warpgroup.

    ``a`` (threads, registers): the words of A; a fifth one is in A4.
    """
    count = n // (4 if d_type == "f16" else 2)
    groups = threads // THREADS
    lines = [
        COPY,
        f"mov.u64 da, {desc_a}; mov.u64 db, {desc_b}; .reg .b32 D<{count}>; mad.lo.u32 t8, t0, {4 * count}, 0;",
    ]
    lines.append("cvt.u64.u32 u11, t8; add.u64 u11, u11, u1;")
    lines += [f"ld.global.b32 D{i}, [u11+{4 * i}];" for i in range(count)]
    a = aligned(np.zeros((threads, 4), np.uint32) if a is None else a)
    lines.append(f".reg .b32 A<5>; mad.lo.u32 t8, t0, {4 * a.shape[1]}, 0; cvt.u64.u32 u12, t8; add.u64 u12, u12, u2;")
    lines += [f"ld.global.b32 A{i}, [u12+{4 * i}];" for i in range(a.shape[1])]
    names = {"D": "{" + ", ".join(f"D{i}" for i in range(count)) + "}", "A": "{A0, A1, A2, A3}"}
    lines += [before, text.format(**names), "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    lines += [f"st.global.b32 [u11+{4 * i}], D{i};" for i in range(count)]
    row, column = d_rows_columns(n, d_type == "f16")
    dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[d_type]
    matrix = np.zeros((64, n), dtype) if start is None else start.astype(dtype)
    words = aligned(np.ascontiguousarray(np.tile(matrix[row, column], (groups, 1))).view(np.uint32))
    run(kernel("\n".join(lines), 3, threads), aligned(image), words, a, matmul_rounding=matmul_rounding)
    out = np.zeros((groups, 64, n), dtype)
    for g in range(groups):
        out[g][row, column] = words[g * THREADS : (g + 1) * THREADS].view(dtype)
    return out if groups > 1 else out[0]


def opcode(n, k, d, a, b, sat=""):
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{k}{sat}.{d}.{a}.{b}"


def tail(type_, transposed=(0, 0), signs=(1, 1), scale="scale"):
    if type_ in ("s8", "u8"):
        return f"{scale};"
    signs = ", ".join(str(s) for s in signs)
    return f"{scale}, {signs}" + (f", {', '.join(str(t) for t in transposed)};" if type_ in ("f16", "bf16") else ";")


K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
FORMS = [
    ("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e5m2"),
    ("f32", "e5m2", "e4m3"), ("f16", "e4m3", "e4m3"), ("s32", "s8", "u8"), ("s32", "u8", "s8"),
]  # fmt: skip


def matmul(
    d, a_type, b_type, n, swizzle, rng=None, transposed=(0, 0), signs=(1, 1), scale="scale", threads=THREADS, sat=""
):
    """Random operands through shared memory; returns (D, expected)."""
    rng = rng or np.random.default_rng(n + swizzle)
    k = K[a_type]
    a, b = random_matrix(rng, (64, k), a_type), random_matrix(rng, (n, k), b_type)
    start = rng.integers(-50, 50, (64, n))
    image = np.zeros(65536, np.uint8)
    layouts = []
    for matrix, at, is_transposed in ((a, A_AT, transposed[0]), (b, B_AT, transposed[1])):
        rows = len(matrix)
        if is_transposed:  # MN-major
            leading, stride = (128, 256) if not swizzle else (16 * swizzle, 8 * swizzle)
            if not swizzle:
                leading, stride = 128 * (rows // 8), 128
        else:
            leading, stride = (128, 256) if not swizzle else (16, 8 * swizzle)
        place(image, matrix, at, swizzle, leading, stride, bool(is_transposed))
        layouts.append(descriptor(at, swizzle, leading, stride))
    text = f"{opcode(n, k, d, a_type, b_type, sat)} {{D}}, da, db, {tail(a_type, transposed, signs, scale)}"
    out = execute(text, image, n, d, *layouts, start=start, threads=threads)
    exact = signs[0] * signs[1] * (a.astype(np.float64) @ b.astype(np.float64).T)
    return out, exact + (start if scale == "scale" else 0)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("types", FORMS, ids="-".join)
def test_k_major(types, swizzle):
    out, expected = matmul(*types, 32, swizzle)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n", [8, 24, 40, 120, 128, 192, 256])
def test_every_width(n):
    out, expected = matmul("f32", "f16", "f16", n, 128)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("transposed", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_mn_major(type_, transposed, swizzle):
    out, expected = matmul("f32", type_, type_, 128, swizzle, transposed=transposed)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("signs", [(-1, 1), (1, -1), (-1, -1)])
def test_signs(signs):
    out, expected = matmul("f32", "f16", "f16", 16, 128, signs=signs)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("d", ["f16", "f32"])
def test_scale_d_of_zero(d):
    out, expected = matmul(d, "f16", "f16", 16, 64, scale="0")
    np.testing.assert_array_equal(out, expected)


def test_saturation():
    image = np.zeros(65536, np.uint8)
    place(image, np.full((64, 32), 127, np.int8), A_AT, 32, 16, 256)
    place(image, np.full((8, 32), 127, np.int8), B_AT, 32, 16, 256)
    start = np.full((64, 8), (1 << 31) - 5)
    layouts = descriptor(A_AT, 32, 16, 256), descriptor(B_AT, 32, 16, 256)
    out = execute(
        f"{opcode(8, 32, 's32', 's8', 's8', '.satfinite')} {{D}}, da, db, scale;",
        image,
        8,
        "s32",
        *layouts,
        start=start,
    )
    assert (out == (1 << 31) - 1).all()
    out = execute(f"{opcode(8, 32, 's32', 's8', 's8')} {{D}}, da, db, scale;", image, 8, "s32", *layouts, start=start)
    assert (out == (start + 32 * 127 * 127 - (1 << 32)).astype(np.int64)).all()


def test_two_warpgroups():
    out, expected = matmul("f32", "bf16", "bf16", 24, 64, threads=256)
    np.testing.assert_array_equal(out, [expected, expected])


@pytest.mark.parametrize("type_", ["f16", "bf16", "tf32", "e4m3", "u8"])
def test_a_from_registers(type_):
    """Section 9.7.15.5.2, fragments of A: pairs (16-bit), single (32-bit) or four (8-bit) neighbors per register."""
    rng = np.random.default_rng(3)
    k, n = K[type_], 16
    a, b = random_matrix(rng, (64, k), type_), random_matrix(rng, (n, k), type_)
    image = np.zeros(65536, np.uint8)
    place(image, b, B_AT, 32, 16, 256)
    per = 4 // a.dtype.itemsize
    words = np.zeros((THREADS, 4), np.uint32)
    for thread in range(THREADS):
        for r in range(4):
            row = thread // 32 * 16 + thread % 32 // 4 + 8 * (r % 2)
            column = thread % 4 * per + r // 2 * 4 * per
            words[thread, r] = np.frombuffer(a[row, column : column + per].tobytes(), np.uint32)[0]
    d = "s32" if type_ == "u8" else "f32"
    last = {"u8": "scale;", "f16": "scale, 1, 1, 0;", "bf16": "scale, 1, 1, 0;"}.get(type_, "scale, 1, 1;")
    text = f"{opcode(n, k, d, type_, type_)} {{D}}, {{A}}, db, {last}"
    out = execute(text, image, n, d, 0, descriptor(B_AT, 32, 16, 256), a=words)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64).T)


def test_a_slice_of_k_inside_the_swizzle():
    """Four MMAs cover 64 columns of f16: each starts 32 bytes further inside the 128-byte rows."""
    rng = np.random.default_rng(4)
    a, b = random_matrix(rng, (64, 64), "f16"), random_matrix(rng, (16, 64), "f16")
    image = np.zeros(65536, np.uint8)
    place(image, a, A_AT, 128, 16, 1024)
    place(image, b, B_AT, 128, 16, 1024)
    one = f"{opcode(16, 16, 'f32', 'f16', 'f16')} {{D}}, da, db, scale, 1, 1, 0, 0;"
    text = " add.u64 da, da, 2; add.u64 db, db, 2; ".join([one] * 4)
    out = execute(text, image, 16, "f32", descriptor(A_AT, 128, 16, 1024), descriptor(B_AT, 128, 16, 1024))
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64).T)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_base_offset(swizzle):
    """A pattern that starts 128 bytes off its boundary: base offset (start >> 7) & 7 = 1."""
    rng = np.random.default_rng(5)
    a, b = random_matrix(rng, (64, 16), "f16"), random_matrix(rng, (16, 16), "f16")
    image = np.zeros(65536, np.uint8)
    place(image, a, A_AT + 128, swizzle, 16, 8 * swizzle, pattern=128)
    place(image, b, B_AT, swizzle, 16, 8 * swizzle)
    layouts = descriptor(A_AT + 128, swizzle, 16, 8 * swizzle, 1), descriptor(B_AT, swizzle, 16, 8 * swizzle)
    out = execute(
        f"{opcode(16, 16, 'f32', 'f16', 'f16')} {{D}}, da, db, scale, 1, 1, 0, 0;", image, 16, "f32", *layouts
    )
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64).T)


def test_many_ctas_at_once():
    rng = np.random.default_rng(6)
    a, b = random_matrix(rng, (64, 16), "f16"), random_matrix(rng, (8, 16), "f16")
    image = np.zeros(65536, np.uint8)
    place(image, a, A_AT, 32, 16, 256)
    place(image, b, B_AT, 32, 16, 256)
    layouts = descriptor(A_AT, 32, 16, 256), descriptor(B_AT, 32, 16, 256)
    body = (
        COPY
        + f""".reg .f32 D<4>; mov.u64 da, {layouts[0]}; mov.u64 db, {layouts[1]}; mov.u32 t8, %ctaid.x; cvt.rn.f32.u32 D0, t8;
    mov.f32 D1, D0; mov.f32 D2, D0; mov.f32 D3, D0; wgmma.fence.sync.aligned;
    {opcode(8, 16, "f32", "f16", "f16")} {{D0, D1, D2, D3}}, da, db, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    mad.lo.u32 t9, t8, 128, t0; mul.wide.u32 u5, t9, 16; add.u64 u5, u5, u1; st.global.v4.f32 [u5], {{D0, D1, D2, D3}};"""
    )
    out = aligned(np.zeros((3, 128, 4), np.float32))
    run(kernel(body, 2, 128), aligned(image), out, grid=3)
    row, column = d_rows_columns(8, False)
    for cta in range(3):
        np.testing.assert_array_equal(out[cta], (a.astype(np.float64) @ b.astype(np.float64).T + cta)[row, column])


# -- faults ------------------------------------------------------------------------------------------
ONE = f"{opcode(8, 16, 'f32', 'f16', 'f16')} {{{{D}}}}, da, db, scale, 1, 1, 0, 0;".format()


LAYOUT_A = descriptor(A_AT, 32, 16, 256)


def faulty(desc_a=LAYOUT_A, before="wgmma.fence.sync.aligned;", text=ONE, **options):
    with pytest.raises(EmulatorFault) as caught:
        execute(
            text, np.zeros(65536, np.uint8), 8, "f32", desc_a, descriptor(B_AT, 32, 16, 256), before=before, **options
        )
    return str(caught.value)


def test_an_operand_outside_shared_memory():
    assert "matrix A exceeds the shared memory" in faulty(descriptor(65536 - 256, 32, 16, 256))


def test_reserved_bits_of_a_descriptor():
    assert "reserved fields" in faulty(descriptor(A_AT, 32, 16, 256) | 1 << 46)


def test_threads_with_different_descriptors():
    assert "different descriptors" in faulty(
        before="cvt.u64.u32 u13, t0; add.u64 da, da, u13; wgmma.fence.sync.aligned;"
    )


def test_missing_warp():
    assert "never reach" in faulty(
        before="setp.ge.u32 p2, t0, 96; @p2 bra AWAY; wgmma.fence.sync.aligned;", text=ONE + " AWAY:"
    )


# -- registers in flight -----------------------------------------------------------------------------
COMMIT, ALL = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
FENCE, ONE_LEFT = "wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"
PARTS = {"D": "{D0, D1, D2, D3}", "E": "{E0, E1, E2, E3}", "A": "{A0, A1, A2, A3}"}


def mma(d, a="da", n=8):
    """A matmul; one of 16 columns also has E."""
    transposed = "0" if a == "A" else "0, 0"
    registers = PARTS[d] if n == 8 else "{D0, D1, D2, D3, E0, E1, E2, E3}"
    return f"{opcode(n, 16, 'f32', 'f16', 'f16')} {registers}, {PARTS.get(a, a)}, db, 1, 1, 1, {transposed};"


def flight(*lines):
    """Run lines with accumulators D and E and A in registers; zeros everywhere."""
    declare = f".reg .f32 D<4>; .reg .f32 E<4>; .reg .f32 x; .reg .b32 A<4>; mov.u64 da, {descriptor(A_AT, 32, 16, 256)}; mov.u64 db, {descriptor(B_AT, 32, 16, 256)};"
    zero = "".join(f"cvt.rn.f32.u32 D{i}, t0; cvt.rn.f32.u32 E{i}, t0; and.b32 A{i}, t0, 0;" for i in range(4))
    run(
        kernel("\n".join([COPY, declare, zero, *lines]), 2, 128),
        aligned(np.zeros(65536, np.uint8)),
        np.zeros(4, np.uint32),
    )


USE = "st.global.f32 [u1], {};"
SOUND = {
    "wait, then read": (FENCE, mma("D"), COMMIT, ALL, USE.format("D0")),
    "the older of two groups": (FENCE, mma("D"), COMMIT, mma("E"), COMMIT, ONE_LEFT, USE.format("D0"), ALL),
    "MMAs with the same accumulator": (FENCE, mma("D"), mma("D"), COMMIT, mma("D"), COMMIT, ALL, USE.format("D3")),
    "a copy, read after the wait": (FENCE, mma("D"), COMMIT, "mov.f32 x, D0;", ALL, USE.format("x")),
    "a copy between registers in flight": (FENCE, mma("D"), COMMIT, mma("E"), COMMIT, "mov.f32 D0, E0;", ALL, USE.format("D0")),
    "a fresh register moved in after the fence": ("cvt.rn.f32.u32 x, t0;", FENCE, "mov.f32 D0, x;", mma("D"), COMMIT, ALL),
    "another shape after the wait": (FENCE, mma("D"), COMMIT, ALL, mma("D", n=16), COMMIT, ALL),
    "A read in flight": (FENCE, mma("D", "A"), mma("E", "A"), COMMIT, "st.global.b32 [u1], A0;", ALL),
    "A rewritten after the wait": (FENCE, mma("D", "A"), COMMIT, ALL, "add.u32 A0, A0, 1;", FENCE, mma("D", "A"), COMMIT, ALL),
    "a loop with an MMA always in flight": (
        "mov.u32 t9, 0;", FENCE, mma("D"), COMMIT, "LOOP:", FENCE, mma("E"), COMMIT, ONE_LEFT, USE.format("D0"), FENCE, mma("D"), COMMIT,
        ONE_LEFT, USE.format("E0"), "add.u32 t9, t9, 1; setp.lt.u32 p1, t9, 3; @p1 bra LOOP;", ALL, USE.format("D0"),
    ),
}  # fmt: skip
UNSOUND = {
    "read before the wait": ("D0 read before a wgmma.wait_group", (FENCE, mma("D"), COMMIT, USE.format("D0"), ALL)),
    "the newer of two groups": ("E0 read before", (FENCE, mma("D"), COMMIT, mma("E"), COMMIT, ONE_LEFT, USE.format("E0"), ALL)),
    "not committed": ("D1 read before", (FENCE, mma("D"), ALL, USE.format("D1"), COMMIT, ALL)),
    "a copy read before": ("x read before", (FENCE, mma("D"), COMMIT, "mov.f32 x, D0;", USE.format("x"), ALL)),
    "written before the wait": ("D2 written before", (FENCE, mma("D"), COMMIT, "cvt.rn.f32.u32 D2, t0;", ALL)),
    "A written before the wait": ("A1 written before", (FENCE, mma("D", "A"), COMMIT, "shl.b32 A1, t0, 1;", ALL)),
    "a constant moved over A": ("A2 written before", (FENCE, mma("D", "A"), COMMIT, "mov.b32 A2, 0;", ALL)),
    "a register moved over A": ("A2 written before", (FENCE, mma("D", "A"), COMMIT, "mov.b32 A2, t0;", ALL)),
    "a register moved over an accumulator": ("D2 written before", (FENCE, mma("D"), COMMIT, "mov.f32 D2, x;", ALL)),
    "a wait that not every thread executes": (
        "D0 read before", (FENCE, mma("D"), COMMIT, "setp.ne.u32 p1, t1, t1;", "@p1 " + ALL, USE.format("D0"), ALL)),
    "another shape in flight": ("D in D0, D1, D2, D3, which an MMA of another shape", (FENCE, mma("D"), mma("D", n=16), COMMIT, ALL)),
    "D over A in flight": (
        "D in A0, A1, A2, A3, which an earlier MMA may still be reading", (FENCE, mma("D", "A"), mma("A"), COMMIT, ALL)),
    "zeros moved in after the fence": ("between writes of D0", (FENCE, "mov.f32 D0, 0f00000000;", mma("D"), COMMIT, ALL)),
    "accumulators read after the fence": ("between reads of D0", (FENCE, mma("D"), COMMIT, ALL, USE.format("D0"), mma("D"), COMMIT, ALL)),
    "no fence at all": ("no wgmma.fence before this MMA", (mma("D"), COMMIT, ALL)),
    "accumulators written after the fence": ("no wgmma.fence between writes of D0", (FENCE, "add.f32 D0, D0, D0;", mma("D"), COMMIT, ALL)),
    "A written after the fence": ("writes of A3", (FENCE, "add.u32 A3, t0, t0;", mma("D", "A"), COMMIT, ALL)),
    "the second iteration of a loop": (
        "D0 read before",
        (FENCE, "mov.u32 t9, 0; LOOP: setp.eq.u32 p1, t9, 0; @p1 bra GO;", USE.format("D0"), "GO:", FENCE, mma("D"), COMMIT,
         "add.u32 t9, t9, 1; setp.lt.u32 p1, t9, 2; @p1 bra LOOP;", ALL),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_registers_used_in_order(name):
    flight(*SOUND[name])


@pytest.mark.parametrize("name", UNSOUND)
def test_registers_in_flight(name):
    why, lines = UNSOUND[name]
    with pytest.raises(EmulatorFault) as caught:
        flight(*lines)
    assert why in str(caught.value)


def test_unexecuted_violation():
    flight(FENCE, mma("D"), COMMIT, "setp.ne.u32 p1, t0, t0; @!p1 bra OVER;", USE.format("D0"), "OVER:", ALL)


# -- forms -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "form", ["m64n264k16.f32.f16.f16", "m64n8k32.f32.f16.f16", "m64n8k16.f16.bf16.bf16", "m64n40k32.s32.s8.s8"]
)
def test_invalid_forms(form):
    n = int(form[4 : form.index("k")])
    last = "scale;" if "s8" in form else "scale, 1, 1, 0, 0;"
    with pytest.raises(UnsupportedInstruction):
        execute(f"wgmma.mma_async.sync.aligned.{form} {{D}}, da, db, {last}", np.zeros(65536, np.uint8), n, "f32", 0, 0)
