"""The CUDA driver through ctypes, for machines with only a GPU, Python and NumPy.

Enumerators are those of ``cuda.h`` and of the CUDA Driver API reference.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

GUARD, GUARD_BYTE = 4096, 0xA5  # bytes before and behind each array, which no kernel may touch
_ALIGNMENT = 64  # of tensor maps
_DYNAMIC_SHARED, _MAJOR, _MINOR, _SM_COUNT = 8, 75, 76, 16  # attributes of functions and devices
_ELEMENTS = {"u8": 0, "i8": 0, "u16": 1, "i16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8,
             "bf16": 9, "tf32": 11}  # fmt: skip
_SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3, "128B_ATOM_32B": 4}
_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
_INTERLEAVES, _FILLS = {"none": 0, "16B": 1, "32B": 2}, {"zero": 0, "nan": 1}


class DriverError(Exception):
    """A call that the driver refuses, or what a kernel has done."""


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint),
    ]  # fmt: skip


class Gpu:
    """GPU 0 in its primary context. Raises DriverError where a call fails."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        context = self._made("cuDevicePrimaryCtxRetain", 0, kind=ctypes.c_void_p)
        self("cuCtxSetCurrent", ctypes.c_void_p(context))
        self.number = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        self.sm_count = self._attribute(_SM_COUNT)

    def __call__(self, name: str, *arguments) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            said = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(said))
            raise DriverError(f"{name}: {(said.value or b'').decode()} ({status})")

    @property
    def name(self) -> str:
        """What the driver calls it."""
        buffer = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", buffer, len(buffer), 0)
        return buffer.value.decode()

    @property
    def driver(self) -> str:
        """The newest CUDA version that the driver knows."""
        version = self._made("cuDriverGetVersion", kind=ctypes.c_int)
        return f"{version // 1000}.{version % 1000 // 10}"

    @property
    def bus(self) -> str:
        """Its PCI address, as NVML knows it."""
        buffer = ctypes.create_string_buffer(64)
        self("cuDeviceGetPCIBusId", buffer, len(buffer), 0)
        return buffer.value.decode()

    def finish(self) -> None:
        """Wait for everything; a kernel's fault comes out here."""
        self("cuCtxSynchronize")

    # ---- memory ------------------------------------------------------------------------------------------------
    def allocate(self, size: int) -> int:
        """The address of new memory, which lives as long as the process."""
        return self._made("cuMemAlloc_v2", ctypes.c_size_t(size), kind=ctypes.c_uint64)

    def write(self, address: int, data: np.ndarray) -> None:
        """Copy to the GPU."""
        data = np.ascontiguousarray(data)
        where = ctypes.c_void_p(data.ctypes.data)
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(address), where, ctypes.c_size_t(data.nbytes))

    def read(self, address: int, size: int) -> np.ndarray:
        """So many bytes."""
        data = np.empty(size, np.uint8)
        self("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data

    def copy(self, target: int, source: int, size: int) -> None:
        """Enqueue a copy on the GPU."""
        self("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(size), None)

    def put(self, data: np.ndarray, guarded: bool = True) -> int:
        """The address of a copy of ``data`` between two guards; or in an allocation of its own size."""
        size = data.nbytes
        if not guarded:
            self.write(base := self.allocate(size), data)
            return base
        base = self.allocate(size + 2 * GUARD)
        self.write(base, np.full(GUARD, GUARD_BYTE, np.uint8))
        self.write(base + GUARD, data)
        self.write(base + GUARD + size, np.full(GUARD, GUARD_BYTE, np.uint8))
        return base + GUARD

    def guards_hold(self, address: int, size: int) -> bool:
        """Whether nothing was written beside what ``put`` has placed."""
        sides = self.read(address - GUARD, GUARD), self.read(address + size, GUARD)
        return all(bool((side == GUARD_BYTE).all()) for side in sides)

    # ---- kernels -----------------------------------------------------------------------------------------------
    def kernel(self, image: bytes, entry: str, dynamic_shared: int = 0) -> ctypes.c_void_p:
        """A function of a cubin, or of PTX that ends in a zero, allowed so many bytes of dynamic shared memory."""
        held = _aligned(image)
        module = self._made("cuModuleLoadData", held[1], kind=ctypes.c_void_p)
        made = self._made("cuModuleGetFunction", ctypes.c_void_p(module), entry.encode(), kind=ctypes.c_void_p)
        if dynamic_shared:
            self("cuFuncSetAttribute", ctypes.c_void_p(made), _DYNAMIC_SHARED, dynamic_shared)
        return ctypes.c_void_p(made)

    def launcher(self, function, grid, block, dynamic_shared: int, params: Sequence[bytes]) -> Callable[[], None]:
        """A function that enqueues this launch on the default stream."""
        held = [_aligned(data) for data in params]
        pointers = (ctypes.c_void_p * max(len(held), 1))(*(address.value for _, address in held))
        config = Config((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), dynamic_shared)

        def launch(_held=held):
            self("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)

        return launch

    def encode(self, row: dict, params: Sequence[bytes]) -> bytes:
        """The tensor map that a row of the launch manifest describes."""
        _held, place = _aligned(bytes(128))
        shape = [_value(number, params) or 1 for number in row["shape"]]  # the driver knows no empty tensor
        strides = [_value(number, params) for number in row["strides"]]
        wide = [(ctypes.c_uint64 * 5)(*lengths) for lengths in (shape, strides)]
        narrow = [(ctypes.c_uint32 * 5)(*row[name]) for name in ("box", "element_strides")]
        modes = (
            _INTERLEAVES[row["interleave"]],
            _SWIZZLES[row["swizzle"]],
            _PROMOTIONS[row["l2_promotion"]],
            _FILLS[row["fill"]],
        )
        address = ctypes.c_uint64(int.from_bytes(params[row["base"]["param"]], "little"))
        self("cuTensorMapEncodeTiled", place, _ELEMENTS[row["element"]], len(shape), address, *wide, *narrow, *modes)
        return ctypes.string_at(place, 128)

    # ---- time --------------------------------------------------------------------------------------------------
    def stopwatch(self) -> Callable[[Callable[[], None]], float]:
        """A function that gives the milliseconds of what it calls, between two events."""
        start, end = (ctypes.c_void_p(self._made("cuEventCreate", 0, kind=ctypes.c_void_p)) for _ in range(2))

        def measure(run: Callable[[], None]) -> float:
            self("cuEventRecord", start, None)
            run()
            self("cuEventRecord", end, None)
            self("cuEventSynchronize", end)
            passed = ctypes.c_float()
            self("cuEventElapsedTime", ctypes.byref(passed), start, end)
            return passed.value

        return measure

    def _attribute(self, number: int) -> int:
        return self._made("cuDeviceGetAttribute", number, 0, kind=ctypes.c_int)

    def _made(self, name: str, *arguments, kind):
        value = kind()
        self(name, ctypes.byref(value), *arguments)
        return value.value


def _value(number: int | dict, params: Sequence[bytes]) -> int:
    """A number of the manifest: itself, or an integer parameter times a factor, divided."""
    if isinstance(number, int):
        return number
    value = int.from_bytes(params[number["param"]], "little", signed=True)
    return value * number.get("times", 1) // number.get("over", 1)


def _aligned(data: bytes) -> tuple[object, ctypes.c_void_p]:
    """What keeps a copy of ``data`` at a multiple of 64 bytes, and its address."""
    owner = ctypes.create_string_buffer(len(data) + _ALIGNMENT)
    address = -(-ctypes.addressof(owner) // _ALIGNMENT) * _ALIGNMENT
    ctypes.memmove(address, data, len(data))
    return owner, ctypes.c_void_p(address)
