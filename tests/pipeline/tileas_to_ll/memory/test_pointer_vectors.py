"""What a tile of pointers moves at a time lies along the dimension in which its addresses follow each other."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import compiled, run
from tests.pipeline.tileas_to_ll.memory.pointer_kernels import SIZE

KERNELS = Path(__file__).with_name("pointer_kernels.py")
X = np.arange(SIZE * SIZE, dtype=np.float16).reshape(SIZE, SIZE) / 64


def test_a_tile_whose_first_dimension_is_the_fastest_moves_in_vectors():
    out = run(KERNELS, "turned", "sm_80", [X, np.zeros_like(X)])[1]
    np.testing.assert_array_equal(out, X * 2)
    text = compiled(KERNELS, "turned", "sm_80").ptx
    assert "ld.global.v4.b32" in text and "st.global.v4.b32" in text


def test_a_tile_that_is_held_along_another_dimension_moves_by_elements():
    """Threads hold both tiles of the addition alike, so that one of the two can move no vectors."""
    out = run(KERNELS, "summed", "sm_80", [X, X, np.zeros_like(X)])[2]
    np.testing.assert_array_equal(out, X + X.T)
