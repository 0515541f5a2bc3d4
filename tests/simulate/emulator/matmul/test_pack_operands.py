"""Packing of operands in registers by native code: the results of NumPy, and statistics of the elements."""

import numpy as np
import pytest

from tests.simulate.emulator.matmul.test_gemm import both
from tests.simulate.emulator.native.gates import use_kernels, use_numpy
from tileiras_build.simulate.emulator.isa.mma_register_operands import Fragment, join_rows
from tileiras_build.simulate.emulator.isa.mma_sync import REGISTER_ENCODINGS
from tileiras_build.simulate.emulator.matmul import gemm, matmul, pack_operands
from tileiras_build.simulate.emulator.matmul import operand_value_ranges as value_ranges
from tileiras_build.simulate.emulator.native import native_code

WARPS = 6


def words(rng, kind: str) -> np.ndarray:
    """A register of warps (WARPS, 32) with normal values of a kind."""
    values = rng.standard_normal((WARPS, 32, 2))
    if kind == "f16":
        return values.astype(np.float16).view(np.uint32)[..., 0]
    bits = values.astype(np.float32).view(np.uint32)
    if kind == "tf32":
        return np.ascontiguousarray(bits[..., 0])  # the low 13 bits are ignored
    return bits[..., 0] >> np.uint32(16) | bits[..., 1] & np.uint32(0xFFFF0000)


def fragment(rng, kind: str, rows: int, columns: int, fold: int = 1) -> Fragment:
    blocks = [[words(rng, kind) for _ in range(columns)] for _ in range(rows)]
    return Fragment(blocks, kind, REGISTER_ENCODINGS[kind], fold)


@pytest.mark.parametrize("matrices", [1, 2, WARPS])
def test_rows_of_registers_and_of_memory_are_stacked_alike(matrices):
    """A chain of MMAs may read A from both."""
    registers = fragment(np.random.default_rng(1), "f16", 2, 2)
    memory = value_ranges.MatmulOperand(registers.values, "f16")
    stacked = [one.stacked_rows(matrices) for one in (registers, memory)]
    assert stacked[0].shape == stacked[1].shape
    np.testing.assert_array_equal(stacked[0].values, stacked[1].values)


@pytest.fixture
def always(monkeypatch):
    use_kernels(monkeypatch)


