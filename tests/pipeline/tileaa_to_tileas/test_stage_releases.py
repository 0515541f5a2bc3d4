"""Which barriers passes that move MMAs erase."""

import pytest

from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.tileaa_to_tileas.stage_releases import BARRIER, erase_repeated_barriers

PLAIN, CLUSTER = "nv_tileas.barrier", "nv_tileas.barrier {cluster}"


@pytest.mark.parametrize(
    ("barriers", "left"),
    [
        ((PLAIN, PLAIN), [False]),
        ((CLUSTER, PLAIN), [True]),
        ((PLAIN, CLUSTER), [False, True]),
        ((PLAIN, CLUSTER, PLAIN, CLUSTER), [False, True]),
    ],
)
def test_a_barrier_of_one_cta_stands_for_none_of_a_cluster(barriers, left):
    text = "\n".join(barriers)
    func = next(iter(parse(f"nv_tileaa.func @k {{\n{text}\nnv_tileaa.return\n}}\n".encode(), "k.mlir").body.block.ops))
    block = func.regions[0].blocks[0]
    erase_repeated_barriers(block, lambda _: True)
    assert [op.cluster for op in block.ops if op.name == BARRIER] == left
