"""Bytes that are only copied stay in words; booleans are 0 or 1 in memory afterwards."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.memory.copied_bytes import LENGTH

KERNELS = Path(__file__).with_name("copied_bytes.py")


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
