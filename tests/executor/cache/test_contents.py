"""What is said of a cache folder, and what ``verify`` and ``trim`` leave of it."""

import os
import time

import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.executor.cache import BuildCache, open_store
from tileiras_build.executor.cache.action_result import Digest
from tileiras_build.executor.cache.contents import measure, parse_size, trim, verify
from tileiras_build.executor.cache.store import BLOBS, RESULTS

KEYS = ["aa" * 32, "bb" * 32, "cc" * 32]
SHARED = b"shared" * 100


@pytest.fixture
def store(tmp_path):
    """Three steps, the first used longest ago; each has a file of 1,000 bytes of its own, and all share one."""
    store = open_store(str(tmp_path))
    for age, key in enumerate(reversed(KEYS), 1):
        BuildCache(store).keep(key, {".cubin": key.encode()[:10] * 100, ".json": SHARED})
        days = time.time() - age * 86400
        for kind in (RESULTS, BLOBS):
            for path in (tmp_path / kind).glob(f"??/{key if kind == RESULTS else '*'}"):
                os.utime(path, (days, days))
    return store


def found(store) -> list[bool]:
    return [BuildCache(store).find(key, [".cubin", ".json"]) is not None for key in KEYS]


def test_contents_are_counted(store, tmp_path):
    (tmp_path / "cas/aa").mkdir(exist_ok=True)
    (tmp_path / "cas/aa/.half.tmp").write_bytes(b"x")
    records = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert str(measure(tmp_path)) == f"3 steps, 4 files, {records / 1000:.1f} kB; 1 temporary file of ended builds"
    assert measure(tmp_path).size == records


def test_empty_folder_is_an_empty_cache(tmp_path):
    assert str(measure(tmp_path)) == "0 steps, 0 files, 0 B"


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="absent: error.cache-place.: this is not a folder"):
        measure(tmp_path / "absent")


def test_trimming_keeps_what_was_used_last(store, tmp_path):
    trim(tmp_path, 3500)
    assert found(store) == [False, True, True]
    assert measure(tmp_path).files == 3 and measure(tmp_path).size <= 3500


def test_trimming_to_nothing_leaves_nothing(store, tmp_path):
    trim(tmp_path, 0)
    assert measure(tmp_path).size == 0


def test_use_counts_not_age(store, tmp_path):
    BuildCache(store).find(KEYS[0], [".cubin", ".json"])
    trim(tmp_path, 2000)
    assert found(store) == [True, False, False]


def test_trimming_leaves_what_a_running_build_has_just_written(store, tmp_path):
    store.write(BLOBS, Digest.of(b"new").hash, b"new")
    trim(tmp_path, 0)
    assert [path.read_bytes() for path in (tmp_path / BLOBS).glob("??/*")] == [b"new"]


def test_verifying_removes_what_is_damaged(store, tmp_path):
    assert verify(tmp_path) == []
    blob, result = store.path(BLOBS, Digest.of(KEYS[0].encode()[:10] * 100).hash), store.path(RESULTS, KEYS[1])
    for path in (blob, result):
        path.write_bytes(path.read_bytes()[:-1])
    assert sorted(verify(tmp_path)) == sorted([blob, result])
    assert verify(tmp_path) == [] and found(store) == [False, False, True]


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1500", 1500), ("500M", 500_000_000), ("2.5G", 2_500_000_000)])
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "ten", "nan", "inf", "1Q"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InvalidInput, match="is not a size; use a number of bytes"):
        parse_size(text)
