"""tcgen05.mma.sp against float64 matmuls: sparse A, metadata in tensor memory."""

import subprocess

import numpy as np
import pytest

from tests.simulate.emulator.isa.test_mma_sparsity_metadata import kept_columns, random_codes
from tests.simulate.emulator.isa.test_tcgen05_cta_pairs import COMMIT as COMMIT_PAIR
from tests.simulate.emulator.isa.test_tcgen05_cta_pairs import PAIR
from tests.simulate.emulator.isa.test_tcgen05_mma import lanes_of, scale_cells, scale_values
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
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate.emulator import EmulatorFault

B_START = 32768
METADATA = 80  # column
WIDTHS = {"f16": 16, "tf32": 32, "mxf4": 4, "mxf4nvf4": 4}
KINDS = [
    ("f16", "f16", 0, "f16", 0, 32), ("f16", "bf16", 1, "bf16", 1, 32), ("tf32", "tf32", 2, "tf32", 2, 16),
    ("f8f6f4", "e4m3", 0, "e5m2", 1, 64), ("f8f6f4", "e2m3", 3, "e3m2", 4, 64), ("f8f6f4", "e2m1", 5, "e4m3", 0, 64),
    ("i8", "s8", 1, "u8", 0, 64), ("i8", "u8", 0, "s8", 1, 64),
]  # fmt: skip


