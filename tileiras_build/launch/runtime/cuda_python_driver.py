"""The interface to the CUDA driver: ten calls, made through cuda-python (``cuda.bindings``, ``cuda.core``).

Two functions of the driver are called directly: tensor maps require 64-byte alignment, which the bindings do not guarantee,
and a launch through the bindings takes three times as long.

``Library`` needs an object with the methods of ``Driver``; tests pass one that records its calls. ``CudaDriver`` takes the
binding module as a parameter, so that its calls are tested on machines without a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, SupportsIndex, SupportsInt

from ...core.errors import InvalidInput, TileirasError
from ...target.element_types import MAP_TYPES
from .encode_tensor_maps import ALIGNMENT, SIZE, TensorMap
from .pack_arguments import ArrayView, exception_text

if TYPE_CHECKING:
    import numpy as np

    from .launch_config_buffer import LaunchConfigBuffer
    from .loaded_kernel import LoadedKernel

_ENCODE = "cuTensorMapEncodeTiled"
_LAUNCH = "cuLaunchKernelEx"
_SINCE = 12000  # the first CUDA version with both, in the driver's encoding
_LAUNCH_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_ENCODE_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int,  # CUresult
    ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64,  # descriptor, data type, rank, global address
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,  # shape, strides, box, element strides
    ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int,  # interleave, swizzle, L2 promotion, fill
)  # fmt: skip
_STREAMS = "pass a stream of cuda.core, torch or CuPy, or its handle"
_HANDLE_BITS = 64
_L2_PROMOTION = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILL = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}


class Driver(Protocol):
    """The driver calls that ``Library`` needs. Handles are opaque. A failing call raises InvalidInput[driver]."""

    def device(self) -> tuple[int, int]:
        """(ordinal, compute capability as a number such as 90) of the current context's GPU."""

    def current_device(self) -> int:
        """The ordinal of the current context's GPU; -1 without a context."""

    @property
    def home_of(self) -> Callable[[int], int | None] | None:
        """The function from an address to the ordinal of its GPU; None on a machine with one GPU."""

    def sm_count(self, device: int) -> int:
        """The number of SMs of a device."""

    def load(self, image: bytes) -> object:
        """Load a library from a cubin, PTX text or a fat binary."""

    def unload(self, library: object) -> None:
        """Unload a library."""

    def kernel(self, library: object, entry: str) -> int:
        """The handle of a kernel of a library."""

    def allow_shared_memory(self, kernel: int, device: int, size: int) -> None:
        """Allow ``size`` bytes of dynamic shared memory for ``kernel`` on a device."""

    def prepare(self, kernel: int) -> None:
        """Do the lazy work of the first launch of ``kernel``."""

    def encode(self, tensor_map: TensorMap) -> bytes:
        """The 128 bytes of a descriptor."""

    def view(self, array: object, stream: int) -> ArrayView:
        """The view of an array that will be used on ``stream``."""

    def launch(self, kernel: LoadedKernel, block: LaunchConfigBuffer) -> None:
        """Enqueue a kernel as the buffer says."""

    @property
    def launch_function(self) -> Callable[..., int] | None:
        """The same for stubs, which read arrays without ``view``: (address of the configuration, kernel, addresses of the
        parameters, None) -> 0 or an error. None: no stubs."""


