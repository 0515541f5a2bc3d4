"""Neighbouring tile programs in a cluster: the same results without races, and loads that are shared where that is legal."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import bytecode, compiled, run
from tileiras_build.core.errors import InvalidInput
from tileiras_build.driver import compile
from tileiras_build.simulate.emulator import EmulatorError

KERNELS = Path(__file__).with_name("clustered_programs.py")
M, N, K = 128, 64, 64
PAIR, MULTICAST = "cta_group::2", "multicast::cluster"


def schedule(ctas):
    return f'{{"schedule": {{"grid_cluster": {ctas}}}}}'


def check(name, sm, ctas, grid, rows, columns, expected=np.matmul):
    """Small integers, which float16 holds exactly, in arrays that end inside of tiles."""
    rng = np.random.default_rng(rows)
    a, b = (
        rng.integers(-3, 4, (rows, 3 * K)).astype(np.float16),
        rng.integers(-3, 4, (3 * K, columns)).astype(np.float16),
    )
    out = np.full((rows, columns), 9, np.float16)
    found = run(KERNELS, name, sm, [a, b, out], grid, schedule=schedule(ctas))[2]
    np.testing.assert_array_equal(found, expected(a.astype(np.float32), b.astype(np.float32)))


@pytest.mark.parametrize(
    ("name", "sm", "ctas", "shared"),
    [
        ("by_rows", "sm_90", 2, MULTICAST),
        ("by_rows", "sm_90", 4, MULTICAST),
        ("by_rows", "sm_100", 2, PAIR),
        ("by_rows", "sm_100", 4, MULTICAST),
        ("by_rows", "sm_120", 2, ".reqnctapercluster 2"),
        ("by_columns", "sm_90", 2, MULTICAST),
        ("by_columns", "sm_100", 2, MULTICAST),
    ],
)
def test_neighbours_share_what_both_load(name, sm, ctas, shared):
    text = compiled(KERNELS, name, sm, schedule=schedule(ctas)).ptx
    assert shared in text and ".blocksareclusters" not in text
    grid = (ctas, 2, 1) if name == "by_rows" else (2 * ctas, 2, 1)
    check(name, sm, ctas, grid, 2 * M - 16 if ctas == 2 else 3 * M + 16, 2 * N - 16)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_loops_of_different_lengths_share_nothing(sm):
    text = compiled(KERNELS, "triangular", sm, schedule=schedule(2)).ptx
    assert PAIR not in text and MULTICAST not in text

    def expected(a, b):
        mask = np.arange(a.shape[1])[None, :] < (np.arange(a.shape[0])[:, None] // M + 1) * M
        return (a * mask) @ b

    check("triangular", sm, 2, (2, 1, 1), 2 * M, N, expected)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_places_that_a_branch_decides_are_not_the_same(sm):
    text = compiled(KERNELS, "chosen", sm, schedule=schedule(2)).ptx
    assert PAIR not in text and MULTICAST not in text


@pytest.mark.parametrize(
    ("name", "sm", "reason"),
    [("leaving", "sm_90", "may return early"), ("by_rows", "sm_80", "has no clusters")],
)
def test_kernels_and_gpus_without_clusters(name, sm, reason):
    with pytest.raises(InvalidInput, match=f"grid_cluster = 2 is refused: .*{reason}"):
        compile(bytecode(KERNELS, name), sm, schedule=schedule(2))


def test_a_cluster_of_one_tile_program_is_another():
    with pytest.raises(InvalidInput, match="no CTA for each tile program"):
        compile(bytecode(KERNELS, "by_rows"), "sm_90", schedule='{"schedule": {"grid_cluster": 2, "num_ctas": 2}}')


def test_the_manifest_says_what_grids_are_multiples_of():
    [kernel] = compiled(KERNELS, "by_rows", "sm_90", schedule=schedule(2)).manifest["kernels"].values()
    assert kernel["grid"]["cluster"] == 2 and kernel["cluster"] == [1, 1, 1]
    assert kernel["grid"]["group"] > 1  # of clusters: neighbours still load the same tiles


def test_other_grids_are_refused():
    with pytest.raises(EmulatorError, match="cluster"):
        check("by_rows", "sm_90", 2, (3, 1, 1), 3 * M, N)
