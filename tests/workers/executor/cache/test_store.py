"""Stores, each against the real thing: folders, nginx and WsgiDAV; and servers that break in every way."""

import hashlib
import os
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain, repeat

import pytest

from tests.workers.executor.cache.http_servers import SERVERS, answering, free_port, require_nginx, running, says
from tileiras_build.core.errors import InvalidInput
from tileiras_build.workers.executor.cache import http_client, remote_store_base
from tileiras_build.workers.executor.cache.http_store import HttpStore
from tileiras_build.workers.executor.cache.open_store import open_store
from tileiras_build.workers.executor.cache.store import (
    BLOBS,
    RESULTS,
    StoreError,
    StoreInterrupted,
    StoreTooSlow,
)

NAME = "ab" * 32
# A key and its certificate for 127.0.0.1, signed by itself, valid for a hundred years:
# openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500
# -addext subjectAltName=IP:127.0.0.1
PAIR = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrmNjR66tF+makfuF
WTdsHWpfhkCLY+iKHBTtbQ6PxkChRANCAAR+z62L9lsg4KffDw8rGPAc6xsjmpeb
Haviwkm30OvxxjQx8xgpAQRIsbWZjyR6QuOMBYC9Qn6llVAunfP7q8WV
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIURda+7BSoqq6AiUxAvlKPFwqVt0owCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMjA4MjAyM1oYDzIxMjYxMDI5
MDgyMDIzWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAR+z62L9lsg4KffDw8rGPAc6xsjmpebHaviwkm30OvxxjQx8xgpAQRI
sbWZjyR6QuOMBYC9Qn6llVAunfP7q8WVo2QwYjAdBgNVHQ4EFgQUd+Q7Ro4qKNdZ
LQWlNS1RMoIdpFUwHwYDVR0jBBgwFoAUd+Q7Ro4qKNdZLQWlNS1RMoIdpFUwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IQDjyt+VOr2FypWooUdwNZk0vdWncSUTvVsaKtVWcCVqswIgPtmcLos9b/e4OJTq
s+FnAb8+/lLWnd8lSItl1QlVfWg=
-----END CERTIFICATE-----
"""


ADDRESSES = {"folder": "made/when/needed", "memory": "memory:/{}", "files": "file://{}/made/when/needed"}


@pytest.fixture(scope="module", params=[*ADDRESSES, *SERVERS])
def store(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    if request.param in ADDRESSES:
        yield open_store(ADDRESSES[request.param].format(folder), folder)
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
    with pytest.raises(StoreError, match="parent path is a file"):
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
    with pytest.raises(StoreError, match="HTTP 401 Unauthorized"):
        open_store(nginx.address("private")).write(BLOBS, NAME, b"x")
    store = open_store(nginx.address("private", user="ann:a%20secret"))
    store.write(BLOBS, NAME, b"x")
    assert store.read(BLOBS, NAME, 10) == b"x"
    assert store.location == nginx.address("private")


def test_server_that_takes_nothing_says_so(nginx):
    with pytest.raises(StoreError, match="HTTP 405 Not Allowed|HTTP 405 Method Not Allowed"):
        open_store(nginx.address("readonly")).write(BLOBS, NAME, b"x")


def test_server_that_is_away_says_so():
    with pytest.raises(StoreError, match="Connection refused"):
        HttpStore(f"http://127.0.0.1:{free_port()}").read(BLOBS, NAME, 10)


def test_host_that_has_no_address_says_so():
    with pytest.raises(StoreError, match="[Nn]ame"):
        HttpStore("http://nowhere.invalid").read(BLOBS, NAME, 10)


BROKEN = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this": "truncated response",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nonl": "truncated response",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\nonl": "truncated response",
    b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n": "HTTP 500 Internal Server Error",
    b"HTTP/1.1 301 Moved\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n": "HTTP 301",
    b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n": "HTTP 302",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n": "truncated response",
    b"HTTP/1.1 " + b"2" * 70_000: "truncated response",
    b"SSH-2.0-OpenSSH_9.2\r\n": "truncated response",
    b"\0" * 1000: "truncated response",
    b"": "truncated response",
}


@pytest.mark.parametrize("reply", BROKEN, ids=lambda reply: repr(reply[:60]))
def test_broken_answer_is_one_reason(reply):
    with answering(says(reply)) as address, pytest.raises(StoreError, match=BROKEN[reply]):
        HttpStore(address).read(BLOBS, NAME, 1000)


WHOLE = {
    "by its length": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndata",
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndat\r\n1\r\na\r\n0\r\n\r\n",
    "until the end of the connection": b"HTTP/1.1 200 OK\r\n\r\ndata",
    "by HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ndata",
    "and no more": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndata",
}


@pytest.mark.parametrize("how", WHOLE)
def test_answer_is_read_however_it_is_delimited(how):
    with answering(says(WHOLE[how])) as address:
        store = HttpStore(address)
        assert [store.read(BLOBS, NAME, 1000) for _ in range(2)] == [b"data"] * 2


ENDLESS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunk of a negative size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
    "headers": b"HTTP/1.1 100 Continue\r\n\r\n",
}
REPEATED = {"chunks": b"5\r\nabcde\r\n", "headers": b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n"}


@pytest.mark.parametrize("what", ENDLESS)
def test_endless_answer_is_read_to_the_limit_only(what):
    """Counted where it is sent: what the two sides' buffers hold comes on top."""
    sent = []

    def serve(connection, ended):
        connection.recv(65536)
        connection.sendall(ENDLESS[what])
        part = REPEATED.get(what, b"x") * (65536 // len(REPEATED.get(what, b"x")))
        while not ended.is_set():
            connection.sendall(part)
            sent.append(len(part))

    with answering(serve) as address:
        store = HttpStore(address)
        try:
            assert len(store.read(BLOBS, NAME, 1000)) == 1001
        except StoreError as error:
            assert "too large" in str(error) or "truncated response" in str(error)
    assert sum(sent) < 32 << 20


def _never_answers(connection, ended):
    connection.recv(65536)
    ended.wait(60)


def _drips(text: bytes):
    """A server that sends ``text`` and then a byte every now and then: no single wait is long."""

    def serve(connection, ended):
        connection.recv(65536)
        connection.sendall(text)
        while not ended.wait(0.05):
            connection.sendall(b"A")

    return serve


SLOW = {
    "never answers": _never_answers,
    "status line by the byte": _drips(b""),
    "headers by the byte": _drips(b"HTTP/1.1 200 OK\r\nX: "),
    "body by the byte": _drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
    "chunk by the byte": _drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n"),
    "extension of a chunk by the byte": _drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;"),
    "trailer by the byte": _drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "),
}


@pytest.mark.parametrize("how", SLOW)
def test_one_deadline_is_for_the_whole_answer(how):
    with answering(SLOW[how]) as address, pytest.raises(StoreTooSlow, match="timed out after"):
        HttpStore(address, timeout=0.3).read(BLOBS, NAME, 1000)


def test_deadline_is_for_what_is_sent_too(monkeypatch):
    """A server that takes the connection and reads nothing: its buffers and ours are full at some point."""
    monkeypatch.setattr(remote_store_base, "MIN_SPEED", 1 << 40)
    with answering(lambda connection, ended: ended.wait(60)) as address, pytest.raises(StoreTooSlow):
        HttpStore(address, timeout=0.3).write(BLOBS, NAME, bytes(16 << 20))


def test_large_record_has_more_time():
    def serve(connection, ended):
        connection.recv(65536)
        ended.wait(0.5)
        connection.sendall(WHOLE["by its length"])

    with answering(serve) as address:
        assert HttpStore(address, timeout=0.1).read(BLOBS, NAME, 60 * remote_store_base.MIN_SPEED) == b"data"


@contextmanager
def full():
    """The address of a server that accepts nobody: its queue is full, so that to connect takes for ever."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_deadline_is_for_the_connection_too():
    with full() as address, pytest.raises(StoreTooSlow):
        HttpStore(address, timeout=0.3).read(BLOBS, NAME, 1000)


@pytest.fixture
def stuck_resolver(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait(60) and [])
    yield
    ended.set()


def test_deadline_is_for_the_name_too(stuck_resolver):
    with pytest.raises(StoreTooSlow):
        HttpStore("http://somewhere", timeout=0.3).read(BLOBS, NAME, 1000)


def interrupted(store) -> None:
    """A request that is interrupted while it waits ends, and so does every later one."""
    ended = []

    def ask():
        with pytest.raises(StoreInterrupted):
            store.read(BLOBS, NAME, 1000)
        ended.append(True)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    store.interrupt()
    thread.join(20)  # far less than the deadline
    assert ended == [True]
    with pytest.raises(StoreInterrupted):
        store.read(BLOBS, NAME, 1000)


@pytest.mark.parametrize("how", SLOW)
def test_waiting_for_an_answer_ends_with_the_build(how):
    with answering(SLOW[how]) as address:
        interrupted(HttpStore(address, timeout=1000))


def test_waiting_for_a_connection_ends_with_the_build():
    with full() as address:
        interrupted(HttpStore(address, timeout=1000))


def test_waiting_for_a_name_ends_with_the_build(stuck_resolver):
    interrupted(HttpStore("http://somewhere", timeout=1000))


def test_second_address_is_asked_where_the_first_refuses(monkeypatch):
    with answering(says(WHOLE["by its length"])) as address:
        port = int(address.rpartition(":")[2])
        both = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", number)) for number in (free_port(), port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        assert HttpStore("http://somewhere").read(BLOBS, NAME, 1000) == b"data"


def keeps_alive(replies, connections):
    """A server that gives one reply for each request, and lists how many each connection has brought."""

    def serve(connection, ended):
        connections.append(0)
        while connection.recv(65536):
            connections[-1] += 1
            connection.sendall(next(replies))

    return serve


def test_a_thread_keeps_its_connection():
    connections: list[int] = []
    with answering(keeps_alive(repeat(WHOLE["by its length"]), connections)) as address:
        store = HttpStore(address)
        assert [store.read(BLOBS, NAME, 1000) for _ in range(5)] == [b"data"] * 5
    assert connections == [5]


def test_server_that_is_busy_is_asked_again():
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 1000\r\n\r\n"
    with answering(keeps_alive(chain([busy, WHOLE["by its length"]], repeat(busy)), [])) as address:
        store = HttpStore(address)
        assert store.read(BLOBS, NAME, 1000) == b"data"
        with pytest.raises(StoreError, match="HTTP 503 Service Unavailable"):
            store.read(BLOBS, NAME, 1000)


def test_server_that_does_not_answer_is_asked_once():
    asked = []

    def serve(connection, ended):
        asked.append(connection.recv(65536))
        ended.wait(60)

    with answering(serve) as address:
        with pytest.raises(StoreTooSlow):
            HttpStore(address, timeout=0.2).read(BLOBS, NAME, 1000)
        time.sleep(0.5)
    assert len(asked) == 1


def test_proxy_is_asked_for_other_machines_only(monkeypatch):
    asked = []

    def serve(connection, ended):
        asked.append(connection.recv(65536))
        connection.sendall(WHOLE["by its length"])

    with answering(serve) as proxy, answering(says(WHOLE["by its length"])) as address:
        monkeypatch.setenv("http_proxy", proxy.replace("://", "://ann:secret@"))
        monkeypatch.setenv("no_proxy", "near.invalid")
        assert HttpStore("http://far.invalid/cache").read(BLOBS, NAME, 1000) == b"data"
        assert HttpStore(address).read(BLOBS, NAME, 1000) == b"data"
        with pytest.raises(StoreError, match="[Nn]ame"):
            HttpStore("http://near.invalid").read(BLOBS, NAME, 1000)
        monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
        with pytest.raises(StoreError, match="unsupported proxy socks5://127.0.0.1:1 .HTTP only."):
            HttpStore("http://far.invalid/cache").read(BLOBS, NAME, 1000)
    (request,) = asked
    assert request.startswith(f"GET http://far.invalid/cache/cas/{NAME} HTTP/1.1".encode())
    assert b"proxy-authorization: basic" in request.lower()


@pytest.fixture
def certified(tmp_path, monkeypatch):
    """A server's side of TLS with a certificate of its own for 127.0.0.1, which clients here trust."""
    (tmp_path / "pair.pem").write_text(PAIR)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "pair.pem"))
    http_client.tls.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    yield context
    http_client.tls.cache_clear()


