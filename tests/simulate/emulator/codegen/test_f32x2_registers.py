"""64-bit registers as halves: between f32x2 instructions, and joined for instructions that read all 64 bits."""

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import evaluate

NAN = 0x7FFFFFFF
A = np.array([1.5, -0.0, np.inf, 3e38], np.float32)
B = np.array([2.25, -0.0, -np.inf, 3e38], np.float32)
PACK = ".reg .b64 w<4>; .reg .f32 v<8>; .reg .b32 i<4>; mov.b64 w0, {a, b}; mov.b64 w1, {b, a};"


def expected(function) -> np.ndarray:
    """The bits of float32 values with canonical NaNs."""
    with np.errstate(all="ignore"):
        values = np.asarray(function, np.float32)
    return np.where(np.isnan(values), np.uint32(NAN), values.view(np.uint32))


def bits(body: str, *inputs) -> list[list[int]]:
    return [out.tolist() for out in evaluate(PACK + body, *inputs, out=(np.uint32, np.uint32))]


def test_chained_additions():
    low, high = bits("add.rn.f32x2 w2, w0, w1; mul.rn.f32x2 w2, w2, w0; mov.b64 {x, y}, w2;", A, B)
    with np.errstate(all="ignore"):
        assert low == expected((A + B) * A).tolist() and high == expected((B + A) * B).tolist()


def test_reading_all_bits_joins_the_halves():
    low, high = bits("add.rn.f32x2 w2, w0, w1; shr.u64 w3, w2, 32; cvt.u32.u64 x, w2; cvt.u32.u64 y, w3;", A, B)
    with np.errstate(all="ignore"):
        assert low == high == expected(A + B).tolist()


def test_pack_keeps_the_old_values_of_its_sources():
    """Also if a source is written after the pack, and if only some threads pack."""
    body = "mov.b32 a, 0f41000000; setp.gt.f32 p0, b, 0f3F800000; @p0 mov.b64 w0, {a, a}; mov.b64 {x, y}, w0;"
    low, high = bits(body, A, B)
    chosen = B > 1
    assert low == np.where(chosen, np.float32(8), A).view(np.uint32).tolist()
    assert high == np.where(chosen, np.float32(8), B).view(np.uint32).tolist()


def test_redefined_pair():
    body = "add.rn.f32x2 w2, w0, w1; mov.b64 w2, 17179869187; mov.b64 {x, y}, w2;"
    assert bits(body, A, B) == [[3] * 4, [4] * 4]


def test_pairs_across_blocks():
    body = "add.rn.f32x2 w2, w0, w1; bar.sync 0; add.rn.f32x2 w2, w2, w0; bar.sync 0; mov.b64 {x, y}, w2;"
    with np.errstate(all="ignore"):
        assert bits(body, A, B)[0] == expected(A + B + A).tolist()


def test_addition_canonicalizes_nans():
    body = "add.f32 v0, a, b; neg.f32 v0, v0; mov.b64 w2, {v0, v0}; mov.b64 {x, y}, w2;"
    assert bits(body, A[2:3], B[2:3]) == [[NAN], [NAN]]


@pytest.mark.parametrize("pattern", [0x7F800001, 0xFFC12345])
def test_packing_preserves_nan_bits(pattern):
    word = np.full(4, pattern, np.uint32)
    assert bits("mov.b64 {x, y}, w0;", word, word)[0] == [pattern] * 4
    assert bits("add.rn.f32x2 w2, w0, w1; mov.b64 {x, y}, w2;", word, word)[0] == [NAN] * 4
