"""The process of ``out_of_process_launch.py``; arguments: FILE of the connection, ORDINAL of the GPU, TARGET of the compiler."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from ..compiled_kernel_cache import CompiledKernel
from ..flatten_arguments import Value
from .gpu import GpuDevice
from .out_of_process_launch import HANDLE_BYTES, READY, Request, relocate
from .stream_driver import StreamDriver

_LAZILY = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS


def serve(link: Connection, device: GpuDevice) -> None:
    """Serve launches until the connection closes."""
    known: dict[bytes, CompiledKernel] = {}
    link.send((True, READY))
    while True:
        try:
            request = link.recv()
        except EOFError:
            return
        fresh = CompiledKernel(request.entry, request.manifest, "", request.cubin)
        compiled = known.setdefault(request.cubin, fresh)  # loaded once
        try:
            link.send((True, _measured(device, compiled, request)))
        except Exception as error:
            link.send((False, f"{type(error).__name__}: {error}"))


def _measured(device: GpuDevice, compiled: CompiledKernel, request: Request) -> float:
    with _opened(device.driver, request) as values:
        launch = lambda: device.launch(compiled, request.grid, values, 0, False)
        return device.measure(launch, 0, request.flush, None, True)


@contextmanager
def _opened(driver: StreamDriver, request: Request) -> Iterator[list[Value]]:
    """The values with the addresses of their memory in this process."""
    from cuda.bindings.driver import CUipcMemHandle

    opened: dict[int, int] = {}
    try:
        for base, data in request.memory.items():
            handle = CUipcMemHandle()
            ctypes.memmove(handle.getPtr(), data, HANDLE_BYTES)
            opened[base] = int(driver.call("cuIpcOpenMemHandle", handle, _LAZILY))
        places = {address: opened[base] + address - base for address, base in request.bases.items()}
        yield [relocate(value, places) for value in request.values]
    finally:
        for address in opened.values():
            driver.call("cuIpcCloseMemHandle", address)


def main() -> None:
    """Run the process: file descriptor of the connection, ordinal of the GPU, target."""
    file, ordinal, target = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    driver = StreamDriver()
    driver.call("cuInit", 0)
    driver.call("cuCtxSetCurrent", driver.call("cuDevicePrimaryCtxRetain", driver.call("cuDeviceGet", ordinal)))
    serve(Connection(file), GpuDevice(target))


if __name__ == "__main__":
    main()
