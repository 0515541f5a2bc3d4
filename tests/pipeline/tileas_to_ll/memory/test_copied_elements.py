"""Stores of elements that several lanes hold: by all of them where nothing is read, by one of them otherwise."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("copied_elements.py")


@pytest.mark.parametrize(("name", "by_all"), [("written", True), ("incremented", False)])
def test_lanes_that_store(name, by_all):
    """A copy of an element that is read and written in place may be read after another lane has written it."""
    assert ("icmp eq i32" not in compiled(KERNELS, name, "sm_90").ll) is by_all


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize(("name", "want"), [("written", [9, 1, 2, 3, 4, 5, 6, 7]), ("incremented", [8] * 8)])
def test_results(name, want, sm):
    [found] = run(KERNELS, name, sm, [np.full(8, 7, np.int32)])
    np.testing.assert_array_equal(found, want)
