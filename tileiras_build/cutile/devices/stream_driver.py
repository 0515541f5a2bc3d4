"""The CUDA driver, with the functions that cuTile launches also need: events, stream-ordered memory, captures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...launch.runtime.cuda_python_driver import CudaDriver


class StreamDriver(CudaDriver):
    """Every call raises InvalidInput[driver] where the driver refuses it."""

    def call(self, name: str, *arguments: object) -> Any:
        """The result of a driver function, by cuda-python."""
        return self._call(name, *arguments)

    def attribute(self, name: str, device: int) -> int:
        """A ``CUdevice_attribute`` of a GPU."""
        return int(self._call("cuDeviceGetAttribute", getattr(self._cuda.CUdevice_attribute, name), device))

    def is_capturing(self, stream: int) -> bool:
        """Whether launches on a stream are captured in a graph."""
        status = self._call("cuStreamIsCapturing", self._cuda.CUstream(stream))
        return status != self._cuda.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE

    def is_done(self, event: object) -> bool:
        """Whether all work before an event is done."""
        (status,) = self._cuda.cuEventQuery(event)
        if status == self._cuda.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self._check("cuEventQuery", status)
        return True

    @contextmanager
    def relaxed_capture(self) -> Iterator[None]:
        """Allow this thread to make calls during a capture that must not be part of the graph."""
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        before = self._call("cuThreadExchangeStreamCaptureMode", mode)
        try:
            yield
        finally:
            self._call("cuThreadExchangeStreamCaptureMode", before)