@pytest.mark.parametrize("fold", [1, 2, WARPS])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_matmul_of_registers(kind, fold, always, monkeypatch):
    rng = np.random.default_rng(fold)
    steps = []
    for _ in range(2):
        left = join_rows([fragment(rng, kind, 2, 2) for _ in range(2 if fold == 1 else 1)]).stacked_rows(WARPS // fold)
        right = Fragment(
            [[words(rng, kind)[: WARPS // fold] for _ in range(2)] for _ in range(3)], kind, REGISTER_ENCODINGS[kind]
        )
        steps.append((left, right))
    monkeypatch.setattr(gemm, "L2_BYTES", 1)  # a matrix at a time
    layout = gemm.contiguous_layout

    def run():
        total = np.zeros((WARPS // fold, steps[0][0].shape[1], 24), np.float32)
        if not native_code.is_ready():
            matmul.accumulate(total, [(left, right.even_columns_first) for left, right in steps])
            return total
        apart = layout(total)
        errors = matmul.native_error_bounds(steps, len(total))
        columns = gemm.AccumulatorLayout(apart.rows, apart.columns, apart.row, apart.vector, True)
        gemm.accumulate(total, [total], columns, steps, errors)
        return total

    one, other = both(monkeypatch, run)
    assert one == other


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_even_columns_first_is_an_array(kind, always, monkeypatch):
    """Native code may become profitable between the choice of the path and the matmul."""
    rng = np.random.default_rng(7)
    left, right = fragment(rng, kind, 2, 2), fragment(rng, kind, 3, 2)
    results = both(monkeypatch, lambda: matmul.multiply(left, right.even_columns_first))
    assert np.array_equal(*results) and not np.array_equal(results[0], matmul.multiply(left, right))


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_extremes_of_registers(kind, always, monkeypatch):
    factor = fragment(np.random.default_rng(1), kind, 2, 2)
    factor.blocks[1][0][3, 5] = 0
    by_code = factor.extremes
    magnitudes = np.abs(factor.values[factor.values != 0])
    assert by_code == (magnitudes.max(), magnitudes.min())


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_extremes_of_arrays(dtype, turned, always, monkeypatch):
    values = np.random.default_rng(2).standard_normal((3, 16, 8)).astype(dtype)
    values[0, 2] = 0
    factor = value_ranges.MatmulOperand(values.swapaxes(1, 2) if turned else values, "f16")
    other = value_ranges.MatmulOperand(-2 * factor.values, "f16")
    assert value_ranges.compute_extremes([factor, other])
    largest, smallest = np.abs(values).max(), np.abs(values[values != 0]).min()
    assert (factor.extremes, other.extremes) == ((largest, smallest), (2 * largest, 2 * smallest))
    use_numpy(monkeypatch)
    assert not value_ranges.compute_extremes([factor])


def test_extremes_of_factors_of_two_sizes(always):
    factors = [value_ranges.MatmulOperand(np.full((1, rows, 8), rows, np.float16), "f16") for rows in (8, 16)]
    assert not value_ranges.compute_extremes(factors) and [factor.extremes for factor in factors] == [(8, 8), (16, 16)]


def test_even_rows_first_of_registers_and_arrays():
    """The permutation of registers equals that of their values."""
    factor = fragment(np.random.default_rng(3), "f16", 2, 2)
    np.testing.assert_array_equal(
        factor.even_columns_first.values, value_ranges.MatmulOperand(factor.values, "f16").even_columns_first.values
    )


def test_unsupported_kinds():
    assert pack_operands.kind_of(value_ranges.MatmulOperand(np.ones((1, 8, 8)), "scaled")) is None
    assert pack_operands.kind_of(Fragment([[np.zeros((1, 32), np.uint32)]], "e4m3", REGISTER_ENCODINGS["e4m3"])) is None


WORDS = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f32": np.uint32, "e4m3": np.uint8, "e5m2": np.uint8}
STACK, ROWS, DEPTH = 3, 16, 24


def arranged(array: np.ndarray, form: str) -> np.ndarray:
    """The same values (stack, rows, k) with contiguous rows, contiguous columns, or neither."""
    if form == "columns":
        return np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2)
    return np.repeat(array, 3, axis=2)[..., ::3] if form == "neither" else array.copy()


def values_with_all_exponents(rng, kind: str) -> tuple[value_ranges.MatmulOperand, np.ndarray]:
    """An operand with finite values of a kind, including subnormals and zeros of both signs, and its values in float64."""
    codes = rng.integers(0, 1 << 8 * np.dtype(WORDS[kind]).itemsize, (STACK, ROWS, DEPTH), WORDS[kind])
    codes[0, :2, :2] = 0
    codes[0, 0, 0] = 1 << (8 * codes.itemsize - 1)
    values = codes.view({"f16": np.float16, "f32": np.float32}.get(kind, codes.dtype))
    codes[~np.isfinite(value_ranges.decode(values, kind))] = 1
    return value_ranges.make_operand(values, kind), value_ranges.decode(values, kind).astype(np.float64)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("form", ["rows", "columns", "neither"])
@pytest.mark.parametrize("kind", WORDS)
def test_arrays_of_values_or_bit_patterns(kind, form, side, always):
    rng = np.random.default_rng(side)
    found = [values_with_all_exponents(rng, kind) for _ in range(2)]
    steps = [value_ranges.make_operand(arranged(factor.stored, form), factor.kind) for factor, _ in found]
    width, order = pack_operands.WIDTHS[side], (pack_operands.EVEN_COLUMNS_FIRST if side else np.arange(4))
    packed = pack_operands.PackedOperand(steps, side, 2, is_apart=bool(side))
    for first, count in ((0, 2), (2, 1)):
        packed.pack(first, count)
        for step, (_, values) in enumerate(found):
            groups = values[first : first + count].reshape(count, ROWS // width, width, DEPTH)[:, :, order]
            expected = np.ascontiguousarray(groups.swapaxes(2, 3))
            assert packed.out[step, :count].tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["bf16", "tf32", "e4m3", "e5m2"])
def test_matmul_of_bit_patterns(kind, always, monkeypatch):
    factors = [values_with_all_exponents(np.random.default_rng(i), kind)[0] for i in range(2)]
    assert all(isinstance(factor, value_ranges.EncodedOperand) for factor in factors)
    values = [value_ranges.MatmulOperand(factor.values, kind) for factor in factors]
    one, other = both(monkeypatch, lambda: matmul.multiply(*factors))
    assert one == other == matmul.multiply(*values).view(np.uint32).tolist()


@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_nan_and_infinity_bits_are_left_to_numpy(code, always):
    codes = np.zeros((1, 8, 32), np.uint8)
    left, right = value_ranges.EncodedOperand(codes, "e4m3"), value_ranges.EncodedOperand(codes.copy(), "e4m3")
    assert matmul.native_error_bounds([(left, right)], 1) is not None
    codes[0, 3, 5] = code
    assert matmul.native_error_bounds([(value_ranges.EncodedOperand(codes, "e4m3"), right)], 1) is None


def test_error_bounds_are_per_matrix(always, monkeypatch):
    """The sums of the matrix with tiny values are inexact in float64; those of the others are exact and are not checked."""
    monkeypatch.setattr(gemm, "L2_BYTES", 1)  # a matrix at a time
    values = (np.random.default_rng(5).standard_normal((STACK, 16, 16)) * 256).round().astype(np.float32)
    values[1] = 0
    values[1, :, :3] = 2.0**60, 1, -(2.0**60)
    ones = np.ones((1, 8, 16), np.float32)
    step = value_ranges.MatmulOperand(values, "bf16"), value_ranges.MatmulOperand(ones, "bf16")
    assert (matmul.native_error_bounds([step], STACK) > 0).T.tolist() == [[False, True, False]]
    one, other = both(monkeypatch, lambda: matmul.multiply(*step))
    assert one == other and one[1][0][0] == np.float32(1).view(np.uint32)


def test_matrices_at_the_limit_of_exactness(always):
    """Sums of sixteen products up to 1 are exact for multiples of 2^-49, and inexact for 2^-50."""
    a, b = (np.ones((STACK, 8, 16), np.float32) for _ in range(2))
    a[:, 3, 4], b[:, 1, 2] = 2.0**-17, [2.0**-18, 2.0**-19, 2.0**-60]
    errors = matmul.native_error_bounds(
        [(value_ranges.MatmulOperand(a, "bf16"), value_ranges.MatmulOperand(b, "bf16"))], STACK
    )
    assert (errors > 0).T.tolist() == [[False, True, True]]
