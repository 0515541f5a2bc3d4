"""A GPU, through the CUDA driver."""

from __future__ import annotations

import ctypes
import math
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...core.errors import InvalidInput
from ...launch.runtime.array_unpackers import is_torch
from ...launch.runtime.cuda_python_driver import stream_handle
from ...launch.runtime.kernel_library import check_grid
from ...launch.runtime.pack_arguments import ArrayView
from ...target.targets import find_target
from ..fakes.post_import_hooks import cancel, on_import
from ..flatten_arguments import ArrayTable, Number, Value, parameter_values
from .cutile_kernel import CutileKernel
from .launch_stub import cutile_stub
from .out_of_process_launch import LaunchProcess, make_request
from .refuse_jax_on_gpu import MODULE as JAX
from .refuse_jax_on_gpu import install as refuse_graphs
from .refuse_jax_on_gpu import remove as allow_graphs
from .stream_driver import StreamDriver

if TYPE_CHECKING:
    from ...launch.runtime.generate_launch_stub import LaunchStub
    from ...manifest.variant_assumptions import Choice
    from ..compiled_kernel_cache import CompiledKernel

_WITHOUT = (
    "to run kernels without a GPU, use enable('sm_90', device='cpu'), or --device cpu --sm sm_90 of tileiras-build run"
)
_NO_LIST = "List argument in CUDAGraph isn't supported yet"  # cuTile's message
_LARGEST_F32 = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


class ListInCapture(InvalidInput, RuntimeError):
    """A list cannot be captured; a RuntimeError, as in cuTile, because programs catch it."""


