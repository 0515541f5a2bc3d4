"""``torch.cuda`` without CUDA: one device, the emulator."""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from ...core.errors import InvalidInput
from ...target.targets import Target
from . import libcuda, streams, torch_mode_per_thread
from .dlpack_capsules import claim_cuda
from .patched_attributes import PatchedAttributes
from .torch_autograd import functions as autograd_functions
from .torch_cuda_tensors_on_cpu import CUDA, defaults, is_cuda, on_host, outside
from .torch_modules import in_place, loaded


class Graph:
    """``with torch.cuda.graph(g):`` captures launches in ``g``."""

    def __init__(self, graph: streams.Graph, *_: object, stream: streams.Stream | None = None, **__: object):
        self._graph, self._stream = graph, stream or streams.Stream()

    def __enter__(self) -> None:
        self._graph.capture_begin()
        self._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)
        self._graph.capture_end()


class _Device:
    """``with torch.cuda.device(0):`` has no effect, as there is one device."""

    def __init__(self, device: object = None):
        is_cuda(device)

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


class _StreamContext:
    """``with torch.cuda.stream(s):`` launches use ``s``; None changes nothing."""

    def __init__(self, stream: streams.Stream | None = None):
        self._stream = stream or streams.current_stream()

    def __enter__(self) -> None:
        self._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)


def _stream(stream: streams.Stream | None) -> _StreamContext:
    return _StreamContext(stream)


class _Stream(streams.Stream):
    """torch.cuda.Stream."""

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority of a GPU's streams."""
        return 0, -5


class _Event(streams.Event):
    """torch.cuda.Event."""


class _Graph(streams.Graph):
    """torch.cuda.CUDAGraph."""

    def pool(self) -> tuple[int, int]:
        """The single memory pool."""
        return 0, 0


class _Generator(torch._C.Generator):
    """torch.Generator, whose device "cuda" is the CPU."""

    def __new__(cls, device: object = "cpu") -> _Generator:
        return super().__new__(cls, "cpu" if is_cuda(device) else device)


def properties(target: Target) -> types.SimpleNamespace:
    """The result of ``torch.cuda.get_device_properties``."""
    limit = target.max_shared_memory
    return types.SimpleNamespace(
        name=libcuda.NAME, major=target.number // 10, minor=target.number % 10, total_memory=libcuda.MEMORY,
        multi_processor_count=libcuda.SM_COUNT, warp_size=32, L2_cache_size=50 << 20, regs_per_multiprocessor=65536,
        shared_memory_per_block=48 << 10, shared_memory_per_block_optin=limit, shared_memory_per_multiprocessor=limit + 1024,
        max_threads_per_multi_processor=target.sm_limits.threads, is_integrated=False, is_multi_gpu_board=False,
    )  # fmt: skip


def functions(target: Target) -> dict[str, Any]:
    """The replacements of functions and classes of ``torch.cuda``, by name."""
    capability = target.number // 10, target.number % 10
    does = lambda value: lambda *args, **kwargs: value
    # A separate function for each name: torch._dynamo keys rules by function, and its import fails for contradicting ones.
    each = lambda names, value: {name: does(value) for name in names}
    nothing = ("synchronize", "empty_cache", "init", "set_device", "ipc_collect", "_sleep", "_lazy_init", "set_stream",
               "set_per_process_memory_fraction", "set_sync_debug_mode", "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats")  # fmt: skip
    zero = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "current_device",
            "get_sync_debug_mode")  # fmt: skip
    # torch.manual_seed calls these two for every device after it has seeded the CPU's generator.
    seeds = {
        name: lambda seed: torch.default_generator.manual_seed(seed) and None
        for name in ("manual_seed", "manual_seed_all")
    }
    return {
        **each(nothing, None),
        **each(zero, 0),
        **each(("is_available", "is_initialized", "is_bf16_supported"), True),
        **seeds, "seed": lambda: torch.seed(), "seed_all": lambda: torch.seed(), "initial_seed": torch.initial_seed,
        "device_count": does(1),
        "get_rng_state": lambda *_: torch.get_rng_state(), "set_rng_state": lambda state, *_: torch.set_rng_state(state),
        "get_rng_state_all": lambda: [torch.get_rng_state()], "set_rng_state_all": lambda states: torch.set_rng_state(*states),
        "memory_summary": does("no GPU memory is used: kernels run in the emulator"), "memory_snapshot": does([]),
        "get_per_process_memory_fraction": does(1.0), "get_allocator_backend": does("native"),
        "can_device_access_peer": does(False), "graph_pool_handle": does((0, 0)),
        # A replay is a call here, and PyTorch operations in a capture run once.
        "make_graphed_callables": lambda callables, *_, **__: callables,
        "get_device_capability": does(capability), "get_device_name": does(libcuda.NAME),
        "get_device_properties": does(properties(target)), "memory_stats": does(_NoStatistics()),
        "mem_get_info": does((libcuda.MEMORY, libcuda.MEMORY)), "get_arch_list": does([target.name]),
        "current_stream": lambda *_: streams.current_stream(), "default_stream": does(streams.DEFAULT),
        "stream": _stream, "StreamContext": _StreamContext, "Stream": _Stream, "Event": _Event, "ExternalStream": _Stream,
        "CUDAGraph": _Graph, "graph": Graph, "device": _Device, "device_of": _Device,
        "is_current_stream_capturing": lambda: streams.capturing() is not None,
        "cudart": does(types.SimpleNamespace(cudaProfilerStart=does(0), cudaProfilerStop=does(0))),
    }  # fmt: skip


