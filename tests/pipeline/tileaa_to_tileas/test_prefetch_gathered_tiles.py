"""Indices that are loaded an iteration ahead, and what kernels with them compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("counted_indices.py")


def _loads(name: str, sm: str) -> tuple[int, int]:
    """The loads before a kernel's loop, and all of them."""
    ptx = compiled(KERNELS, name, sm).ptx
    return ptx.partition("$L__BB0_1:")[0].count("ld.global"), ptx.count("ld.global")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100"])
def test_the_next_index_is_loaded_before_the_element_of_this_one(sm):
    """No thread waits for two loads one after the other; the last iteration loads nothing past the end."""
    assert _loads("counted", sm) == (1, 3)
    indices = np.array([3, 0, 3, 3, 1, 2, 2, 1, 2], dtype=np.int32)
    counts = np.arange(8, dtype=np.int32).reshape(2, 4)
    found = run(KERNELS, "counted", sm, [indices, counts.copy()], (2, 1, 1))[1]
    expected = counts + [np.bincount(indices[start::2], minlength=4) for start in (0, 1)]
    np.testing.assert_array_equal(found, expected)


def test_an_index_that_the_loop_may_write_is_loaded_after_that():
    assert _loads("followed", "sm_90") == (0, 2)
    links = np.array([1, 2, 0, 1, 3, 4], dtype=np.int32)
    expected = links.copy()
    for position, index in enumerate(expected):
        expected[position] = expected[index] + 1
    np.testing.assert_array_equal(run(KERNELS, "followed", "sm_90", [links], (1, 1, 1))[0], expected)
