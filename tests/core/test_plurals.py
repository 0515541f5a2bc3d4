"""Counts with their nouns."""

from tileiras_build.core.plurals import count_text


def test_one_is_singular():
    assert [count_text(count, "temporary file") for count in (0, 1, 2)] == [
        "0 temporary files",
        "1 temporary file",
        "2 temporary files",
    ]
