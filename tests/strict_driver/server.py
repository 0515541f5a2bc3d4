"""The other half of ``strict_driver.c``: builds it, holds the GPU's memory, and runs launches in the emulator.

with StrictDriver(folder, "sm_90") as gpu:
    gpu.add(artifacts.cubin, artifacts.ptx)      # what a launch of this cubin executes
    gpu.run([program, ...])                      # any program that finds libcuda.so.1 by dlopen or by the linker
    assert gpu.refusals() == []
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import mmap
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compiled_once import once
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tileiras_build.core.errors import TileirasError
from tileiras_build.pipeline import ptx_to_cubin
from tileiras_build.pipeline.job import Job
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.errors import ASSERTION
from tileiras_build.simulate.emulator.matmul.matmul import BLAS_ORDER
from tileiras_build.simulate.emulator.tensor_map import TensorMap
from tileiras_build.target.targets import find_target

HERE, ROOT = Path(__file__).parent, Path(__file__).resolve().parents[2]
MEMORY_BASE, MEMORY_SIZE = 0x200000000000, 1 << 32  # the file is sparse
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
_FIXED = 0x100000  # MAP_FIXED_NOREPLACE
_SIZES, _SIZE, _RANGE = struct.Struct("<2Q"), struct.Struct("<Q"), struct.Struct("<2Q")
# cuTensorMapEncodeTiled's arguments as strict_driver.c keeps them: magic, rank, the five modes, address, lengths less
# one, boxes, steps, strides.
_MAP, _MAGIC = struct.Struct("<8IQ5I5H5H4Q"), 0x504D5453
_ELEMENTS = ("u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32", "tf32", "tf32")
_SWIZZLES = ("none", "32B", "64B", "128B", "128B_ATOM_32B")


def build(folder: Path) -> Path:
    """Write the compiled driver and its NVML into ``folder``, under the names that programs look for; skips where there is
    no compiler."""
    for name, code in once(("strict driver",), _compiled).items():
        (folder / name).write_bytes(code)
    (folder / "libcuda.so").symlink_to("libcuda.so.1")
    return folder / "libcuda.so.1"


def _compiled() -> dict[str, bytes]:
    flags = [*FLAGS, "-Wl,-soname,libcuda.so.1", "-isystem", cuda_include()]
    with TemporaryDirectory() as folder:
        library, nvml = Path(folder, "libcuda.so.1"), Path(folder, "libnvidia-ml.so.1")
        run([compiler("cc"), *flags, "-o", library, HERE / "strict_driver.c", "-ldl", "-lpthread"])
        run([compiler("cc"), *FLAGS, "-o", nvml, HERE / "nvml.c"])
        return {path.name: path.read_bytes() for path in (library, nvml)}


class StrictDriver:
    """A GPU of the emulator, with ``size`` bytes of memory, behind the driver in ``folder``; one at a time in a process: its
    memory has one place."""

    rounding = BLAS_ORDER
    time_limit: float | None = None

    def __init__(self, folder: Path, sm: str, size: int = MEMORY_SIZE):
        self.folder, self.target, self.size = folder, find_target(sm), size
        self.images: dict[bytes, str] = {}
        self.launches: list[str] = []
        self.grids: list[tuple[int, ...]] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._verbs = {"compile": self._compile, "launch": self._launch, "open": _open_peer, "close": _close_peer}

    def __enter__(self) -> StrictDriver:
        for name in ("memory", "socket", "refusals"):
            (self.folder / name).unlink(missing_ok=True)
        with open(self.folder / "memory", "wb+") as file:
            file.truncate(self.size)
            _map_at(file.fileno(), MEMORY_BASE, self.size)
        self._socket.bind(str(self.folder / "socket"))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        _libc().munmap(ctypes.c_void_p(MEMORY_BASE), ctypes.c_size_t(self.size))
        (self.folder / "memory").unlink()

    def add(self, cubin: bytes, ptx: str) -> None:
        """What a launch of ``cubin`` executes."""
        self.images[hashlib.sha256(cubin).digest()] = ptx

    def add_folder(self, folder: Path) -> None:
        """Every cubin of a folder that its PTX lies beside."""
        for ptx in folder.glob("*.ptx"):
            self.add(ptx.with_suffix(".cubin").read_bytes(), ptx.read_text())

    def environment(self, python_path: Sequence[str] = ()) -> dict[str, str]:
        """Of a program that shall find this driver; Python imports from ``python_path`` first."""
        paths = [*filter(None, python_path), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = {"STRICT_DRIVER_FOLDER": str(self.folder), "STRICT_DRIVER_SM": str(self.target.number)}
        return os.environ | own | {"LD_LIBRARY_PATH": str(self.folder), "PYTHONPATH": os.pathsep.join(paths)}

    def run(self, command: list, timeout: float = 500, python_path: Sequence[str] = ()) -> subprocess.CompletedProcess:
        """A program's end, whatever its status; ``python_path`` as in ``environment``."""
        words, environment = list(map(str, command)), self.environment(python_path)
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout, check=False)

    def refusals(self) -> list[str]:
        """What the driver has refused since it was entered: ``function: why``."""
        file = self.folder / "refusals"
        return file.read_text().splitlines() if file.exists() else []

    # ---- requests ----------------------------------------------------------------------------------------------
    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            with link, link.makefile("rwb") as stream:
                self._answer(stream)

    def _answer(self, stream) -> None:
        head_size, body_size = _SIZES.unpack(stream.read(_SIZES.size))
        verb, *words = stream.read(head_size).decode().split()
        body = stream.read(body_size)
        try:
            answer = self._verbs[verb](words, body)
        except (TileirasError, emulator.EmulatorError, KeyError, OSError, ValueError) as error:
            answer = _error_text(error).encode()
        stream.write(_SIZE.pack(len(answer)) + answer)

    def _compile(self, words: list[str], text: bytes) -> bytes:
        """What the driver's compiler makes of PTX."""
        ptx = text.rstrip(b"\0").decode()
        cubin, _ = ptx_to_cubin.lower(ptx, Job(self.target))
        self.add(cubin, ptx)
        return cubin

    def _launch(self, words: list[str], body: bytes) -> bytes:
        entry, *fields = words
        *shape, dynamic, size, count, ranges = map(int, fields)
        ptx = self.images.get(hashlib.sha256(body[:size]).digest())
        if ptx is None:
            return b"no PTX was added for this cubin"
        params, at = [], size
        for _ in range(count):
            end = at + 4 + int.from_bytes(body[at : at + 4], "little")
            params.append(_for_emulator(body[at + 4 : end]))
            at = end
        memory = emulator.Memory()
        for index in range(ranges):
            memory.map(*_RANGE.unpack_from(body, at + index * _RANGE.size))
        self.launches.append(entry)
        self.grids.append(tuple(shape[:3]))
        with redirect_stdout(io.StringIO()) as printed:
            emulator.run_ptx(
                ptx, entry, shape[:3], shape[3:], params, memory=memory, dynamic_shared=dynamic, matmul_rounding=self.rounding,
                time_limit=self.time_limit,
            )  # fmt: skip
        return b"done" + printed.getvalue().encode()


