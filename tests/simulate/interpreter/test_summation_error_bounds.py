"""Error bounds of sums in unspecified order: they hold for all orders, exact sums are exact, and open sums have two outcomes."""

from itertools import permutations

import numpy as np
import pytest

from tileiras_build.simulate.interpreter.element_types import F16, FORMATS
from tileiras_build.simulate.interpreter.summation_error_bounds import (
    NAN_OUTCOME,
    exponents,
    extremes_any_order,
    extremes_of_prefixes,
    is_exact,
    sum_error_bound,
    unspecified_products,
    unspecified_sums,
)

HALF = FORMATS[F16]


def groupings(terms, join):
    """The results of all groupings of terms."""
    if len(terms) == 1:
        return {terms[0]}
    return {
        join(left, right)
        for cut in range(1, len(terms))
        for left in groupings(terms[:cut], join)
        for right in groupings(terms[cut:], join)
    }


def of_orders(terms, join):
    """The results of all orders and groupings of terms."""
    return {found for order in set(permutations(terms)) for found in groupings(order, join)}


def finite(found) -> set[bool]:
    return {bool(np.isfinite(number)) for number in found}


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def rows(seed: int, count: int, scale: float):
    return (np.random.default_rng(seed).standard_normal((count, 4)) * scale).astype(np.float16)


def test_open_sums_are_those_with_different_outcomes():
    both = set()
    for terms in rows(1, 60, 4e4):
        ends = finite(of_orders(tuple(terms), np.add))
        both.add(opened := bool(unspecified_sums(terms.astype(float), HALF, extremes_any_order)))
        assert opened is (len(ends) == 2) or ends == {False}
    assert both == {True, False}


def test_open_scans_are_those_with_different_outcomes():
    seen = set()
    for terms in rows(2, 60, 4e4):
        opened = unspecified_sums(terms.astype(float), HALF, extremes_of_prefixes)
        for count in range(1, 5):
            ends = finite(groupings(tuple(terms[:count]), np.add))
            seen.add(bool(opened[count - 1]))
            assert bool(opened[count - 1]) is (len(ends) == 2) or ends == {False}
    assert seen == {True, False}


def test_an_order_that_overflows_both_ways_gives_no_number():
    terms = np.array([6e4, 6e4, -6e4, -6e4], np.float16)
    assert any(np.isnan(number) for number in of_orders(tuple(terms), np.add))
    assert unspecified_sums(terms.astype(float), HALF, extremes_any_order)


@pytest.mark.parametrize(
    ("terms", "side"), [((6e4, 6e4, -6e4), 1), ((-6e4, 6e4, -6e4), -1), ((6e4, 6e4, -6e4, -6e4), 2), ((6e4, -6e4), 0)]
)
def test_the_side_of_an_overflow_is_known(terms, side):
    assert unspecified_sums(np.array(terms), HALF, extremes_any_order) == side
    found = {float(number) for number in of_orders(tuple(np.float16(terms)), np.add)}
    assert (np.inf in found) is (side > 0) and (-np.inf in found) is (side in (-1, 2))


INF = float("inf")


@pytest.mark.parametrize("terms", [
    (-INF, 6e4, 6e4), (INF, -6e4, -6e4), (-INF, 6e4), (INF, 6e4, 6e4), (INF, -INF, 6e4), (INF, 6e4, -6e4, -6e4), (-INF, 6e4, -6e4),
])  # fmt: skip
def test_an_infinity_that_meets_an_overflow_the_other_way_is_no_number(terms):
    found = of_orders(tuple(np.float16(terms)), np.add)
    is_open = any(np.isnan(number) for number in found) and not all(np.isnan(number) for number in found)
    assert unspecified_sums(np.array(terms), HALF, extremes_any_order) == (NAN_OUTCOME if is_open else 0)


