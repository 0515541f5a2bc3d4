"""Bytes that are only copied stay in words; booleans are 0 or 1 in memory afterwards. Halves of two versions of a load join as words."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import bytecode, compiled, run
from tests.pipeline.tileas_to_ll.memory.copied_bytes import LENGTH
from tileiras_build import driver

KERNELS = Path(__file__).with_name("copied_bytes.py")
HALVES = Path(__file__).with_name("joined_halves.py")


@pytest.mark.parametrize(("name", "more"), [
    ("bytes", 48), ("bytes_of_any_length", 43), ("booleans", 48), ("booleans_of_any_length", 43), ("added", 48),
])  # fmt: skip
def test_a_tile_and_a_part_of_one(name, more):
    x = np.arange(LENGTH + more).astype(np.uint8)  # every byte, also as booleans
    boolean = name.startswith("booleans")
    values = x.view(np.bool_ if boolean else np.int8)
    found = run(KERNELS, name, "sm_90", [values, np.full_like(values, 3)], grid=(2, 1, 1))[1].view(np.uint8)
    np.testing.assert_array_equal(found, (x != 0) if boolean else x + (name == "added"))


@pytest.mark.parametrize(("name", "packs"), [("bytes", False), ("booleans", False), ("added", True)])
def test_copies_extract_no_bytes(name, packs):
    assert ("bfi.b32" in compiled(KERNELS, name, "sm_90").ptx) is packs


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize(("name", "dtype"), [("added_f16", np.float16), ("added_i16", np.int16)])
def test_halves_of_a_tile_and_of_a_part_of_one(name, dtype, sm):
    x = np.arange(LENGTH + 43).astype(dtype)
    found = run(HALVES, name, sm, [x, np.full_like(x, 3)], grid=(2, 1, 1))[1]
    np.testing.assert_array_equal(found, x + dtype(1))


def test_padding_of_halves_that_is_not_zero():
    x = -1 - np.arange(LENGTH + 43).astype(np.float16)
    found = run(HALVES, "highest_f16", "sm_90", [x, np.zeros(2, np.float16)], grid=(2, 1, 1))[1]
    np.testing.assert_array_equal(found, x[[0, LENGTH]])


@pytest.mark.parametrize("name", ["added_f16", "added_i16", "highest_f16"])
def test_halves_of_two_versions_join_as_words(name):
    """A half in a register of its own where the versions join would take twice the registers."""
    text = driver.compile(bytecode(HALVES, name), "sm_90", stop_at="ll").ll
    joined = re.findall(r"phi (\S+) \[", text)
    assert joined.count("i32") >= LENGTH // 2 // 128 // 4 and not {"half", "i16"} & set(joined)
