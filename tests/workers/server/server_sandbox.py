"""An environment of its own for a server's tests, with a small image in place of the compiler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import tileiras_build
from tileiras_build.workers.server import list_servers, prefork

IMAGE = '''
import json, os, signal, sys, time

import a_library


def warm_up():
    pass


def rehearse():
    pass


def serve():
    return main("server")


def main(where="here"):
    if sys.argv[1:2] == ["wait"]:
        # Until the file is there.
        with open(sys.argv[2] + ".process", "w") as stream:
            print(os.getpid(), file=stream)
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.01)
    if sys.argv[1:2] == ["die"] and where == "server":
        os.kill(os.getpid(), int(sys.argv[2]))
    if sys.argv[1:2] == ["kill"] and where == "server":
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    print(json.dumps({
        "where": where, "value": a_library.VALUE, "server": os.getppid(), "process": os.getpid(), "words": sys.argv, "folder": os.getcwd(),
        "variables": dict(os.environ), "path": sys.path, "extra": sys.modules.get("an_extra") is not None,
        "open": [os.readlink(f"/proc/self/fd/{n}").partition(":")[0] for n in range(3, 999) if os.path.lexists(f"/proc/self/fd/{n}")],
        "read": sys.stdin.read() if sys.argv[1:2] == ["read"] else None,
    }))
    print("said", file=sys.stderr)
    import an_extra  # of the request alone
    return 7 if sys.argv[1:2] == ["seven"] else 0
'''
DEADLINE = 60.0  # seconds for a server to begin
CLIENT = f'''
import sys
from tileiras_build.workers.server import run_on_server
from tileiras_build.workers.server.run_on_server import NoServer, run

# On a busy machine a server that lives takes its time.
run_on_server._TIMEOUT_SECONDS = 1.0 if "impatient" in sys.argv else {DEADLINE}
try:
    status = run("an_image:serve", "an_image")
except NoServer:
    import an_image
    status = an_image.main()
sys.exit(status)
'''


class Site:
    """A folder with installed libraries, a client and a folder for servers; ``package`` is that of the project."""

    def __init__(self, folder: Path, package: Path = Path(tileiras_build.__file__).parent):
        self.folder, self.libraries, self.run_folder = folder, folder / "site-packages", folder / "run"
        for made in (self.libraries, folder / "bin", self.libraries / "a_library-1.0.dist-info"):
            made.mkdir(parents=True)
        self.run_folder.mkdir(mode=0o700)
        (self.libraries / "an_image.py").write_text(IMAGE)
        (self.libraries / "an_extra.py").write_text("")
        (self.libraries / "a_library.py").write_text("VALUE = 1\n")
        # Python takes a compiled module for a text of the same size that was written in the same second.
        os.utime(self.libraries / "a_library.py", (10**9, 10**9))
        (self.libraries / "tileiras_build").symlink_to(package)
        (folder / "bin" / "client.py").write_text(CLIENT)
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.libraries),
            "XDG_RUNTIME_DIR": str(self.run_folder),
            "TILEIRAS_SERVER": "1",
        }

    def start(self, *words: str, **options) -> subprocess.Popen:
        """A client; ``environment`` is added to the site's."""
        environment = self.environment | options.pop("environment", {})
        python = options.pop("python", sys.executable)
        command = [python, str(self.folder / "bin" / "client.py"), *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, text=True, **pipes, **options)

    def ask(self, *words: str, given: str = "", **options) -> dict:
        """What a client prints, with its ``status``."""
        client = self.start(*words, **options)
        out, said = client.communicate(given, timeout=DEADLINE)
        assert said == "said\n", said
        return json.loads(out) | {"status": client.returncode}

    def warm(self, **options) -> dict:
        """The first answer of a server."""
        until = time.monotonic() + DEADLINE
        while (answer := self.ask(**options))["where"] != "server":
            assert time.monotonic() < until, [path.read_text() for path in self.servers.glob("*.[lf][oa]*")]
            time.sleep(0.05)
        return answer

    def spares(self, server: int) -> tuple[int, ...]:
        """The forks of a server that wait, once they are complete."""
        until = time.monotonic() + DEADLINE
        while True:
            (found,) = [found.spares for found in list_servers.find_servers() if found.process == server]
            if len(found) == prefork.MAX_PREFORKED:
                return found
            assert time.monotonic() < until
            time.sleep(0.2)  # a server that is asked all the time has no time

    @property
    def servers(self) -> Path:
        """The folder of the sockets."""
        return self.run_folder / "tileiras-server"

    def files(self, suffix: str) -> list[Path]:
        """The files of servers with this suffix."""
        return sorted(self.servers.glob(f"*{suffix}"))

    def close(self) -> None:
        """End the servers."""
        until = time.monotonic() + DEADLINE
        while (living := [found.process for found in list_servers.find_servers("stop")]) or self._is_starting():
            assert time.monotonic() < until, living
            time.sleep(0.02)

    def _is_starting(self) -> bool:
        import fcntl

        for path in self.files(".lock"):
            with open(path) as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    return True
        return False


def end(process: int) -> None:
    """Kill a process, also one that is stopped."""
    os.kill(process, signal.SIGKILL)
