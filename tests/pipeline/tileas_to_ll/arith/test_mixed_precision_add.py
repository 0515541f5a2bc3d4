"""Sums of f32 and halves that are not widened first have the bits of those that are."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.arith.mixed_precision_kernels import LENGTH

KERNELS = Path(__file__).with_name("mixed_precision_kernels.py")


def _inputs(dtype):
    """Halves of random bits, NaN, infinities and subnormal numbers among them, and f32 of all sizes."""
    generator = np.random.default_rng(0)
    halves = generator.integers(0, 1 << 16, 2 * LENGTH, dtype=np.uint32).astype(np.uint16)
    halves[:64] = generator.integers(0, 64, 64)
    wide = generator.normal(size=2 * LENGTH).astype(np.float32) * 2.0 ** generator.integers(-30, 30, 2 * LENGTH)
    return halves.view(dtype), wide.astype(np.float32)


@pytest.mark.parametrize("name, dtype", [("adds_f16", np.float16), ("adds_bf16", ml_dtypes.bfloat16)])
def test_results_are_those_of_widened_halves(name, dtype):
    x, y = _inputs(dtype)
    out = run(KERNELS, name, "sm_100", [x, y, np.zeros_like(y), np.zeros_like(y)], grid=(2, 1, 1))[2:]
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, [wide + y, wide - y])


def test_the_conversion_is_saved_where_nothing_else_wants_it():
    text, per_thread = compiled(KERNELS, "adds_f16", "sm_100").ptx, LENGTH // 64
    assert text.count("add.rn.f32.f16") == text.count("sub.rn.f32.f16") == per_thread
    assert "cvt.f32.f16" not in text
    assert "rn.f32.f16" not in compiled(KERNELS, "shared_f16", "sm_100").ptx
