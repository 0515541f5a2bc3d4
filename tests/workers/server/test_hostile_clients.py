"""Clients with a foreign socket, another clock, another Python or a broken answer run the command themselves."""

import os
import shutil
import socket
import stat
import sys
import threading
import time

import pytest

from tests.workers.server.server_sandbox import DEADLINE, Site, end
from tileiras_build.workers.server import environment_fingerprint, list_servers
from tileiras_build.workers.server.run_on_server import connect
from tileiras_build.workers.server.staleness import Clock, LoadedCode, StaleServer

# Patient until somebody has asked: on a busy machine a server may begin long before the client that is its first.
SHORT = """
from tileiras_build.workers.server import server_main

class Impatient(server_main.Server):
    def _on_message(self, *client):
        super()._on_message(*client)
        self.idle = 0.2

server_main.Server = Impatient
"""
# Messages that end too early, or are none.
HALVES = {"nothing": b"", "half a length": b"\0\0", "half a text": b"\0\0\0\x10ready", "no message": b"\xff" * 64}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(made.run_folder))
        yield made
        made.close()


def test_nobody_else_can_reach_a_server(site):
    site.warm()
    assert stat.S_IMODE(site.servers.stat().st_mode) == 0o700
    found = [*site.files(".socket"), *site.files(".lock"), *site.files(".log")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


def test_a_socket_of_another_user_is_not_asked(site, monkeypatch):
    site.warm()
    folder = environment_fingerprint.open_folder()
    try:
        name = site.files(".socket")[0].stem
        connect(folder, name).close()
        _become_another(monkeypatch)
        with pytest.raises(OSError, match="owned by another user"):
            connect(folder, name)
    finally:
        os.close(folder)


def test_a_folder_of_another_user_is_not_used(site, tmp_path, monkeypatch):
    site.warm()
    above = tmp_path / f"tileiras-{os.geteuid() + 1}"
    above.mkdir(mode=0o700)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    _become_another(monkeypatch)
    with pytest.raises(OSError, match=above.name):
        environment_fingerprint.open_folder()


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_server_does_not_begin_while_the_clock_is_set(seconds):
    now = Clock.now()
    assert not now.is_set(Clock(now.day + 10**9, now.machine + 1))
    with pytest.raises(StaleServer, match="system clock changed"):
        LoadedCode(Clock(now.day - seconds * 10**9, now.machine), frozenset())


def test_another_python_in_its_place(site, tmp_path):
    def place() -> None:
        shutil.copy(os.path.realpath(sys.executable), tmp_path / "new")
        os.replace(tmp_path / "new", python)

    python = tmp_path / "python3"
    place()
    given = {"python": str(python), "environment": {"PYTHONHOME": sys.base_prefix}}
    # A file that is as new as this would not be believed to be what the server has loaded.
    time.sleep(0.1)
    old = site.warm(**given)["server"]
    place()
    assert site.ask(**given)["where"] == "here"
    time.sleep(0.1)
    assert site.warm(**given)["server"] != old


@pytest.mark.parametrize("said", HALVES.values(), ids=list(HALVES))
def test_half_an_answer(site, said):
    server = site.warm()["server"]
    (name,) = [found.name for found in list_servers.find_servers() if found.process == server]
    end(server)
    path = site.servers / f"{name}.socket"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        answering = threading.Thread(target=_say, args=(listening, said))
        answering.start()
        assert site.ask()["where"] == "here"
        answering.join(DEADLINE)
    assert site.warm()["where"] == "server"


def _become_another(monkeypatch) -> None:
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)


def _say(listening: socket.socket, said: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 20)
        connection.sendall(said)


def test_a_server_that_nobody_asks_ends(tmp_path):
    site = Site(tmp_path)
    image = site.libraries / "an_image.py"
    image.write_text(SHORT + image.read_text())
    site.warm()
    until = time.monotonic() + DEADLINE
    while site.files(".socket"):
        assert time.monotonic() < until
        time.sleep(0.02)