def metadata_words(codes: np.ndarray, width: int) -> np.ndarray:
    """The columns (128, 1 or 2) of codes (rows, chunks); fewer rows than 128 are repeated."""
    rows, chunks = codes.shape
    words = np.zeros((rows, 1 if width >= 16 else 2), np.uint64)
    for row in range(rows):
        for chunk in range(chunks):
            if width >= 16:
                lane = row // 16 * 16 + chunk // 4 * 8 + row % 8
                words[lane, 0] |= np.uint64(int(codes[row, chunk]) << (row // 8 % 2 * 16 + chunk % 4 * 4))
            else:
                words[row, chunk // 8] |= np.uint64(int(codes[row, chunk]) << chunk % 8 * 4)
    return np.tile(words, (128 // rows, 1)).astype(np.uint32)


class Left:
    """A sparse A: compressed codes (rows, k / 2), metadata, and the expanded values."""

    def __init__(self, rng, rows: int, k: int, type_: str, width: int):
        codes, values = random_matrix(rng, (rows, k), type_)
        chunks = random_codes(rng, rows, k, width)
        kept = kept_columns(chunks, width)
        self.codes = np.take_along_axis(codes, kept, axis=1)
        self.values = np.zeros((rows, k))
        np.put_along_axis(self.values, kept, np.take_along_axis(values, kept, axis=1), axis=1)
        self.metadata = metadata_words(chunks, width)


def put(shared, codes, type_: str, start: int, swizzle=128, packed=False) -> int:
    """A K-major matrix in shared memory: its descriptor."""
    rows = len(codes)
    leading, stride = (rows * 16, 128) if swizzle == 0 else (0, 8 * swizzle)
    place(shared, row_bytes(codes, type_, packed), k_major_address, start, leading, stride, swizzle)
    return encode(start, leading, stride, swizzle)


def issue(kind, a, b, word, keep=0, scales="", tail="", form="mma.sp", metadata=METADATA):
    left = f"mov.u64 d0, {a};" if isinstance(a, int) else ""
    name = "d0" if isinstance(a, int) else a
    return f"""{left} mov.u64 d1, {b}; mov.u32 t9, {word}; setp.ne.u32 p4, 0, {keep}; add.u32 t11, t1, {metadata};
    tcgen05.{form}.cta_group::1.{kind} [t1], {name}, d1, [t11], t9, {scales}p4{tail}; {COMMIT}"""


def result(cells, kind: str):
    return cells.view(np.int32 if kind == "i8" else np.float32)


@pytest.mark.parametrize("kind, a_type, a_code, b_type, b_code, k", KINDS)
@pytest.mark.parametrize("swizzle", [0, 64, 128])
def test_types_and_swizzles(kind, a_type, a_code, b_type, b_code, k, swizzle):
    rng = np.random.default_rng(0)
    a = Left(rng, 128, k, a_type, WIDTHS.get(kind, 8))
    b_codes, b = random_matrix(rng, (48, k), b_type)
    shared = np.zeros(B_START + 16384, np.uint8)
    words = put(shared, a.codes, a_type, 0, swizzle), put(shared, b_codes, b_type, B_START, swizzle)
    cells = rng.integers(-9, 9, (1, 128, 96)).astype(np.int32 if kind == "i8" else np.float32).view(np.uint32)
    cells[0, :, METADATA : METADATA + a.metadata.shape[1]] = a.metadata
    word = instruction(128, 48, a_code, b_code, 2 if kind == "i8" else 1, sparse=1)
    out = result(run_tensor(shared, issue(f"kind::{kind}", *words, word, keep=1), cells)[0], kind)
    want = a.values @ b.T + result(cells[0, :, :48].copy(), kind)
    np.testing.assert_allclose(out[:, :48], want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind, type_, code, k", [("f16", "f16", 0, 32), ("tf32", "tf32", 2, 16)])
def test_selector_chooses_a_column_of_a_pair(kind, type_, code, k):
    """Two steps along K with metadata in adjacent columns."""
    rng = np.random.default_rng(1)
    parts = [Left(rng, 128, k, type_, WIDTHS[kind]) for _ in range(2)]
    b_codes, b = random_matrix(rng, (32, 2 * k), type_)
    shared = np.zeros(B_START + 16384, np.uint8)
    a_word = put(shared, np.concatenate([p.codes for p in parts], axis=1), type_, 0)
    b_word = put(shared, b_codes, type_, B_START)
    cells = np.zeros((1, 128, 96), np.uint32)
    cells[0, :, METADATA : METADATA + 2] = np.concatenate([p.metadata for p in parts], axis=1)
    steps = [issue(f"kind::{kind}", a_word + 2 * i, b_word + 4 * i, instruction(128, 32, code, code, sparse=1) | i, keep=i) for i in (0, 1)]  # fmt: skip
    text = steps[0].replace(COMMIT, "") + steps[1]
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(
        out[:, :32], np.concatenate([p.values for p in parts], axis=1) @ b.T, rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize(
    "kind, type_, code, k", [("f16", "f16", 0, 32), ("tf32", "tf32", 2, 16), ("f8f6f4", "e4m3", 0, 64)]
)
@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary(kind, type_, code, k, m):
    rng = np.random.default_rng(2)
    a = Left(rng, m, k, type_, WIDTHS.get(kind, 8))
    b_codes, b = random_matrix(rng, (64, k), type_)
    shared = np.zeros(B_START + 16384, np.uint8)
    words = put(shared, a.codes, type_, 0), put(shared, b_codes, type_, B_START)
    cells = np.zeros((1, 128, 96), np.uint32)
    cells[0, :, METADATA : METADATA + a.metadata.shape[1]] = a.metadata
    text = issue(f"kind::{kind}", *words, instruction(m, 64, code, code, sparse=1), form="mma.ws.sp")
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(out[lanes_of({128: "D", 64: "E", 32: "G"}[m], 64)], a.values @ b.T, rtol=1e-5, atol=1e-4)


def test_copies_of_metadata_must_agree():
    shared = np.zeros(B_START + 16384, np.uint8)
    cells = np.full((1, 128, 96), 0x44444444, np.uint32)
    cells[0, 70, METADATA] = 0x88888888
    text = issue("kind::f16", WORD_A, WORD_B, instruction(64, 64, sparse=1), form="mma.ws.sp")
    with pytest.raises(EmulatorFault, match="the metadata differs between the 2 parts of tensor memory"):
        run_tensor(shared, text, cells)


def test_left_operand_in_tensor_memory():
    rng = np.random.default_rng(3)
    a = Left(rng, 128, 32, "bf16", 16)
    b_codes, b = random_matrix(rng, (32, 32), "bf16")
    shared = np.zeros(16384, np.uint8)
    b_word = put(shared, b_codes, "bf16", 0)
    cells = np.zeros((1, 128, 96), np.uint32)
    cells[0, :, 40:48] = np.ascontiguousarray(a.codes).view(np.uint32)
    cells[0, :, METADATA : METADATA + 1] = a.metadata
    text = "add.u32 t10, t1, 40;" + issue(
        "kind::f16", "[t10]", b_word, instruction(128, 32, 1, 1, sparse=1, negate_a=1)
    )
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(out[:, :32], -a.values @ b.T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_transposed_operands(swizzle):
    """MN-major: the k extent of A is half of B's."""
    rng = np.random.default_rng(4)
    a = Left(rng, 128, 32, "f16", 16)
    b_codes, b = random_matrix(rng, (64, 32), "f16")
    shared = np.zeros(B_START + 16384, np.uint8)
    words = []
    for codes, start in ((a.codes, 0), (b_codes, B_START)):
        rows, k = codes.shape
        data = np.ascontiguousarray(codes.T).view(np.uint8)
        leading, stride = (8 * rows, 0) if swizzle else (16 * rows, 128)
        if swizzle:
            leading, stride = k * swizzle, 8 * swizzle
        for i, j in np.ndindex(data.shape):
            shared[mn_major_address(j, i, start, leading, stride, swizzle)] = data[i, j]
        words.append(encode(start, leading, stride, swizzle))
    cells = np.zeros((1, 128, 96), np.uint32)
    cells[0, :, METADATA : METADATA + 1] = a.metadata
    text = issue("kind::f16", *words, instruction(128, 64, sparse=1, turn_a=1, turn_b=1))
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(out[:, :64], a.values @ b.T, rtol=1e-5, atol=1e-4)


SCALED = [
    ("mxf8f6f4", "", "e4m3", 0, "e5m2", 1, 64, 1, 1, (0, 3)),
    ("mxf8f6f4", ".block32", "e2m1", 5, "e3m2", 4, 64, 1, 1, (2, 1)),
    ("mxf4", "", "e2m1", 1, "e2m1", 1, 128, 2, 1, (0, 2)),
    ("mxf4nvf4", ".scale_vec::4X", "e2m1", 1, "e2m1", 1, 128, 4, 0, (0, 0)),
]


@pytest.mark.parametrize("kind, vector, a_type, a_code, b_type, b_code, k, count, scale_type, ids", SCALED)
def test_block_scaling(kind, vector, a_type, a_code, b_type, b_code, k, count, scale_type, ids):
    """Each row of A, of k columns with its zeros, has ``count`` blocks."""
    rng = np.random.default_rng(5)
    n, packed = 72, kind != "mxf8f6f4"
    a = Left(rng, 128, k, a_type, WIDTHS.get(kind, 8))
    b_codes, b = random_matrix(rng, (n, k), b_type)
    shared = np.zeros(B_START + 16384, np.uint8)
    words = put(shared, a.codes, a_type, 0, packed=packed), put(shared, b_codes, b_type, B_START, packed=packed)
    low, high = (125, 130) if scale_type else (0x28, 0x50)
    scale_a, scale_b = (rng.integers(low, high, (rows, count)).astype(np.uint8) for rows in (128, n))
    cells = np.full((1, 128, 96), 0x7F7F7F7F, np.uint32)
    scale_cells(scale_a, 84, cells, ids[0])
    scale_cells(scale_b, 88, cells, ids[1])
    cells[0, :, METADATA : METADATA + 2] = a.metadata
    where = "add.u32 t12, t1, 84; add.u32 t13, t1, 88;"
    word = scaled_instruction(128, n, a_code, b_code, scale_type, *ids) | 1 << 2
    text = where + issue(f"kind::{kind}.block_scale{vector}", *words, word, scales="[t12], [t13], ")
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    wide_a, wide_b = (np.repeat(scale_values(s, scale_type), k // count, axis=1) for s in (scale_a, scale_b))
    np.testing.assert_allclose(out[:, :n], (a.values * wide_a) @ (b * wide_b).T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind, type_, code, k", [("f16", "f16", 0, 32), ("f8f6f4", "e4m3", 0, 64)])
def test_pairs(kind, type_, code, k):
    """M = 256: each CTA has the metadata of its 128 rows."""
    rng = np.random.default_rng(6)
    parts = [Left(rng, 128, k, type_, WIDTHS.get(kind, 8)) for _ in range(2)]
    b_codes, b = random_matrix(rng, (64, k), type_)
    shared = np.zeros((2, B_START + 16384), np.uint8)
    cells = np.zeros((2, 128, 96), np.uint32)
    for i, part in enumerate(parts):
        put(shared[i], part.codes, type_, 0)
        put(shared[i], b_codes[32 * i : 32 * i + 32], type_, B_START)
        cells[i, :, METADATA : METADATA + part.metadata.shape[1]] = part.metadata
    text = issue(f"kind::{kind}", WORD_A, WORD_B, instruction(256, 64, code, code, sparse=1))
    text = text.replace("cta_group::1", "cta_group::2").replace(
        COMMIT.replace("cta_group::1", "cta_group::2"), COMMIT_PAIR
    )
    out = run_tensor(shared, f"setp.ne.u32 p5, t6, 0; @p5 bra G; {text}", cells, **PAIR).view(np.float32)
    want = np.concatenate([p.values for p in parts]) @ b.T
    np.testing.assert_allclose(out[:, :, :64].reshape(256, 64), want, rtol=1e-5, atol=1e-4)


# -- unsupported forms ---------------------------------------------------------------------------------
WORD_A, WORD_B = encode(0, 0, 1024, 128), encode(B_START, 0, 1024, 128)
REFUSED = {
    "a dense descriptor": ({"word": instruction(128, 32)}, "the instruction descriptor has a dense A, unlike the instruction"),
    "metadata of layout F": ({"word": instruction(64, 32, sparse=1)}, "a sparse A of M = 64 is not supported"),
    "a selector in figures only": ({"word": instruction(128, 32, sparse=1) | 2}, "sparsity selector 2: only 0 to 1 are supported"),
    "a selector of one choice": (
        {"kind": "kind::f8f6f4", "word": instruction(128, 32, sparse=1) | 1}, "sparsity selector 1: only 0 to 0 are supported"),
    "an odd column": ({"metadata": METADATA + 1}, "metadata must start in an even column"),
    "a lane": ({"metadata": METADATA + (16 << 16)}, "lane 16: metadata of this layout cannot start there"),
    "a narrow swizzle": ({"b": encode(B_START, 0, 256, 32)}, "B of a sparse MMA cannot be K-major in the 32-byte"),
    "N of .ws": ({"word": instruction(128, 256, sparse=1), "form": "mma.ws.sp"}, "unsupported shape M = 128, N = 256"),
    "metadata not allocated": ({"metadata": 128}, "are not allocated"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_illegal_operands(name):
    change, message = REFUSED[name]
    given = {"kind": "kind::f16", "a": WORD_A, "b": WORD_B, "word": instruction(128, 32, sparse=1), **change}
    cells = np.full((1, 128, 96), 0x44444444, np.uint32)
    with pytest.raises(EmulatorFault, match=message):
        run_tensor(np.zeros(B_START + 16384, np.uint8), issue(**given), cells)


def test_pairs_of_layout_c():
    text = issue("kind::f16", WORD_A, WORD_B, instruction(128, 32, sparse=1)).replace("cta_group::1", "cta_group::2")
    with pytest.raises(EmulatorFault, match="a sparse A of M = 128 is not supported"):
        run_tensor(np.zeros((2, 65536), np.uint8), text, np.zeros((2, 128, 96), np.uint32), **PAIR)


@pytest.mark.parametrize("code, possible", [(0b0110, True), (0b0001, False), (0b0101, False)])
def test_codes(code, possible):
    """The ISA lists 0b0110: the first element at position 2, the second one at position 1."""
    rng = np.random.default_rng(7)
    shared = np.zeros(B_START + 16384, np.uint8)
    a_codes, a = random_matrix(rng, (128, 32), "e4m3")
    b_codes, b = random_matrix(rng, (32, 64), "e4m3")
    words = put(shared, a_codes, "e4m3", 0), put(shared, b_codes, "e4m3", B_START)
    cells = np.full((1, 128, 96), code * 0x11111111, np.uint32)
    text = issue("kind::f8f6f4", *words, instruction(128, 32, sparse=1))
    if not possible:
        with pytest.raises(EmulatorFault, match=f"invalid indices {code & 3} and {code >> 2}"):
            run_tensor(shared, text, cells)
        return
    full = np.zeros((128, 16, 4))
    full[:, :, 2], full[:, :, 1] = a[:, 0::2], a[:, 1::2]
    out = run_tensor(shared, text, cells)[0].view(np.float32)
    np.testing.assert_allclose(out[:, :32], full.reshape(128, 64) @ b.T, rtol=1e-5, atol=1e-4)


def test_codes_of_tf32():
    cells = np.full((1, 128, 96), 0x99999999, np.uint32)
    text = issue("kind::tf32", WORD_A, WORD_B, instruction(128, 32, 2, 2, sparse=1))
    with pytest.raises(EmulatorFault, match="row 0, columns 0 to 1 of A: 0b1001 is neither 0b0100 nor 0b1110"):
        run_tensor(np.zeros(B_START + 16384, np.uint8), text, cells)


def test_ptxas_accepts_the_tested_forms(tmp_path):
    lines = [f"tcgen05.mma.sp.cta_group::1.kind::{kind} [t1], d0, d1, [t11], t9, p4;" for kind, *_ in KINDS]
    lines += [f"tcgen05.mma.ws.sp.cta_group::1.kind::{kind} [t1], [t1], d1, [t11], t9, p4, d0;" for kind, *_ in KINDS]
    lines += [
        f"tcgen05.mma.sp.cta_group::1.kind::{kind}.block_scale{vector} [t1], d0, d1, [t11], t9, [t2], [t3], p4;"
        for kind, vector, *_ in SCALED
    ]
    lines += ["tcgen05.mma.sp.cta_group::1.kind::f16 [t1], d0, d1, [t11], t9, {t2, t3, t4, t5}, p4, 3;"]
    declare = ".reg .b32 t<12>; .reg .b64 d<2>; .reg .pred p<5>;"
    source = tmp_path / "k.ptx"
    body = "\n".join([declare, *lines, "ret;"])
    source.write_text(f".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {{\n{body}\n}}\n")
    command = [find_ptxas(), "-arch=sm_100a", "-O0", "-o", tmp_path / "k.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
