"""Workers that a compile server forks (``workers/server/``) without delay, where a build's own fork server must import first."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress

from ..server.run_on_server import ALIVE, STARTED, NoServer, Request, ServerAddress

_MAX_STARTS = 2  # of a server that does not start, or is stale when it has started
_TIMEOUT_SECONDS = 60.0  # seconds for a server to import everything, on a busy machine
_SERVE = "tileiras_build.workers.executor.worker:serve_request"


class ServerWorker:
    """A worker's process with the interface of multiprocessing: ``pid``, ``exitcode`` when it is known, ``join``."""

    def __init__(self, request: Request, *files: int):
        self.pid: int | None = request.process
        self.exitcode: int | None = None
        self._request = request
        request.begin(*files)

    def join(self, timeout: float) -> None:
        """Wait for its end, and release it on the server."""
        if self._request.connection.fileno() < 0:
            return
        self._request.connection.settimeout(timeout)
        with suppress(OSError, EOFError, ValueError):
            self.exitcode = self._request.status()
        self._request.connection.close()


class CompileServer:
    """The server of this process, which imports ``image``; started if there is none."""

    def __init__(self, image: str):
        self._image, self._starts, self._starting = image, 0, threading.Lock()
        self._place: ServerAddress | None = None
        with suppress(OSError):
            self._place = ServerAddress()
            self._start()

    def fork(self, log: str, memory: int, descriptor: int) -> ServerWorker:
        """A worker that serves the pipe ``descriptor``; raises NoServer if there is no server and none can start."""
        request = self._request_worker(log, str(memory), os.getcwd(), *sys.path)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            return ServerWorker(request, null, null, null, descriptor)
        except OSError:
            raise NoServer from None
        finally:
            os.close(null)

    def _request_worker(self, *arguments: str) -> Request:
        until = time.monotonic() + _TIMEOUT_SECONDS
        while self._place is not None and time.monotonic() < until:
            try:
                return self._place.request_fork(_SERVE, *arguments)
            except TimeoutError:
                self._place.start(self._image, instead=True)
                self._place = None
            except (OSError, EOFError):
                if not self._start():
                    self._place = None
                time.sleep(0.01)
            except ValueError:
                self._place = None
        raise NoServer

    def _start(self) -> bool:
        """Start a server if there is none; returns whether there may be one soon."""
        with self._starting:
            if self._place is None or self._starts > _MAX_STARTS:
                return False
            state = self._place.start(self._image)
            self._starts += state == STARTED
            return state in (ALIVE, STARTED)
