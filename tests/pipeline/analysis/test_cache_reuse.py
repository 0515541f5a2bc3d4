"""Who reads a tile: one block, all of them, or nobody can say; and cache hints change no result."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tests.pipeline.analysis.cache_reuse_kernels import TILE
from tileiras_build.ir.casting import as_op
from tileiras_build.pipeline.analysis.cache_reuse import Reuse, grid_axes, load_reuse

KERNELS = Path(__file__).with_name("cache_reuse_kernels.py")


@pytest.mark.parametrize("name, readings", [
    ("scaled", [Reuse.NONE, Reuse.UNKNOWN, Reuse.ALL_CTAS]),
    # The loop is there twice: with and without checks of its indices.
    ("in_place", [Reuse.UNKNOWN, Reuse.UNKNOWN, Reuse.UNKNOWN]),
])  # fmt: skip
def test_who_reads(name, readings):
    [kernel] = scheduled_case(KERNELS, name, "sm_90").body.block.ops
    loads = [as_op(op) for op in kernel.walk() if op.name == "nv_tileas.tiled_load"]
    assert grid_axes(kernel) == {0, 1}
    assert [load_reuse(load, grid_axes(kernel)) for load in loads] == readings


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
def test_caches_are_known_and_results_stay(sm):
    x, y, scale = (np.random.default_rng(seed).normal(size=(2, 2 * TILE)).astype(np.float32) for seed in range(3))
    out = run(KERNELS, "scaled", sm, [x, y, scale, np.zeros_like(x)], grid=(2, 2, 1))[3]
    np.testing.assert_array_equal(out, (x + np.tile(y[:, :TILE], 2)) * np.tile(scale[0, :TILE], 2))
    text = compiled(KERNELS, "scaled", sm).ptx
    told = [text.count(f"ld.global{form}.v4") for form in (".L1::no_allocate", ".L1::evict_last", "")]
    assert len({*told}) == 1 and told[0]
