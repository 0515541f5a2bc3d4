"""tcgen05.mma against float64 matmuls: descriptors, layouts of D, block scaling, .ws, from the ISA's formulas."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.native.gates import use
from tests.simulate.emulator.tensor_kernels import (
    COMMIT,
    encode,
    instruction,
    k_major_address,
    mn_major_address,
    place,
    random_matrix,
    row_bytes,
    run_tensor,
    scaled_instruction,
)
from tileiras_build.simulate.emulator import EmulatorFault, UnsupportedInstruction

B_START = 32768


def issue(kind, a, b, word, keep=0, extra="", scales="", tail="", form="mma", d="t1"):
    """One MMA by thread 0, then a commit."""
    left = f"mov.u64 d0, {a};" if isinstance(a, int) else ""
    name = "d0" if isinstance(a, int) else a
    return f"""{left} mov.u64 d1, {b}; mov.u32 t9, {word}; setp.ne.u32 p4, 0, {keep};
    tcgen05.{form}.cta_group::1.{kind} [{d}], {name}, d1, t9, {extra}{scales}p4{tail}; {COMMIT}"""


def operand(rng, shared, rows, type_, k, start, swizzle=128, packed=False):
    """A K-major matrix in shared memory: (values, descriptor)."""
    codes, values = random_matrix(rng, (rows, k), type_)
    leading, stride = (rows * 16, 128) if swizzle == 0 else (0, 8 * swizzle)
    place(shared, row_bytes(codes, type_, packed), k_major_address, start, leading, stride, swizzle)
    return values, encode(start, leading, stride, swizzle)


KINDS = [
    ("f16", "f16", 0, "f16", 0, 16), ("f16", "bf16", 1, "bf16", 1, 16), ("tf32", "tf32", 2, "tf32", 2, 8),
    ("f8f6f4", "e4m3", 0, "e5m2", 1, 32), ("f8f6f4", "e2m3", 3, "e3m2", 4, 32), ("f8f6f4", "e2m1", 5, "e4m3", 0, 32),
    ("f8f6f4", "e5m2", 1, "e2m1", 5, 32),
]  # fmt: skip


@pytest.mark.parametrize("kind, a_type, a_code, b_type, b_code, k", KINDS)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_types_and_swizzles(kind, a_type, a_code, b_type, b_code, k, swizzle):
    rng = np.random.default_rng(0)
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, 128, a_type, k, 0, swizzle)
    b, b_desc = operand(rng, shared, 40, b_type, k, B_START, swizzle)
    cells = np.zeros((1, 128, 64), np.uint32)
    out = run_tensor(shared, issue(f"kind::{kind}", a_desc, b_desc, instruction(128, 40, a_code, b_code)), cells)
    np.testing.assert_allclose(out[0, :, :40].view(np.float32), a @ b.T, rtol=1e-5, atol=1e-5)
    assert not out[0, :, 40:].any()


def lanes_of(layout: str, n: int, half: int = 0):
    """(lane, column) of D[row, column] in a layout of section 9.7.16.10.5, as index arrays over (M, N)."""
    m = {"D": 128, "F": 64, "E": 64, "G": 32}[layout]
    row, column = np.mgrid[:m, :n]
    if layout == "D":
        return row, column
    if layout == "F":
        return row // 16 * 32 + row % 16 + 16 * half, column
    if layout == "E":
        return row + 64 * (column // (n // 2)), column % (n // 2)
    return row + 32 * (column // (n // 4)), column % (n // 4)


@pytest.mark.parametrize("layout, half, form", [("D", 0, "mma"), ("F", 0, "mma"), ("F", 1, "mma"), ("D", 0, "mma.ws"), ("E", 0, "mma.ws"), ("G", 0, "mma.ws")])  # fmt: skip
def test_layouts_of_d(layout, half, form):
    """Every cell of D is accumulated; all other cells are unchanged."""
    rng = np.random.default_rng(1)
    m, n = {"D": 128, "F": 64, "E": 64, "G": 32}[layout], 64
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, m, "f16", 16, 0)
    b, b_desc = operand(rng, shared, n, "f16", 16, B_START)
    cells = rng.standard_normal((1, 128, 64)).astype(np.float32)
    where = f"add.u32 t10, t1, {half << 20};"
    text = where + issue("kind::f16", a_desc, b_desc, instruction(m, n), keep=1, form=form, d="t10")
    out = run_tensor(shared, text, cells.view(np.uint32))[0].view(np.float32)
    want = cells[0].astype(np.float64)
    want[lanes_of(layout, n, half)] += a @ b.T
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("type_, code, k, kind", [("f16", 0, 16, "f16"), ("e4m3", 0, 32, "f8f6f4"), ("u8", 0, 32, "i8"), ("tf32", 2, 8, "tf32")])  # fmt: skip
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128, "128B/32B"])
def test_transposed_operands(type_, code, k, kind, swizzle):
    """MN-major A and B; only tf32 may, and must, use the 32-byte atoms of the 128-byte swizzle."""
    rng = np.random.default_rng(2)
    n, size = 64, {"f16": 2, "tf32": 4}.get(type_, 1)
    shared = np.zeros(B_START + 16384, np.uint8)
    values, words = [], []
    for rows, start in ((128, 0), (n, B_START)):
        codes, value = random_matrix(rng, (rows, k), type_)
        data = np.ascontiguousarray(codes.T).view(np.uint8).reshape(k, rows * size)
        width = swizzle if swizzle in (32, 64, 128) else 128
        span, deep = (16, 8) if swizzle == 0 else (width, 4 if swizzle == "128B/32B" else 8)
        runs = -(-rows * size // span)
        leading, stride = (8 * 16 * runs, 128) if swizzle == 0 else (-(-k // deep) * deep * width, deep * width)
        for i in range(k):
            for j in range(rows * size):
                shared[mn_major_address(j, i, start, leading, stride, swizzle)] = data[i, j]
        values.append(value)
        words.append(encode(start, leading, stride, swizzle))
    d = 2 if kind == "i8" else 1
    text = issue(f"kind::{kind}", *words, instruction(128, n, code, code, d, turn_a=1, turn_b=1))
    cells = np.zeros((1, 128, 64), np.uint32)
    if (type_ == "tf32") != (swizzle == "128B/32B"):
        with pytest.raises(EmulatorFault, match="cannot have this swizzling mode"):
            run_tensor(shared, text, cells)
        return
    out = run_tensor(shared, text, cells)[0].view(np.int32 if kind == "i8" else np.float32)
    np.testing.assert_allclose(out, values[0] @ values[1].T, rtol=1e-5, atol=1e-5)


def test_start_inside_a_swizzled_row():
    """K-steps advance the start address inside the 128-byte rows: bytes 64 to 95 of each."""
    rng = np.random.default_rng(3)
    shared = np.zeros(B_START + 16384, np.uint8)
    codes, a = random_matrix(rng, (128, 64), "f16")
    place(shared, row_bytes(codes, "f16"), k_major_address, 0, 0, 1024, 128)
    b, b_desc = operand(rng, shared, 32, "f16", 16, B_START)
    out = run_tensor(shared, issue("kind::f16", encode(64, 0, 1024, 128), b_desc, instruction(128, 32)), np.zeros((1, 128, 32), np.uint32))  # fmt: skip
    np.testing.assert_allclose(out[0].view(np.float32), a[:, 32:48] @ b.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("signs, saturate", [("s8", 0), ("u8", 0), ("s8", 1)])
def test_integers(signs, saturate):
    rng = np.random.default_rng(4)
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, 128, signs, 32, 0)
    b, b_desc = operand(rng, shared, 32, signs, 32, B_START)
    cells = rng.integers(-(1 << 31), 1 << 31, (1, 128, 32)).astype(np.int32)
    code = int(signs == "s8")
    text = issue("kind::i8", a_desc, b_desc, instruction(128, 32, code, code, 2, saturate=saturate), keep=1)
    out = run_tensor(shared, text, cells.view(np.uint32))[0].view(np.int32)
    want = (a @ b.T).astype(np.int64) + cells[0]
    want = np.clip(want, -(1 << 31), (1 << 31) - 1) if saturate else want.astype(np.int32)
    np.testing.assert_array_equal(out, want)


def test_f16_accumulators_are_in_the_low_halves():
    rng = np.random.default_rng(5)
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, 128, "f16", 16, 0)
    b, b_desc = operand(rng, shared, 32, "f16", 16, B_START)
    old = rng.standard_normal((1, 128, 32)).astype(np.float16)
    cells = old.view(np.uint16).astype(np.uint32) | np.uint32(0xABCD0000)
    out = run_tensor(shared, issue("kind::f16", a_desc, b_desc, instruction(128, 32, d=0), keep=1), cells)
    got = (out[0] & 0xFFFF).astype(np.uint16).view(np.float16).astype(float)
    np.testing.assert_allclose(got, a @ b.T + old[0].astype(float), rtol=2e-3, atol=5e-3)


def test_negation_scale_of_d_and_disabled_lanes():
    rng = np.random.default_rng(6)
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, 128, "bf16", 16, 0)
    b, b_desc = operand(rng, shared, 32, "bf16", 16, B_START)
    cells = rng.standard_normal((1, 128, 32)).astype(np.float32)
    masks = [0x0000000F, 0, 0x80000000, 0xFFFFFFFF]
    off = np.unpackbits(np.array(masks, np.uint32).view(np.uint8), bitorder="little").astype(bool)
    lanes = "".join(f"mov.u32 t{12 + i}, {m};" for i, m in enumerate(masks))
    word = instruction(128, 32, 1, 1, negate_a=1)
    text = lanes + issue("kind::f16", a_desc, b_desc, word, 1, extra="{t12, t13, t14, t15}, ", tail=", 3")
    out = run_tensor(shared, text, cells.view(np.uint32))[0].view(np.float32)
    want = np.where(off[:, None], cells[0], cells[0] / 8 - a @ b.T)
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind, type_, code, k", [("f16", "f16", 0, 16), ("tf32", "tf32", 2, 8), ("f8f6f4", "e4m3", 0, 32), ("f8f6f4", "e2m1", 5, 32), ("f8f6f4", "e3m2", 4, 32)])  # fmt: skip
@pytest.mark.parametrize("m", [64, 128])
def test_left_operand_in_tensor_memory(kind, type_, code, k, m):
    """A in columns 32 to 39: whole words of 16- and 32-bit elements, containers of 8 bits for the small types."""
    rng = np.random.default_rng(7)
    shared = np.zeros(16384, np.uint8)
    codes, a = random_matrix(rng, (m, k), type_)
    b, b_desc = operand(rng, shared, 32, type_, k, 0)
    data = (codes << 2 if type_ == "e2m1" else codes).view(np.uint8).reshape(m, 32).view(np.uint32)
    row = np.arange(m)
    lane = row if m == 128 else row // 16 * 32 + row % 16
    cells = np.zeros((1, 128, 64), np.uint32)
    cells[0, lane, 32:40] = data
    text = "add.u32 t11, t1, 32;" + issue(f"kind::{kind}", "[t11]", b_desc, instruction(m, 32, code, code))
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(out[lane, :32], a @ b.T, rtol=1e-5, atol=1e-5)


SCALED = [
    ("mxf8f6f4", "", "e4m3", 0, "e5m2", 1, 32, 1, 1, (0, 3)),
    ("mxf8f6f4", ".scale_vec::1X", "e2m1", 5, "e3m2", 4, 32, 1, 1, (2, 1)),
    ("mxf8f6f4", ".block32", "e2m3", 3, "e4m3", 0, 32, 1, 1, (1, 0)),
    ("mxf4", "", "e2m1", 1, "e2m1", 1, 64, 2, 1, (0, 2)),
    ("mxf4", ".block32", "e2m1", 1, "e2m1", 1, 64, 2, 1, (2, 0)),
    ("mxf4nvf4", ".scale_vec::2X", "e2m1", 1, "e2m1", 1, 64, 2, 1, (2, 2)),
    ("mxf4nvf4", ".scale_vec::4X", "e2m1", 1, "e2m1", 1, 64, 4, 0, (0, 0)),
    ("mxf4nvf4", ".block16", "e2m1", 1, "e2m1", 1, 64, 4, 1, (0, 0)),
]


def scale_cells(factors: np.ndarray, first: int, cells: np.ndarray, byte: int) -> None:
    """Scale factors (rows, count): row r in lane r % 32 of every 32, column r / 32, bytes from ``byte``."""
    for row, values in enumerate(factors):
        for part in range(4):
            word = cells[0, row % 32 + 32 * part, first + row // 32 : first + row // 32 + 1].view(np.uint8)
            word[byte : byte + len(values)] = values


def scale_values(codes: np.ndarray, type_: int) -> np.ndarray:
    if type_ == 1:  # ue8m0
        return np.exp2(codes.astype(np.float64) - 127)
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


@pytest.mark.parametrize("kind, vector, a_type, a_code, b_type, b_code, k, count, scale_type, ids", SCALED)
def test_block_scaling(kind, vector, a_type, a_code, b_type, b_code, k, count, scale_type, ids):
    rng = np.random.default_rng(8)
    n, packed = 72, kind != "mxf8f6f4"
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, 128, a_type, k, 0, packed=packed)
    b, b_desc = operand(rng, shared, n, b_type, k, B_START, packed=packed)
    low, high = (125, 130) if scale_type else (0x28, 0x50)
    scale_a, scale_b = (rng.integers(low, high, (rows, count)).astype(np.uint8) for rows in (128, n))
    cells = np.full((1, 128, 96), 0x7F7F7F7F, np.uint32)
    scale_cells(scale_a, 80, cells, ids[0])
    scale_cells(scale_b, 84, cells, ids[1])
    where = "add.u32 t12, t1, 80; add.u32 t13, t1, 84;"
    word = scaled_instruction(128, n, a_code, b_code, scale_type, *ids)
    text = where + issue(f"kind::{kind}.block_scale{vector}", a_desc, b_desc, word, scales="[t12], [t13], ")
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    wide_a, wide_b = (np.repeat(scale_values(s, scale_type), k // count, axis=1) for s in (scale_a, scale_b))
    np.testing.assert_allclose(out[:, :n], (a * wide_a) @ (b * wide_b).T, rtol=1e-5, atol=1e-5)


def test_scale_factors_must_be_in_all_parts():
    rng = np.random.default_rng(9)
    shared = np.zeros(B_START + 16384, np.uint8)
    _, a_desc = operand(rng, shared, 128, "e4m3", 32, 0)
    _, b_desc = operand(rng, shared, 32, "e4m3", 32, B_START)
    cells = np.full((1, 128, 64), 0x7F7F7F7F, np.uint32)
    cells[0, 40, 32] = 0
    text = "add.u32 t12, t1, 32;" + issue("kind::mxf8f6f4.block_scale", a_desc, b_desc, scaled_instruction(128, 32, 0, 0, 1), scales="[t12], [t12], ")  # fmt: skip
    with pytest.raises(EmulatorFault, match="scale factors differ"):
        run_tensor(shared, text, cells)


@pytest.mark.parametrize("m, starts, firsts, skip, use, shift", [(128, [0], [0], 2, 3, 0), (64, [0, 0], [1, 0], 2, 3, 0), (32, [0, 1, 2, 1], [1, 1, 0, 0], 2, 3, 2)])  # fmt: skip
def test_zero_column_mask(m, starts, firsts, skip, use, shift):
    """Examples 2 to 4 of section 9.7.16.4.3: runs of use + 1 columns used and skip + 1 columns zero."""
    rng = np.random.default_rng(10)
    n = 64
    shared = np.zeros(B_START + 16384, np.uint8)
    a, a_desc = operand(rng, shared, m, "f16", 16, 0)
    b, b_desc = operand(rng, shared, n + 8, "f16", 16, B_START)
    word = 1 << 39 | skip << 40 | use << 48 | shift << 56
    zero = []
    for i, (start, first) in enumerate(zip(starts, firsts)):
        word |= start << 8 * i | first << 32 + i
        runs = [True] * (skip + 1) + [False] * (use + 1) if first else [False] * (use + 1) + [True] * (skip + 1)
        zero += (runs * n)[start : start + n // len(starts)]
    b = np.where(np.array(zero)[:, None], 0, b[shift : shift + n])
    text = f"mov.u64 d2, {word};" + issue("kind::f16", a_desc, b_desc, instruction(m, n), tail=", d2", form="mma.ws")
    out = run_tensor(shared, text, np.zeros((1, 128, 64), np.uint32))[0].view(np.float32)
    want = np.zeros((128, 64))
    want[lanes_of({128: "D", 64: "E", 32: "G"}[m], n)] = a @ b.T
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


def test_several_steps_of_k_in_several_ctas():
    """Four MMAs in a row, the first does not read D; each CTA has its own matrices."""
    rng = np.random.default_rng(11)
    images, wants = [], []
    for _ in range(3):
        shared = np.zeros(B_START + 16384, np.uint8)
        parts = []
        for rows, start in ((128, 0), (96, B_START)):
            codes, values = random_matrix(rng, (rows, 64), "f16")
            place(shared, row_bytes(codes, "f16"), k_major_address, start, 0, 1024, 128)
            parts.append(values)
        images.append(shared)
        wants.append(parts[0] @ parts[1].T)
    step = "tcgen05.mma.cta_group::1.kind::f16 [t1], d0, d1, t9, {}; add.u64 d0, d0, 2; add.u64 d1, d1, 2;"
    text = f"mov.u64 d0, {encode(0, 0, 1024, 128)}; mov.u64 d1, {encode(B_START, 0, 1024, 128)}; mov.u32 t9, {instruction(128, 96)};"
    text += step.format("0") + step.format("1") * 3 + COMMIT
    out = run_tensor(np.stack(images), text, np.full((3, 128, 96), 0x7FC00000, np.uint32), grid=3)
    np.testing.assert_allclose(out.view(np.float32), np.stack(wants), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind, type_, code, k, keep", [("f16", "f16", 0, 16, 0), ("f16", "bf16", 1, 16, 1), ("tf32", "tf32", 2, 8, 0), ("f8f6f4", "e4m3", 0, 32, 1), ("f8f6f4", "e5m2", 1, 32, 0)])  # fmt: skip
def test_native_accumulation_in_some_ctas(kind, type_, code, k, keep, monkeypatch):
    """In place, in non-adjacent CTAs, with the results of NumPy; NaNs in D become canonical."""
    rng = np.random.default_rng(keep)
    shared = np.zeros(B_START + 16384, np.uint8)
    _, a_desc = operand(rng, shared, 128, type_, k, 0)
    _, b_desc = operand(rng, shared, 64, type_, k, B_START)
    cells = rng.standard_normal((4, 128, 64)).astype(np.float32).view(np.uint32)
    cells[3, 5, 40:] = 0xFFC12345
    mma = issue(f"kind::{kind}", a_desc, b_desc, instruction(128, 64, code, code), keep).replace(COMMIT, "")
    text = f"setp.eq.u32 p5, t6, 1; @p5 bra N; {mma} N: {COMMIT}"
    results = []
    for kernels in (True, False):
        use(monkeypatch, kernels=kernels)
        results.append(run_tensor(shared, text, cells, grid=4, matmul_rounding="exact"))
    assert results[0].tobytes() == results[1].tobytes()
    assert (results[0][1] == cells[1]).all()
    assert (results[0][3, 5, 40:] == 0x7FFFFFFF).all() == bool(keep)


# -- what the ISA leaves undefined -------------------------------------------------------------------
def small_case():
    shared = np.zeros(B_START + 16384, np.uint8)
    return shared, encode(0, 0, 1024, 128), encode(B_START, 0, 1024, 128)


def test_results_before_the_wait():
    shared, a, b = small_case()
    with pytest.raises(EmulatorFault, match="commit and wait first"):
        run_tensor(
            shared, issue("kind::f16", a, b, instruction(128, 32)), np.zeros((1, 128, 32), np.uint32), wait=False
        )


@pytest.mark.parametrize("at, matrix", [(0, "A"), (B_START, "B")])
def test_operands_must_not_change_before_the_wait(at, matrix):
    """Shared memory is written after the issue, before the commit completes."""
    shared, a, b = small_case()
    late = f"mov.u32 t11, 5; st.shared.b32 [image+{at}], t11;"
    with pytest.raises(EmulatorFault, match=f"shared memory of matrix {matrix} changed"):
        run_tensor(shared, issue("kind::f16", a, b, instruction(128, 32)) + late, np.zeros((1, 128, 32), np.uint32))


@pytest.mark.parametrize("form", ["mma", "cp"])
def test_ordinary_stores_need_a_proxy_fence(form):
    """Racecheck requires fence.proxy.async between an ordinary store and an operation that reads it."""
    shared, a, b = small_case()
    store = "mov.u32 t11, 0; st.shared.b32 [image], t11;"
    copy = f"mov.b64 d0, {a}; tcgen05.cp.cta_group::1.128x128b [t1], d0; {COMMIT}"
    text = copy if form == "cp" else issue("kind::f16", a, b, instruction(128, 32))
    cells = np.zeros((1, 128, 32), np.uint32)
    run_tensor(shared, store + "fence.proxy.async.shared::cta;" + text, cells, races=True)
    with pytest.raises(EmulatorFault, match="no fence.proxy.async before this operation"):
        run_tensor(shared, store + text, cells, races=True)


REFUSED = [
    ({"word": instruction(96, 32)}, "unsupported shape M = 96"),
    ({"word": instruction(128, 264)}, "unsupported shape M = 128, N = 264"),
    ({"word": instruction(64, 32) | 1 << 6}, "reserved bits"),
    ({"word": instruction(64, 32, 5)}, "type of A 5"),
    ({"word": instruction(64, 32, sparse=1)}, "sparse A"),
    ({"a": encode(0, 0, 1024, 128) & ~(7 << 46)}, "must be 0b001"),
    ({"a": encode(0, 0, 1024, 128) | 7 << 61}, "swizzling mode 7"),
    ({"a": encode(48 * 1024, 0, 1024, 128)}, "exceeds the shared memory"),
    ({"d": "t10", "before": "add.u32 t10, t1, 32;"}, "are not allocated"),
    ({"d": "t10", "before": "add.u32 t10, t1, 0x200000;"}, "D of this layout cannot start there"),
    ({"word": instruction(64, 32), "d": "t10", "before": "add.u32 t10, t1, 0x80000;"}, "D of this layout cannot start there"),
]  # fmt: skip


@pytest.mark.parametrize("change, message", REFUSED, ids=[m for _, m in REFUSED])
def test_illegal_operands(change, message):
    shared, a, b = small_case()
    given = {"a": a, "b": b, "word": instruction(128, 32), **change}
    before = given.pop("before", "")
    with pytest.raises(EmulatorFault, match=message):
        run_tensor(shared, before + issue("kind::f16", **given), np.zeros((1, 128, 32), np.uint32))


@pytest.mark.parametrize("text", ["tcgen05.mma.cta_group::1.kind::f16.ashift [t1], [t1], d1, t9, p4;", "tcgen05.shift.cta_group::1.down [t1];"])  # fmt: skip
def test_forms_not_supported(text):
    with pytest.raises(UnsupportedInstruction):
        run_tensor(np.zeros(1024, np.uint8), text, np.zeros((1, 128, 32), np.uint32), wait=False)
