"""Long dots of fp8 on sm_90: its tensor cores keep 13 bits of fraction, so only 128 terms are accumulated there."""

import re
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.compiled_once import by_another_compiler
from tests.emulated_kernels import assembled, cases, compiled, run, scheduled_kernel
from tileiras_build import driver
from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.mma.wgmma import family
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.target import sass_listing
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).with_name("long_k_dots.py")
LENGTH, ERROR = 2048, 2e-4
ATOM_K, FRACTION = 32, 2.0**-13  # elements along k of an instruction, and what its additions truncate
PARTS = {"square": (128, 2), "shallow": (64, 1), "narrow": (16, 2), "deep": (32, 2), "wide": (128, 1), "tall": (128, 1)}
TYPES = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def sizes(name):
    return [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]


def operands(name, k, seed=1):
    """Normally distributed values; b by columns."""
    rng = np.random.default_rng(seed)
    types = [TYPES[array.dtype] for array in cases(KERNELS)[name].arguments[:2]]
    m, n, _ = sizes(name)
    a, b = rng.standard_normal((m, k)).astype(types[0]), rng.standard_normal((k, n)).astype(types[1])
    return a, np.asfortranarray(b), np.full((m, n), np.nan, np.float32)


def largest_error(name, k, **options):
    """Of a dot's elements, relative to the largest one in float64."""
    a, b, out = operands(name, k)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return np.abs(run(KERNELS, name, "sm_90", [a, b, out], **options)[2] - exact).max() / np.abs(exact).max()


@pytest.mark.parametrize("name", [*PARTS, "coarse"])
def test_long_dots_stay_near(name):
    assert largest_error(name, LENGTH) < ERROR


