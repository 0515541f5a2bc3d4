"""Indices that are loaded an iteration ahead, and what kernels with them compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pipeline.tileaa_to_tileas.convolution_gathers import CHANNELS, EXTENT, FILTER, SIZE
from tileiras_build.pipeline.tile_ir_text_format import parse

KERNELS = Path(__file__).with_name("counted_indices.py")
ROWS = Path(__file__).with_name("heavy_rows.py")
GATHERS = Path(__file__).with_name("convolution_gathers.py")


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


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_rows_of_heavy_traffic_take_more_registers_ahead(sm):
    for name, before in (("heavy", 1), ("light", 0)):
        operations = list(parse(compiled(ROWS, name, sm, strategy="none").tileas.encode()).walk())
        loop = next(place for place, op in enumerate(operations) if op.name == "nv_tileas.for")
        assert sum(op.name == "nv_tileas.tiled_load" for op in operations[:loop]) == before
    x = np.random.default_rng(3).integers(-2, 3, (32, 1024)).astype(np.float16)
    found = run(ROWS, "heavy", sm, [x, np.zeros(x.shape, np.float32)], (3, 1, 1), strategy="none")[1]
    values = x.astype(np.float32)
    np.testing.assert_allclose(found, values / abs(values).sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_elements_whose_addresses_take_as_long_as_their_loads_stay_in_their_iteration(sm):
    """Each of 32 elements of a thread has an address of a dozen instructions."""
    operations = list(scheduled_case(GATHERS, "convolution", sm).walk())
    loop = max(place for place, op in enumerate(operations) if op.name == "nv_tileas.for")
    assert "nv_tileas.load" not in {op.name for op in operations[:loop]}
    rng = np.random.default_rng(5)
    x = rng.integers(-1, 2, (CHANNELS, EXTENT + 1, EXTENT + 1)).astype(np.float16)
    w = rng.integers(-1, 2, (SIZE, CHANNELS * FILTER**2)).astype(np.float16)
    found = run(GATHERS, "convolution", sm, [x, w, np.zeros((SIZE, SIZE), np.float32)])[2]
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float32), (FILTER, FILTER), axis=(1, 2))
    patches = windows.transpose(1, 2, 0, 3, 4).reshape(SIZE, -1)
    np.testing.assert_array_equal(found, patches @ w.T)
