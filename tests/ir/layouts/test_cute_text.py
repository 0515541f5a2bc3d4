"""The CuTe text form: exact texts, round trips, refusals, and that it means what CuTe says."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.ir.layouts import (
    Atom,
    LinearLayout,
    SharedLayout,
    coalesced,
    from_cute,
    mma_tiling,
    shared_from_cute,
    shared_to_cute,
    to_cute,
)

from .strategies import layouts


def test_texts():
    assert to_cute(coalesced((128, 64), (1, 0), 8, 4)) == "(32,4,(8,8)):(8,256,(1,1024))"
    c = mma_tiling(32, 32, 16, Atom(16, 8, 16, 16), 2, 2).c
    assert to_cute(c) == "((4,8),(2,2),(2,2,2)):((2,32),(512,8),(1,256,16))"
    assert to_cute(coalesced((), (), 1, 4)) == "(32,4,1):(0,0,0)"
    mixed = LinearLayout((3, 6), (8, 16, 0, 0, 0), (), (32,))
    assert to_cute(mixed) == "((4,8),1,(2,2)):((8,0),0,(^3,^6))"


@settings(max_examples=40)
@given(layouts())
def test_register_layouts_round_trip(layout):
    assert from_cute(to_cute(layout), layout.shape) == layout


@settings(max_examples=40)
@given(layouts(mixed=False))
def test_the_text_means_cutes_function(layout):
    """Evaluate by CuTe's rule: split a coordinate over the sizes, multiply by strides, add."""
    sizes, strides = to_cute(layout).split(":")
    parts = [eval(f"[{text[1:-1]}]", {}) for text in (sizes, strides)]
    coordinates = itertools.product((0, 5, 31), range(layout.num_warps), range(layout.num_registers))
    for coordinate in coordinates:
        total = 0
        for value, size, stride in zip(coordinate, *parts):
            pairs = zip(size, stride) if isinstance(size, tuple) else [(size, stride)]
            for one_size, one_stride in pairs:
                total += value % one_size * one_stride
                value //= one_size
        assert total == layout.index(coordinate[2], coordinate[0], coordinate[1])


@pytest.mark.parametrize(
    "shared,text",
    [
        (SharedLayout.plain((64, 32), (1, 0), 16), "(64,32):(32,1)"),
        (SharedLayout.plain((64, 32), (0, 1), 16), "(64,32):(1,64)"),
        (SharedLayout.swizzled((128, 64), (1, 0), 16, 8, 1, 8), "swizzle<3,3,3> o (128,64):(64,1)"),
        (SharedLayout.boxed((64, 128), (1, 0), 16, 128), "swizzle<3,3,3> o (64,(64,2)):(64,(1,4096))"),
        (SharedLayout((2, 4), 32, (1, 3, 6)), "bits(2,4):(1,1^2,1^2^4)"),
        (SharedLayout((), 32, ()), "():()"),
    ],
)
def test_placements(shared, text):
    assert shared_to_cute(shared) == text
    assert shared_from_cute(text, shared.element_bits) == shared


@settings(max_examples=40)
@given(st.permutations(range(8)), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=3))
def test_random_placements_round_trip(order, additions):
    bases = [1 << bit for bit in order]
    for i, j in additions:
        if i != j:
            bases[i] ^= bases[j]
    shared = SharedLayout((4, 1, 64), 8, tuple(bases))
    assert shared_from_cute(shared_to_cute(shared), 8) == shared


MALFORMED = [
    "",
    "(32,4)",
    "(32,4,1):(1,2)",
    "(32,4,1):(1,2,3",
    "(31,1,1):(1,0,0)",
    "(32,1,1):(1,0,0) x",
    "((32),1,1):(1,0,0)",
    "(a,1,1):(1,0,0)",
]
BAD_PLACEMENTS = ["(4,4):(1,1)", "(4,4):(1,8)", "swizzle<3,3> o (4):(1)", "bits(4):(1,1)", "bits(8):(1,2)", "4:1"]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_register_layouts(text):
    with pytest.raises(ValueError):
        from_cute(text, (64,))


@pytest.mark.parametrize("text", BAD_PLACEMENTS)
def test_malformed_placements(text):
    with pytest.raises(ValueError):
        shared_from_cute(text, 16)
