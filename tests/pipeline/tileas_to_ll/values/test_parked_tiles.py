"""Rows of which a part waits in shared memory: their numbers, and that no register is spilled for them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import bytecode, compiled, run, scheduled_case
from tests.pipeline.tileas_to_ll.values.parked_kernels import LENGTH
from tileiras_build import driver
from tileiras_build.checkers.scratch import check_scratch
from tileiras_build.errors import InternalError
from tileiras_build.pipeline.shared.accessors import number_of

KERNELS = Path(__file__).with_name("parked_kernels.py")
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


@pytest.mark.parametrize("name, sm", [("shares", "sm_80"), ("shares", "sm_100"), ("centered", "sm_90")])
def test_a_part_is_parked_and_nothing_spilled(name, sm):
    artifacts = driver.compile(bytecode(KERNELS, name), sm)
    assert artifacts.ptx.count(STORED) and artifacts.ptx.count(LOADED) >= artifacts.ptx.count(STORED)
    [kernel] = artifacts.manifest["kernels"].values()
    assert kernel["resources"]["spill_stores"] == kernel["resources"]["spill_loads"] == 0


def test_places_of_parked_tiles_are_their_own():
    module = scheduled_case(KERNELS, "shares", "sm_90")
    assert check_scratch(module)
    [park] = [op for op in module.walk() if op.name == "nv_tileas.park"]
    last = max(number_of(op, "scratch_offset") for op in module.walk() if "scratch_offset" in op.attributes)
    park.attributes["shared_offset"] = IntegerAttr(last, i32)
    with pytest.raises(InternalError, match="is not its own"):
        check_scratch(module)
