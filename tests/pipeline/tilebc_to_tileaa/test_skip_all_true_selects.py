"""Masks that are looked at in some iterations only: the indices at their edges, and where 32 bits overflow."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("masked_tiles.py")
STEPS, SIZE, LARGEST = 4, 64, (1 << 31) - 1
EDGES = [0, 1, 62, 63, 64, 65, 127, 128, 191]


def expected(x, first, last, place):
    across, down = np.arange(SIZE, dtype=np.int32)[None, :], np.arange(SIZE, dtype=np.int32)[:, None]
    with np.errstate(over="ignore"):
        columns = [np.int32(place) + np.int32(step * SIZE) + across for step in range(STEPS)]
        rows = np.int32(last) + down
    masks = [(column <= rows) & (column >= np.int32(first)) for column in columns]
    return sum(np.where(mask, tile, -1) for mask, tile in zip(masks, x, strict=True))


def check(first, last, place):
    x = np.arange(STEPS * SIZE * SIZE, dtype=np.float32).reshape(STEPS, SIZE, SIZE)
    out = np.zeros((SIZE, SIZE), np.float32)
    found = run(KERNELS, "masked", "sm_80", [x, out, first, last, place])[1]
    np.testing.assert_array_equal(found, expected(x, first, last, place))


@pytest.mark.parametrize("last", EDGES)
def test_upper_edges(last):
    check(0, last, 0)


@pytest.mark.parametrize("first", EDGES)
def test_lower_edges(first):
    check(first, 1000, 0)


@pytest.mark.parametrize(
    ("first", "last", "place"),
    [
        (0, LARGEST, 0), (0, LARGEST - 62, 0), (-5, LARGEST - 63, -5), (0, 300, LARGEST - 100),
        (-LARGEST - 1, LARGEST, LARGEST - 63), (-LARGEST - 1, 0, -LARGEST - 1),
    ],
)  # fmt: skip
def test_additions_that_overflow(first, last, place):
    check(first, last, place)


def test_the_mask_is_behind_a_choice():
    text = compiled(KERNELS, "masked", "sm_80").tileaa
    inside = text[text.index("nv_tileaa.if") :]
    assert text.count("nv_tileaa.if") == 1 and inside.index("nv_tileaa.yield") < inside.index("arith.select")
