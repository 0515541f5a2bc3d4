"""Rows of tile programs that begin together: every place is taken once, in an order that L2 likes."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import aligned, cases, compiled, run
from tileiras_build.frontend.pack_arguments import pack_arguments
from tileiras_build.simulate import emulator

KERNELS = Path(__file__).with_name("program_id_kernels.py")
GRIDS = [(1, 1, 1), (5, 1, 1), (1, 7, 2), (4, 3, 2), (5, 9, 2), (3, 16, 1)]


def expected(grid):
    x, y, z = np.indices(grid, np.int32)
    return 10000 * x + 100 * y + z + 1


@pytest.mark.parametrize("group", [2, 4])
@pytest.mark.parametrize("grid", GRIDS)
def test_each_place_is_taken_once(grid, group):
    [out] = run(KERNELS, "places", "sm_80", [np.zeros(grid, np.int32)], grid, grid_swizzle=group)
    np.testing.assert_array_equal(out, expected(grid))


def order(grid, name="places", **options):
    """The places in the order in which the hardware starts programs."""
    artifacts, out = compiled(KERNELS, name, "sm_80", **options), aligned(np.zeros(grid, np.int32))
    memory, seen = emulator.Memory(), []
    memory.map(out.ctypes.data, out.nbytes)
    parameters = pack_arguments(cases(KERNELS)[name], [out])
    emulator.launch(artifacts, name, grid, parameters, memory=memory, started=lambda _: seen.append(out.copy()))
    steps = [*seen, out]
    return [tuple(*np.argwhere(now != before).tolist()) for before, now in pairwise(steps)]


def test_programs_of_a_group_begin_column_by_column():
    grid = 3, 7, 2
    groups = [range(4), range(4, 7)]
    grouped = [(x, y, z) for z in range(2) for rows in groups for x, y in product(range(3), rows)]
    assert order(grid, grid_swizzle=4) == grouped
    assert order(grid) == [(x, y, z) for z in range(2) for y in range(7) for x in range(3)]


def test_the_longest_programs_start_first():
    """Along axis 0 in groups of 8 rows; the rows of the last group are fewer."""
    grid = 3, 11, 2
    by_rows = [
        (x, y, z) for z in range(2) for rows in (range(8), range(8, 11)) for x, y in product(reversed(range(3)), rows)
    ]
    assert order(grid, "lengths_0") == by_rows
    assert order(grid, "lengths_0", grid_swizzle=1) == order(grid)
    grid = 2, 3, 2
    assert order(grid, "lengths_1") == [(x, y, z) for z in range(2) for y in reversed(range(3)) for x in range(2)]
    assert order(grid, "lengths_2") == [(x, y, z) for z in reversed(range(2)) for y in range(3) for x in range(2)]


def test_a_group_that_is_asked_for_starts_with_its_longest_programs():
    grid = 3, 4, 1
    groups = [(x, y, 0) for rows in (range(2), range(2, 4)) for x, y in product(reversed(range(3)), rows)]
    assert order(grid, "lengths_0", grid_swizzle=2) == groups


def test_a_persistent_kernel_takes_programs_in_turn():
    assert "grid_reversed" not in compiled(KERNELS, "lengths_0", "sm_80", persistent=1).tileaa


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
def test_triangles_the_longest_first(sm):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((160, 192), (9, 192, 64)))
    a = np.tril(a)
    found = run(KERNELS, "triangle", sm, [a, b, np.full((9, 160, 64), np.nan, np.float16)], (3, 9, 1))[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))
    manifest = compiled(KERNELS, "triangle", sm).manifest["kernels"]["triangle"]
    assert manifest["grid"] == {"axes": [0, 1], "group": 8, "reversed": 0}


def test_a_grid_whose_indices_do_not_fit_keeps_its_order():
    """The first programs of rows of 2**29, the others of which are not run."""
    artifacts, out, taken = (
        compiled(KERNELS, "places", "sm_80", grid_swizzle=8),
        aligned(np.zeros((4, 4, 1), np.int32)),
        [],
    )

    def stop(place):
        taken.append(place)
        if len(taken) > 3:
            raise StopIteration

    memory = emulator.Memory()
    memory.map(out.ctypes.data, out.nbytes)
    parameters = pack_arguments(cases(KERNELS)["places"], [out])
    with pytest.raises(StopIteration):
        emulator.launch(artifacts, "places", (1 << 29, 4, 1), parameters, memory=memory, started=stop)
    np.testing.assert_array_equal(out[:3, 0, 0], expected((3, 1, 1))[:, 0, 0])


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("matmul", {}, 8),
        ("matmul", {"persistent": 1}, 8),
        ("matmul", {"grid_swizzle": 1}, None),
        ("many_1", {}, 8),
        ("many_4", {}, 4),
        ("grouped", {}, 8),
        ("attended", {}, None),
        ("line", {}, None),
    ],
)
def test_matmuls_are_grouped(name, options, rows):
    """By the shape of the tile: a group has fewer rows where a tile has more; attention shares tiles along rows already."""
    artifacts = compiled(KERNELS, name, "sm_80", **options)
    assert artifacts.manifest["kernels"][name]["grid"].get("group") == rows


@pytest.mark.parametrize("sm", ["sm_90", "sm_120"])
def test_a_batch_of_matmuls_in_groups(sm):
    """Nine rows of tiles, more than a group has, two columns and two matmuls."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((2, 9 * 64, 64), (2, 64, 128)))
    found = run(KERNELS, "many_1", sm, [a, b, np.full((2, 9 * 64, 128), np.nan, np.float16)], (2, 9, 2))[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_a_grouped_matmul_in_groups(sm):
    """Nine rows of groups of columns; each tile of rows has the weights of its expert."""
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((3 * 64, 64), (2, 64, 9 * 64)))
    experts = np.array([1, 0, 1], np.int32)
    found = run(KERNELS, "grouped", sm, [a, experts, b, np.full((3 * 64, 9 * 64), np.nan, np.float16)], (3, 9, 1))[3]
    results = (part.astype(np.float32) @ b[expert].astype(np.float32) for part, expert in zip(np.split(a, 3), experts))
    np.testing.assert_array_equal(found, np.concatenate(list(results)))


