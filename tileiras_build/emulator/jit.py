"""Machine code that LLVM makes for this CPU from its textual IR, and the addresses of arrays that it is called with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64
_kept: list[ExecutionEngine] = []  # the engines whose code is in use


def compiled(text: str, name: str, pointers: int, numbers: int, result: type | None = None) -> Callable[..., int]:
    """The function ``name`` of a module of IR, which takes so many pointers and then so many i64."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _kept.append(engine)
    return ctypes.CFUNCTYPE(result, *[POINTER] * pointers, *[NUMBER] * numbers)(engine.get_function_address(name))


@lru_cache
def has(feature: str) -> bool:
    """Whether this CPU has a feature, by LLVM's name of it."""
    from llvmlite import binding as llvm

    return bool(llvm.get_host_cpu_features().get(feature))


def address(array: np.ndarray) -> int:
    """Where an array begins, from the field of its C structure: what Python gives costs several times as much."""
    return _pointer(id(array) + _DATA).value


_pointer = ctypes.c_size_t.from_address
_DATA = object.__basicsize__  # after the head of every object (NumPy C API, PyArrayObject: PyObject_HEAD; char *data)
