"""Masks that are looked at in some iterations only: the indices at their edges, and where 32 bits overflow."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("masked_tiles.py")
STEPS, SIZE, WINDOW, LARGEST = 4, 64, 30, (1 << 31) - 1
EDGES = [0, 1, 62, 63, 64, 65, 127, 128, 191]


def tiles_added_up(name, x, first, last, place):
    across, down = np.arange(SIZE, dtype=np.int32)[None, :], np.arange(SIZE, dtype=np.int32)[:, None]
    with np.errstate(over="ignore"):
        columns = [np.int32(place) + np.int32(step * SIZE) + across for step in range(STEPS)]
        rows = np.int32(last) + down
        earliest = rows - np.int32(WINDOW) + np.int32(1)
    later = [column >= np.int32(first) for column in columns]
    if name == "masked":
        return sum(
            np.where((column <= rows) & late, tile, -1) for column, late, tile in zip(columns, later, x, strict=True)
        )
    return sum(
        tile - np.where(late & (column >= earliest), 0, 1) for column, late, tile in zip(columns, later, x, strict=True)
    )


def check(first, last, place, name="masked"):
    x = np.arange(STEPS * SIZE * SIZE, dtype=np.float32).reshape(STEPS, SIZE, SIZE)
    out = np.zeros((SIZE, SIZE), np.float32)
    found = run(KERNELS, name, "sm_80", [x, out, first, last, place])[1]
    np.testing.assert_array_equal(found, tiles_added_up(name, x, first, last, place))


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
@pytest.mark.parametrize("name", ["masked", "lowered"])
def test_additions_that_overflow(first, last, place, name):
    check(first, last, place, name)


@pytest.mark.parametrize(
    ("first", "last"), [(0, -34), (0, -33), (0, 30), (0, 31), (64, 30), (65, 30), (-9, 94), (-9, 95), (0, 300)]
)
def test_masks_that_name_what_is_masked(first, last):
    check(first, last, 0, "lowered")
    check(first - 128, last - 128, -128, "lowered")


@pytest.mark.parametrize("last", [-LARGEST - 1, -LARGEST - 1 + WINDOW - 2, -LARGEST - 1 + WINDOW - 1])
def test_a_window_that_begins_below_the_smallest_number(last):
    check(-LARGEST - 1, last, -LARGEST - 1, "lowered")


@pytest.mark.parametrize(("name", "unmasked", "masked"), [("masked", 0, 0), ("lowered", 1, 1)])
def test_the_mask_is_behind_a_choice(name, unmasked, masked):
    """The subtraction of a mask of constants stands in both regions."""
    text = compiled(KERNELS, name, "sm_80").tileaa
    first, second = text[text.index("nv_tileaa.if") :].split("nv_tileaa.yield")[:2]
    assert text.count("nv_tileaa.if") == 1 and "arith.select" in second and "arith.select" not in first
    assert (first.count("nv_tileaa.subf"), second.count("nv_tileaa.subf")) == (unmasked, masked)
