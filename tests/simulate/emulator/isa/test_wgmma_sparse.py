"""wgmma.mma_async.sp: sparse A in shared memory or registers; matmuls by NumPy."""

import subprocess

import numpy as np
import pytest

from tests.simulate.emulator.isa.test_isa_wgmma import A_AT, B_AT, THREADS, descriptor, execute, place, random_matrix
from tests.simulate.emulator.isa.test_mma_sparsity_metadata import kept_columns, metadata_of, random_codes
from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate.emulator import EmulatorFault, UnsupportedInstruction

K = {"f16": 32, "bf16": 32, "tf32": 16, "e4m3": 64, "e5m2": 64, "s8": 64, "u8": 64}
TRANSPOSABLE = ("f16", "bf16")
FORMS = [
    ("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("f32", "e4m3", "e5m2"),
    ("f16", "e5m2", "e4m3"), ("s32", "s8", "u8"), ("s32", "u8", "s8"),
]  # fmt: skip


def opcode(n: int, d: str, a: str, b: str, sat: str = "") -> str:
    return f"wgmma.mma_async.sp.sync.aligned.m64n{n}k{K[a]}{sat}.{d}.{a}.{b}"


def tail(type_: str, transposed=(0, 0), signs=(1, 1)) -> str:
    if type_ in ("s8", "u8"):
        return "scale;"
    transposes = f", {', '.join(str(t) for t in transposed)}" if type_ in TRANSPOSABLE else ""
    return f"scale, {signs[0]}, {signs[1]}{transposes};"


def strides(rows: int, swizzle: int, transposed: bool) -> tuple[int, int]:
    """(leading, stride) of a contiguous matrix in shared memory."""
    if not transposed:
        return (2048, 128) if not swizzle else (16, 8 * swizzle)
    if not swizzle:
        return 128 * (rows // 8), 128
    return 64 * swizzle, 8 * swizzle


class Case:
    """Random operands of one MMA: sparse A, B (n, k)."""

    def __init__(self, a_type: str, b_type: str, n: int, selector: int = 0):
        rng = np.random.default_rng(n + selector)
        k = K[a_type]
        self.rng, self.n, self.a_type, self.selector = rng, n, a_type, selector
        dense, self.b = random_matrix(rng, (64, k), a_type), random_matrix(rng, (n, k), b_type)
        width = 8 * dense.dtype.itemsize
        codes = random_codes(rng, 64, k, width)
        kept = kept_columns(codes, width)
        self.packed = np.take_along_axis(dense, kept, axis=1)
        self.a = np.zeros((64, k))
        np.put_along_axis(self.a, kept, self.packed.astype(float), axis=1)
        self.metadata = np.concatenate(
            [metadata_of(codes[row : row + 16], width, selector) for row in range(0, 64, 16)]
        )

    def run(self, d: str, b_type: str, swizzle: int, transposed=(0, 0), signs=(1, 1), from_registers=False):
        """(D, expected), with old values of D."""
        start = self.rng.integers(-50, 50, (64, self.n))
        image = np.zeros(65536, np.uint8)
        layouts = []
        for matrix, at, turn in ((self.packed, A_AT, transposed[0]), (self.b, B_AT, transposed[1])):
            steps = strides(len(matrix), swizzle, bool(turn))
            place(image, matrix, at, swizzle, *steps, bool(turn))
            layouts.append(descriptor(at, swizzle, *steps))
        words = np.concatenate([self.fragments(), self.metadata], axis=1)
        left, last = ("{A}", transposed[1:]) if from_registers else ("da", transposed)
        text = f"{opcode(self.n, d, self.a_type, b_type)} {{D}}, {left}, db, A4, {self.selector}, {tail(self.a_type, last, signs)}"
        out = execute(text, image, self.n, d, *layouts, start=start, a=aligned(words))
        return out, signs[0] * signs[1] * (self.a @ self.b.astype(np.float64).T) + start

    def fragments(self) -> np.ndarray:
        """Words of A in registers (128, 4): as a dense A of half its columns (section 9.7.15.5.2)."""
        per = 4 // self.packed.dtype.itemsize
        words = np.zeros((THREADS, 4), np.uint32)
        for thread, r in np.ndindex(THREADS, 4):
            row = thread // 32 * 16 + thread % 32 // 4 + 8 * (r % 2)
            column = thread % 4 * per + r // 2 * 4 * per
            words[thread, r] = np.frombuffer(self.packed[row, column : column + per].tobytes(), np.uint32)[0]
        return words


@pytest.mark.parametrize("swizzle", [0, 64, 128])
@pytest.mark.parametrize("types", FORMS, ids="-".join)
def test_k_major(types, swizzle):
    d, a_type, b_type = types
    out, expected = Case(a_type, b_type, 32).run(d, b_type, swizzle)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("transposed", [(0, 1), (1, 1)])
def test_mn_major(transposed, swizzle):
    out, expected = Case("bf16", "bf16", 128).run("f32", "bf16", swizzle, transposed)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("types", "selector"), [(form, selector) for form in FORMS for selector in ((0,) if K[form[1]] == 64 else (0, 1))]
)
def test_a_from_registers(types, selector):
    d, a_type, b_type = types
    out, expected = Case(a_type, b_type, 16, selector).run(d, b_type, 64, from_registers=True)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("signs", [(-1, 1), (-1, -1)])
@pytest.mark.parametrize("n", [8, 136, 256])
def test_widths_and_signs(n, signs):
    out, expected = Case("f16", "f16", n, 1).run("f32", "f16", 128, signs=signs)
    np.testing.assert_array_equal(out, expected)


# -- unsupported forms ---------------------------------------------------------------------------------
def one(text: str, metadata: int = 0x44444444, swizzle: int = 64):
    words = aligned(np.full((THREADS, 5), metadata, np.uint32))
    layout = descriptor(A_AT, swizzle, *strides(64, swizzle, False))
    return execute(text, np.zeros(65536, np.uint8), 8, "f32", layout, layout, a=words)


F16 = f"{opcode(8, 'f32', 'f16', 'f16')} {{D}}, da, db, A4, {{sel}}, scale, 1, 1, 0, 0;"


def test_invalid_metadata():
    with pytest.raises(EmulatorFault, match="row 0, columns 0 to 3 of A: invalid indices 1 and 1"):
        one(F16.format(D="{D}", sel=0), 0x44444445)
    with pytest.raises(EmulatorFault, match="row 0, columns 2 to 3 of A: 0b0000 is neither 0b0100 nor 0b1110"):
        one(f"{opcode(8, 'f32', 'tf32', 'tf32')} {{D}}, da, db, A4, 0, scale, 1, 1;", 0x44444404)


def test_rows_of_b_longer_than_the_swizzle():
    with pytest.raises(EmulatorFault, match="B of a sparse MMA cannot be K-major in the 32-byte swizzling mode"):
        one(F16.format(D="{D}", sel=0), swizzle=32)


REFUSED = {
    "a selector of a pair": (F16.format(D="{D}", sel=2), "the sparsity selector must be 0 to 1"),
    "a selector of all lanes": (
        f"{opcode(8, 'f32', 'e4m3', 'e4m3')} {{D}}, da, db, A4, 1, scale, 1, 1;", "the sparsity selector must be 0"),
    "k of a dense MMA": (
        "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 {D}, da, db, A4, 0, scale, 1, 1, 0, 0;", "unsupported shape"),
    "no metadata": (F16.format(D="{D}", sel=0).replace("A4, 0, ", ""), "wrong number of operands"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_forms(name):
    text, why = REFUSED[name]
    with pytest.raises(UnsupportedInstruction, match=why):
        one(text)


def test_ptxas_accepts_the_tested_forms(tmp_path):
    lines = ["wgmma.fence.sync.aligned;"]
    for d, a_type, b_type in FORMS:
        letter, count = {"f32": ("f", 8), "f16": ("h", 4), "s32": ("r", 8)}[d]
        vector = "{" + ", ".join(f"{letter}{i}" for i in range(count)) + "}"
        head = f"{opcode(16, d, a_type, b_type)} {vector},"
        lines.append(f"{head} da, db, m, 0, {tail(a_type, (1, 1), (1, -1))}")
        lines.append(f"{head} {{r8, r9, r10, r11}}, db, m, 0, {tail(a_type, (1,))}")
    declare = ".reg .f32 f<8>; .reg .b32 h<4>; .reg .b32 r<12>; .reg .b32 m; .reg .b64 da, db; .reg .pred scale;"
    source = tmp_path / "k.ptx"
    body = "\n".join([declare, *lines, "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;", "ret;"])
    source.write_text(f".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n{body}\n}}\n")
    command = [find_ptxas(), "-arch=sm_90a", "-O0", "-o", tmp_path / "k.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