def _error_text(error: Exception) -> str:
    """The answer for a launch that failed."""
    if isinstance(error, emulator.EmulatorFault) and error.kind == ASSERTION:
        return f"assert{error.message}"
    return f"{type(error).__name__}: {error}"


def _for_emulator(param: bytes) -> bytes:
    """A parameter's bytes; a tensor map in the emulator's own form."""
    if len(param) != 128 or int.from_bytes(param[:4], "little") != _MAGIC:
        return param
    _, rank, element, interleave, swizzle, _, fill, _, address, *lists = _MAP.unpack_from(param)
    shape, box, steps, strides = lists[:rank], lists[5 : 5 + rank], lists[10 : 10 + rank], lists[15 : 14 + rank]
    made = TensorMap(
        _ELEMENTS[element], address, tuple(length + 1 for length in shape), tuple(strides), tuple(box), tuple(steps),
        _SWIZZLES[swizzle], ("zero", "nan")[fill], interleave,
    )  # fmt: skip
    return made.encode()


def _libc():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    return libc


def _open_peer(words: list[str], body: bytes) -> bytes:
    """Map memory of another process where the driver has mapped it: FILE OFFSET ADDRESS SIZE."""
    path, *fields = words
    offset, address, size = map(int, fields)
    with open(path, "rb+") as file:
        _map_at(file.fileno(), address, size, offset)
    return b"done"


def _close_peer(words: list[str], body: bytes) -> bytes:
    address, size = map(int, words[-2:])
    _libc().munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return b"done"


def _map_at(file: int, address: int, size: int, offset: int = 0) -> None:
    flags = mmap.MAP_SHARED | _FIXED
    at = _libc().mmap(
        ctypes.c_void_p(address),
        ctypes.c_size_t(size),
        mmap.PROT_READ | mmap.PROT_WRITE,
        flags,
        file,
        ctypes.c_long(offset),
    )
    if at != address:
        raise OSError(ctypes.get_errno(), f"no memory can be mapped at {address:#x}")
