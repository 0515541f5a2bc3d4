"""Stores, each against the real thing: a folder, nginx and WsgiDAV; and servers that break in every way."""

import hashlib
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.executor.cache.servers import SERVERS, free_port, require_nginx, running
from tileiras_build.errors import InvalidInput
from tileiras_build.executor.cache.http_store import HttpStore
from tileiras_build.executor.cache.store import BLOBS, RESULTS, StoreError, open_store

NAME = "ab" * 32


@pytest.fixture(scope="module", params=["folder", *SERVERS])
def store(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    if request.param == "folder":
        yield open_store("made/when/needed", folder)
        return
    with running(request.param, folder) as server:
        yield open_store(server.address())


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    require_nginx()
    with running("nginx", tmp_path_factory.mktemp("nginx")) as server:
        yield server


def test_absent_record_is_none(store):
    assert store.read(RESULTS, "cd" * 32, 100) is None


@pytest.mark.parametrize("data", [b"", b"x", os.urandom(1 << 20)], ids=len)
def test_record_is_read_as_written(store, data):
    store.write(BLOBS, NAME, data)
    assert store.read(BLOBS, NAME, 1 << 21) == data


def test_kinds_are_apart(store):
    store.write(BLOBS, "ef" * 32, b"blob")
    assert store.read(RESULTS, "ef" * 32, 100) is None


def test_newer_record_takes_the_place_of_an_older(store):
    store.write(RESULTS, NAME, b"older and longer")
    store.write(RESULTS, NAME, b"newer")
    assert store.read(RESULTS, NAME, 100) == b"newer"


def test_reading_ends_at_the_limit(store):
    store.write(BLOBS, NAME, b"0123456789" * 100_000)
    assert store.read(BLOBS, NAME, 3) == b"0123"
    assert store.read(BLOBS, NAME, 3) == b"0123"


def test_many_threads_share_a_store(store):
    def exchange(number):
        data = str(number).encode() * 1000
        name = hashlib.sha256(data).hexdigest()
        store.write(BLOBS, name, data)
        return store.read(BLOBS, name, len(data)) == data

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(exchange, range(100)))


def test_folder_keeps_records_where_its_docstring_says(tmp_path):
    open_store(str(tmp_path)).write(RESULTS, NAME, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "ac/ab" / NAME]


def test_reading_a_folder_marks_the_use(tmp_path):
    store = open_store(str(tmp_path))
    store.write(BLOBS, NAME, b"x")
    os.utime(store.path(BLOBS, NAME), (0, 0))
    store.read(BLOBS, NAME, 1)
    assert store.path(BLOBS, NAME).stat().st_mtime > 0


def test_folder_that_cannot_be_written_says_why(tmp_path):
    (tmp_path / "ac").write_text("a file in the place of a folder")
    with pytest.raises(StoreError, match="its folder is a file"):
        open_store(str(tmp_path)).write(RESULTS, NAME, b"x")


def test_connection_that_the_server_ended_is_made_again(tmp_path):
    """Servers end idle connections, and restart."""
    with running("wsgidav", tmp_path) as server:
        store = open_store(server.address())
        store.write(BLOBS, NAME, b"kept")
        server.stop()
        server.process = SERVERS["wsgidav"](tmp_path, server.port).process
        assert store.read(BLOBS, NAME, 10) == b"kept"


def test_password_is_sent_and_not_shown(nginx):
    with pytest.raises(StoreError, match="it answered 401 Unauthorized"):
        open_store(nginx.address("private")).write(BLOBS, NAME, b"x")
    store = open_store(nginx.address("private", user="ann:a%20secret"))
    store.write(BLOBS, NAME, b"x")
    assert store.read(BLOBS, NAME, 10) == b"x"
    assert store.place == nginx.address("private")


def test_server_that_takes_nothing_says_so(nginx):
    with pytest.raises(StoreError, match="it answered 405 Not Allowed|it answered 405 Method Not Allowed"):
        open_store(nginx.address("readonly")).write(BLOBS, NAME, b"x")


def test_server_that_is_away_says_so():
    with pytest.raises(StoreError, match="Connection refused"):
        HttpStore(f"http://127.0.0.1:{free_port()}").read(BLOBS, NAME, 10)


def test_host_that_has_no_address_says_so():
    with pytest.raises(StoreError, match="[Nn]ame"):
        HttpStore("http://nowhere.invalid").read(BLOBS, NAME, 10)


@contextmanager
def answering(reply: bytes | None):
    """A socket that answers each connection with ``reply`` and ends it; None: says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    if reply is None:
                        ended.wait(20)
                    else:
                        connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)


BROKEN = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this": "not whole",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nonl": "not whole",
    b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n": "it answered 500 Internal Server Error",
    b"HTTP/1.1 301 Moved\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n": "it answered 301",
    b"SSH-2.0-OpenSSH_9.2\r\n": "not whole",
    b"": "not whole",
}


@pytest.mark.parametrize("reply", BROKEN)
def test_broken_answer_is_one_reason(reply):
    with answering(reply) as address, pytest.raises(StoreError, match=BROKEN[reply]):
        HttpStore(address).read(BLOBS, NAME, 1000)


def test_silent_server_is_not_waited_for():
    with answering(None) as address, pytest.raises(StoreError, match="it did not answer in time"):
        start = time.monotonic()
        try:
            HttpStore(address, timeout=0.3).read(BLOBS, NAME, 1000)
        finally:
            assert time.monotonic() - start < 15


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ftp://host/cache", "cache=ftp://host/cache is neither a folder nor an HTTP server; use a folder, or http://"),
        ("http://", "is not the address of a server: it lacks a host"),
        ("http://host:port/", "is not the address of a server"),
        ("http://host/?key=1", "is not the address of a server"),
        ("http://[host/", "is not the address of a server"),
        ("file", "cache=file is a file; use a folder"),
    ],
)
def test_wrong_place_is_one_sentence(tmp_path, text, sentence):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput) as caught:
        open_store(text, tmp_path)
    assert caught.value.id == "cache-place" and sentence in str(caught.value)
