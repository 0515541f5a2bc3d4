"""Loads the kernels: the C files of this folder, compiled by the host's C compiler once for this CPU, and kept (``persistent_cache.py``).

Without a compiler, or before a process has done as much work as a compilation, NumPy does all, with the same bits.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from ....core.persistent_cache import cache_key, user_cache

LOAD_COST = 1 << 23  # multiplications by NumPy in the time in which kept code is found and loaded
COMPILE_COST = 1 << 31  # the same for a compilation
RESULT_COST = 1 << 6  # the same for one result of an elementwise operation
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
_FOLDER = Path(__file__).parent

_library: ctypes.CDLL | None = None
_work = 0  # multiplications of this process so far
_next_attempt: float = LOAD_COST  # the work from which to look for code


def is_ready(multiplications: int = 0) -> bool:
    """Whether the kernels are loaded, for a process that will do so many multiplications more."""
    global _work
    if _library is None:
        _work += multiplications
        if _work > _next_attempt:
            _attempt()
    return _library is not None


def _attempt() -> None:
    """Load kept code if there is any; compile it after more work."""
    global _library, _next_attempt
    image = kept_code()
    if image is None and _work > COMPILE_COST:
        image = compile_code()
    _next_attempt = COMPILE_COST if _work <= COMPILE_COST else math.inf
    _library = None if image is None else load(image)


def kept_code() -> bytes | None:
    """The kernels as an earlier process has compiled them."""
    store, key = user_cache(), _key()
    return None if store is None or key is None else store.find(key)


def compile_code() -> bytes | None:
    """The compiled kernels, which are kept; None if there is no compiler."""
    store, key = user_cache(), _key()
    if key is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "kernels.so")
        command = [compiler(), *FLAGS, *map(str, sorted(_FOLDER.glob("*.c"))), "-o", str(out)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        image = out.read_bytes()
    if store is not None:
        store.keep(key, image)
    return image


def load(image: bytes) -> ctypes.CDLL | None:
    """A shared library from memory; None where the system forbids it."""
    try:
        descriptor = os.memfd_create("kernels")
        with open(descriptor, "wb") as file:
            file.write(image)
            file.flush()
            found = ctypes.CDLL(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    found.set_python(*map(ctypes.c_int64, (_DATA, id(np.ndarray), id(np.float32), id(np.dtype(np.float32)))))
    return found


def compiler() -> str:
    """The C compiler's path; empty if there is none."""
    return shutil.which("cc") or ""


@lru_cache
def _key() -> str | None:
    """The key of the compiled kernels: of the sources, the compiler and the CPU; None if there is no compiler."""
    path = compiler()
    if not path:
        return None
    found = os.stat(path)
    sources = [file.read_bytes() for file in sorted(_FOLDER.glob("*.[ch]"))]
    return cache_key("kernels", *sources, *FLAGS, found.st_mtime_ns, found.st_size, found.st_ino, *_cpu())


def _cpu() -> list[str]:
    """What tells CPUs apart for which a compiler makes different code."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    names = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part")
    return [platform.machine(), *(line for line in lines if line.partition("\t")[0] in names)]


@lru_cache
def kernel(name: str, parameters: int) -> Callable[..., int]:
    """A kernel of so many parameters, each an address or an integer; the kernels must be ready."""
    assert _library is not None
    function = _library[name]
    function.argtypes, function.restype = [ctypes.c_int64] * parameters, ctypes.c_int64
    return function


def record(*fields: int) -> np.ndarray:
    """A record that a kernel takes as one parameter, of integers and addresses."""
    return np.array(fields, np.int64)


def address(array: np.ndarray) -> int:
    """The address of an array, read from its C structure: several times faster than Python's interface."""
    return _pointer(id(array) + _DATA).value


_pointer = ctypes.c_size_t.from_address
_DATA = object.__basicsize__  # after the head of every object (NumPy C API, PyArrayObject: PyObject_HEAD; char *data)


# -- many arrays at once -----------------------------------------------------------------------------
def addresses(arrays: tuple[object, ...], kinds: np.ndarray, shape: tuple[int, int], out: np.ndarray) -> int:
    """Write the addresses of arrays to ``out`` (int64); 0 for arrays that are not contiguous, or not of ``shape`` and dtype.

    ``kinds`` are the ids of the dtypes (int64). Returns the number of zeros. ``out`` may be longer than ``arrays``. The caller
    must keep the arrays alive while the addresses are in use.
    """
    return kernel("find_arrays", 6)(id(arrays) + _ITEMS, address(kinds), address(out), len(arrays), *shape)


def identities(kinds: Iterable[np.dtype | None]) -> np.ndarray:
    """The ids of dtypes for ``addresses``; NumPy has one object per dtype. None matches no array."""
    return np.array(list(map(id, kinds)), np.int64)


_ITEMS = tuple.__basicsize__  # offset of the references in a tuple
