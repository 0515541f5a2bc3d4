"""CuTe's layout algebra against its definitions, by enumeration."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileiras_build.ir.layouts.cute_algebra import (
    DIVISIONS,
    Layout,
    Swizzle,
    coalesce,
    compact,
    complement,
    composition,
    cosize,
    crd2idx,
    divide,
    flatten,
    from_modes_of,
    idx2crd,
    layout_offset,
    logical_product,
    parse_layout,
    parse_tuple,
    print_tuple,
    product,
    right_inverse,
)

tuples = st.recursive(
    st.integers(0, 64) | st.none(), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5
)


@st.composite
def layouts(draw, most: int = 3) -> Layout:
    """A layout with extents and strides that are powers of two, perhaps nested."""
    extents = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=most))
    strides = draw(st.lists(st.sampled_from([0, 1, 2, 4, 8, 16, 32]), min_size=len(extents), max_size=len(extents)))
    if len(extents) == 3 and draw(st.booleans()):
        return Layout((extents[0], tuple(extents[1:])), (strides[0], tuple(strides[1:])))
    return Layout(tuple(extents), tuple(strides)) if len(extents) > 1 else Layout(extents[0], strides[0])


def function(layout: Layout) -> list[int]:
    """The offsets of all indices."""
    return [layout_offset(layout, index) for index in range(product(layout.shape))]


@settings(max_examples=40)
@given(tuples)
def test_tuples_read_back(value):
    assert parse_tuple(print_tuple(value)) == value


@pytest.mark.parametrize(
    "text", ["(8,?):(1,8)", "((4,8),(2,2)):((1,16),(8,128))", "S<3,4,3> o 0 o (8,64):(64,1)", "S<1,2,3> o 16 o 8:1"]
)
def test_layouts_read_back(text):
    assert str(parse_layout(text)) == text


@pytest.mark.parametrize("text", ["", "(8,", "8:", "(8,8):(1,(2,3))", "8,8:1", "(8,x):(1,2)", "):1"])
def test_what_is_no_layout_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_layout(text)


@settings(max_examples=40)
@given(layouts())
def test_coalescing_keeps_the_function(layout):
    assert function(coalesce(layout)) == function(layout)
    assert len(list(flatten(coalesce(layout).shape))) <= len(list(flatten(layout.shape)))


@settings(max_examples=40)
@given(layouts(), layouts())
def test_composition_is_one_after_the_other(a, b):
    assume(cosize(b) <= product(a.shape))
    try:
        both = composition(a, b)
    except ValueError:
        assume(False)
    assert function(both) == [layout_offset(a, index) for index in function(b)]


@settings(max_examples=40)
@given(layouts())
def test_a_complement_fills_what_is_left_out(layout):
    try:
        rest = complement(layout, 256)
    except ValueError:
        assume(False)
    others = function(rest)
    covered = sorted({taken + other for taken in function(layout) for other in others})
    assert covered[: len(covered)] == list(range(len(covered))) and len(covered) >= 256


@settings(max_examples=40)
@given(layouts())
def test_a_right_inverse_finds_the_index_again(layout):
    inverse = right_inverse(layout)
    assert [layout_offset(layout, index) for index in function(inverse)] == list(range(product(inverse.shape)))


@settings(max_examples=40)
@given(st.integers(0, 511))
def test_coordinates_and_indices_are_the_same_places(index):
    shape = (4, (2, 8), 8)
    coordinate = idx2crd(index, shape)
    assert crd2idx(coordinate, shape, compact(shape)) == index
    assert crd2idx(index, shape, compact(shape)) == index


def test_divisions_order_tiles_and_rests():
    layout = parse_layout("(8,16):(16,1)")
    parts = divide(layout, (4, 8))
    made = {name: str(order(*parts)) for name, order in DIVISIONS.items()}
    assert made == {
        "logical_divide": "((4,2),(8,2)):((16,64),(1,8))",
        "zipped_divide": "((4,8),(2,2)):((16,1),(64,8))",
        "tiled_divide": "((4,8),2,2):((16,1),64,8)",
        "flat_divide": "(4,8,2,2):(16,1,64,8)",
    }
    for order in DIVISIONS.values():
        assert sorted(function(order(*parts))) == list(range(128))


def test_tiles_and_rests_of_each_mode():
    tiles, rests = divide(Layout((64, 8), (8, 1)), (16, 4))
    assert str(from_modes_of(tiles)) == "(16,4):(8,1)" and str(from_modes_of(rests)) == "(4,2):(128,4)"


def test_modes_that_overlap_do_not_compose():
    with pytest.raises(ValueError, match="overlap"):
        composition(parse_layout("(2,2):(0,1)"), parse_layout("(2,2):(1,1)"))


def test_logical_product_repeats_a_layout():
    assert str(logical_product(parse_layout("(2,2):(4,1)"), parse_layout("6:1"))) == "((2,2),(2,3)):((4,1),(2,8))"


def test_a_swizzle_exchanges_rows_of_units():
    swizzle = Swizzle(3, 3, 3)
    assert [swizzle.apply(64 * row) // 8 % 8 for row in range(8)] == list(range(8))
    assert sorted(swizzle.apply(offset) for offset in range(512)) == list(range(512))
