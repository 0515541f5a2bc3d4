"""The cache over a folder: hits, the cost of damage, and messages when the store fails."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tileiras_build.workers.executor.cache import BuildCache, StoreError, open_store
from tileiras_build.workers.executor.cache.action_result import Digest
from tileiras_build.workers.executor.cache.build_cache import MAX_FAILURES, Counts
from tileiras_build.workers.executor.cache.store import BLOBS, RESULTS, StoreInterrupted, StoreTooSlow

KEY, OTHER = "ab" * 32, "cd" * 32
FILES = {".cubin": b"machine code", ".json": b"{}"}


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


@pytest.fixture
def cache(store):
    return BuildCache(store)


def test_what_was_kept_is_found_by_others(store, cache):
    assert cache.find(KEY, FILES) is None
    cache.keep(KEY, FILES)
    later = BuildCache(store)
    assert later.find(KEY, FILES) == FILES
    assert cache.counts == Counts(misses=1, written=14)
    assert later.counts == Counts(hits=1, read=14)


def test_equal_files_are_kept_once(store, cache, tmp_path):
    cache.keep(KEY, FILES)
    cache.keep(OTHER, FILES)
    assert sorted(path.name for path in (tmp_path / BLOBS).rglob("*") if path.is_file()) == sorted(
        Digest.of(data).hash for data in FILES.values()
    )


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def _empty(path):
    path.write_bytes(b"")


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _lengthen(path):
    path.write_bytes(path.read_bytes() + b"x")


@pytest.mark.parametrize("damage", [_cut, _empty, _flip, _lengthen])
@pytest.mark.parametrize("kind", [RESULTS, BLOBS])
def test_damaged_entry_is_not_taken_and_is_written_anew(store, cache, kind, damage):
    cache.keep(KEY, FILES)
    damage(store.path(kind, KEY if kind == RESULTS else Digest.of(FILES[".cubin"]).hash))
    later = BuildCache(store)
    assert later.find(KEY, FILES) is None
    assert later.counts == Counts(misses=1, damaged=1)
    later.keep(KEY, FILES)
    assert BuildCache(store).find(KEY, FILES) == FILES


def test_entry_of_another_step_is_not_taken(store, cache):
    cache.keep(KEY, FILES)
    store.write(RESULTS, OTHER, store.path(RESULTS, KEY).read_bytes())
    assert cache.find(OTHER, FILES) is None
    assert cache.counts.damaged == 1


def test_entry_of_other_files_is_not_taken(cache):
    cache.keep(KEY, FILES)
    assert cache.find(KEY, [".cubin"]) is None
    assert cache.counts.damaged == 1


def test_file_that_the_store_dropped_is_a_miss(store, cache):
    cache.keep(KEY, FILES)
    store.path(BLOBS, Digest.of(b"{}").hash).unlink()
    assert cache.find(KEY, FILES) is None
    assert cache.counts == Counts(misses=1, written=14)


def test_readonly_cache_keeps_nothing(store, cache, tmp_path):
    BuildCache(store, readonly=True).keep(KEY, FILES)
    assert list(tmp_path.iterdir()) == []


class Failing:
    """A store that fails as often as told, and counts the questions."""

    location = "http://host/cache"

    def __init__(self, reads=0, writes=0):
        self.left = {"read": reads, "write": writes}
        self.asked = {"read": 0, "write": 0}

    def read(self, kind, name, limit):
        return self._answer("read")

    def write(self, kind, name, data):
        self._answer("write")

    def _answer(self, verb):
        self.asked[verb] += 1
        if self.left[verb]:
            self.left[verb] -= 1
            raise StoreError("Connection refused")


def test_store_that_stays_away_is_given_up_after_two_sentences():
    store, said = Failing(reads=100, writes=100), []
    cache = BuildCache(store, warn=said.append)
    for _ in range(10):
        assert cache.find(KEY, FILES) is None
        cache.keep(KEY, {})
    assert store.asked["read"] == MAX_FAILURES
    warning = "warning[cache-failed]: cannot {} cache http://host/cache: Connection refused; {}"
    given_up = f"{MAX_FAILURES} failures in a row, so for the rest of this build caching is disabled"
    assert said == [
        warning.format("read", "the step runs instead"),
        warning.format("write", "the result is not cached"),
        warning.format("read", given_up),
    ]


def test_store_that_cannot_be_written_is_still_read():
    store, said = Failing(writes=100), []
    cache = BuildCache(store, warn=said.append)
    for _ in range(10):
        cache.find(KEY, FILES)
        cache.keep(KEY, FILES)
    assert store.asked == {"read": 10, "write": MAX_FAILURES}
    assert len(said) == 2 and said[1].endswith("so for the rest of this build results are not cached")


class Slow(Failing):
    """A store that takes all the time that a request has, or that is ended in the middle of one."""

    error = StoreTooSlow("timed out after 10 s")

    def _answer(self, verb):
        self.asked[verb] += 1
        if self.left[verb]:
            raise self.error


def test_store_that_is_too_slow_is_given_up_at_once_with_one_sentence():
    store, said = Slow(reads=100), []
    cache = BuildCache(store, warn=said.append)
    for _ in range(10):
        assert cache.find(KEY, FILES) is None
        cache.keep(KEY, FILES)
    assert store.asked == {"read": 1, "write": 0}
    assert said == [
        "warning[cache-failed]: cannot read cache http://host/cache: timed out after 10 s; "
        "for the rest of this build caching is disabled"
    ]


def test_store_that_is_too_slow_to_write_is_still_read():
    store, said = Slow(writes=100), []
    cache = BuildCache(store, warn=said.append)
    for _ in range(10):
        cache.find(KEY, FILES)
        cache.keep(KEY, FILES)
    assert store.asked == {"read": 10, "write": 1}
    assert len(said) == 1 and said[0].endswith(
        "timed out after 10 s; for the rest of this build results are not cached"
    )


def test_threads_that_wait_for_a_slow_store_say_it_once():
    """All of them have asked before the first one is answered."""
    everybody, said = threading.Barrier(8), []

    class Waiting(Slow):
        def read(self, kind, name, limit):
            everybody.wait(20)
            return super().read(kind, name, limit)

    cache = BuildCache(Waiting(reads=100), warn=said.append)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: cache.find(KEY, FILES), range(8))) == [None] * 8
    assert len(said) == 1


def test_interrupted_store_is_no_news():
    store, said = Slow(reads=100, writes=100), []
    store.error = StoreInterrupted("the build is ending")
    cache = BuildCache(store, warn=said.append)
    assert cache.find(KEY, FILES) is None
    cache.keep(KEY, FILES)
    assert said == [] and store.asked == {"read": 1, "write": 0}


def test_single_failures_are_forgiven():
    store, said = Failing(), []
    cache = BuildCache(store, warn=said.append)
    for _ in range(5):
        store.left["read"] = MAX_FAILURES - 1
        for _ in range(MAX_FAILURES):
            cache.find(KEY, FILES)
    assert store.asked["read"] == 5 * MAX_FAILURES
    assert len(said) == 1


def test_summary_counts_steps_and_bytes(cache):
    assert cache.summary() == ""
    cache.counts = Counts(hits=99, misses=1, damaged=1, read=4_100_000, written=12_340)
    assert cache.summary() == (
        f"cache {cache.store.location}: 99 of 100 steps found (99.0 %), 3.91 MiB read, 12.1 KiB written; 1 damaged, rebuilt"
    )
