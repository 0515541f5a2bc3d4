"""Preforked processes behave like forks for a request, and are not used if one fails to start."""

import os
import signal
import time
from contextlib import closing

import pytest

from tests.workers.server.server_sandbox import Site, end
from tests.workers.server.test_server_requests import said, wait_for
from tileiras_build.workers.server import environment_fingerprint, list_servers, run_on_server

# An image that finds something to import whenever it is warmed up, as code would that looks at the time.
FICKLE = """
import importlib


def warm_up():
    with open(__file__ + ".log", "a") as log:
        print(os.getpid(), file=log)
    importlib.import_module(f"a_part_{sum(name.startswith('a_part_') for name in sys.modules)}")


rehearse = warm_up
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = Site(tmp_path / "site")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.run_folder))
    yield made
    made.close()


def test_each_takes_one_request(site, tmp_path):
    server = site.warm()["server"]
    given = {"environment": {"TERM": "odd"}, "cwd": tmp_path}
    taken: set[int] = set()
    for _ in range(2):
        waiting = site.spares(server)
        answer = site.ask("read", given="three\nlines\n", **given)
        assert answer["server"] == server
        assert answer["process"] in {*waiting} - taken
        taken.add(answer["process"])
        assert (answer["read"], answer["folder"], answer["variables"]["TERM"]) == (
            "three\nlines\n",
            str(tmp_path),
            "odd",
        )
        # Nothing of another request, and nothing that the server has not.
        assert not answer["extra"]


def test_who_says_no_word_takes_none(site):
    server = site.warm()["server"]
    waiting = site.spares(server)
    folder = environment_fingerprint.open_folder()
    try:
        with closing(run_on_server.connect(folder, _found(server).name)):
            assert [_found(server).spares for _ in range(5)] == [waiting] * 5
    finally:
        os.close(folder)


def test_nobody_waits_for_them(site, tmp_path):
    server = site.warm()["server"]
    waiting = site.spares(server)
    clients = [site.start("wait", str(tmp_path / f"go{number}")) for number in range(len(waiting) + 1)]
    works = [wait_for(lambda number=number: said(tmp_path / f"go{number}.process")) for number in range(len(clients))]
    assert {*map(str, waiting)} < {*works}
    for number, started in enumerate(clients):
        (tmp_path / f"go{number}").touch()
        assert f'"server": {server}' in started.communicate("")[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_one_that_is_killed_is_not_missed(site, number):
    server = site.warm()["server"]
    for process in site.spares(server):
        os.kill(process, number)
    wait_for(lambda: not _found(server).spares)
    assert site.ask()["server"] == server


def test_they_end_with_their_server(site):
    server = site.warm()["server"]
    waiting = site.spares(server)
    end(server)
    wait_for(lambda: not any(map(_lives, waiting)))


def test_a_server_that_is_out_of_date_keeps_none(site, tmp_path):
    server = site.warm()["server"]
    waiting = site.spares(server)
    slow = site.start("wait", str(tmp_path / "go"))
    work = int(wait_for(lambda: said(tmp_path / "go.process")))
    (site.libraries / "a_library.py").write_text("VALUE = 2\n")
    answer = site.ask()
    assert (answer["where"], answer["value"]) == ("here", 2)
    wait_for(lambda: not any(_lives(process) for process in waiting if process != work))
    # The server itself waits for the end of what was begun before.
    assert slow.poll() is None
    (tmp_path / "go").touch()
    assert f'"server": {server}' in slow.communicate("")[0]


def test_none_waits_that_has_imported_what_the_server_has_not(site):
    image = site.libraries / "an_image.py"
    image.write_text(image.read_text() + FICKLE)
    for number in range(9):
        (site.libraries / f"a_part_{number}.py").write_text("")
    log = site.libraries / "an_image.py.log"
    server = site.warm()["server"]

    def made() -> list[str]:
        """The forks of the server that were warmed up: a process before it may have found its files too new to begin."""
        return log.read_text().partition(f"{server}\n")[2].split()

    wait_for(made)
    wait_for(lambda: not _children(server))
    for _ in range(2):
        assert site.ask()["server"] == server
        time.sleep(0.3)
    assert not _found(server).spares
    # It would only do so again.
    assert len(made()) == 1


def _lives(process: int) -> bool:
    return os.path.exists(f"/proc/{process}/exe")


def _found(server: int) -> list_servers.ServerInfo:
    (found,) = [found for found in list_servers.find_servers() if found.process == server]
    return found


def _children(process: int) -> int:
    with open(f"/proc/{process}/task/{process}/children") as stream:
        return len(stream.read().split())
