"""A process under the strict driver: it gets a GPU of its own once it imports PyTorch or cuda-python.

The GPU is a driver's folder and an emulator behind it in a process of its own (``serve.py``), for the driver's memory has one
place in a process. PyTorch is the one for the CPU: its tensors lie in the driver's memory (``torch_memory.c``), and its streams,
events and graphs are the driver's (``torch_on_driver.py``).
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from types import ModuleType

from tileiras_build.cutile.fakes.post_import_hooks import on_import

VARIABLE, LIBRARY = "STRICT_TORCH", "torch_memory.so"
_SHARED = "/dev/shm"  # memory that no disk has to keep up with
_FOLDER = "STRICT_DRIVER_FOLDER"


@dataclass(frozen=True)
class Gpu:
    """What the environment says: the GPU, where its memory starts and how long it is, the folder in which clients keep what they
    compile, and the seconds that a launch may take."""

    sm: str
    base: int
    size: int
    kept: str
    time_limit: float | None = None

    @classmethod
    def of_environment(cls) -> Gpu:
        """The one that this process is to have."""
        return cls(**json.loads(os.environ[VARIABLE]))

    def text(self) -> str:
        """As it stands in the environment."""
        return json.dumps(asdict(self))


def begin_later() -> None:
    """Give this process its GPU once it imports what needs one."""
    if VARIABLE in os.environ:
        on_import("cuda.bindings.driver", lambda _: open_gpu())
        on_import("torch", put_torch_there)


_folder: str | None = None


def open_gpu() -> str:
    """The folder of this process's GPU, made once."""
    global _folder
    if _folder is None:
        parent = _SHARED if os.path.isdir(_SHARED) else None
        _folder = os.environ[_FOLDER] = tempfile.mkdtemp(prefix="strict-torch-", dir=parent)
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", VARIABLE)}
        command = [sys.executable, "-m", "tests.strict_torch.serve", _folder, Gpu.of_environment().text()]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert server.stdin is not None and server.stdout is not None
        if server.stdout.readline() != b"ready\n":
            raise RuntimeError("no emulator can be started for the strict driver")
        atexit.register(_close, server)
    return _folder


def _close(server: subprocess.Popen) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()


def put_torch_there(module: ModuleType) -> None:
    """Let PyTorch allocate on the GPU from now on, and believe in it."""
    open_gpu()
    gpu = Gpu.of_environment()
    begin = ctypes.CDLL(LIBRARY).strict_torch_begin
    if status := begin(ctypes.c_uint64(gpu.base), ctypes.c_uint64(gpu.size)):
        raise RuntimeError(f"PyTorch's memory cannot be put on the strict driver: {status}")
    from tests.strict_torch.torch_on_driver import install

    install(module, gpu.sm)