def test_prefixes_with_an_infinity():
    assert list(unspecified_sums(np.array([-INF, 6e4, 6e4]), HALF, extremes_of_prefixes)) == [0, 0, NAN_OUTCOME]
    assert list(unspecified_sums(np.array([6e4, 6e4, -INF]), HALF, extremes_of_prefixes)) == [0, 0, NAN_OUTCOME]
    assert list(unspecified_sums(np.array([6e4, 6e4, INF]), HALF, extremes_of_prefixes)) == [0, 0, 0]


def test_a_sum_that_always_overflows_is_not_open():
    assert not unspecified_sums(np.full(4, 6e4), HALF, extremes_any_order)
    assert list(unspecified_sums(np.full(4, 6e4), HALF, extremes_of_prefixes)) == [False] * 4


def test_a_sum_that_stops_at_the_largest_number_comes_back():
    """Rounded toward zero: of 60000, 60000 and -30000 the largest number, or that less 30000."""
    terms = np.array([6e4, 6e4, -3e4])
    assert not unspecified_sums(terms, HALF, extremes_any_order)
    assert unspecified_sums(terms, HALF, extremes_any_order, is_nearest=False)
    assert not unspecified_sums(terms / 2, HALF, extremes_any_order, is_nearest=False)


def test_products_are_open_where_orders_end_differently():
    for terms, opened in (
        ((300.0, 300.0, 0.01), True), ((300.0, 300.0, 3.0), False), ((2.0, 3.0, 0.5), False), ((0.001, 0.001, 500.0), True),
        ((0.0, 300.0, 3.0), False), ((0.0, 300.0, 300.0), True), ((1e-4, 1e-4, 1e-4), False),
    ):  # fmt: skip
        found = of_orders(tuple(np.float16(terms)), np.multiply)
        assert bool(unspecified_products(np.array(terms), HALF, extremes_any_order)) is opened
        assert (
            opened
            or len(finite(found)) == 1
            and np.ptp([*found]) <= 3 * HALF.epsilon * abs(min(found))
            or len(found) == 1
        )


def test_bounds_hold_for_all_orders():
    rng = np.random.default_rng(3)
    for terms in (rng.standard_normal((40, 6)) * 10.0 ** rng.integers(-3, 3, (40, 6))).astype(np.float16):
        exact, size = terms.astype(float).sum(), np.abs(terms.astype(float)).sum()
        worst = float(sum_error_bound(size, 6, HALF.epsilon, HALF)) * np.sqrt(6)
        assert max(abs(float(number) - exact) for number in groupings(tuple(terms), np.add)) <= worst


def test_of_what_cancels_nothing_may_be_left_but_an_error():
    terms = np.array([1.0, -1.0, 2.0**-14], np.float16)
    found = of_orders(tuple(terms), np.add)
    assert found == {np.float16(0), np.float16(2.0**-14)}
    assert sum_error_bound(np.float64(2), 3, HALF.epsilon, HALF) > 2.0**-14
    assert not is_exact(np.float64(2 + 2.0**-14), exponents(terms.astype(float)).min(), HALF.epsilon, HALF)


def test_exact_sums_are_exact_in_every_order():
    seen = set()
    for largest in (500, 700):
        for terms in np.random.default_rng(4).integers(-largest, largest, (30, 4)).astype(np.float16) * np.float16(
            0.25
        ):
            size = np.abs(terms.astype(float)).sum()
            exact = bool(is_exact(size, exponents(terms.astype(float)).min(), HALF.epsilon, HALF))
            seen.add(exact)
            assert not exact or len(of_orders(tuple(terms), np.add)) == 1
    assert seen == {True, False}


def test_lowest_bits():
    assert list(exponents(np.array([1.0, 3.0, 12.0, 0.75, -(2.0**-1074), 2.0**1000]))) == [0, 0, 2, -2, -1074, 1000]
    assert (exponents(np.array([0.0, -0.0, np.inf, np.nan])) > 2000).all()
