"""Sizes are written by powers of 1,024, and read as they are written."""

import pytest

from tileiras_build.core.byte_sizes import parse_size, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (512, "512 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (99 * 1024, "99 KiB"),
        (49 * 1024 + 16, "49 KiB"),
        (227 * 1024, "227 KiB"),
        (1023 * 1024, "1023 KiB"),
        (4_100_000, "3.91 MiB"),
        (20 << 30, "20 GiB"),
        (3 << 41, "6 TiB"),
    ],
)
def test_sizes_have_units(size, text):
    assert size_text(size) == text
    assert parse_size(text) == pytest.approx(size, rel=0.005)


@pytest.mark.parametrize(("text", "size"), [("1500", 1500), ("500M", 500 << 20), ("2.5 gib", 5 << 29), ("7 B", 7)])
def test_other_spellings_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "ten", "nan", "inf", "1Q", "1e9"])
def test_what_is_no_size(text):
    assert parse_size(text) is None
