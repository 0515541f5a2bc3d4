"""A fake driver that records the calls of a library and launches nothing. NumPy arrays act as GPU arrays."""

from __future__ import annotations

import ctypes
import inspect
import struct
from typing import NamedTuple

import numpy as np
from cuda.bindings import driver as real

from tileiras_build.launch.runtime.launch_config_buffer import LaunchConfigBuffer
from tileiras_build.launch.runtime.pack_arguments import ArrayView


class Launched(NamedTuple):
    """A launch configuration, as ``CUlaunchConfig`` has it."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    stream: int


def launched(block) -> Launched:
    """The configuration of a launch buffer."""
    *sizes, shared, stream, _, attributes = struct.unpack("<7I4xQQI4x", ctypes.string_at(block.address, 56))
    assert attributes == 0
    return Launched(tuple(sizes[:3]), tuple(sizes[3:]), shared, stream)


class FakeDriver:
    """GPU 0 with compute capability ``number``; ``calls`` are (method, arguments)."""

    def __init__(self, number: int, home: int | None = 0):
        self.number, self.home = number, home
        self.calls: list[tuple] = []
        self.images: list[bytes] = []
        self.loaded: dict = {}

    home_of = None

    def device(self):
        return 0, self.number

    def current_device(self):
        return 0

    def sm_count(self, device: int) -> int:
        return 3

    def load(self, image: bytes):
        self.images.append(image)
        self.calls.append(("load", len(self.images) - 1))
        return len(self.images) - 1

    def unload(self, library):
        self.calls.append(("unload", library))

    def kernel(self, library, entry: str):
        return library, entry

    def allow_shared_memory(self, kernel, device: int, size: int):
        self.calls.append(("allow_shared_memory", kernel[1], device, size))

    def prepare(self, kernel):
        self.calls.append(("prepare", kernel[1]))

    def encode(self, tensor_map) -> bytes:
        self.calls.append(("encode", tensor_map))
        return bytes([len(self.calls)]) * 128

    def view(self, array: np.ndarray, stream: int) -> ArrayView:
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return ArrayView(array.ctypes.data, array.shape, strides, self.home, array.dtype, not array.flags.writeable)

    def launch(self, kernel, block):
        self.loaded[kernel.kernel] = kernel
        self.calls.append(("launch", kernel.kernel[1], launched(block), kernel.layout.read(block)[1]))

    def launch_function(self, address, kernel, pointers, extra):
        self.launch(self.loaded[kernel], LaunchConfigBuffer(None, 0, address, pointers, 0))
        return 0

    def of(self, method: str) -> list[tuple]:
        """What was recorded for one method."""
        return [call[1:] for call in self.calls if call[0] == method]


class CheckedBindings:
    """``cuda.bindings.driver`` whose functions bind their arguments as the real ones do, answer, and do nothing more.

    Types and enumerations are the real module's. ``answers`` maps a function to what it returns after its status.
    """

    def __init__(self, answers: dict[str, object] | None = None, failing: str | None = None):
        self.answers, self.failing = answers or {}, failing
        self.calls: list[tuple[str, dict]] = []

    def __getattr__(self, name: str):
        value = getattr(real, name)
        if not name.startswith("cu") or not callable(value) or isinstance(value, type):
            return value
        signature = inspect.signature(value)

        def call(*arguments):
            self.calls.append((name, signature.bind(*arguments).arguments))
            if name == self.failing:
                return (real.CUresult.CUDA_ERROR_INVALID_VALUE,)
            answer = (self.answers[name],) if name in self.answers else ()
            return (real.CUresult.CUDA_SUCCESS, *answer)

        return call

    def named(self, name: str) -> list[dict]:
        """The arguments, by the real parameters' names, of every call of one function."""
        return [arguments for called, arguments in self.calls if called == name]


class Encoding(NamedTuple):
    """One call of ``cuTensorMapEncodeTiled``; ``modes`` are data type, interleave, swizzle, promotion and fill."""

    place: int
    rank: int
    address: int
    shape: list[int]
    strides: list[int]
    box: list[int]
    steps: list[int]
    modes: list[int]


class RecordingEncoder:
    """``cuTensorMapEncodeTiled`` at ``address``: writes 0xAB everywhere, answers ``status`` and remembers its calls."""

    _TYPE = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64,
        *[ctypes.POINTER(ctypes.c_uint64)] * 2, *[ctypes.POINTER(ctypes.c_uint32)] * 2, *[ctypes.c_int] * 4,
    )  # fmt: skip

    def __init__(self, status: int = 0):
        self.status, self.calls = status, []
        self._function = self._TYPE(self._encode)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value

    def _encode(self, place, element, rank, address, shape, strides, box, steps, *modes) -> int:
        ctypes.memset(place, 0xAB, 128)
        lists = [shape[:rank], strides[: rank - 1], box[:rank], steps[:rank]]
        self.calls.append(Encoding(place, rank, address, *lists, [element, *modes]))
        return self.status
