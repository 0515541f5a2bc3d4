"""Types and attributes: Python properties, rules, and text that reads back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, i1, i8, i32
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tileiras_build.ir.dialects.cuda_tile import (
    ATTRS,
    BITS,
    DTYPE_NAMES,
    ENUM_ATTRS,
    FLOATS,
    NUMERIC_TYPES,
    TOKEN,
    TYPES,
    BoundedAttr,
    CudaTile,
    DenseConstantAttr,
    DICompileUnitAttr,
    DIFileAttr,
    DILocAttr,
    DISubprogramAttr,
    DivByAttr,
    GatherScatterViewType,
    OptimizationHintsAttr,
    PaddingValue,
    PartitionViewType,
    PointerType,
    RoundingMode,
    RoundingModeAttr,
    SameElementsAttr,
    StridedViewType,
    TensorViewType,
    TileType,
    is_float,
)
from tileiras_build.ir.dialects.cuda_tile.element_types import F4E2M1, F16, F32, FNV8, TF32

VIEW = TensorViewType(F32, (None, 16), (16, None))


def parse(text: str):
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(CudaTile)
    return Parser(context, text).parse_attribute()


SAMPLES = [
    TOKEN,
    PointerType(F32),
    PointerType(F32, "none"),
    FNV8,
    TileType((), i32),
    TileType((4, 8), PointerType(F16)),
    VIEW,
    TensorViewType(F32, (), ()),
    TensorViewType(F32, (4,), (1,), "none"),
    PartitionViewType((4, 8), VIEW),
    PartitionViewType((4, 8), VIEW, (1, 0), PaddingValue.NAN),
    StridedViewType((4, 8), (3, 3), VIEW, (1, 0), PaddingValue.ZERO),
    GatherScatterViewType((4, 8), VIEW, 1, PaddingValue.NEG_INF),
    DivByAttr(16),
    DivByAttr(16, 4, 0),
    SameElementsAttr([2, 4]),
    BoundedAttr(None, None),
    BoundedAttr(-5, 7),
    OptimizationHintsAttr({}),
    OptimizationHintsAttr({"sm_90": {"allow_tma": False, "latency": 3}, "default": {}}),
    DenseConstantAttr(TileType((2,), i32), b"\1\0\0\0\2\0\0\0"),
    *(attr for kind in ENUM_ATTRS for attr in kind.instances),
]


def test_text_reads_back():
    again = [parse(str(attr)) for attr in SAMPLES]
    assert again == SAMPLES and [*map(hash, again)] == [*map(hash, SAMPLES)]


def test_the_samples_cover_all_kinds():
    assert {type(attr) for attr in SAMPLES} == {*TYPES, *ATTRS, *ENUM_ATTRS}


shapes = st.lists(st.sampled_from([1, 2, 4, 8, 16]), max_size=4)
elements = st.sampled_from([element for element in NUMERIC_TYPES if element != F4E2M1])


@given(shapes, elements)
def test_tiles_read_back(shape, element):
    tile = TileType(shape, element)
    assert parse(str(tile)) == tile
    assert tile.num_elements == np.prod(shape, initial=1) and tile.rank == len(shape)


def test_a_view_gives_its_tile():
    view = PartitionViewType((4, 8), VIEW)
    assert view.tile_type == TileType((4, 8), F32) and view.index_rank == 2 and view.dim_map == (0, 1)
    assert VIEW.dynamic_shape_count == 1 and VIEW.strides == (16, None)


INVALID = {
    "pointee": (lambda: PointerType(TOKEN), "a pointer cannot point to"),
    "element": (lambda: TileType((), TOKEN), "a tile cannot have elements of type"),
    "power": (lambda: TileType((3,), F32), "powers of two"),
    "positive": (lambda: TileType((0,), F32), "positive constants"),
    "size": (lambda: TileType((1 << 13, 1 << 13), F32), "maximum of 16777216 elements"),
    "f4": (lambda: TileType((1,), F4E2M1), "even number of elements"),
    "view-rank": (lambda: TensorViewType(F32, (4,), ()), "of same rank"),
    "view-size": (lambda: TensorViewType(F32, (0,), (1,)), "strictly positive constant sizes"),
    "view-stride": (lambda: TensorViewType(F32, (4,), (-1,)), "strictly positive constant strides"),
    "view-element": (lambda: TensorViewType(PointerType(F32), (4,), (1,)), "a tensor view cannot have"),
    "no-view": (lambda: PartitionViewType((4,), F32), "expected a tensor_view"),
    "no-tile": (lambda: PartitionViewType((), TensorViewType(F32, (), ())), "0-dimension tile shape"),
    "ranks": (lambda: PartitionViewType((4,), VIEW), "expected tensor_view rank and tile rank to match"),
    "dim-map": (lambda: PartitionViewType((4, 4), VIEW, (0, 0)), "map exactly all 2 dimensions"),
    "padding": (
        lambda: PartitionViewType((4,), TensorViewType(i32, (8,), (1,)), padding_value=PaddingValue.NAN),
        "floating point element types",
    ),
    "traversal": (lambda: StridedViewType((4, 4), (1, 0), VIEW), "strictly positive"),
    "traversal-rank": (lambda: StridedViewType((4, 4), (1,), VIEW), "expected 2 traversal strides"),
    "sparse": (lambda: GatherScatterViewType((4, 4), VIEW, 2), "outside of tensor view dimensions"),
    "constant-size": (lambda: DenseConstantAttr(TileType((4,), i32), bytes(5)), "needs 16 bytes, got 5"),
    "constant-type": (
        lambda: DenseConstantAttr(TileType((4,), PointerType(F32)), bytes(8)),
        "must be a numeric tile",
    ),
}


@pytest.mark.parametrize("build, message", INVALID.values(), ids=INVALID)
def test_invalid(build, message):
    with pytest.raises(VerifyException) as caught:
        build()
    assert message in str(caught.value)


def test_enumerations_are_shared_and_spelled_publicly():
    assert RoundingModeAttr.of("zero") is RoundingModeAttr.of(RoundingMode.ZERO)
    assert str(RoundingModeAttr.of("zero")) == "#cuda_tile.rounding<zero>"


def test_element_types():
    assert set(DTYPE_NAMES) | {FNV8} == set(BITS)
    assert all(is_float(element) for element in FLOATS)
    assert not any(map(is_float, [i1, i8, TOKEN, PointerType(F32)]))


@given(st.lists(st.booleans(), min_size=8, max_size=8))
def test_boolean_constants_are_packed(values):
    value = DenseConstantAttr.from_array(TileType((8,), i1), np.array(values))
    assert value.as_array().tolist() == values and len(value.raw) == 1
    assert value.is_splat == (len(set(values)) == 1)


def test_a_constant_array_is_read_only():
    value = DenseConstantAttr.from_array(TileType((2, 2), i32), [[1, 2], [3, 4]])
    assert not value.as_array().flags.writeable
    with pytest.raises(ValueError, match="not a splat"):
        value.splat_value()


def test_tf32_constants_are_three_bytes():
    value = DenseConstantAttr.from_array(TileType((), TF32), 1.5)
    assert len(value.raw) == 3 and value.splat_value() == 1.5


def test_constants_of_unsigned_floats_are_read_as_values():
    value = DenseConstantAttr(TileType((4,), FNV8), bytes([0, 1, 0x78, 0xFE]))
    assert value.as_array().tolist() == [0, 2.0**-17, 1, 1.75 * 2**16]
    assert np.isnan(DenseConstantAttr(TileType((), FNV8), b"\xff").splat_value())
    assert DenseConstantAttr.from_array(value.type, value.as_array()) == value


def test_debug_attributes_read_back():
    source = DIFileAttr("k.py", "/src")
    function = DISubprogramAttr(source, 3, "f", "k", DICompileUnitAttr(source), 3)
    loc = DILocAttr('a "b".py', 7, 9, function)
    assert parse(str(loc)) == loc and loc.function == "f"
