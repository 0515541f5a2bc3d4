"""A large file is read by one process of a user, and again when it has changed."""

import os
import time

import pytest

from tests.build.input_edits import in_place, renamed
from tileiras_build.core import kept_digests
from tileiras_build.core.kept_digests import LARGE, large_file_digest


@pytest.fixture
def file(tmp_path, monkeypatch):
    """It changed long ago."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(kept_digests, "_SETTLED", 20_000_000)
    path = tmp_path / "library.so"
    path.write_text("1" * LARGE)
    time.sleep(0.03)
    return path


def is_read(path) -> bool:
    read = []
    assert large_file_digest(str(path), lambda name: read.append(name) or "digest") == "digest"
    return bool(read)


def test_a_later_process_reads_nothing(file):
    assert is_read(file) and not is_read(file)


@pytest.mark.parametrize("change", [in_place, renamed])
def test_other_contents_of_the_same_size_and_time_are_read(file, tmp_path, change):
    is_read(file)
    change(file.name, "2" * LARGE)(tmp_path)
    time.sleep(0.03)
    assert is_read(file)


def test_what_changed_just_now_is_read_again(file):
    os.utime(file)
    assert is_read(file) and is_read(file)


def test_what_changes_while_it_is_read_is_read_again(file):
    def read(name):
        os.truncate(name, LARGE + 1)
        os.truncate(name, LARGE)
        return "of some of both"

    large_file_digest(str(file), read)
    time.sleep(0.03)
    assert is_read(file)


def test_nothing_is_kept_of_a_small_file_nor_without_a_cache(file, tmp_path, monkeypatch):
    small = tmp_path / "small"
    small.write_text("1")
    time.sleep(0.03)
    assert is_read(small) and is_read(small)
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", "off")
    assert is_read(file) and is_read(file)


def test_what_cannot_be_read_is_not_kept(file):
    def read(name):
        raise PermissionError

    with pytest.raises(PermissionError):
        large_file_digest(str(file), read)
    assert is_read(file)


def test_functions_that_a_program_has_replaced_do_no_harm(file, monkeypatch):
    monkeypatch.setattr(os, "open", lambda path: None)
    assert is_read(file) and is_read(file)
