"""Rows of which a part waits in shared memory: their results, and that no register is spilled for them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import bytecode, compiled, run, scheduled_case
from tests.pipeline.tileas_to_ll.data_movement.spilling_kernels import LENGTH
from tileiras_build import driver
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.casting import int_attr
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("spilling_kernels.py")
STORED, LOADED = "st.shared.v4", "ld.shared.v4"


def _rows(dtype):
    return np.random.default_rng(3).normal(size=(2, LENGTH)).astype(dtype)


@pytest.mark.parametrize(
    "name, dtype, sm", [("shares", np.float16, "sm_100"), ("shares_bf16", ml_dtypes.bfloat16, "sm_80")]
)
def test_shares_of_rows(name, dtype, sm):
    x = _rows(dtype)
    actual = run(KERNELS, name, sm, [x, np.zeros_like(x)], grid=(2, 1, 1))[1].astype(np.float64)
    powers = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    np.testing.assert_allclose(actual, powers / powers.sum(axis=1, keepdims=True), rtol=1e-2, atol=1e-7)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_rows_of_a_loop(sm):
    x = np.random.default_rng(5).normal(size=(3, LENGTH)).astype(np.float32)
    actual = run(KERNELS, "looped", sm, [x, np.zeros_like(x)], grid=(2, 1, 1))[1]
    powers = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    np.testing.assert_allclose(actual, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_row_that_waits_twice_and_one_in_its_places():
    x = _rows(np.float32)
    actual = run(KERNELS, "centered", "sm_90", [x, np.zeros_like(x)], grid=(2, 1, 1))[1]
    wide = 2 * x.astype(np.float64)
    middle = wide - wide.mean(axis=1, keepdims=True)
    expected = middle / np.sqrt((middle**2).mean(axis=1, keepdims=True)) + wide
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_shares_are_stored_in_each_way_of_dividing():
    x = _rows(np.float16)
    x[1, 77] = np.nan
    actual = run(KERNELS, "shares", "sm_100", [x, np.zeros_like(x)], grid=(2, 1, 1))[1]
    assert np.isfinite(actual[0]).all() and np.isnan(actual[1]).all()
    stores = [compiled(KERNELS, "shares", sm).ptx.count("st.global.v4") for sm in ("sm_100", "sm_90")]
    assert stores[0] == 2 * stores[1], "ways that share halves of pairs move each of them"


@pytest.mark.parametrize("columns", [LENGTH, LENGTH - 3 * 1024])
def test_shares_of_rows_that_end_inside_a_tile(columns):
    """What is outside the tensor is read as zero: it has a share of the total."""
    x, wide = _rows(np.float16)[:, :columns], np.zeros((2, LENGTH))
    actual = run(KERNELS, "has_boundary_tile", "sm_100", [x, np.zeros_like(x)], grid=(2, 1, 1))[1]
    wide[:, :columns] = x
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    expected = (powers / powers.sum(axis=1, keepdims=True))[:, :columns]
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=1e-2, atol=1e-7)


def test_rows_inside_the_tensor_are_loaded_without_bounds():
    text = compiled(KERNELS, "has_boundary_tile", "sm_100").ptx
    loads = [line for line in text.splitlines() if "ld.global" in line]
    assert len(loads) == 2 * len([line for line in loads if "@%p" in line]) > 0


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_numbers_of_a_row_that_is_multiplied_by_others(sm):
    x, columns = _rows(np.float16), LENGTH - 1024
    x, (factor, shift) = x[:, :columns], np.random.default_rng(4).normal(size=(2, columns)).astype(np.float16)
    actual = run(KERNELS, "normal", sm, [x, factor, shift, np.zeros_like(x)], grid=(2, 1, 1))[3]
    wide = np.zeros((2, LENGTH))
    wide[:, :columns] = x
    middle = wide - wide.mean(axis=1, keepdims=True)
    unit = middle / np.sqrt((middle**2).mean(axis=1, keepdims=True))
    expected = unit[:, :columns] * factor.astype(np.float64) + shift
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=2e-3, atol=2e-3)


def test_what_a_row_is_multiplied_by_is_loaded_while_it_is_stored():
    text = compiled(KERNELS, "normal", "sm_100").ptx
    order = "".join(
        "s" if "st.global" in line else "l"
        for line in text[text.rindex("bar.sync") :].splitlines()
        if "ld.global" in line or "st.global" in line
    )
    # Of both vectors two accesses at first, then one of each behind each store.
    assert order == "llll" + "sll" * 6 + "ss"


def test_halves_of_a_row_wait_as_they_are():
    module = scheduled_case(KERNELS, "normal", "sm_100")
    [spill] = [op for op in module.walk() if op.name == "nv_tileas.spill"]
    assert spill.operands[0].owner.name == "nv_tileas.subf"
    assert "sub.rn.f32.f16" in compiled(KERNELS, "normal", "sm_100").ptx


@pytest.mark.parametrize(
    "name, sm",
    [("shares", "sm_80"), ("looped", "sm_90"), ("has_boundary_tile", "sm_107"), ("centered", "sm_90"), ("normal", "sm_100")],
)  # fmt: skip
def test_a_part_is_spilled_to_shared_memory_only(name, sm):
    artifacts = driver.compile(bytecode(KERNELS, name), sm)
    assert artifacts.ptx.count(STORED) and artifacts.ptx.count(LOADED) >= artifacts.ptx.count(STORED)
    [kernel] = artifacts.manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


def test_places_of_spilled_tiles_are_their_own():
    module = scheduled_case(KERNELS, "shares", "sm_90")
    assert verify_shared_memory_allocation(module)
    [spill] = [op for op in module.walk() if op.name == "nv_tileas.spill"]
    last = max(int_attr(op, "scratch_offset") for op in module.walk() if "scratch_offset" in op.attributes)
    spill.attributes["shared_offset"] = IntegerAttr(last, i32)
    with pytest.raises(InternalError, match="is not its own"):
        verify_shared_memory_allocation(module)
