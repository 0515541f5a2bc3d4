"""Triton without a GPU: its driver describes the fake device, and benchmarks call their function once.

Scripts that launch cuTile kernels use Triton to query the device, and to benchmark. Triton kernels are refused.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...core.errors import InvalidInput
from ...target.targets import Target
from . import streams
from .patched_attributes import PatchedAttributes

BENCHMARKS = ("do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton")
_UNTIMED = "tileiras_build: no GPU: Triton benchmarks run each function once, and report the emulator's time"

_replaced = PatchedAttributes()
_notice_shown = False
_benchmark_sizes: int | None = None


class Driver:
    """Triton's driver for the fake device."""

    def __init__(self, target: Target, module: ModuleType):
        self._number, self._module = target.number, module

    def get_active_torch_device(self) -> Any:
        """PyTorch's name of the device."""
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """The module with streams and events."""
        import torch

        return torch.cuda

    def get_current_device(self) -> int:
        """0: there is one device."""
        return 0

    def set_current_device(self, device: object) -> None:
        """Do nothing: there is one device."""

    def get_current_stream(self, device: object = None) -> int:
        """The handle of the stream."""
        return streams.current_stream().cuda_stream

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        """The compute capability of the target."""
        return divmod(self._number, 10)

    def get_current_target(self) -> Any:
        """The target in Triton's form."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._number, 32)

    def get_benchmarker(self) -> Callable[..., Any]:
        """The benchmark function of its autotuner."""
        return self._module.testing.do_bench

    def get_empty_cache_for_benchmark(self) -> None:
        """A placeholder: there is no cache."""

    def clear_cache(self, cache: object) -> None:
        """Do nothing: there is no cache."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python's own lookups
            raise AttributeError(name)
        raise _refusal(f"{name} of its driver needs a GPU")


def limit_benchmark_sizes(sizes: int | None) -> None:
    """Limit benchmarks to their first ``sizes``; None for all."""
    global _benchmark_sizes
    _benchmark_sizes = sizes


def install(target: Target, module: ModuleType) -> None:
    """Fake the device in Triton (``module``), until ``remove``."""
    remove()
    config = module.runtime.driver
    _replaced.set(config, "_active" if "_active" in vars(config) else "active", Driver(target, module))
    _replaced.set(module.runtime.jit.JITFunction, "run", _refuse)
    for name in BENCHMARKS:
        if hasattr(module.testing, name):
            _replaced.set(module.testing, name, _once(getattr(module.testing, name)))
    _replaced.set(module.testing.Mark, "_run", _of_first(module.testing.Mark._run))


def remove() -> None:
    """Restore Triton."""
    _replaced.restore()


def _refusal(what: str) -> InvalidInput:
    remedy = "launch kernels of cuTile or CUDA Tile C++"
    return InvalidInput("triton-unsupported", f"Triton kernels do not run in the emulator: {what}", remedy=remedy)


def _refuse(self: Any, *args: object, **kwargs: object) -> None:
    raise _refusal(f"{getattr(self, '__name__', 'this')} is one")


def _once(own: Callable[..., Any]) -> Callable[..., Any]:
    """A benchmark that calls its function once: milliseconds on this machine."""
    parameters = inspect.signature(own)

    @functools.wraps(own)
    def bench(*args: Any, **kwargs: Any) -> Any:
        global _notice_shown
        if not _notice_shown:
            _notice_shown = True
            print(_UNTIMED, file=sys.stderr)
        given = parameters.bind(*args, **kwargs).arguments
        for tensor in given.get("grad_to_none") or ():
            tensor.grad = None
        start = time.perf_counter()
        given["fn"]()
        taken = 1e3 * (time.perf_counter() - start)
        if (quantiles := given.get("quantiles")) is not None:
            return [taken] * len(quantiles) if len(quantiles) > 1 else taken
        return [taken] if given.get("return_mode") == "all" else taken

    return bench


def _of_first(own: Callable[..., Any]) -> Callable[..., Any]:
    """``Mark._run`` for the first values of a benchmark's x axis."""

    @functools.wraps(own)
    def run(self: Any, bench: Any, *args: Any, **kwargs: Any) -> Any:
        bench = copy.copy(bench)
        bench.x_vals = list(bench.x_vals)[:_benchmark_sizes]
        return own(self, bench, *args, **kwargs)

    return run
