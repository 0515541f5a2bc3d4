"""``torch.cuda`` over the driver: streams, events and graphs are the driver's own, made by cuda-python.

What is no more than a name for a device, and tensors that say they are on one, are those of the stand-in for the emulator. What
PyTorch computes itself is done at once, on the CPU, also where a graph is being captured.
"""

from __future__ import annotations

import itertools
import threading
from types import ModuleType
from typing import Any

from cuda.bindings import driver as cuda

from tileiras_build.cutile.fakes import streams, torch_cuda, torch_cuda_tensors_on_cpu
from tileiras_build.cutile.fakes.dlpack_capsules import CUDA
from tileiras_build.target.targets import find_target

_STREAMS = 32  # that PyTorch has; asked for more it gives the first again
_NON_BLOCKING, _DISABLE_TIMING = 1, 2


def call(name: str, *arguments: object) -> Any:
    """The result of a driver function; RuntimeError, as PyTorch raises, where it is refused. The thread has a context then."""
    if not hasattr(_here, "context"):
        _here.context = _checked("cuDevicePrimaryCtxRetain", 0)
    if not int(_checked("cuCtxGetCurrent")):
        _checked("cuCtxSetCurrent", _here.context)
    return _checked(name, *arguments)


_here = threading.local()


def _checked(name: str, *arguments: object) -> Any:
    status, *results = getattr(cuda, name)(*arguments)
    if int(status):
        raise RuntimeError(f"CUDA error: {name}: {status.name}")
    return results[0] if results else None


class Stream(streams.Stream):
    """torch.cuda.Stream."""

    def __init__(self, device: object = None, priority: int = 0, stream_ptr: int | None = None, **_: object):
        super().__init__(device, priority)
        self.number = next_handle() if stream_ptr is None else stream_ptr

    def synchronize(self) -> None:
        call("cuStreamSynchronize", self.number)

    def query(self) -> bool:
        call("cuStreamQuery", self.number)
        return True

    def wait_stream(self, stream: streams.Stream) -> None:
        self.wait_event(stream.record_event())

    def wait_event(self, event: streams.Event) -> None:
        event.wait(self)

    def record_event(self, event: streams.Event | None = None) -> streams.Event:
        event = event or Event()
        event.record(self)
        return event


_handles: list[int] = []
_turn = itertools.count()


def next_handle() -> int:
    """The handle of a stream of PyTorch's pool."""
    if len(_handles) < _STREAMS:
        _handles.append(int(call("cuStreamCreate", _NON_BLOCKING)))
        return _handles[-1]
    return _handles[next(_turn) % _STREAMS]


DEFAULT = Stream(stream_ptr=0)


def current_stream(device: object = None) -> streams.Stream:
    """The stream that a ``with`` statement has made current, else the default one."""
    found = streams.current_stream()
    return DEFAULT if found is streams.DEFAULT else found


class Event(streams.Event):
    """torch.cuda.Event: made where it is first recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: object):
        super().__init__()
        self._flags = 0 if enable_timing else _DISABLE_TIMING
        self._event: Any = None

    def record(self, stream: streams.Stream | None = None) -> None:
        if self._event is None:
            self._event = call("cuEventCreate", self._flags)
        call("cuEventRecord", self._event, (stream or current_stream()).cuda_stream)

    def synchronize(self) -> None:
        if self._event is not None:
            call("cuEventSynchronize", self._event)

    def wait(self, stream: streams.Stream | None = None) -> None:
        if self._event is not None:
            call("cuStreamWaitEvent", (stream or current_stream()).cuda_stream, self._event, 0)

    def query(self) -> bool:
        if self._event is not None:
            call("cuEventQuery", self._event)
        return True

    def elapsed_time(self, end: streams.Event) -> float:
        if self._event is None or not isinstance(end, Event) or end._event is None:
            raise RuntimeError("both events must be recorded before elapsed_time()")
        return float(call("cuEventElapsedTime", self._event, end._event))

    def __del__(self) -> None:
        if getattr(self, "_event", None) is not None:
            cuda.cuEventDestroy(self._event)


class Graph:
    """torch.cuda.CUDAGraph: launches on the current stream are the driver's to capture."""

    def __init__(self, keep_graph: bool = False):
        self._stream: int | None = None
        self._runs: Any = None

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global") -> None:
        mode = getattr(cuda.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{capture_error_mode.upper()}")
        stream = current_stream().cuda_stream
        call("cuStreamBeginCapture", stream, mode)
        self._stream = stream

    def capture_end(self) -> None:
        graph = call("cuStreamEndCapture", self._stream)
        self._stream = None
        self._runs = call("cuGraphInstantiate", graph, 0)
        call("cuGraphDestroy", graph)

    def replay(self) -> None:
        call("cuGraphLaunch", self._runs, current_stream().cuda_stream)

    def reset(self) -> None:
        if self._runs is not None:
            call("cuGraphExecDestroy", self._runs)
        self._runs = None

    def instantiate(self) -> None:
        """It can be run as it is."""

    def pool(self) -> tuple[int, int]:
        """The memory pool, of which there is one."""
        return 0, 0


class capture:
    """``with torch.cuda.graph(g):`` what is launched goes into ``g``."""

    def __init__(
        self, graph: Graph, pool: object = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ):
        self._graph, self._mode, self._stream = graph, capture_error_mode, stream or Stream()

    def __enter__(self) -> None:
        call("cuCtxSynchronize")
        self._stream.__enter__()
        self._graph.capture_begin(capture_error_mode=self._mode)

    def __exit__(self, *exception: object) -> None:
        self._graph.capture_end()
        self._stream.__exit__(*exception)


def _set_stream(stream: Stream | None) -> None:
    if stream is not None:
        streams._here.stream = stream


def _is_capturing() -> bool:
    status = call("cuStreamIsCapturing", current_stream().cuda_stream)
    return status != cuda.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE


FUNCTIONS = {
    "Stream": Stream, "ExternalStream": lambda pointer, device=None: Stream(stream_ptr=pointer), "Event": Event,
    "CUDAGraph": Graph, "graph": capture, "current_stream": current_stream, "default_stream": lambda device=None: DEFAULT,
    "synchronize": lambda device=None: call("cuCtxSynchronize"), "set_stream": _set_stream,
    "is_current_stream_capturing": _is_capturing, "init": lambda: call("cuCtxGetDevice"),
}  # fmt: skip


def install(module: ModuleType, sm: str) -> None:
    """Make PyTorch (``module``) believe in the driver's device."""
    torch_cuda.install(module, find_target(sm), FUNCTIONS)
    torch_cuda_tensors_on_cpu.SPECIAL[module.Tensor.__dlpack_device__] = _home


def _home(mode: torch_cuda_tensors_on_cpu.AsksForCuda, func: Any, args: Any, kwargs: Any) -> tuple[int, int]:
    """What a tensor says of itself by DLPack, of which the one in the emulator's memory says that it is on the CPU."""
    return (CUDA, 0) if isinstance(args[0], torch_cuda_tensors_on_cpu.DeviceTensor) else mode.run(func, args, kwargs)
