"""A launch in another process, which can be killed: nothing stops a kernel within the process that launched it.

The other process opens the memory of the arguments by IPC handles (CUDA Driver API, "Memory Management":
cuIpcGetMemHandle), so the launch accesses the arrays themselves. It serves launches (``timed_launch_process.py``) until
one exceeds its limit.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ...core.errors import InvalidInput
from ..flatten_arguments import Array, ArrayTable, Value

if TYPE_CHECKING:
    from ...launch.runtime.pack_arguments import ArrayView
    from ..compiled_kernel_cache import CompiledKernel
    from .stream_driver import StreamDriver

HANDLE_BYTES = 64  # of CUipcMemHandle
_START_TIMEOUT = 120.0  # seconds for the process to start
READY = "ready"
_PROCESS = f"{__package__}.timed_launch_process"


@dataclass(frozen=True)
class Request:
    """One launch: ``memory`` maps the addresses of allocations in the requesting process to their IPC handles."""

    entry: str
    manifest: dict[str, Any]
    cubin: bytes
    grid: tuple[int, ...]
    values: tuple[Value, ...]
    memory: dict[int, bytes]
    bases: dict[int, int]  # the allocation of each array, by the array's address
    flush: bool


class LaunchProcess:
    """The client of a launch process; ``ordinal`` is the GPU, ``target`` the compilation target."""

    def __init__(self, ordinal: int, target: str):
        self._command = (str(ordinal), target)
        self._process: subprocess.Popen | None = None
        self._link: Connection | None = None

    def measure(self, request: Request, limit: float) -> float:
        """Microseconds of a launch. Raises TimeoutError after ``limit`` seconds, when the process has been killed, and RuntimeError
        if the launch fails there.
        """
        link = self._started()
        link.send(request)
        if not link.poll(limit):
            self.end()
            raise TimeoutError(f"CUDA kernel launch exceeded timeout {limit} sec")
        is_right, answer = _received(link)
        if not is_right:
            self.end()
            raise RuntimeError(answer)
        return answer

    def _started(self) -> Connection:
        if self._link is None or self._process is None or self._process.poll() is not None:
            self.end()
            ours, theirs = Pipe()
            command = [sys.executable, "-m", _PROCESS, str(theirs.fileno()), *self._command]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
            self._link = ours
            theirs.close()
            if not ours.poll(_START_TIMEOUT) or _received(ours) != (True, READY):
                self.end()
                raise RuntimeError("cannot start a process for timed launches")
        return self._link

    def end(self) -> None:
        """Kill the process, and with it its kernels on the GPU."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._link is not None:
            self._link.close()
        self._process = self._link = None


def _received(link: Connection) -> tuple[bool, Any]:
    try:
        return link.recv()
    except (EOFError, OSError):
        return False, "the process for timed launches exited"


def make_request(
    driver: StreamDriver, compiled: CompiledKernel, grid: Sequence[int], values: Sequence[Value], flush: bool
) -> Request | None:
    """The request to the other process; None if others cannot open memory of an argument."""
    assert compiled.cubin is not None
    memory: dict[int, bytes] = {}
    bases: dict[int, int] = {}
    try:
        for address in {view.address for value in values for view in _views(value) if view.address}:
            bases[address] = int(driver.call("cuMemGetAddressRange", address))
            memory.setdefault(bases[address], b"")
        for base in memory:
            memory[base] = ctypes.string_at(driver.call("cuIpcGetMemHandle", base).getPtr(), HANDLE_BYTES)
    except InvalidInput:
        return None
    plain = tuple(relocate(value, {}) for value in values)
    return Request(compiled.entry, dict(compiled.manifest), compiled.cubin, tuple(grid), plain, memory, bases, flush)


def _views(value: Value) -> tuple[ArrayView, ...]:
    if isinstance(value, Array):
        return (value.view,)
    return value.views if isinstance(value, ArrayTable) else ()


def relocate(value: Value, places: dict[int, int]) -> Value:
    """A value with its arrays at the addresses in ``places``; element types are dropped, because launches do not need them."""
    move = lambda view: view._replace(address=places.get(view.address, view.address), dtype=None)
    if isinstance(value, Array):
        return replace(value, view=move(value.view))
    return replace(value, views=tuple(map(move, value.views))) if isinstance(value, ArrayTable) else value
