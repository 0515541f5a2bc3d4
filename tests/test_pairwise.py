"""Each two values of different lists are in a row together, in no more rows than the two longest lists ask for."""

from itertools import combinations, product

from tests.pairwise import alternate, pairwise


def test_each_two_values_meet():
    for lists in (("abcd", range(4), "xyz"), ("ab", range(5), "xyz"), ("ab", range(2), "xy"), ("a", range(3), "xy")):
        rows, lengths = pairwise(*lists), sorted(map(len, lists))
        assert len(rows) == len(set(rows)) == lengths[-1] * lengths[-2]
        assert rows == sorted(rows)
        for one, other in combinations(range(3), 2):
            assert {(row[one], row[other]) for row in rows} == set(product(lists[one], lists[other]))


def test_every_other_pair():
    assert alternate("abc", [1, 2, 3]) == [("a", 1), ("a", 3), ("b", 2), ("c", 1), ("c", 3)]
