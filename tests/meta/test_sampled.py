"""What a plain run leaves out: the table names tests that are there, its samples see every target, and CI runs all."""

import re
from fnmatch import fnmatchcase
from math import gcd

import pytest

from tests.sampled import TESTS, Sample, every_in, named_files, rows
from tileiras_build.target.targets import TARGETS

EVERY, FILES, FIRST, LEFT_OUT = rows().every, rows().files, rows().first, rows().left_out
HERE = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


def is_test(name: str) -> bool:
    file, _, function = name.partition("::")
    path = TESTS / file
    return path.is_file() and bool(re.search(rf"^def {function or 'test_'}", path.read_text(), re.MULTILINE))


def test_every_row_is_a_test():
    assert [name for name in (*EVERY, *LEFT_OUT) if not is_test(name)] == []


@pytest.mark.parametrize("patterns", [FILES, FIRST], ids=["files", "first"])
def test_every_pattern_has_files_that_no_other_one_takes(patterns):
    taken = {file: next((one for one in patterns if fnmatchcase(file, one)), None) for file in HERE}
    assert [pattern for pattern in patterns if pattern not in taken.values()] == []


def test_samples_see_every_target():
    """Cases are in the order of their targets, some or all of them."""
    assert all(gcd(every, count) == 1 for every in EVERY.values() for count in (2, 3, 4, len(TARGETS)))


def test_the_first_and_every_nth_case_are_taken():
    name, every = next((name, every) for name, every in EVERY.items() if every_in(name.partition("::")[0]) == 1)
    file, _, function = name.partition("::")
    sample = Sample()
    assert [sample.takes(TESTS / file, function) for _ in range(every + 2)] == [
        True,
        *[False] * (every - 1),
        True,
        False,
    ]
    assert all(sample.takes(TESTS / file, "test_of_no_row") for _ in range(3))


def test_the_first_and_every_nth_test_of_a_file_are_taken():
    (file, every), *_ = ((file, every) for file, every in FILES.items() if file in HERE)
    sample = Sample()
    taken = [sample.takes(TESTS / file, f"test_{number}") for number in range(every + 1) for _ in range(2)]
    assert taken == [True, True, *[False] * 2 * (every - 1), True, True]


def test_what_is_left_out_is_never_taken():
    for name in LEFT_OUT:
        file, _, function = name.partition("::")
        assert not Sample().takes(TESTS / file, function or "test_any")


def test_what_is_named_is_run_whole():
    """A folder is not: it has files of all sorts."""
    words = ["tests/meta", "tests/meta/test_sampled.py::test_ci_runs_all", "meta/../conftest.py"]
    assert named_files(words[:2], TESTS.parent) == {TESTS / "meta/test_sampled.py"}
    assert named_files(words, TESTS) == {TESTS / "conftest.py"}


def test_ci_runs_all():
    assert "--exhaustive" in (TESTS.parent / ".ci/run").read_text()