# What alone has instructions of a GPU, and each GPU once.
GROUPED = [
    ("matmul", "sm_80"),
    ("matmul", "sm_100"),
    *(("matmul_in_clusters", sm) for sm in ("sm_90", "sm_100", "sm_120")),
]


@pytest.mark.parametrize(("name", "sm"), GROUPED)
def test_matmuls_in_groups(name, sm):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((272, 128), (128, 336)))
    found = run(KERNELS, name, sm, [a, b, np.full((272, 336), np.nan, np.float16)], (3, 6, 1), grid_swizzle=4)[2]
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32))
    clusters = name == "matmul_in_clusters" and sm != "sm_80"
    assert (".blocksareclusters" in compiled(KERNELS, name, sm, grid_swizzle=4).ptx) == clusters


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("line", "the kernel does not read its program ids along both axis 0 and axis 1 of its grid"),
        ("waits", "nv_tileaa.atomic_rmw is acq_rel, not weak"),
    ],
)
def test_why_programs_keep_their_order(name, reason):
    artifacts = compiled(KERNELS, name, "sm_80", grid_swizzle=8)
    assert f'grid_swizzle_declined = "{reason}"' in artifacts.tileaa
    assert artifacts.ptx == compiled(KERNELS, name, "sm_80").ptx
    assert "group" not in artifacts.manifest["kernels"][name]["grid"]


def test_the_manifest_says_so():
    artifacts = compiled(KERNELS, "places", "sm_80", grid_swizzle=8)
    assert artifacts.manifest["kernels"]["places"]["grid"] == {"axes": [0, 1, 2], "group": 8}
