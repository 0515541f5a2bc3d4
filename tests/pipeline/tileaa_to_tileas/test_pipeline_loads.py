"""Loads of products through rings: right numbers and no race for every loop length, also where a loop runs again."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tileiras_build.checkers.rings import check_rings
from tileiras_build.pipeline.text_format import parse

KERNEL = Path(__file__).with_name("nested_product.py")


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 9])
def test_nested_products_share_a_ring(steps, sm):
    rng = np.random.default_rng(steps)
    a, b = rng.standard_normal((192, 32 * steps)), rng.standard_normal((32 * steps, 64))
    a, b = a.astype(np.float16), b.astype(np.float16)
    _, _, out = run(KERNEL, "nested_product", sm, [a, b, np.full((192, 64), np.nan, np.float32)])
    np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


def test_ring_of_a_nested_loop_is_proved():
    text = compiled(KERNEL, "nested_product", "sm_80").tileas
    assert check_rings(parse(text.encode())) == 2
