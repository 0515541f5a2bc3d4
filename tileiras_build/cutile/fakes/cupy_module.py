"""A fake ``cupy``: NumPy under its name, whose arrays also have CuPy's attributes.

Functions that NumPy lacks (RawKernel, …) raise ``MissingInCupy``.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import Unsupported
from . import array_info, mark_uninitialized
from .cupy_cuda import Device, Memory, MemoryPointer, cuda_modules
from .cupy_random import random_module

_SUBMODULES = ("linalg", "fft", "testing", "polynomial")


class ndarray(np.ndarray):
    """An array on the device."""

    def get(self, stream: object = None, order: Any = "C", out: np.ndarray | None = None) -> np.ndarray:
        """A copy in host memory."""
        made = np.array(self, order=order, subok=False)
        if out is None:
            return made
        out[...] = made
        return out

    def set(self, values: np.ndarray, stream: object = None) -> None:
        """Copy the values of an array in host memory."""
        self[...] = values

    @property
    def device(self) -> Device:  # type: ignore[override]
        """The single device."""
        return Device()

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        """The pointer to its first element."""
        found = array_info.describe(self)
        return MemoryPointer(Memory(found.size, found.base, self), found.address - found.base)


def _on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray) and not isinstance(value, ndarray):
        return value.view(ndarray)
    if type(value) in (tuple, list):
        return type(value)(_on_device(part) for part in value)
    return value


def _wrapped(function: Any) -> Any:
    """A NumPy function that returns device arrays; classes and constants are unchanged."""
    if isinstance(function, type | np.ufunc) or not callable(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _on_device(function(*args, **kwargs))

    return call


def _marked(function: Any) -> Any:
    """A NumPy function that returns an uninitialized array."""
    call = _wrapped(function)

    @functools.wraps(function)
    def allocate(*args: Any, **kwargs: Any) -> Any:
        made = call(*args, **kwargs)
        start, end = np.lib.array_utils.byte_bounds(made)
        mark_uninitialized.allocated(start, end - start)
        return made

    return allocate


class _Module(types.ModuleType):
    """A module with the contents of a NumPy module, wrapped by ``form``, and of ``own``."""

    def __init__(self, name: str, source: types.ModuleType, own: dict[str, Any], form: Callable[[Any], Any] = _wrapped):
        super().__init__(name, "tileiras_build's fake CuPy: NumPy arrays as device arrays")
        self._source, self._form = source, form
        self.__path__: list[str] = []
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not hasattr(self._source, name):
            message = f"{self.__name__}.{name} is not supported on the CPU device, which has the functions of NumPy"
            raise MissingInCupy("cupy-unsupported", message)
        found = self._form(getattr(self._source, name))
        setattr(self, name, found)
        return found


class MissingInCupy(Unsupported, AttributeError):
    """A function of CuPy that the fake lacks."""


def modules() -> dict[str, types.ModuleType]:
    """The modules by name."""
    made: dict[str, types.ModuleType] = cuda_modules(_Module)
    made["cupy.random"] = random_module(_Module, _on_device)
    for name in _SUBMODULES:
        made[f"cupy.{name}"] = _Module(f"cupy.{name}", getattr(np, name), {})
    cuda: Any = made["cupy.cuda"]
    does = lambda value: lambda *args, **kwargs: value
    own: dict[str, Any] = {name.partition(".")[2]: module for name, module in made.items() if name.count(".") == 1}
    own |= {"ndarray": ndarray, "asnumpy": lambda array, *_, **__: np.array(array, subok=False), "__version__": "13.0"}
    own |= {"empty": _marked(np.empty), "empty_like": _marked(np.empty_like), "is_available": does(True)}
    own |= {
        "get_default_memory_pool": does(cuda.default_pool),
        "get_default_pinned_memory_pool": does(cuda.default_pinned_pool),
    }
    made["cupy"] = whole = _Module("cupy", np, own)
    whole.get_array_module = does(whole)  # type: ignore[attr-defined]
    return made