class CudaDriver:
    """The real driver. ``bindings`` is ``cuda.bindings.driver``.

    Raises InvalidInput[cuda-python-missing] if cuda-python is not installed.
    """

    def __init__(self, bindings=None):
        self._cuda = bindings or _import("cuda.bindings.driver")
        self._ready = False
        self._encode_function = None
        self._memory_view = None
        self._capabilities: dict[int, int] = {}  # compute capability by device
        self._sm_counts: dict[int, int] = {}

    def device(self) -> tuple[int, int]:
        """The current context's GPU; without a context, GPU 0 and its primary context."""
        if self._capabilities and int(self._cuda.cuCtxGetCurrent()[1] or 0):
            ordinal = int(self._cuda.cuCtxGetDevice()[1])
            if (number := self._capabilities.get(ordinal)) is not None:
                return ordinal, number
        return self._first_device()

    def current_device(self) -> int:
        """``cuCtxGetDevice``."""
        status, device = self._cuda.cuCtxGetDevice()
        return -1 if status else int(device)

    @cached_property
    def home_of(self) -> Callable[[int], int | None] | None:
        """``cuPointerGetAttribute``."""
        return None if self.device_count() == 1 else self._home_of

    def _home_of(self, address: int) -> int | None:
        attribute = self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        status, device = self._cuda.cuPointerGetAttribute(attribute, address)
        return None if status else int(device)

    def device_count(self) -> int:
        """The number of GPUs."""
        return int(self._call("cuDeviceGetCount"))

    def _first_device(self) -> tuple[int, int]:
        if not self._ready:
            self._call("cuInit", 0)
            self._ready = True
        if not int(self._call("cuCtxGetCurrent")):
            first = self._call("cuDeviceGet", 0)
            self._call("cuCtxSetCurrent", self._call("cuDevicePrimaryCtxRetain", first))
        device = self._call("cuCtxGetDevice")
        ordinal = int(device)
        if ordinal not in self._capabilities:
            self._capabilities[ordinal] = self._capability(device)
        return ordinal, self._capabilities[ordinal]

    def _capability(self, device: object) -> int:
        attribute = self._cuda.CUdevice_attribute
        major = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        minor = self._call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        return 10 * major + minor

    def sm_count(self, device: int) -> int:
        """``CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT``, cached."""
        if (found := self._sm_counts.get(device)) is None:
            attribute = self._cuda.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
            found = int(self._call("cuDeviceGetAttribute", attribute, self._cuda.CUdevice(device)))
            self._sm_counts[device] = found
        return found

    def load(self, image: bytes) -> object:
        """A library; the driver copies the image."""
        return self._call("cuLibraryLoadData", image, [], [], 0, [], [], 0)

    def unload(self, library: object) -> None:
        """Unload a library."""
        self._call("cuLibraryUnload", library)

    def kernel(self, library: object, entry: str) -> int:
        """A kernel's handle by its entry point's name."""
        return int(self._call("cuLibraryGetKernel", library, entry.encode()))

    def allow_shared_memory(self, kernel: int, device: int, size: int) -> None:
        """Raise the kernel's limit if ``size`` exceeds the default one."""
        from ...target.sm_limits import COMMON_SHARED_MEMORY

        if size > COMMON_SHARED_MEMORY:
            attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuKernelSetAttribute", attribute, size, kernel, self._cuda.CUdevice(device))

    def prepare(self, kernel: int) -> None:
        """Load the kernel, which the driver otherwise does at its first launch; import the array viewer and map encoder."""
        self._call("cuKernelGetFunction", kernel)
        self._viewer()
        self._encoder()

    def encode(self, tensor_map: TensorMap) -> bytes:
        """``cuTensorMapEncodeTiled``."""
        made = aligned(bytes(SIZE))
        shape, strides, box, steps = _encode_lists(tensor_map)
        element, *modes = self._encode_modes(tensor_map)
        rank, address = len(tensor_map.shape), tensor_map.address
        status = self._encoder()(made.address, element, rank, address, shape, strides, box, steps, *modes)
        self._check(_ENCODE, status)
        return ctypes.string_at(made.address, SIZE)

    def _encode_modes(self, tensor_map: TensorMap) -> list[int]:
        """The enumerators' values: data type, interleave, swizzle, L2 promotion, fill."""
        cuda = self._cuda
        members = (
            (cuda.CUtensorMapDataType, "DATA_TYPE", MAP_TYPES[tensor_map.element].driver),
            (cuda.CUtensorMapInterleave, "INTERLEAVE", tensor_map.interleave.upper()),
            (cuda.CUtensorMapSwizzle, "SWIZZLE", tensor_map.swizzle.upper()),
            (cuda.CUtensorMapL2promotion, "L2_PROMOTION", _L2_PROMOTION[tensor_map.l2_promotion]),
            (cuda.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", _FILL[tensor_map.fill]),
        )
        return [int(getattr(kind, f"CU_TENSOR_MAP_{group}_{name}")) for kind, group, name in members]

    def _encoder(self):
        """The driver's encoding function as a ctypes function."""
        if self._encode_function is None:
            self._encode_function = _ENCODE_TYPE(self._address_of(_ENCODE, _SINCE))
        return self._encode_function

    def _address_of(self, name: str, since: int) -> int:
        """The address of a driver function as of CUDA version ``since``, in the driver's encoding (12000)."""
        address = self._call("cuGetProcAddress", name.encode(), since, 0)
        if not address:
            remedy = f"install the NVIDIA driver of CUDA {since // 1000}.{since % 1000 // 10} or a newer one"
            raise InvalidInput("driver", f"the driver lacks {name}", remedy=remedy)
        return int(address)

    def view(self, array: object, stream: int) -> ArrayView:
        """Through DLPack or the CUDA array interface; the array's producer makes ``stream`` wait for pending writes."""
        viewer = self._viewer()
        try:
            seen = viewer.from_any_interface(array, stream_ptr=stream)
            shape, strides = tuple(seen.shape), seen.strides
            strides = row_major(shape) if strides is None else tuple(strides)
            home = seen.device_id if seen.is_device_accessible else None
            return ArrayView(seen.ptr, shape, strides, home, _type_of(seen), seen.readonly)
        except TileirasError:
            raise
        except Exception as error:  # the array's producer is foreign code
            message = f"cannot read an argument as an array: {exception_text(error)}"
            raise InvalidInput("launch-argument", message, remedy="pass an array that supports DLPack") from None

    def _viewer(self):
        if self._memory_view is None:
            self._memory_view = _import("cuda.core.utils").StridedMemoryView
        return self._memory_view

    def launch(self, kernel: LoadedKernel, block: LaunchConfigBuffer) -> None:
        """``cuLaunchKernelEx``; the driver copies the parameters before it returns."""
        if status := self.launch_function(block.address, kernel.kernel, block.pointers, None):
            self._check(f"{_LAUNCH} of {kernel.entry}", status)

    @cached_property
    def launch_function(self) -> Callable[..., int]:
        """The driver's function: (configuration, kernel, addresses of the parameters, None) -> status."""
        return _LAUNCH_TYPE(self._address_of(_LAUNCH, _SINCE))

    def _call(self, name: str, *arguments):
        """The result of a driver function; raises InvalidInput[driver] with the error's CUresult name."""
        try:
            status, *results = getattr(self._cuda, name)(*arguments)
        except (ImportError, OSError, RuntimeError) as error:
            remedy = "install an NVIDIA driver, or run on a machine that has one"
            message = f"cannot load the CUDA driver (libcuda.so.1): {str(error).rstrip('.')}"
            raise InvalidInput("driver-missing", message, remedy=remedy) from None
        self._check(name, status)
        return results[0] if results else None

    def _check(self, name: str, status: int) -> None:
        """Raise InvalidInput[driver] with the error's CUresult name, unless ``status`` is success."""
        if int(status):
            names = (known.name for known in self._cuda.CUresult if int(known) == int(status))
            raise InvalidInput("driver", f"{name} failed: {next(names, int(status))}")


class HostBuffer(NamedTuple):
    """Host memory: the object that owns it, and its address."""

    owner: object
    address: int


def aligned(data: bytes) -> HostBuffer:
    """A copy of ``data`` at a multiple of 64 bytes, as tensor maps require."""
    owner = ctypes.create_string_buffer(len(data) + ALIGNMENT - 1)
    address = -(-ctypes.addressof(owner) // ALIGNMENT) * ALIGNMENT
    ctypes.memmove(address, data, len(data))
    return HostBuffer(owner, address)


def _type_of(seen: object) -> np.dtype | None:
    """The NumPy type of an array's elements; None if cuda.core does not know it."""
    try:
        return seen.dtype  # type: ignore[attr-defined]
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _encode_lists(tensor_map: TensorMap) -> tuple[ctypes.Array, ...]:
    """Shape, strides, box and element strides as the driver reads them; an empty list still has an address."""
    wide = [(ctypes.c_uint64 * max(len(row), 1))(*row) for row in (tensor_map.shape, tensor_map.strides)]
    narrow = [(ctypes.c_uint32 * max(len(row), 1))(*row) for row in (tensor_map.box, tensor_map.element_strides)]
    return (*wide, *narrow)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous array."""
    if len(shape) == 1:
        return (1,)
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return tuple(strides)


def stream_handle(stream: object) -> int:
    """The driver's handle of a stream: None (the default stream), a handle, or any library's stream object."""
    if stream is None:
        return 0
    try:
        handle = stream if type(stream) is int else _handle_of(stream)
    except Exception as error:  # a stream may be any object
        message = f"cannot get a stream handle from {type(stream).__name__}: {exception_text(error)}"
        raise InvalidInput("launch-stream", message, remedy=_STREAMS) from None
    if handle is None:
        raise InvalidInput("launch-stream", f"{type(stream).__name__} is not a stream", remedy=_STREAMS)
    if not 0 <= handle < 1 << _HANDLE_BITS:
        raise InvalidInput("launch-stream", f"invalid stream handle {handle:#x}", remedy=_STREAMS)
    return handle


def _handle_of(stream: object) -> int | None:
    """The stream handle of an object; None if it is not a stream."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    # Handles of cuda.bindings before 13 only have getPtr; True is an integer, but not a handle.
    if isinstance(stream, SupportsIndex) and not isinstance(stream, bool):
        return int(stream)
    return int(stream) if hasattr(stream, "getPtr") and isinstance(stream, SupportsInt) else None


def _import(name: str):
    try:
        return import_module(name)
    except ImportError as error:
        remedy = "pip install cuda-bindings cuda-core"
        raise InvalidInput("cuda-python-missing", f"cannot import cuda-python: {error}", remedy=remedy) from None
