"""Types of alias-aware tile IR read back as they are printed."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.tile_ir_text_format import parse, render

MEMREF = "!nv_tileaa.memref<f16, [?, 64], [?, 1]>"
TYPES = (
    "!nv_tileaa.ptr<f32>",
    "tensor<8x!nv_tileaa.ptr<f32>>",
    "!nv_tileaa.mem_token",
    "!nv_tileaa.memref<f8E4M3FN, [], []>",
    MEMREF,
    f"!nv_tileaa.tiled_view<partition, {MEMREF}, tile = [8, 16], dim_map = [1, 0], steps = [8, 16], "
    "sparse = -1, padding = zero>",
    f"!nv_tileaa.tiled_view<gather, {MEMREF}, tile = [8, 16], dim_map = [0, 1], steps = [1, 1], "
    "sparse = 0, padding = none>",
)


def module(type):
    return f"nv_tileaa.func @k {{\n^bb0(%x: {type}):\n  nv_tileaa.return\n}}\n".encode()


@pytest.mark.parametrize("type", TYPES)
def test_type_reads_back(type):
    read = parse(module(type))
    text = render(read)
    [func] = read.body.block.ops
    assert str(func.regions[0].blocks[0].args[0].type) == type
    assert render(parse(text)) == text


@pytest.mark.parametrize(
    "type", ["!nv_tileaa.memref<f16, [?]>", "!nv_tileaa.ptr<>", "!nv_tileaa.memref<f16, [x], [1]>"]
)
def test_wrong_types_are_refused_with_their_line(type):
    with pytest.raises(InvalidInput, match="^k.tileaa:2:"):
        parse(module(type), "k.tileaa")


def test_unknown_extents_are_none():
    [func] = parse(module(MEMREF)).body.block.ops
    type = func.regions[0].blocks[0].args[0].type
    assert (type.shape, type.strides) == ((None, 64), (None, 1))
