"""mma.sp: A with two numbers in four, by the index formulas of the ISA and metadata built bit by bit."""

import itertools

import numpy as np
import pytest
from test_matrix import B_FORMULAS, LANES, fragments, mma, numbers, pack, place_c

from tileiras_build.emulator import EmulatorFault, UnsupportedInstruction

PAIRS = list(itertools.combinations(range(4), 2))
# Section 9.7.14.6.2: element i of a lane (g, t) lies in this row, and in the chunk of four columns that begins here.
A_PLACES = {
    16: lambda g, t, i: (g if i < 2 else g + 8, 4 * t),
    32: lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, 4 * t + (0 if i < 4 else 16)),
}
B_FORMULAS = {16: B_FORMULAS["m16n8k16", 16], 32: lambda g, t, i: (t * 2 + (i & 1) + 8 * (i // 2), g)}


def sparse_matrix(rng, k: int, type_: str):
    """(codes, values, places of the two numbers of each chunk) of a random A (16, k)."""
    places = np.array([[PAIRS[i] for i in row] for row in rng.integers(0, 6, (16, k // 4))])
    codes, values = numbers(rng, (16, k), type_)
    there = np.zeros((16, k), bool)
    for row, chunk in itertools.product(range(16), range(k // 4)):
        there[row, 4 * chunk + places[row, chunk]] = True
    return np.where(there, codes, 0), np.where(there, values, 0), places


def registers_of_a(codes, places, k: int) -> np.ndarray:
    lines = []
    for lane in LANES:
        found = []
        for i in range(k // 4):
            row, first = A_PLACES[k](lane >> 2, lane & 3, i)
            found.append(codes[row, first + places[row, first // 4, i & 1]])
        lines.append(pack(found, 16))
    return np.stack(lines)


def metadata_of(places, k: int, selector: int) -> np.ndarray:
    """Rows g and g + 8 in the halves of a register, 16 columns each; other lanes hold what is not to be looked at."""
    words = np.full((32, 1), 0xFFFFFFFF, np.uint32)
    for g, block in itertools.product(range(8), range(k // 16)):
        word = 0
        for half, chunk, i in itertools.product(range(2), range(4), range(2)):
            word |= int(places[g + 8 * half, 4 * block + chunk, i]) << (16 * half + 4 * chunk + 2 * i)
        words[4 * g + k // 16 * selector + block] = word
    return words


def product(k, type_="f16", d_type="f32", selector=0, form="mma.sp::ordered_metadata", change=None):
    rng = np.random.default_rng(k + selector)
    a_codes, a, places = sparse_matrix(rng, k, type_)
    b_codes, b = numbers(rng, (k, 8), type_)
    c = rng.standard_normal((16, 8)).astype(np.float32 if d_type == "f32" else np.float16)
    told = places if change is None else change(places)
    metadata = metadata_of(told, k, selector)
    width = 32 if d_type == "f32" else 16
    d_words = mma(
        f"{form}.sync.aligned.m16n8k{k}.row.col.{d_type}.{type_}.{type_}.{d_type}", None, registers_of_a(a_codes, places, k),
        fragments(b_codes, B_FORMULAS[k], 16, k // 4), fragments(c.view(f"u{width // 8}"), lambda g, t, i: place_c(16, g, t, i), width, 4),
        extra=(("E", metadata),), suffix=f", E0, {selector}",
    )  # fmt: skip
    found = np.ascontiguousarray(d_words).view(c.dtype).reshape(32, 4)
    out = np.zeros((16, 8))
    for lane, i in itertools.product(LANES, range(4)):
        out[place_c(16, lane >> 2, lane & 3, i)] = found[lane, i]
    return out, moved(a, places, told) @ b + c


def moved(a, places, told) -> np.ndarray:
    """A with its numbers where the metadata tells."""
    out = np.zeros_like(a)
    for row, chunk, i in itertools.product(range(16), range(a.shape[1] // 4), range(2)):
        out[row, 4 * chunk + told[row, chunk, i]] = a[row, 4 * chunk + places[row, chunk, i]]
    return out


@pytest.mark.parametrize("form", ["mma.sp", "mma.sp::ordered_metadata"])
@pytest.mark.parametrize(("k", "selector"), [(16, 0), (16, 1), (16, 3), (32, 0), (32, 1)])
def test_products(k, selector, form):
    found, expected = product(k, selector=selector, form=form)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("type_", "d_type", "close"), [("bf16", "f32", 1e-5), ("f16", "f16", 1e-2)])
def test_types(type_, d_type, close):
    found, expected = product(32, type_, d_type)
    np.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_metadata_that_does_not_exist():
    """Both numbers of a chunk in one place; or the second before the first, where the metadata is said to be ordered."""
    with pytest.raises(EmulatorFault, match="row 0, columns 0 to 3 of A: indices 2 and 2 are not possible"):
        product(32, form="mma.sp", change=lambda places: np.full_like(places, 2))
    with pytest.raises(EmulatorFault, match="are not possible"):
        product(32, change=lambda places: places[..., ::-1])


def test_metadata_in_any_order():
    """Without order, the indices may say that the second number comes first."""
    found, expected = product(16, form="mma.sp", change=lambda places: places[..., ::-1])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("k", "selector"), [(16, 4), (32, 2)])
def test_selectors_that_do_not_exist(k, selector):
    with pytest.raises(UnsupportedInstruction, match="the sparsity selector must be"):
        mma(
            f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.f32.f16.f16.f32", None,
            np.zeros((32, k // 8), np.uint32), np.zeros((32, k // 8), np.uint32), np.zeros((32, 4), np.uint32),
            extra=(("E", np.zeros((32, 1), np.uint32)),), suffix=f", E0, {selector}",
        )  # fmt: skip