def over_tls(context, serve):
    def serve_plain(connection, ended):
        with context.wrap_socket(connection, server_side=True) as secured:
            serve(secured, ended)

    return serve_plain


def test_answer_over_tls_is_read(certified):
    body = os.urandom(1 << 20)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with answering(over_tls(certified, says(head + body))) as address:
        assert HttpStore(address.replace("http:", "https:")).read(BLOBS, NAME, 1 << 21) == body


def test_certificate_that_nobody_vouches_for_is_refused(certified, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    http_client.tls.cache_clear()
    with answering(over_tls(certified, says(b""))) as address, pytest.raises(StoreError, match="certificate"):
        HttpStore(address.replace("http:", "https:")).read(BLOBS, NAME, 1000)


@pytest.mark.parametrize("how", ["never answers", "body by the byte", "handshake"])
def test_deadline_and_interrupt_hold_over_tls(certified, how):
    serve = _never_answers if how == "handshake" else over_tls(certified, SLOW[how])
    with answering(serve) as address:
        address = address.replace("http:", "https:")
        with pytest.raises(StoreTooSlow):
            HttpStore(address, timeout=0.3).read(BLOBS, NAME, 1000)
        interrupted(HttpStore(address, timeout=1000))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ftp://host/cache", "invalid cache=ftp://host/cache: unsupported protocol; use a folder, or http://"),
        ("http://", ": missing host"),
        ("http://host:port/", "invalid URL cache="),
        ("http://host/?key=1", "invalid URL cache="),
        ("http://[host/", "invalid URL cache="),
        ("file", "cache=file is a file; use a folder"),
    ],
)
def test_wrong_place_is_one_sentence(tmp_path, text, sentence):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput) as caught:
        open_store(text, tmp_path)
    assert caught.value.id == "cache-value" and sentence in str(caught.value)
