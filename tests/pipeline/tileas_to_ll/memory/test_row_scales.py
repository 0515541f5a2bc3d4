"""Rows whose elements a thread has in another order than memory are loaded by vectors, and whole or up to the end of an array."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.memory.row_scale_kernels import BITS, PER_WORD

KERNELS = Path(__file__).with_name("row_scale_kernels.py")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_scales_of_columns(sm):
    rng = np.random.default_rng(3)
    x = rng.integers(-2, 3, (64, 128)).astype(np.float16)
    integers = rng.integers(0, 16, (128, 96))
    packed = (
        sum(integers[:, place::PER_WORD] << BITS * place for place in range(PER_WORD)).astype(np.uint32).view(np.int32)
    )
    scales = rng.integers(1, 4, (2, 96)).astype(np.float16)
    found = run(KERNELS, "expanded", sm, [x, packed, scales, np.zeros((64, 96), np.float32)], (1, 2, 1))[3]
    np.testing.assert_array_equal(found, x.astype(np.float32) @ (integers * scales.repeat(64, 0)))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_a_row_is_loaded_by_vectors(sm):
    assert compiled(KERNELS, "expanded", sm).ptx.count("ld.global.v4.b32") == 32 // 8
