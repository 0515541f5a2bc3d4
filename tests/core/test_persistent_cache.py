"""What processes leave for each other: whole, of this key, in a folder that nobody else may write to; or nothing."""

import os
import subprocess
import sys

import pytest

from tileiras_build.core import persistent_cache
from tileiras_build.core.persistent_cache import UserCache, cache_key

KEY, OTHER = cache_key("test", 1), cache_key("test", 2)


@pytest.fixture
def store(tmp_path):
    made = UserCache(tmp_path / "kept" / "local")
    made.keep(KEY, b"data")
    return made


def test_what_is_kept_is_found_by_the_next_process(store):
    assert UserCache(store.folder).find(KEY) == b"data" and store.find(OTHER) is None
    store.keep(KEY, b"new")
    assert store.find(KEY) == b"new" and os.listdir(store.folder) == [KEY]


def test_keys_tell_parts_apart():
    keys = [
        cache_key("a", "b"),
        cache_key("ab"),
        cache_key("a", b"b"),
        cache_key("a", "b", 1),
        cache_key("a", ("b", 1)),
        cache_key("b", "a"),
    ]
    assert len(set(keys)) == len(keys) and all(len(key) == 64 for key in keys)


@pytest.mark.parametrize("size", [0, 10, 32, 35])
def test_a_record_cut_short_is_none_and_written_anew(store, size):
    os.truncate(store.folder / KEY, size)
    assert store.find(KEY) is None
    store.keep(KEY, b"data")
    assert store.find(KEY) == b"data"


def test_a_changed_record_is_none(store):
    path = store.folder / KEY
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert store.find(KEY) is None


def test_the_record_of_another_key_is_none(store):
    os.rename(store.folder / KEY, store.folder / OTHER)
    assert store.find(OTHER) is None


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_what_is_no_file_is_none_and_does_not_hold_anybody_up(store, make):
    make(store.folder / OTHER)
    assert store.find(OTHER) is None
    store.keep(OTHER, b"data")  # a folder stays


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(store, mode):
    store.folder.chmod(mode)
    store.keep(OTHER, b"data")
    assert store.find(KEY) is None and not (store.folder / OTHER).exists()


def test_a_folder_of_somebody_else_is_not_used(store, monkeypatch):
    monkeypatch.setattr(persistent_cache.os, "geteuid", lambda: 12345)
    assert store.find(KEY) is None


def test_where_nothing_can_be_written_what_is_there_is_found(store, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(persistent_cache.os, "replace", refuse)
    store.keep(OTHER, b"data")
    assert store.find(KEY) == b"data" and os.listdir(store.folder) == [KEY]


def test_a_file_in_the_place_of_the_folder_is_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    store = UserCache(tmp_path / "file" / "local")
    store.keep(KEY, b"data")
    assert store.find(KEY) is None and (tmp_path / "file").read_text() == ""


def test_two_processes_write_one_record_at_once(store):
    """Whoever reads finds one of the two, whole."""
    program = (
        "import sys; from tileiras_build.core.persistent_cache import UserCache\n"
        "store = UserCache(sys.argv[1])\n"
        "for _ in range(50): store.keep(sys.argv[2], sys.argv[3].encode() * 9999)"
    )
    command = [sys.executable, "-c", program, str(store.folder), KEY]
    writers = [subprocess.Popen([*command, letter]) for letter in "ab"]
    found = {store.find(KEY)}
    while any(writer.poll() is None for writer in writers):
        found.add(store.find(KEY))
    assert [writer.wait() for writer in writers] == [0, 0]
    assert found <= {b"data", b"a" * 9999, b"b" * 9999} and os.listdir(store.folder) == [KEY]


def test_the_oldest_records_go(store, monkeypatch):
    monkeypatch.setattr(persistent_cache, "MAX_RECORDS", 4)
    for number in range(6):
        store.keep(cache_key("old", number), b"")
        os.utime(store.folder / cache_key("old", number), (number, number))
    UserCache(store.folder).keep(OTHER, b"data")
    assert {cache_key("old", number) for number in (0, 1, 2)}.isdisjoint(os.listdir(store.folder))
    assert store.find(KEY) == b"data" and store.find(OTHER) == b"data"


@pytest.mark.parametrize(
    ("given", "folder"),
    [("off", None), ("https://server/cache", "{home}/tileiras-build/cutile"), ("{home}/mine", "{home}/mine"), ("", "{home}/tileiras-build/cutile")],
)  # fmt: skip
def test_where_it_is(monkeypatch, tmp_path, given, folder):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", given.format(home=tmp_path))
    found = persistent_cache.user_cache()
    expected = None if folder is None else f"{folder.format(home=tmp_path)}/local-{os.geteuid()}"
    assert (found and str(found.folder)) == expected


@pytest.mark.parametrize("given", ["", "https://server/cache"])
def test_a_user_without_a_home_has_none(monkeypatch, given):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "~")
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", given)
    assert persistent_cache.user_cache() is None
