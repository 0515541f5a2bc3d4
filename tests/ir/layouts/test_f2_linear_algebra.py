"""Linear algebra over F2 against enumeration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileiras_build.ir.layouts import f2_linear_algebra

vectors = st.lists(st.integers(0, 63), max_size=7)


def members(columns):
    return set(f2_linear_algebra.enumerate_span(columns))


@given(vectors, st.integers(0, 127))
def test_apply_is_the_enumerated_image(columns, vector):
    vector &= (1 << len(columns)) - 1
    assert f2_linear_algebra.apply(columns, vector) == f2_linear_algebra.enumerate_span(columns)[vector]


@given(vectors, st.integers(0, 63))
def test_solve_finds_a_combination_exactly_for_members(columns, vector):
    solution = f2_linear_algebra.Span(columns).solve(vector)
    assert (solution is not None) == (vector in members(columns))
    assert solution is None or f2_linear_algebra.apply(columns, solution) == vector


@given(vectors)
def test_rank_counts_members(columns):
    assert 1 << f2_linear_algebra.rank(columns) == len(members(columns))


@given(vectors, vectors)
def test_intersection_spans_the_common_members(left, right):
    common = f2_linear_algebra.intersection(left, right)
    assert members(common) == members(left) & members(right)
    assert f2_linear_algebra.rank(common) == len(common)


@given(vectors)
def test_earlier_vectors_are_preferred(columns):
    span = f2_linear_algebra.Span(columns)
    for count in range(len(columns)):
        for vector in members(columns[:count]):
            assert span.solve(vector) < 1 << count


def test_a_matrix_that_misses_a_row_has_no_inverse():
    with pytest.raises(ValueError, match="right inverse"):
        f2_linear_algebra.invert([1, 2], 3)
