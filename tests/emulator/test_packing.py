"""Factors in registers by machine code: the bits that come of them in the order of NumPy, and what is known of their size."""

import numpy as np
import pytest
from test_machine_code import NEVER, both

from tileiras_build.emulator import machine_code, packing, products
from tileiras_build.emulator.isa.fragments import Fragment, join_rows
from tileiras_build.emulator.isa.matrix import CODES

WARPS = 6


def words(rng, kind: str) -> np.ndarray:
    """A register of warps (WARPS, 32) of normal numbers of a kind."""
    numbers = rng.standard_normal((WARPS, 32, 2))
    if kind == "f16":
        return numbers.astype(np.float16).view(np.uint32)[..., 0]
    bits = numbers.astype(np.float32).view(np.uint32)
    if kind == "tf32":
        return np.ascontiguousarray(bits[..., 0])  # the low 13 bits count for nothing
    return bits[..., 0] >> np.uint32(16) | bits[..., 1] & np.uint32(0xFFFF0000)


def fragment(rng, kind: str, rows: int, columns: int, fold: int = 1) -> Fragment:
    blocks = [[words(rng, kind) for _ in range(columns)] for _ in range(rows)]
    return Fragment(blocks, kind, CODES[kind], fold)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(machine_code, "BEFORE", -1)


@pytest.mark.parametrize("fold", [1, 2, WARPS])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_products_of_registers(kind, fold, always, monkeypatch):
    rng = np.random.default_rng(fold)
    steps = []
    for _ in range(2):
        left = join_rows([fragment(rng, kind, 2, 2) for _ in range(2 if fold == 1 else 1)]).in_stacks(WARPS // fold)
        right = Fragment([[words(rng, kind)[: WARPS // fold] for _ in range(2)] for _ in range(3)], kind, CODES[kind])
        steps.append((left, right))
    monkeypatch.setattr(machine_code, "TOGETHER", 1)  # a matrix at a time
    layout = machine_code.plain

    def run():
        total = np.zeros((WARPS // fold, steps[0][0].shape[1], 24), np.float32)
        if machine_code.BEFORE == NEVER:
            products.add_products(total, [(left, right.apart) for left, right in steps])
            return total
        apart = layout(total)
        errors = products.errors_by_machine_code(steps, len(total))
        columns = machine_code.Layout(apart.rows, apart.columns, apart.row, apart.vector, True)
        machine_code.add(total, [total], columns, steps, errors)
        return total

    one, other = both(monkeypatch, run)
    assert one == other


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_columns_apart_are_an_array_of_their_own(kind, always, monkeypatch):
    """A process may have multiplied enough between the question which way a product goes and the product."""
    rng = np.random.default_rng(7)
    left, right = fragment(rng, kind, 2, 2), fragment(rng, kind, 3, 2)
    results = both(monkeypatch, lambda: products.multiply(left, right.apart))
    assert np.array_equal(*results) and not np.array_equal(results[0], products.multiply(left, right))


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
    factor = products.Factor(values.swapaxes(1, 2) if turned else values, "f16")
    other = products.Factor(-2 * factor.values, "f16")
    assert products.find_extremes([factor, other])
    largest, smallest = np.abs(values).max(), np.abs(values[values != 0]).min()
    assert (factor.extremes, other.extremes) == ((largest, smallest), (2 * largest, 2 * smallest))
    monkeypatch.setattr(machine_code, "BEFORE", NEVER)
    assert not products.find_extremes([factor])


def test_extremes_of_factors_of_two_sizes_are_found_one_by_one(always):
    factors = [products.Factor(np.full((1, rows, 8), rows, np.float16), "f16") for rows in (8, 16)]
    assert not products.find_extremes(factors) and [factor.extremes for factor in factors] == [(8, 8), (16, 16)]


def test_numbers_of_one_array_are_apart_in_any_order():
    """What ``apart`` gives of registers is what it gives of their numbers."""
    factor = fragment(np.random.default_rng(3), "f16", 2, 2)
    np.testing.assert_array_equal(factor.apart.values, products.Factor(factor.values, "f16").apart.values)


def test_kinds_that_are_not_packed():
    assert packing.kind_of(products.Factor(np.ones((1, 8, 8)), "scaled")) is None
    assert packing.kind_of(Fragment([[np.zeros((1, 32), np.uint32)]], "e4m3", CODES["e4m3"])) is None
