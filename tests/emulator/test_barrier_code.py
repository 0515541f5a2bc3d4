"""mbarriers by machine code: the words of NumPy, or a refusal."""

import numpy as np
import pytest

from tileiras_build.emulator import barrier_code
from tileiras_build.emulator.mbarrier_words import COUNT_LIMIT, pack, unpack


def words_of(*fields: tuple[int, int, int, int]) -> np.ndarray:
    return pack(*(np.array(column, np.int64) for column in zip(*fields)))


def change(words, places, arrivals, tx, drop=False):
    before = np.empty(len(places), np.uint64)
    given = (np.array(value, np.int64) for value in (places, arrivals, tx))
    return barrier_code.change(words, *given, drop, before), before


def fields(words) -> list[tuple[int, ...]]:
    return list(zip(*(field.tolist() for field in unpack(words))))


def test_a_phase_ends_where_nobody_and_nothing_is_missing():
    words = words_of((4, 4, 0, 1), (2, 1, 64, 0), (3, 1, 0, 1), (1, 1, 0, 0))
    old = words.copy()
    result, before = change(words, [1, 2, 3], [1, 1, 1], [-64, 0, 32])
    assert result == barrier_code.COMPLETED and before.tolist() == old[1:].tolist()
    assert fields(words) == [(4, 4, 0, 1), (2, 2, 0, 1), (3, 3, 0, 0), (1, 0, 32, 0)]


def test_who_drops_is_expected_no_more():
    words = words_of((4, 1, 0, 0))
    assert change(words, [0], [1], [0], drop=True)[0] == barrier_code.COMPLETED and fields(words) == [(3, 3, 0, 1)]


@pytest.mark.parametrize(
    ("places", "arrivals", "tx"),
    [([1, 1], [1], [0]), ([1, 0], [1], [0]), ([0, 1], [3], [0]), ([0, 1], [1], [COUNT_LIMIT])],
)
def test_what_numpy_has_to_look_at_is_left_as_it_is(places, arrivals, tx):
    words = words_of((4, 4, 0, 0), (4, 2, 1, 0))
    old = words.tolist()
    assert change(words, places, arrivals, tx)[0] == barrier_code.REFUSED and words.tolist() == old
