"""HTTP servers on loopback for cache tests: nginx (Debian's) and WsgiDAV (from PyPI) over a folder; and bad ones."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

START_SECONDS = 60.0
NGINX = """
daemon off;
worker_processes 1;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 0;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/root;
        location / {{ {methods} }}
        location /cache/ {{ {methods} }}
        location /private/ {{ {methods} auth_basic cache; auth_basic_user_file {folder}/users; }}
        location /readonly/ {{ alias {folder}/root/cache/; }}
    }}
}}
"""
METHODS = "dav_methods PUT; create_full_put_path on;"


@dataclass
class Server:
    """A running server: its process, and the folder in which it keeps what is under ``/cache``."""

    port: int
    process: subprocess.Popen
    files: Path

    def address(self, path: str = "cache", user: str = "") -> str:
        return f"http://{user and user + '@'}127.0.0.1:{self.port}/{path}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def require_nginx() -> str:
    """nginx's path; skips the test where it, or its WebDAV module, is not installed."""
    path = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if path is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    built = subprocess.run([path, "-V"], capture_output=True, text=True, check=False).stderr
    if "http_dav_module" not in built:
        pytest.skip("this nginx is built without its WebDAV module")
    return path


def start_nginx(folder: Path, port: int | None = None) -> Server:
    nginx = require_nginx()
    (folder / "root/cache").mkdir(parents=True, exist_ok=True)
    (folder / "users").write_text("ann:{PLAIN}a secret\n")

    def command(port: int) -> list[str]:
        user = "user root;" if os.geteuid() == 0 else ""
        text = NGINX.format(folder=folder, port=port, methods=METHODS, user=user)
        (folder / "nginx.conf").write_text(text)
        return [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")]

    return _start(command, folder / "root/cache", folder, port)


def start_wsgidav(folder: Path, port: int | None = None) -> Server:
    # WebDAV makes no folders on PUT (RFC 4918, 9.7.1); whoever sets up the cache makes these two.
    for kind in ("ac", "cas"):
        (folder / "root/cache" / kind).mkdir(parents=True, exist_ok=True)

    def command(port: int) -> list[str]:
        options = ["--host", "127.0.0.1", "--port", str(port), "--root", str(folder / "root"), "--auth", "anonymous"]
        return [sys.executable, "-m", "wsgidav.server.server_cli", *options, "--no-config", "--quiet"]

    return _start(command, folder / "root/cache", folder, port)


SERVERS = {"nginx": start_nginx, "wsgidav": start_wsgidav}


@contextmanager
def running(name: str, folder: Path):
    """The server called ``name`` over ``folder``, until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    server = SERVERS[name](folder)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def answering(serve: Callable[[socket.socket, threading.Event], None]):
    """The address of a server that calls ``serve(connection, ended)`` for each connection, in a thread of its own."""
    ended = threading.Event()

    def converse(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection, ended)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=converse, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)


def says(reply: bytes):
    """A conversation for ``answering``: one answer, and the end of the connection."""

    def serve(connection: socket.socket, ended: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(reply)

    return serve


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(command, files: Path, folder: Path, port: int | None) -> Server:
    """Another program may take the port in between; then a second one is tried."""
    for _ in range(3):
        chosen = port or free_port()
        with open(folder / "server.log", "ab") as log:
            process = subprocess.Popen(command(chosen), stdout=log, stderr=log, cwd=folder)
        if _answers(chosen, process):
            return Server(chosen, process, files)
        process.kill()
        process.wait()
    raise RuntimeError((folder / "server.log").read_text()[-2000:])


def _answers(port: int, process: subprocess.Popen) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False
