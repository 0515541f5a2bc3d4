"""``#cute.layout``: CuTe notation out and in, and what is no layout is refused with its place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import TensorType, f32

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.ir.dialects.cute import LayoutAttr, layout_of_type
from tileiras_build.ir.layouts import LinearLayout, coalesced
from tileiras_build.pipeline.tile_ir_text_format import parse

USE = "!t = tensor<8x16xf32, {}>\nnv_tileaa.func @k {{\n^bb0(%x: !t):\n  nv_tileaa.return\n}}\n"


def read(text: str) -> LinearLayout:
    module = parse(USE.format(text).encode(), "k.tileas")
    [func] = module.body.block.ops
    return func.regions[0].blocks[0].args[0].type.encoding.data


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (LinearLayout((1, 2), (4, 8, 16, 32, 64), (), (8, 16)), "#cute.layout<(8,16), (32,1,4):(4,0,1)>"),
        (LinearLayout((64,), (1, 2, 4, 8, 16), (32,), (8, 16)), "#cute.layout<(8,16), (32,2,2):(1,32,64)>"),
        (
            LinearLayout((), (1, 2, 0, 4, 8), (16, 0), (8, 16)),
            "#cute.layout<(8,16), ((4,2,4),(2,2),1):((1,0,4),(16,0),0)>",
        ),
        (LinearLayout((3,), (1, 2, 4, 8, 16), (), (8, 16)), "#cute.layout<(8,16), (32,1,2):(1,0,^3)>"),
    ],
)
def test_text_of_layouts(layout, text):
    assert str(LayoutAttr(layout)) == text
    assert read(text) == layout


bases = st.lists(st.integers(0, 127), max_size=5).map(tuple)


@settings(max_examples=60)
@given(bases, st.tuples(*[st.integers(0, 127)] * 5), st.lists(st.integers(0, 127), max_size=3).map(tuple))
def test_every_layout_reads_back(registers, lanes, warps):
    layout = LinearLayout(registers, lanes, warps, (8, 16))
    assert read(str(LayoutAttr(layout))) == layout


def test_layouts_are_encodings_of_tensors():
    type = TensorType(f32, [128], LayoutAttr(coalesced((128,), (0,), 4, 1)))
    assert str(type) == "tensor<128xf32, #cute.layout<(128), (32,1,4):(4,0,1)>>"


@pytest.mark.parametrize(
    "text",
    [
        "#cute.layout<>",
        "#cute.layout<(8,16)>",
        "#cute.layout<(8,16), (32,1,4)>",
        "#cute.layout<(8,16), (32,1,4):(4,0)>",
        "#cute.layout<(8,16), (32,4):(4,1)>",
        "#cute.layout<(8,16), (32,1,4):(1024,0,1)>",
        "#cute.layout<(8,16), (32,1,3):(4,0,1)>",
        "#cute.layout<[8,16], [1], [2], [4]>",
    ],
)
def test_what_is_no_layout_is_refused_with_its_line(text):
    with pytest.raises(InvalidInput, match=r"^k.tileas:1:\d+: error.parse-failed.: cannot parse: "):
        read(text)


def test_only_tiles_with_a_layout_have_one():
    layout = coalesced((16, 32), (1, 0), 4, 2)
    assert layout_of_type(TensorType(f32, [16, 32], LayoutAttr(layout))) == layout
    for type in (f32, TensorType(f32, [16, 32])):
        with pytest.raises(InternalError, match="tile-layout.* is no tile with a layout"):
            layout_of_type(type)
