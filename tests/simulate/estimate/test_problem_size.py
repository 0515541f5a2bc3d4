"""Launches from problem sizes: grids of tile blocks, and which variant they select."""

import pytest
from msgspec.structs import replace

from tileiras_build.core.errors import InvalidInput
from tileiras_build.manifest.launch_manifest import Argument, Grid, Launch, Parameter
from tileiras_build.simulate.estimate.problem_size import fits_variant, launch_of_tile_blocks

PARAMS = [Parameter(name="n", kind="i32", size=4, offset=0, argument=0)]
ARGUMENTS = [Argument(name="n", kind="scalar", param=0)]


def kernel(**fields) -> Launch:
    return Launch(threads_per_cta=128, params=PARAMS, param_sizes=[4], arguments=ARGUMENTS, **fields)


SIZES = [
    Parameter(name="sizes", kind="pointer", size=8, offset=0, argument=0, element="i32", access="loaded"),
    Parameter(name="n", kind="i32", size=4, offset=8, argument=0),
    Parameter(name="step", kind="i32", size=4, offset=12, argument=0, value=1),
]
ARRAY = Launch(
    threads_per_cta=128,
    params=SIZES,
    param_sizes=[8, 4, 4],
    arguments=[Argument(name="sizes", kind="array", param=0, rank=1)],
)


def test_an_array_of_integers_has_elements():
    buffer = launch_of_tile_blocks(ARRAY, {"sizes": "8:3,-1"}, (1, 1, 1)).buffers[1]
    assert (buffer.size, buffer.content) == (32, b"\3\0\0\0\xff\xff\xff\xff")
    assert launch_of_tile_blocks(ARRAY, {"sizes": "8"}, (1, 1, 1)).buffers[1].content == b""


@pytest.mark.parametrize(("element", "text"), [("i32", "8:many"), ("i32", "8:1,,2"), ("f32", "8:1")])
def test_elements_that_are_no_integers_are_refused(element, text):
    array = replace(ARRAY, params=[replace(SIZES[0], element=element), *SIZES[1:]])
    with pytest.raises(InvalidInput, match="estimate-set"):
        launch_of_tile_blocks(array, {"sizes": text}, (1, 1, 1))


@pytest.mark.parametrize(
    ("fields", "ctas", "clusters"),
    [
        ({}, (6, 4, 1), (6, 4, 1)),
        ({"cluster": (2, 1, 1)}, (12, 4, 1), (6, 4, 1)),  # two CTAs compute each tile block
        ({"grid": Grid(cluster=2)}, (6, 4, 1), (3, 4, 1)),  # two tile blocks are a cluster
    ],
)
def test_a_cluster_of_ctas_for_each_tile_block_that_they_divide(fields, ctas, clusters):
    launch = launch_of_tile_blocks(kernel(**fields), {"n": "8"}, (6, 4, 1))
    assert (launch.grid, launch.clusters) == (ctas, clusters)


def test_a_grid_that_clusters_divide_selects_their_variant():
    variant = kernel(grid=Grid(cluster=2), variant_of="k")
    assert fits_variant(kernel(), variant, {"n": "8"}, (6, 3, 1))
    assert not fits_variant(kernel(), variant, {"n": "8"}, (3, 6, 1))
