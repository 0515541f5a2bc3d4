"""mma.sp: sparse A by the index formulas of the ISA, with metadata built bit by bit."""

import itertools
import subprocess

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.isa.test_mma_sync import (
    LANES,
    collect_c,
    fragments,
    mma,
    pack,
    random_matrix,
    scale_words,
    scatter_c,
)
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate.emulator import EmulatorFault, UnsupportedInstruction

WIDTHS = {"tf32": 32, "f16": 16, "bf16": 16, "s4": 4, "u4": 4, "e2m1_packed": 4}  # others: 8 bits
# Section 9.7.14.6.1: a code selects two of four positions, the lower one in its low bits.
PAIRS = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b1110: (2, 3)}
KEPT = {
    2: {0b0100: (0,), 0b1110: (1,)},
    4: PAIRS,
    8: {code: (2 * i, 2 * i + 1, 2 * j, 2 * j + 1) for code, (i, j) in PAIRS.items()},
}
CHUNK = {32: 2, 16: 4, 8: 4, 4: 8}


def width_of(type_: str) -> int:
    return WIDTHS.get(type_, 8)


def numbers_of(rng, shape, type_: str):
    """As ``random_matrix``; e2m1 lies in the middle of a byte, but for the kinds that pack it."""
    codes, values = random_matrix(rng, shape, type_.removesuffix("_packed"))
    return (codes << 2 if type_ == "e2m1" else codes), values