class GpuDevice:
    """The current context's GPU. ``target`` is the compilation target if it is not the GPU's own."""

    stop_at = "cubin"
    has_native_launcher = has_own_memory = True

    def __init__(self, target: str | None):
        try:
            self.driver = StreamDriver()
            self.device, number = self.driver.device()
        except InvalidInput as error:
            raise _without_gpu(error) from None
        row = find_target(target or f"sm_{number}")
        self.target, self.number = row.name, row.number
        self._lock = threading.Lock()
        self._here = threading.local()
        self._loaded: dict[CompiledKernel, CutileKernel] = {}
        self._elsewhere: LaunchProcess | None = None
        self._elsewhere_busy = threading.Lock()
        self._flushed: tuple[int, int] | None = None  # address and size of the memory that flushes the L2 cache

    def is_capturing(self, stream: object) -> bool:
        """Whether launches on ``stream`` are captured in a graph."""
        self._make_ready()
        return self.driver.is_capturing(stream_handle(stream))

    def open(self) -> None:
        """Refuse kernels in graphs of JAX."""
        on_import(JAX, refuse_graphs)

    def close(self) -> None:
        """Allow them again, and end the process for timed launches."""
        if self._elsewhere is not None:
            self._elsewhere.end()
        cancel(JAX)
        allow_graphs()

    def as_device_arguments(self, names: Sequence[str], arguments: tuple[object, ...]) -> tuple[object, ...]:
        """The arguments themselves."""
        self._make_ready()
        return arguments

    def view(self, array: Any, stream: object) -> ArrayView:
        """Views of torch tensors by their methods, of other arrays through DLPack or the CUDA array interface."""
        if not is_torch(array):
            return self.driver.view(array, stream_handle(stream))
        home = array.get_device()
        return ArrayView(array.data_ptr(), tuple(array.shape), array.stride(), None if home < 0 else home)

    def launch(
        self, compiled: CompiledKernel, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Enqueue a kernel."""
        self._make_ready()
        loaded, handle = self.loaded(compiled), stream_handle(stream)
        blocks = check_grid(compiled.entry, grid, compiled.launch)
        tables: list[int] = []
        try:
            packed = list(parameter_values(values, lambda table: self._place(table, handle, tables)))
            kinds = [param.kind for param in compiled.launch.caller_parameters]
            packed = [_exact(kind, value) for kind, value in zip(kinds, packed, strict=True)]
            loaded.enqueue(blocks, packed, handle, programmatic)
        finally:
            for address in tables:
                self.driver.call("cuMemFreeAsync", address, handle)

    def make_launch_stub(
        self,
        compiled: CompiledKernel,
        signature: Any,
        arguments: tuple[object, ...],
        choice: Choice,
        others: Sequence[Choice],
    ) -> LaunchStub | None:
        """A generated function (``launch_stub.py``)."""
        return cutile_stub(self.loaded(compiled), signature, arguments, self.view, stream_handle, choice, others)

    def synchronize(self, stream: object = None) -> None:
        """Wait for the stream, or for the whole context."""
        self._make_ready()
        if stream is None:
            self.driver.call("cuCtxSynchronize")
        else:
            self.driver.call("cuStreamSynchronize", stream_handle(stream))

    def measure(
        self, launch: Callable[[], None], stream: object, flush: bool, limit: float | None, first: bool
    ) -> float:
        """Microseconds of one launch on the GPU, between two events; ``flush`` flushes the L2 cache before it.

        Raises TimeoutError if it takes longer than ``limit`` seconds; the kernel continues, as nothing stops it.
        """
        self._make_ready()
        handle = stream_handle(stream)
        with self._events() as (start, end):
            if flush:
                address, size = self._flush_memory()
                self.driver.call("cuMemsetD8Async", address, 0x5A, size, handle)
            self.driver.call("cuEventRecord", start, handle)
            launch()
            self.driver.call("cuEventRecord", end, handle)
            self._wait(end, limit)
            return 1e3 * float(self.driver.call("cuEventElapsedTime", start, end))

    def measure_out_of_process(
        self,
        compiled: CompiledKernel,
        grid: Sequence[int],
        values: Sequence[Value],
        stream: object,
        flush: bool,
        limit: float,
    ) -> float | None:
        """The same in another process, which is killed if the launch takes longer; None if another process cannot open the memory
        of the arguments.
        """
        blocks = check_grid(compiled.entry, grid, compiled.launch)
        request = make_request(self.driver, compiled, blocks, values, flush)
        if request is None:
            return None
        self.synchronize(stream)  # the other process does not wait for this stream
        with self._lock:
            self._elsewhere = self._elsewhere or LaunchProcess(self.device, self.target)
        with self._elsewhere_busy:
            return self._elsewhere.measure(request, limit)

    @contextmanager
    def _events(self) -> Iterator[tuple[object, object]]:
        made = [self.driver.call("cuEventCreate", 0) for _ in range(2)]
        try:
            yield made[0], made[1]
        finally:
            for event in made:
                self.driver.call("cuEventDestroy", event)

    def _wait(self, event: object, limit: float | None) -> None:
        if limit is not None:
            until = time.monotonic() + limit
            while not self.driver.is_done(event):
                if time.monotonic() > until:
                    raise TimeoutError(f"CUDA kernel launch exceeded timeout {limit} sec")
                time.sleep(1e-4)
        self.driver.call("cuEventSynchronize", event)

    def _flush_memory(self) -> tuple[int, int]:
        """Memory of the size of the L2 cache; allocated once."""
        with self._lock:
            if self._flushed is None:
                size = max(self.driver.attribute("CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", self.device), 1024)
                self._flushed = int(self.driver.call("cuMemAlloc", size)), size
            return self._flushed

    # ---- kernels and tables in the driver
    def loaded(self, compiled: CompiledKernel) -> CutileKernel:
        """The kernel in the driver, loaded once."""
        if (found := self._loaded.get(compiled)) is not None:
            return found
        with self._lock:
            if compiled not in self._loaded:
                self._loaded[compiled] = self._load(compiled)
            return self._loaded[compiled]

    def mapping(self, compiled: CompiledKernel) -> CutileKernel:
        """Encodes the tensor maps of a kernel that another launcher loads."""
        return CutileKernel(compiled, 0, self.target, self.driver)

    def _load(self, compiled: CompiledKernel) -> CutileKernel:
        """Load a kernel, also during a capture of this thread, which must not contain the load."""
        assert compiled.cubin is not None
        self._make_ready()
        with self.driver.relaxed_capture():
            kernel = self.driver.kernel(self.driver.load(compiled.cubin), compiled.entry)
            loaded = CutileKernel(compiled, int(kernel), self.target, self.driver)
            loaded.allow_shared_memory(int(kernel))
            self.driver.call("cuKernelGetFunction", kernel)  # without this call the first launch loads it
        return loaded

    def _place(self, table: ArrayTable, handle: int, placed: list[int]) -> int:
        """Copy the table of a list to memory that this launch allocates and frees in stream order."""
        if self.driver.is_capturing(handle):
            message = f"{_NO_LIST}: {table.name} is one"
            raise ListInCapture("cutile-capture", message, remedy="pass the arrays as a tuple, or one by one")
        rows = table.table_rows()
        data = struct.pack(f"<{len(rows)}q", *[_signed(number) for number in rows])
        address = int(self.driver.call("cuMemAllocAsync", len(data), handle))
        placed.append(address)
        held = ctypes.create_string_buffer(data, len(data))
        # The driver has copied pageable memory when the call returns.
        self.driver.call("cuMemcpyHtoDAsync", address, ctypes.addressof(held), len(data), handle)
        return address

    def _make_ready(self) -> None:
        """Make the context current in this thread."""
        if not hasattr(self._here, "ready"):
            self.driver.device()
            self._here.ready = True


def _exact(kind: str, number: Number) -> Number:
    """The value for ``struct``: a float beyond the f32 range becomes infinite, as in cuTile."""
    if kind == "f32" and abs(value := float(number)) > _LARGEST_F32:
        return math.copysign(math.inf, value) if not math.isnan(value) else value
    return number


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _without_gpu(error: InvalidInput) -> InvalidInput:
    return InvalidInput(error.id, error.message, remedy=f"{error.remedy}; {_WITHOUT}" if error.remedy else _WITHOUT)
