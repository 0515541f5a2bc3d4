"""A command on a server has the same results as in its own process; without a server it runs itself."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

from tests.workers.server.server_sandbox import DEADLINE, Site, end
from tileiras_build.workers.server import environment_fingerprint, list_servers


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # Longer than the system lets the path of a socket be.
    made = Site(tmp_path_factory.mktemp("site") / ("long" * 30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(made.run_folder))
        yield made
        made.close()


def test_the_work_sees_what_the_client_sees(site, tmp_path):
    server = site.warm()["server"]
    variables = {"TERM": "odd\udcff\n", "TILEIRAS_SERVER": "yes", "COLUMNS": "33"}
    answer = site.ask("read", "\udcfe", given="three\nlines\n\n", cwd=tmp_path, environment=variables)
    assert (answer["where"], answer["server"]) == ("server", server)
    assert answer["folder"] == str(tmp_path)
    assert answer["words"] == [str(site.folder / "bin" / "client.py"), "read", "\udcfe"]
    assert answer["read"] == "three\nlines\n\n"
    assert answer["variables"].items() >= (site.environment | variables).items()
    assert answer["path"][0] == str(site.folder / "bin")
    # What one request has loaded is not there for the next.
    assert not answer["extra"]


@pytest.mark.parametrize("word", ["/dev/fd/5", "/dev/tty", "/proc/self/fd/3", "--to=/dev/fd/4"])
def test_what_only_this_process_has_it_asks_itself(site, word):
    site.warm()
    assert site.ask("look", word)["where"] == "here"


def test_a_link_to_an_open_file_of_this_process_is_one(site, tmp_path):
    site.warm()
    (tmp_path / "link").symlink_to("/proc/self/fd/0")
    assert site.ask("look", "link", cwd=tmp_path)["where"] == "here"


def test_the_work_has_no_open_file_of_the_server(site):
    site.warm()
    answer = site.ask()
    assert answer["where"] == "server"
    assert answer["open"] == ["socket"]  # to the client


def test_the_status_is_that_of_the_work(site):
    site.warm()
    answer = site.ask("seven")
    assert (answer["where"], answer["status"]) == ("server", 7)


@pytest.mark.parametrize(
    "other",
    [
        {"environment": {"TILEIRAS_CHECK": "1"}},
        {"environment": {"LD_LIBRARY_PATH": "/nowhere"}},
        {"environment": {"PYTHONPATH": "{0}:/nowhere"}},
        {"environment": {"LANG": "C"}},
        {"preexec_fn": lambda: os.umask(0o027)},
        {"preexec_fn": lambda: os.nice(1)},
        {"preexec_fn": lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})},
    ],
    ids=["a knob", "libraries", "modules", "language", "umask", "priority", "processors"],
)
def test_another_process_has_another_server(site, other):
    first = site.warm()["server"]
    given = {name: value.format(site.libraries) for name, value in other.get("environment", {}).items()}
    answer = site.ask(**(other | {"environment": given}))
    assert answer["where"] == "here"
    assert answer["variables"].items() >= given.items()
    assert site.ask()["server"] == first


@pytest.mark.parametrize("given", [{"TILEIRAS_SERVER": "0"}, {"TILEIRAS_SERVER": "", "CI": "true"}])
def test_nobody_is_asked_who_is_not_to_be(tmp_path, given):
    site = Site(tmp_path)
    if "CI" in given:
        del site.environment["TILEIRAS_SERVER"]
        given = {"CI": given["CI"]}
    assert site.ask(environment=given)["where"] == "here"
    assert not site.servers.exists()


def test_clients_do_not_wait_for_each_other(site, tmp_path):
    site.warm()
    slow = site.start("wait", str(tmp_path / "go"))
    assert site.ask()["where"] == "server"
    assert slow.poll() is None
    (tmp_path / "go").touch()
    out, _ = slow.communicate("", timeout=DEADLINE)
    assert '"where": "server"' in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_client_that_ends_ends_its_work(site, tmp_path, number):
    server = site.warm()["server"]
    client = site.start("wait", str(tmp_path / "never"))
    work = wait_for(lambda: said(tmp_path / "never.process"))
    client.send_signal(number)
    client.communicate("", timeout=DEADLINE)
    # Python's own word for Ctrl-C is the signal; a handler of the command's may say other things.
    assert client.returncode in (-number, 1)
    wait_for(lambda: not os.path.exists(f"/proc/{work}"))
    assert site.ask()["server"] == server


@pytest.mark.parametrize("how", ["die", "kill"])
def test_work_that_is_killed_is_done_by_the_client(site, how):
    site.warm()
    assert site.ask(how, str(signal.SIGSEGV.value))["where"] == "here"


def test_a_server_that_does_not_answer_is_left(site):
    old = site.warm()["server"]
    os.kill(old, signal.SIGSTOP)
    try:
        assert site.ask("impatient")["where"] == "here"
        assert site.warm()["server"] != old
    finally:
        os.kill(old, signal.SIGCONT)
    # It finds its place taken.
    wait_for(lambda: not os.path.exists(f"/proc/{old}/exe"))


def _take(path, folder: bool) -> None:
    path.unlink()
    path.mkdir() if folder else path.write_text("mine")


@pytest.mark.parametrize("folder", [False, True])
def test_a_socket_that_is_none(site, folder):
    old = site.warm()["server"]
    (name,) = [found.name for found in list_servers.find_servers() if found.process == old]
    found = site.servers / f"{name}.socket"
    end(old)
    _take(found, folder)
    assert site.ask()["where"] == "here"
    if folder:
        # No server begins while the one that ended still holds its lock.
        wait_for(lambda: site.ask()["where"] == "here" and site.files(".failed"))
        found.rmdir()
        site.files(".failed")[0].unlink()
    assert site.warm()["value"] == 1


def test_a_dead_server_leaves_a_socket(site):
    end(site.warm()["server"])
    assert site.ask()["where"] == "here"
    assert site.warm()["where"] == "server"


def test_servers_are_shown_and_stopped(site):
    server = site.warm()["server"]
    found = {one.process: one for one in list_servers.find_servers()}
    assert found[server].requests >= 1
    assert server in {one.process for one in list_servers.find_servers("stop")}
    wait_for(lambda: not os.path.exists(f"/proc/{server}/exe"))
    assert site.ask()["where"] == "here"


def test_nobody_looks_into_a_folder_that_others_can_write(tmp_path, monkeypatch):
    site = Site(tmp_path)
    site.run_folder.chmod(0o755)
    above = tmp_path / "temporary"
    above.mkdir()
    (above / f"tileiras-{os.geteuid()}").mkdir(mode=0o777)
    (above / f"tileiras-{os.geteuid()}").chmod(0o777)
    assert site.ask(environment={"TMPDIR": str(above)})["where"] == "here"
    assert not list(above.glob("*/*"))


def test_clients_import_little():
    code = "import sys, tileiras_build.cli.main; print(*sys.modules)"
    environment = os.environ | {
        "PYTHONPATH": os.path.dirname(os.path.dirname(environment_fingerprint.__file__) + "/..")
    }
    command = [sys.executable, "-S", "-c", code]
    loaded = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert {"typing", "re", "enum", "socket", "json", "signal", "pathlib", "tempfile"}.isdisjoint(loaded)


def said(path) -> str:
    """A line that a process writes; "" before that."""
    text = path.read_text() if path.exists() else ""
    return text.strip() if text.endswith("\n") else ""


def wait_for(found):
    until = time.monotonic() + DEADLINE
    while not (answer := found()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return answer


def test_the_first_server_is_announced_once_on_a_terminal(tmp_path):
    tmp_path.chmod(0o700)
    code = (
        "from tileiras_build.workers.server.run_on_server import ServerAddress as A; A()._introduce(); A()._introduce()"
    )
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    run = lambda stderr: subprocess.run([sys.executable, "-P", "-c", code], env=environment, stderr=stderr, check=True)
    assert run(subprocess.PIPE).stderr == b""
    main, terminal = os.openpty()
    run(terminal)
    assert os.read(main, 1000).count(b"started a background compile server") == 1


def test_a_server_keeps_no_file_of_the_client_that_started_it(site):
    """ninja waits until every process that has the pipe of its command has closed it."""
    reader, writer = os.pipe()
    try:
        other = {"TILEIRAS_CHECK": "2"}  # another server
        site.ask(environment=other, pass_fds=(writer,))
        site.warm(environment=other)
        os.close(writer)
        assert select.select([reader], [], [], DEADLINE)[0] and os.read(reader, 1) == b""
    finally:
        os.close(reader)