@pytest.mark.parametrize("interval", [32, 128])
def test_errors_are_bounded(interval):
    """Each instruction truncates its 32 terms, the accumulator and the result by 2^-13 of the largest of them at most."""
    a, b, out = operands("deep", LENGTH)
    found = run(KERNELS, "deep", "sm_90", [a, b, out], fp8_promotion_interval=interval)[2]
    terms = a.astype(np.float64)[:, :, None] * b.astype(np.float64)[None]
    parts = terms.reshape(a.shape[0], -1, interval // ATOM_K, ATOM_K, b.shape[1])
    partial = np.abs(parts.sum(axis=3).cumsum(axis=2))
    largest = np.maximum(np.abs(parts).max(axis=3), partial)
    bound = (ATOM_K + 2) * FRACTION * largest.sum(axis=(1, 2)) + LENGTH * 2.0**-24 * np.abs(terms).sum(axis=1)
    assert (np.abs(found - terms.sum(axis=1)) < bound).all()


def test_one_dot_in_the_tensor_core_would_not(monkeypatch):
    row = family.row_for_types
    monkeypatch.setattr(family, "row_for_types", lambda op, target: replace(row(op, target), promotion_interval=0))
    with by_another_compiler():
        assert "add.rn.f32" not in compiled(KERNELS, "deep", "sm_90").ptx
        assert largest_error("deep", 2 * LENGTH) > 5 * ERROR


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_as_wide_as_registers_allow(name):
    artifacts = compiled(KERNELS, name, "sm_90", fp8_promotion_interval=32)
    columns, number = PARTS[name]
    assert f"promotion = array<i32: {columns}, {number}, 32>" in artifacts.tileas
    mmas = re.findall(r"wgmma\.mma_async\.\S*", artifacts.ptx)
    assert {f"n{columns}k32" in mma for mma in mmas} == {True}


def test_longer_parts_are_fewer_and_less_accurate():
    errors = [largest_error("deep", LENGTH, fp8_promotion_interval=k) for k in (32, 64, 128)]
    assert errors == sorted(set(errors)) and errors[0] < ERROR / 4
    waits = [
        compiled(KERNELS, "deep", "sm_90", fp8_promotion_interval=k).ptx.count("add.rn.f32") for k in (32, 64, 128)
    ]
    assert waits == [4 * waits[-1], 2 * waits[-1], waits[-1]]


def test_parts_have_128_elements_by_default():
    tileas = compiled(KERNELS, "wide", "sm_90").tileas
    assert "promotion = array<i32: 128, 1, 128>" in tileas


@pytest.mark.parametrize("k", [16, 32, 80, 256, 304, 1024])
def test_every_length(k):
    """Small integers, whose results are exact, to a length that ends inside a part."""
    rng = np.random.default_rng(k)
    m, n, _ = sizes("deep")
    a, b = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    values = [a.astype(TYPES["float8_e4m3fn"]), np.asfortranarray(b.astype(TYPES["float8_e4m3fn"]))]
    found = run(KERNELS, "deep", "sm_90", [*values, np.full((m, n), np.nan, np.float32)])[2]
    np.testing.assert_array_equal(found, a @ b)


def test_accumulators_that_a_loop_changes():
    rng = np.random.default_rng(5)
    m, n, k = sizes("started")
    a, b, start = rng.integers(-3, 4, (m, 3 * k)), rng.integers(-3, 4, (3 * k, n)), rng.integers(-99, 100, (m, n))
    values = [a.astype(TYPES["float8_e4m3fn"]), np.asfortranarray(b.astype(TYPES["float8_e4m3fn"]))]
    found = run(KERNELS, "started", "sm_90", [*values, start.astype(np.float32)])[2]
    expected = start
    for step in range(3):
        part = slice(step * k, (step + 1) * k)
        expected = 2 * expected + a[:, part] @ b[part]
    np.testing.assert_array_equal(found, expected)


def test_fewer_ctas_share_an_sm_where_parts_have_no_registers():
    """The hint of two would leave the dot to mma.sync."""
    kernel = scheduled_kernel(KERNELS, "square_by_2", "sm_90")
    assert (schedule_of(kernel).occupancy, "wgmma" in str(kernel)) == (1, True)


def test_one_part_from_zero_is_not_promoted():
    """Of 128 terms, or of 32 where parts are shorter."""
    tileas = [
        compiled(KERNELS, "scaled", "sm_90", **options).tileas for options in ({}, {"fp8_promotion_interval": 32})
    ]
    assert ["promotion" in one for one in tileas] == [False, True]
    a, b, out = operands("scaled", LENGTH)
    found = run(KERNELS, "scaled", "sm_90", [a, b, out])[2]
    exact = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    assert np.abs(found - exact).max() < ERROR * np.abs(exact).max()


@pytest.mark.parametrize("name", ["square", "wide", "tall"])  # the most accumulators
def test_nothing_is_spilled(name):
    artifacts = assembled(KERNELS, name, "sm_90")
    [listing] = sass_listing.read_listings(sass_listing.disassemble(artifacts.cubin))
    assert listing.count("QGMMA") and not listing.count(*sass_listing.SPILL)


MATMUL = Path(__file__).parents[4] / "examples" / "kernels" / "matmul.py"


@pytest.mark.parametrize(("target", "said", "wrong"), [
    ("sm_90", "rhs_placement = #cute.shared<16, swizzle<3,3,3> o (32,", "rhs_placement = #cute.shared<16, swizzle<3,3,3> o (2147483648,"),
    ("sm_100", "shape = array<i64: 64, 64, 32>", "shape = array<i64: 64, 64, 2147483648>"),
])  # fmt: skip
def test_a_product_of_more_than_its_buffers_hold_is_refused(target, said, wrong):
    """It would be taken apart into as many instructions as the text says."""
    text = compiled(MATMUL, "matmul_f16_nn", target).tileas
    assert said in text
    with pytest.raises(InternalError, match="operand-s"):
        driver.lower(text.replace(said, wrong).encode(), "tileas", "ll", Job(find_target(target)))
