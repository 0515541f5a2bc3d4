"""Stages of several dots with two CTAs per SM: one of each, or one ring of all; correct results and no race."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("stages_per_cta.py")
SMS = ("sm_90", "sm_100", "sm_120")


def matrix(rows, columns, seed):
    return np.random.default_rng(seed).integers(-1, 2, (rows, columns)).astype(np.float16)


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize(("name", "width", "depth"), [("decoded", 128, 128), ("decoded_to_wide_rows", 64, 256)])
def test_rows_of_values(name, width, depth, sm):
    q, k, v = matrix(20, width, 1), matrix(296, width, 2), matrix(296, depth, 3)
    found = run(KERNELS, name, sm, [q, k, v, np.full((20, depth), np.nan, np.float32)], (2, 1, 1))[3]
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    np.testing.assert_array_equal(found, np.maximum(q @ k.T, 0) @ v)


@pytest.mark.parametrize("sm", SMS)
def test_columns_of_values(sm):
    q, more, k, other = matrix(512, 16, 1), matrix(64, 16, 2), matrix(200, 512, 3), matrix(200, 64, 4)
    found = run(KERNELS, "absorbed", sm, [q, more, k, other, np.full((512, 16), np.nan, np.float32)])[4]
    q, more, k, other = (one.astype(np.float64) for one in (q, more, k, other))
    np.testing.assert_array_equal(found, k.T @ np.maximum(k @ q + other @ more, 0))


@pytest.mark.parametrize(("sm", "width"), [*((sm, 208) for sm in SMS), ("sm_100", 32)])
def test_a_dot_before_a_loop(sm, width):
    c, scores, x = matrix(100, 128, 1), matrix(100, width, 2), matrix(width, 64, 3)
    state = matrix(128, 64, 4).astype(np.float32)
    found = run(KERNELS, "scanned", sm, [c, state, scores, x, np.full((100, 64), np.nan, np.float32)], (2, 1, 1))[4]
    c, scores, x = (one.astype(np.float64) for one in (c, scores, x))
    np.testing.assert_array_equal(found, c @ state + np.maximum(scores, 0) @ x)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_scales_have_columns_for_each_stage_of_their_own_dot(steps):
    """Otherwise a thread would overwrite those that an MMA in flight reads."""
    random, k = np.random.default_rng(steps), 256 * steps
    a, b = (random.integers(-2, 3, (256, k)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    scales = [np.exp2(random.integers(-1, 2, (256, k // 32))).astype(ml_dtypes.float8_e8m0fnu) for _ in range(2)]
    values = [a, scales[0], b, scales[1], np.full((256, 128), np.nan, np.float32)]
    found = run(KERNELS, "scaled", "sm_100", values)[4]
    x, y = (one.astype(np.float64) * np.repeat(scale.astype(np.float64), 32, 1) for one, scale in zip((a, b), scales))
    np.testing.assert_array_equal(found, np.concatenate([x[:128] @ y[:128].T, x[128:] @ y[128:].T]))


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize("steps", [1, 3, 9])
def test_a_tile_of_two_scaled_dots(steps, sm):
    """The second one's scales overwrite those that its MMA of an earlier iteration has read, whose stage the first one waits for."""
    random, k = np.random.default_rng(steps), 128 * steps
    a, b = (random.integers(-2, 3, (rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (128, 256))
    scales = [np.exp2(random.integers(-1, 2, (rows, k // 32))).astype(ml_dtypes.float8_e8m0fnu) for rows in (128, 256)]
    values = [a, scales[0], b, scales[1], np.full((128, 256), np.nan, np.float32)]
    found = run(KERNELS, "scaled_by_both", sm, values)[4]
    x, y = (one.astype(np.float64) * np.repeat(scale.astype(np.float64), 32, 1) for one, scale in zip((a, b), scales))
    np.testing.assert_array_equal(found, x @ y.T)


def test_two_scaled_dots_read_the_same_stage():
    text = compiled(KERNELS, "scaled_by_both", "sm_100").tileas
    assert text.count("async.tiled_tma_load") == 3


def test_scales_of_two_dots_are_copied_for_each():
    """Each warp would load the scales of all rows that it stores to tensor memory."""
    text = compiled(KERNELS, "scaled_by_both", "sm_100").tileas
    assert "async_tiled_load" in text and "nv_tileas.tiled_load" not in text


@pytest.mark.parametrize(
    ("name", "rings"),
    [
        ("decoded", [1, 1]),  # a third CTA fits beside two
        ("decoded_to_wide_rows", [2, 1]),  # what two leave holds another tile of keys
        ("absorbed", [5]),
        ("scaled", [2, 1]),
        ("scanned", [1, 1]),  # two CTAs: the tiles of the dot before the loop come once
    ],
)
def test_stages(name, rings):
    text = compiled(KERNELS, name, "sm_100").tileas
    found = re.findall(r"async.pipeline.create .*bytes = [1-9].*pipeline<#builtin.int<(\d+)>>$", text, re.MULTILINE)
    assert list(map(int, found)) == rings