def random_codes(rng, rows: int, k: int, width: int) -> np.ndarray:
    """The code of each chunk (rows, chunks)."""
    chunk = CHUNK[width]
    return rng.choice(list(KEPT[chunk]), (rows, k // chunk))


def kept_columns(codes: np.ndarray, width: int) -> np.ndarray:
    """The nonzero columns (rows, k / 2) of A."""
    chunk = CHUNK[width]
    rows = [[chunk * c + i for c, code in enumerate(row) for i in KEPT[chunk][code]] for row in codes]
    return np.array(rows)


def registers_of_a(matrix, kept, width: int) -> np.ndarray:
    """Register r has row g + 8 (r % 2); thread t the kept numbers of columns 2 E t … 2 E t + 2 E - 1 + 8 E (r / 2)."""
    k, per = 2 * kept.shape[1], 32 // width
    lines = []
    for lane in LANES:
        found = []
        for r in range(16 * k // 2 // 32 // per):
            row, first = (lane >> 2) + 8 * (r % 2), 2 * per * (lane & 3) + 8 * per * (r // 2)
            columns = [c for c in kept[row] if first <= c < first + 2 * per]
            assert len(columns) == per
            found += [matrix[row, c] for c in columns]
        lines.append(pack(found, width))
    return np.stack(lines)


def registers_of_b(matrix, width: int) -> np.ndarray:
    per = 32 // width
    return fragments(matrix, lambda g, t, i: (per * t + i % per + 4 * per * (i // per), g), width, len(matrix) // 4)


def metadata_of(codes, width: int, selector: int) -> np.ndarray:
    """Codes of 16 rows; lanes that are not selected hold what is not to be looked at."""
    words = np.full((32, 1), 0xFFFFFFFF, np.uint32)
    chunks = codes.shape[1]
    wide = width >= 16
    for g, block in itertools.product(range(8), range(chunks // (4 if wide else 8))):
        first = 4 * g + chunks // 4 * selector
        if wide:
            row = [codes[g + 8 * half, 4 * block + c] for half in (0, 1) for c in range(4)]
            words[first + block] = pack(row, 4)
            continue
        for half in (0, 1):
            words[first + 2 * block + half] = pack(codes[g + 8 * half, 8 * block : 8 * block + 8], 4)
    return words


def put(shape, kept, compressed) -> np.ndarray:
    out = np.zeros(shape)
    np.put_along_axis(out, kept, compressed, axis=1)
    return out


class Case:
    """Random operands of one mma.sp, and A B in float64."""

    def __init__(self, k: int, a_type: str, b_type: str, selector: int = 0, seed: int = 0):
        rng = np.random.default_rng(k + seed)
        self.width, self.k, self.selector = width_of(a_type), k, selector
        a_codes, a = numbers_of(rng, (16, k), a_type)
        b_codes, b = numbers_of(rng, (k, 8), b_type)
        codes = random_codes(rng, 16, k, self.width)
        kept = kept_columns(codes, self.width)
        self.a = put(a.shape, kept, np.take_along_axis(a, kept, axis=1))
        self.b = b
        self.a_words = registers_of_a(a_codes, kept, self.width)
        self.b_words = registers_of_b(b_codes, self.width)
        self.metadata = metadata_of(codes, self.width, selector)
        self.extra = (("E", self.metadata),)
        self.suffix = f", E0, {selector}"

    def run(self, opcode, c, extra=(), suffix=""):
        return mma(opcode, None, self.a_words, self.b_words, c, (*self.extra, *extra), self.suffix + suffix)


FLOATS = [
    *[("f16", "f16", 16, s) for s in (0, 1, 3)], *[("f16", "f16", 32, s) for s in (0, 1)], ("bf16", "bf16", 32, 0),
    *[("tf32", "tf32", 8, s) for s in (0, 2, 3)], *[("tf32", "tf32", 16, s) for s in (0, 1)],
    ("e4m3", "e4m3", 64, 0), ("e5m2", "e4m3", 64, 0),
]  # fmt: skip


@pytest.mark.parametrize("form", ["mma.sp", "mma.sp::ordered_metadata"])
@pytest.mark.parametrize(("a_type", "b_type", "k", "selector"), FLOATS)
def test_floats(a_type, b_type, k, selector, form):
    case = Case(k, a_type, b_type, selector)
    c = np.random.default_rng(3).standard_normal((16, 8)).astype(np.float32)
    words = case.run(
        f"{form}.sync.aligned.m16n8k{k}.row.col.f32.{a_type}.{b_type}.f32", scatter_c(c, 16, 4).view(np.uint32)
    )
    np.testing.assert_allclose(collect_c(words, 16, np.float32), case.a @ case.b + c, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("a_type", "b_type", "k", "kind"),
    [("f16", "f16", 32, ""), ("e4m3", "e5m2", 64, ".kind::f8f6f4"), ("e2m1", "e3m2", 64, ".kind::f8f6f4")],
)
def test_half_precision_accumulators(a_type, b_type, k, kind):
    case = Case(k, a_type, b_type)
    c = np.random.default_rng(3).standard_normal((16, 8)).astype(np.float16)
    words = case.run(
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col{kind}.f16.{a_type}.{b_type}.f16",
        np.ascontiguousarray(scatter_c(c, 16, 4)).view(np.uint32),
    )
    np.testing.assert_allclose(collect_c(words, 16, np.float16), case.a @ case.b + c, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("types", [*itertools.product(["e4m3", "e3m2", "e2m3", "e2m1"], ["e5m2", "e2m3", "e2m1"])])
def test_kind_f8f6f4(types):
    a_type, b_type = types
    case = Case(64, a_type, b_type)
    words = case.run(
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.{a_type}.{b_type}.f32",
        np.zeros((32, 4), np.uint32),
    )
    np.testing.assert_allclose(collect_c(words, 16, np.float32), case.a @ case.b, rtol=1e-5, atol=1e-4)


INTEGERS = [("s8", "u8", 32, 0), ("u8", "u8", 32, 1), ("s8", "s8", 64, 0), ("u8", "s8", 64, 0)]
INTEGERS += [("s4", "u4", 64, 0), ("u4", "u4", 64, 1), ("s4", "s4", 128, 0), ("u4", "s4", 128, 0)]


@pytest.mark.parametrize("form", ["mma.sp", "mma.sp::ordered_metadata"])
@pytest.mark.parametrize(("a_type", "b_type", "k", "selector"), INTEGERS)
def test_integers(a_type, b_type, k, selector, form):
    case = Case(k, a_type, b_type, selector)
    c = np.random.default_rng(3).integers(-(1 << 20), 1 << 20, (16, 8)).astype(np.int32)
    opcode = f"{form}.sync.aligned.m16n8k{k}.row.col.s32.{a_type}.{b_type}.s32"
    words = case.run(opcode, scatter_c(c, 16, 4).view(np.uint32))
    np.testing.assert_array_equal(collect_c(words, 16, np.int32), (case.a @ case.b).astype(int) + c)


def test_integers_saturate():
    ones = np.full((32, 2), 0x7F7F7F7F, np.uint32)
    metadata = np.full((32, 1), 0x44444444, np.uint32)
    words = mma(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", None, ones, ones,
        np.full((32, 4), 0x7FFFFFF0, np.uint32), (("E", metadata),), ", E0, 0",
    )  # fmt: skip
    assert (words == 0x7FFFFFFF).all()


SCALED = [
    ("mxf8f6f4", 64, "e4m3", "e2m1", ".scale_vec::1X", 1, "ue8m0", (2, 1), (3, 2)),
    ("mxf8f6f4", 64, "e2m3", "e5m2", "", 1, "ue8m0", (0, 0), (0, 0)),
    ("mxf4", 128, "e2m1_packed", "e2m1_packed", ".scale_vec::2X", 2, "ue8m0", (2, 0), (0, 3)),
    ("mxf4nvf4", 128, "e2m1_packed", "e2m1_packed", ".scale_vec::4X", 4, "ue4m3", (0, 1), (0, 1)),
]


@pytest.mark.parametrize(("kind", "k", "a_type", "b_type", "vector", "count", "scale", "sel_a", "sel_b"), SCALED)
def test_block_scaled(kind, k, a_type, b_type, vector, count, scale, sel_a, sel_b):
    """Each row of A, of k columns with its zeros, has ``count`` blocks."""
    case = Case(k, a_type, b_type)
    rng = np.random.default_rng(4)
    low, high = (120, 134) if scale == "ue8m0" else (0x28, 0x50)
    sa, sb = (rng.integers(low, high, (rows, count)).astype(np.uint8) for rows in (16, 8))
    if scale == "ue8m0":
        fa, fb = (np.exp2(s.astype(float) - 127) for s in (sa, sb))
    else:
        fa, fb = (s.view(ml_dtypes.float8_e4m3fn).astype(float) for s in (sa, sb))
    names = [t.removesuffix("_packed") for t in (a_type, b_type)]
    words = case.run(
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vector}"
        f".f32.{names[0]}.{names[1]}.f32.{scale}",
        np.zeros((32, 4), np.uint32),
        (("S", scale_words(sa, "A", *sel_a)), ("T", scale_words(sb, "B", *sel_b))),
        f", {{S0}}, {{{sel_a[0]}, {sel_a[1]}}}, {{T0}}, {{{sel_b[0]}, {sel_b[1]}}}",
    )
    want = (case.a * np.repeat(fa, k // count, axis=1)) @ (case.b * np.repeat(fb, k // count, axis=1).T)
    np.testing.assert_allclose(collect_c(words, 16, np.float32), want, rtol=1e-5, atol=1e-4)


# -- invalid metadata ----------------------------------------------------------------------
def with_codes(form: str, k: int, type_: str, code: int):
    """Run with one code for all chunks; D words."""
    width = width_of(type_)
    count = 16 * k // 2 // 32 // (32 // width)
    ones = (
        np.ones((32, count), np.float32).view(np.uint32)
        if type_ == "tf32"
        else np.full((32, count), 0x3C003C00, np.uint32)
    )
    metadata = np.full((32, 1), code * 0x11111111, np.uint32)
    return mma(
        f"{form}.sync.aligned.m16n8k{k}.row.col.f32.{type_}.{type_}.f32", None, ones, ones[:, : 8 * k // 32 // (32 // width)],
        np.zeros((32, 4), np.uint32), (("E", metadata),), ", E0, 0",
    )  # fmt: skip


def test_invalid_metadata():
    """Both values of a chunk in one place; or the second before the first, where the metadata is declared ordered."""
    with pytest.raises(EmulatorFault, match="row 0, columns 0 to 3 of A: invalid indices 2 and 2"):
        with_codes("mma.sp", 32, "f16", 0b1010)
    with pytest.raises(EmulatorFault, match="invalid indices 1 and 0"):
        with_codes("mma.sp::ordered_metadata", 32, "f16", 0b0001)


@pytest.mark.parametrize("form", ["mma.sp", "mma.sp::ordered_metadata"])
def test_metadata_of_tf32(form):
    assert (with_codes(form, 16, "tf32", 0b0100).view(np.float32) == 8).all()
    with pytest.raises(EmulatorFault, match="row 0, columns 0 to 1 of A: 0b1000 is neither 0b0100 nor 0b1110"):
        with_codes(form, 16, "tf32", 0b1000)


def test_unordered_metadata():
    """Without .ordered_metadata, the indices may be in descending order."""
    case = Case(16, "f16", "f16")
    swapped = (case.metadata >> 2 & 0x33333333) | (case.metadata & 0x33333333) << 2
    case.extra = (("E", swapped),)
    words = case.run("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", np.zeros((32, 4), np.uint32))
    a = case.a.reshape(16, -1, 4).copy()
    for chunk in a.reshape(-1, 4):
        there = np.flatnonzero(chunk)
        chunk[there] = chunk[there[::-1]]
    np.testing.assert_allclose(collect_c(words, 16, np.float32), a.reshape(16, 16) @ case.b, rtol=1e-5, atol=1e-5)


# -- invalid forms -------------------------------------------------------------------------
WRONG_SELECTORS = [
    ("f16", 16, 4),
    ("f16", 32, 2),
    ("tf32", 8, 4),
    ("tf32", 16, 2),
    ("s8", 32, 2),
    ("s8", 64, 1),
    ("s4", 128, 1),
]


def refused(type_: str, k: int, selector: int = 0, form: str = "mma.sp::ordered_metadata", kind: str = "") -> str:
    width, d = width_of(type_), "s32" if type_[0] in "su" else "f32"
    opcode = f"{form}.sync.aligned.m16n8k{k}.row.col{kind}.{d}.{type_}.{type_}.{d}"
    count = max(k * width // 128, 1)
    zeros = [np.zeros((32, n), np.uint32) for n in (count, count, 4, 1)]
    with pytest.raises(UnsupportedInstruction) as found:
        mma(opcode, None, *zeros[:3], (("E", zeros[3]),), f", E0, {selector}")
    return str(found.value)


@pytest.mark.parametrize(("type_", "k", "selector"), WRONG_SELECTORS)
def test_invalid_selectors(type_, k, selector):
    assert "the sparsity selector must be" in refused(type_, k, selector)


@pytest.mark.parametrize(("type_", "k"), [("f16", 64), ("tf32", 32), ("s8", 128), ("e4m3", 32)])
def test_invalid_shapes(type_, k):
    assert "unsupported shape with a sparse A" in refused(type_, k)


def test_kinds_need_ordered_metadata():
    assert "a .kind needs .sp::ordered_metadata" in refused("e4m3", 64, form="mma.sp", kind=".kind::f8f6f4")


# -- ptxas -------------------------------------------------------------------------------------------
OPCODES = {
    "sm_80": [
        *[f"mma.sp.sync.aligned.m16n8k{k}.row.col.s32.{a}.{b}.s32" for a, b, k, _ in INTEGERS],
        *[f"mma.sp.sync.aligned.m16n8k{k}.row.col.f32.{a}.{b}.f32" for a, b, k, _ in FLOATS[:-2]],
    ],
    "sm_89": ["mma.sp.sync.aligned.m16n8k64.row.col.f32.e5m2.e4m3.f32"],
    "sm_120a": [
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.e4m3.e5m2.f16",
        *[
            f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vector}"
            f".f32.{a.removesuffix('_packed')}.{b.removesuffix('_packed')}.f32.{scale}"
            for kind, k, a, b, vector, _, scale, *_ in SCALED
        ],
    ],
}


def statement(opcode: str) -> str:
    """The instruction with registers of the declared names."""
    shape, types = opcode.split(".m16n8k")[1].split(".", 1)
    parts = types.split(".")
    scaled = "block_scale" in parts
    a = parts[-4 if scaled else -3]
    width = 4 if shape == "128" else width_of(a)
    count = int(shape) * width // 128
    d = parts[-5 if scaled else -4]
    letter, n = ("f", 4) if d == "f32" else ("r", 2 if d == "f16" else 4)
    names = [letter, "a", "b", letter]
    vectors = [
        "{" + ", ".join(f"{name}{i}" for i in range(size)) + "}" for name, size in zip(names, (n, count, count, n))
    ]
    return f"{opcode} {', '.join(vectors)}, e0, 0{', e0, {0, 0}, e0, {0, 0}' if scaled else ''};"


@pytest.mark.parametrize("target", OPCODES)
def test_ptxas_accepts_the_tested_forms(target, tmp_path):
    body = "\n".join(statement(opcode) for opcode in dict.fromkeys(OPCODES[target]))
    source = tmp_path / "k.ptx"
    source.write_text(
        f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n"
        f".reg .f32 f<4>; .reg .b32 r<4>; .reg .b32 a<4>; .reg .b32 b<4>; .reg .b32 e<1>;\n{body}\nret;\n}}\n"
    )
    command = [find_ptxas(), f"-arch={target}", "-O0", "-o", tmp_path / "k.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
