"""What a plain run leaves out: the table names tests that are there, its samples see every target, and CI runs all."""

import re
from math import gcd

import pytest

from tests.sampled import TESTS, Sample, rows
from tileiras_build.targets import TARGETS

EVERY, LEFT_OUT = rows()


@pytest.mark.parametrize("name", [*EVERY, *LEFT_OUT])
def test_every_row_is_a_test(name):
    file, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (TESTS / file).read_text(), re.MULTILINE)


def test_samples_see_every_target():
    """Cases are in the order of their targets, some or all of them."""
    assert all(gcd(every, count) == 1 for every in EVERY.values() for count in (2, 3, 4, len(TARGETS)))


def test_the_first_and_every_nth_case_are_taken():
    (name, every), *_ = EVERY.items()
    file, _, function = name.partition("::")
    sample = Sample()
    assert [sample.takes(TESTS / file, function) for _ in range(every + 2)] == [
        True,
        *[False] * (every - 1),
        True,
        False,
    ]
    assert all(sample.takes(TESTS / file, "test_of_no_row") for _ in range(3))


def test_what_is_left_out_is_never_taken():
    for name in LEFT_OUT:
        file, _, function = name.partition("::")
        assert not Sample().takes(TESTS / file, function)


def test_ci_runs_all():
    assert "--exhaustive" in (TESTS.parent / ".ci/run").read_text()
