"""Parts of a loop along k in the CTAs of a cluster: the same results without races, and reasons where a kernel has no such loop."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import bytecode, compiled, run
from tests.pipeline.tileaa_to_tileas.test_cluster_grid import KERNELS as CLUSTERED
from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import compile

KERNELS = Path(__file__).with_name("split_k_kernels.py")
SENT = "st.shared::cluster"


def schedule(ctas):
    return f'{{"schedule": {{"split_k": {ctas}}}}}'


def small(*shape, dtype=np.float16):
    """Integers that float16 holds exactly, also where they are accumulated."""
    return np.random.default_rng(sum(shape)).integers(-2, 3, shape).astype(dtype)


def multiplied(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def launched(name, sm, ctas, inputs, out, grid=(1, 1, 1), path=KERNELS):
    text = compiled(path, name, sm, schedule=schedule(ctas)).ptx
    assert SENT in text and f".reqnctapercluster {ctas}" in text and ".blocksareclusters" in text
    return run(path, name, sm, [*inputs, np.full_like(out, 9)], grid, schedule=schedule(ctas))[-1]


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("ctas", "k"), [(2, 320), (4, 320), (4, 64)]
)  # five iterations, or one: parts of 3 and 2, 2, 2, 1, 0
def test_parts_of_unequal_length(sm, ctas, k):
    a, b = small(208, k), small(k, 112)
    found = launched("by_rows", sm, ctas, (a, b), np.empty((208, 112), np.float16), (2, 2, 1), CLUSTERED)
    np.testing.assert_array_equal(found, multiplied(a, b))


@pytest.mark.parametrize("name", ["biased", "unaligned"])
@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_each_cta_has_columns_of_what_follows(name, sm):
    a, b, bias = small(128, 192), small(192, 128), small(128)
    grid = (1, 1, 1) if name == "biased" else (2, 2, 1)
    found = launched(name, sm, 2, (a, b, bias), np.empty((128, 128), np.float16), grid)
    np.testing.assert_array_equal(found, np.maximum(multiplied(a, b) + bias, 0))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_rows_where_columns_are_reduced(sm):
    """Warps have the rows, which are therefore brought to registers first."""
    a, b = small(64, 192), small(192, 64)
    found = launched("row_maxima", sm, 2, (a, b), np.empty(64, np.float16))
    np.testing.assert_array_equal(found, multiplied(a, b).max(1))


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_two_accumulators(sm):
    a, b, gate = small(64, 192), small(192, 64), small(192, 64, dtype=np.float32).astype(np.float16)
    found = launched("gated", sm, 2, (a, b, gate), np.empty((64, 64), np.float16))
    np.testing.assert_array_equal(found, (multiplied(a, b) * multiplied(a, gate)).astype(np.float16))


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_accumulators_of_integers(sm):
    a, b = small(64, 192, dtype=np.int8), small(192, 64, dtype=np.int8)
    found = launched("integers", sm, 2, (a, b), np.empty((64, 64), np.int32))
    np.testing.assert_array_equal(found, multiplied(a, b))


@pytest.mark.parametrize(
    ("name", "sm", "reason"),
    [
        ("biased", "sm_80", "has no clusters"),
        ("begun", "sm_90", "not zero before the loop"),
        ("writing", "sm_90", "writes memory"),
        ("decayed", "sm_90", "carries more than"),
        ("softmax_of_all", "sm_90", "cannot be divided: nv_tileas.reduce needs replicated tiles"),
    ],
)
def test_kernels_without_such_a_loop(name, sm, reason):
    with pytest.raises(InvalidInput, match=f"split_k = 2 is refused: .*{reason}"):
        compile(bytecode(KERNELS, name), sm, schedule=schedule(2))


@pytest.mark.parametrize("other", ['"num_ctas": 2', '"grid_cluster": 2'])
def test_another_cluster(other):
    with pytest.raises(InvalidInput, match="another cluster is asked for"):
        compile(bytecode(KERNELS, "biased"), "sm_90", schedule=f'{{"schedule": {{"split_k": 2, {other}}}}}')


def test_a_program_that_returns_or_loops_over_tiles():
    with pytest.raises(InvalidInput, match="may return early"):
        compile(bytecode(CLUSTERED, "leaving"), "sm_90", schedule=schedule(2))
    with pytest.raises(InvalidInput, match="no CTA for each tile program"):
        compile(bytecode(CLUSTERED, "by_rows"), "sm_90", schedule=schedule(2), persistent=1)


def test_one_part_is_the_whole_loop():
    whole, one = (compiled(KERNELS, "biased", "sm_90", **options).ptx for options in ({}, {"schedule": schedule(1)}))
    assert whole == one and SENT not in whole
