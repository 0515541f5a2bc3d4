"""Object stores by fsspec; tests of every store are in test_store.py."""

import threading

import pytest

from tests.workers.executor.cache.test_store import NAME, interrupted
from tileiras_build.core.errors import InvalidInput
from tileiras_build.workers.executor.cache import BuildCache, object_store, open_store
from tileiras_build.workers.executor.cache.object_store import ObjectStore
from tileiras_build.workers.executor.cache.store import BLOBS, RESULTS, StoreError, StoreTooSlow

FILES = {".cubin": b"machine code", ".json": b""}


@pytest.fixture
def service(monkeypatch):
    """A function that says what becomes of requests to ``memory://`` from now on: it is called before each."""
    from fsspec.implementations.memory import MemoryFileSystem

    before = [lambda: None]

    def wrapped(request):
        return lambda *arguments, **options: before[-1]() or request(*arguments, **options)

    for name in ("cat_file", "pipe_file"):
        monkeypatch.setattr(MemoryFileSystem, name, wrapped(getattr(MemoryFileSystem, name)))
    return before.append


def fails(error):
    def change():
        raise error

    return change


def test_what_a_step_made_is_found_by_others(tmp_path):
    address = f"file://{tmp_path}/cache"
    BuildCache(open_store(address)).keep(NAME, FILES)
    assert BuildCache(open_store(address)).find(NAME, FILES) == FILES
    assert (tmp_path / "cache" / RESULTS / NAME).is_file()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Access\nDenied"), "Access Denied"),
        (OSError("the bucket is gone"), "the bucket is gone"),
        (RuntimeError("no credentials"), "RuntimeError: no credentials"),
        (RuntimeError("\nNo such container.\nRequest: 5\n<xml>"), "RuntimeError: No such container."),
        (OSError(), "OSError"),
    ],
)
def test_errors_of_a_service_are_one_sentence(service, error, words):
    service(fails(error))
    store = open_store("memory://errors")
    with pytest.raises(StoreError, match=f"^{words}$"):
        store.write(BLOBS, NAME, b"x")
    service(lambda: None)
    store.write(BLOBS, NAME, b"x")
    service(fails(error))
    with pytest.raises(StoreError, match=f"^{words}$"):
        store.read(BLOBS, NAME, 10)


def test_bucket_that_is_not_there_is_reported_where_something_is_written(service):
    service(fails(FileNotFoundError("https://host/b/o")))
    store = open_store("memory://nobody")
    assert store.read(BLOBS, NAME, 10) is None
    with pytest.raises(StoreError, match="^there is no such bucket or container .https://host/b/o.$"):
        store.write(BLOBS, NAME, b"x")


def test_empty_file_is_read_where_no_part_of_it_can_be(service):
    store = open_store("memory://empty")
    store.write(BLOBS, NAME, b"")
    service(fails(OSError(22, "InvalidRange")))
    assert store.read(BLOBS, NAME, 0) == b""


def test_deadline_and_interrupt_hold(service):
    ended = threading.Event()
    service(lambda: ended.wait(60))
    with pytest.raises(StoreTooSlow, match="timed out after"):
        ObjectStore("memory://slow", timeout=0.2).read(BLOBS, NAME, 1000)
    interrupted(ObjectStore("memory://slow", timeout=1000))
    ended.set()


def test_libraries_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(object_store, "find_spec", lambda name: None)
    with pytest.raises(InvalidInput) as caught:
        open_store("s3://bucket/cache")
    assert caught.value.id == "cache-missing"
    assert str(caught.value).endswith("cache=s3://bucket/cache needs fsspec and s3fs; pip install 'tileiras-build[s3]'")
