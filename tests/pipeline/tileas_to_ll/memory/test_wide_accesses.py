"""Accesses of 32 bytes, where the GPU has them and the author promises so much."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.memory.wide_kernels import LENGTH

KERNELS = Path(__file__).with_name("wide_kernels.py")


@pytest.mark.parametrize("name, dtype, form", [
    ("halves", np.float16, "v8.b32"), ("words", np.float32, "v8.b32"), ("doubles", np.float64, "v4.b64"),
    ("halves_of_any_length", np.float16, "v4.b32"),
])  # fmt: skip
def test_a_tile_and_a_part_of_one(name, dtype, form):
    x = np.arange(LENGTH + 48).astype(dtype)
    np.testing.assert_array_equal(run(KERNELS, name, "sm_100", [x, np.zeros_like(x)], grid=(2, 1, 1))[1], x + x)
    text = compiled(KERNELS, name, "sm_100").ptx
    assert f"ld.global.{form}" in text and f"st.global.{form}" in text


@pytest.mark.parametrize("name, sm", [("halves_on_16_bytes", "sm_100"), ("halves", "sm_90")])
def test_others_move_16_bytes(name, sm):
    text = compiled(KERNELS, name, sm).ptx
    assert "ld.global.v4.b32" in text and "v8" not in text