def accelerator() -> dict[str, Any]:
    """The replacements of functions of ``torch.accelerator``, by name."""
    does = lambda value: lambda *args, **kwargs: value
    nothing = ("synchronize", "empty_cache", "set_device_index", "set_device_idx", "set_stream")
    zero = ("current_device_index", "current_device_idx", "memory_allocated", "max_memory_allocated",
            "memory_reserved", "max_memory_reserved")  # fmt: skip
    return {
        **{name: does(None) for name in nothing},
        **{name: does(0) for name in zero},
        "is_available": does(True), "device_count": does(1), "current_accelerator": does(torch.device("cuda")),
        "current_stream": lambda *_: streams.current_stream(), "device_index": _Device,
    }  # fmt: skip


class _NoMarks:
    """A fake ``torch.cuda.nvtx``: no profiler would show its marks and ranges."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_, **__: 0


class _NoStatistics(dict):
    """Memory statistics, all zero."""

    def __missing__(self, key: object) -> int:
        return 0


_replaced = PatchedAttributes()
_is_installed = False


def install(module: ModuleType, target: Target, others: Mapping[str, Any] | None = None) -> None:
    """Fake a CUDA device in PyTorch (``module``) until ``remove``; ``others`` take precedence over ``functions``."""
    global _is_installed
    remove()
    ours = functions(target) | dict(others or {})
    for name, value in ours.items():
        _replaced.set(torch.cuda, name, value)
    for name, value in accelerator().items():
        if hasattr(getattr(torch, "accelerator", None), name):  # newer releases have more of them
            _replaced.set(torch.accelerator, name, value)
    _replaced.set(torch.cuda.nvtx, "_nvtx", _NoMarks())
    _replaced.set(torch, "set_default_device", _set_default(torch.set_default_device))
    _replaced.set(torch, "get_default_device", _get_default(torch.get_default_device))
    _replaced.set(torch, "compile", _compile)
    _replaced.set(torch.nn.Module, "compile", lambda self, *_, **__: None)
    _replaced.set(torch, "Stream", ours["Stream"])
    _replaced.set(torch, "Generator", _Generator)
    _replaced.set(torch._C, "_to_dlpack", _as_cuda(torch._C._to_dlpack))
    _replaced.set(torch.nn.Module, "cuda", lambda self, device=None: self.to("cuda"))
    _replaced.set(torch.nn.Module, "_apply", in_place(torch.nn.Module._apply))
    _replaced.set(torch, "load", loaded(torch.load))
    _replaced.set(torch.Tensor, "record_stream", lambda self, stream: None)
    for owner, name, make in autograd_functions():
        _replaced.set(owner, name, make(getattr(owner, name)))
    _replaced.set(torch.profiler.profile, "__init__", _of_the_host(torch.profiler.profile.__init__))
    _replaced.set(torch.autograd, "_engine_run_backward", outside(torch.autograd._engine_run_backward))
    _is_installed = True
    torch_mode_per_thread.enter()
    _replaced.set(threading.Thread, "run", torch_mode_per_thread.in_mode(threading.Thread.run))


def remove() -> None:
    """Restore PyTorch. Existing tensors keep their fake device."""
    global _is_installed
    if not _is_installed:
        return
    _is_installed = False
    torch_mode_per_thread.leave()
    _replaced.restore()


def _compile(model: Callable[..., Any] | None = None, **options: object) -> Callable[..., Any]:
    """torch.compile: returns the function, as Inductor would generate code for a GPU."""
    return model if model is not None else _compile


def _as_cuda(own: Callable[[torch.Tensor], object]) -> Callable[[torch.Tensor], object]:
    """The PyTorch function through which cuTile's C extension reads tensors."""

    def to_dlpack(tensor: torch.Tensor) -> object:
        made = own(on_host(tensor.detach()))
        return claim_cuda(made) if _is_installed else made

    return to_dlpack


def _set_default(own: Callable[[object], None]) -> Callable[[object], None]:
    def set_default_device(device: object) -> None:
        defaults.cuda = is_cuda(device)
        own(None if defaults.cuda else device)

    return set_default_device


def _get_default(own: Callable[[], torch.device]) -> Callable[[], torch.device]:
    return lambda: CUDA if defaults.cuda else own()


def _of_the_host(own: Callable[..., None]) -> Callable[..., None]:
    """Allow profiles of CPU activities only: one of kernels would be empty, and scripts divide by its times."""

    @functools.wraps(own)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        wanted = kwargs.get("activities", args[0] if args else None)
        if wanted is not None and set(wanted) == {torch.profiler.ProfilerActivity.CUDA}:
            message = "torch.profiler has no GPU timings on the CPU device"
            raise InvalidInput("torch-profiler", message, remedy="use --profile")
        own(self, *args, **kwargs)

    return init
