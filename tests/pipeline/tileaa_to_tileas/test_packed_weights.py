"""TMA loads packed weights for threads that compute fragments from them, which convert two at once."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileaa_to_tileas.packed_weights import NIBBLE, K, M, N

KERNELS = Path(__file__).with_name("packed_weights.py")
STEPS, COLUMNS = 5, 2 * N
TARGETS = ["sm_80", "sm_90", "sm_100", "sm_120"]
TYPES = {"f16": (np.float16, 1e-2), "bf16": (ml_dtypes.bfloat16, 8e-2)}


def _packed(values: np.ndarray, bits: int) -> np.ndarray:
    """Words of the values along the last axis, the first in the lowest bits."""
    parts = values.astype(np.uint32).reshape(*values.shape[:-1], -1, 32 // bits)
    return (parts << (np.arange(32 // bits, dtype=np.uint32) * np.uint32(bits))).sum(-1, dtype=np.uint32).view(np.int32)


def _along_k(values: np.ndarray, bits: int) -> np.ndarray:
    return np.ascontiguousarray(_packed(values.T, bits).T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TYPES)
def test_grouped(name, target):
    dtype, tolerance = TYPES[name]
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((M, STEPS * K)) / 16).astype(dtype)
    w, z = rng.integers(0, 16, (STEPS * K, COLUMNS)), rng.integers(0, 16, (STEPS, COLUMNS))
    scales = (rng.random((STEPS, COLUMNS)) / 8).astype(dtype)
    arrays = [x, _along_k(w, NIBBLE), scales, _packed(z, NIBBLE), np.zeros((M, COLUMNS), np.float32)]
    found = run(KERNELS, f"grouped_{name}", target, arrays, (COLUMNS // N, 1, 1))[-1]
    weights = (w - np.repeat(z, K, 0)).astype(dtype) * np.repeat(scales, K, 0)
    expected = x.astype(np.float32) @ weights.astype(np.float32)
    np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("target", TARGETS)
def test_ternary(target):
    rng = np.random.default_rng(1)
    x = rng.integers(-8, 8, (M, STEPS * K)).astype(np.float16)
    w = rng.integers(0, 3, (STEPS * K, COLUMNS))
    arrays = [x, _along_k(w, 2), np.zeros((M, COLUMNS), np.float32)]
    found = run(KERNELS, "ternary_f16", target, arrays, (COLUMNS // N, 1, 1))[-1]
    np.testing.assert_array_equal(found, x.astype(np.float32) @ (w - 1).astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_four_in_each_byte(target):
    rng = np.random.default_rng(2)
    x = rng.integers(-128, 128, (M, STEPS * K)).astype(np.int8)
    w = rng.integers(0, 4, (COLUMNS, STEPS * K))
    packed = (w.reshape(COLUMNS, -1, 4) << np.arange(0, 8, 2)).sum(-1).astype(np.uint8)
    arrays = [x, packed, np.zeros((M, COLUMNS), np.int32)]
    found = run(KERNELS, "crumbs", target, arrays, (COLUMNS // N, 1, 1))[-1]
    np.testing.assert_array_equal(found, x.astype(np.int64) @ (w - 1).T)


@pytest.mark.parametrize("target", ["sm_80", "sm_100"])
def test_bytes_of_words(target):
    """All pairs of bytes."""
    x, y = (part.astype(np.int8).ravel() for part in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    outputs = [np.zeros_like(x) for _ in range(4)]
    added, subtracted, signs, mixed = run(KERNELS, "bytes_in_place", target, [x, y, *outputs], (x.size // 2048, 1, 1))[
        2:
    ]
    np.testing.assert_array_equal(added, x + y)
    np.testing.assert_array_equal(subtracted, x - y)
    np.testing.assert_array_equal(signs, (x << 4).astype(np.int8) >> 4)
    np.testing.assert_array_equal(mixed, ((x ^ y) | 64) & -4)


@pytest.mark.parametrize("target", TARGETS)
def test_two_are_converted_by_one_addition(target):
    ptx = compiled(KERNELS, "grouped_f16", target).ptx
    assert "cvt.rn.f16.s32" not in ptx and ptx.count("add.rn.f16x2") == K * N // 128 // 2


@pytest.mark.parametrize("name, boxes, others", [("ternary_f16", 4, 0), ("grouped_f16", 5, 2)])
@pytest.mark.parametrize("target", TARGETS[1:])
def test_tma_loads_the_words(name, boxes, others, target):
    """Boxes of 128 bytes a line, two of x, two of the words; one of the scales. Rows of 32 bytes are loaded by threads, before the loop and in it."""
    ptx = compiled(KERNELS, name, target).ptx
    assert ptx.count("cp.async.bulk.tensor.2d.shared") == boxes
    assert ptx.count("ld.global") == others
