"""Compiles textual LLVM IR for this CPU, and computes the addresses of array arguments."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from . import code_cache, elf_linker, executable_memory

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine, ModuleRef, TargetMachine

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64
_engines: list[ExecutionEngine] = []  # the engines whose code is in use


def compile_function(
    text: str, name: str, pointers: int, integers: int, result: type | None = None
) -> Callable[..., int]:
    """Compile function ``name`` of an IR module, with ``pointers`` pointer and then ``integers`` i64 parameters."""
    place = _address_of_cached(text, name) or _compile_and_cache(text, name) or _address_from_engine(text, name)
    return _function_at(place, pointers, integers, result)


def cached_function(
    text: str, name: str, pointers: int, integers: int, result: type | None = None
) -> Callable[..., int] | None:
    """The function from the cache, if any. Does not import LLVM."""
    place = _address_of_cached(text, name)
    return None if place is None else _function_at(place, pointers, integers, result)


def _function_at(place: int, pointers: int, integers: int, result: type | None) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(result, *[POINTER] * pointers, *[NUMBER] * integers)(place)


def _address_of_cached(text: str, name: str) -> int | None:
    image = code_cache.load_code(text, name)
    return None if image is None else _map_image(image)


def _compile_and_cache(text: str, name: str) -> int | None:
    """Compile, cache and map a function; returns its address, or None if only LLVM can load the code."""
    if not executable_memory.IS_SUPPORTED:
        return None
    image = elf_linker.link_function(_target_machine(reloc="pic", codemodel="small").emit_object(_module(text)), name)
    if image is None:
        return None
    code_cache.store_code(text, name, image)
    return _map_image(image)


def _map_image(image: elf_linker.LinkedCode) -> int | None:
    place = executable_memory.map_code(image.code)
    return None if place is None else place + image.entry


def _address_from_engine(text: str, name: str) -> int:
    from llvmlite import binding as llvm

    engine = llvm.create_mcjit_compiler(_module(text), _target_machine())
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address(name)


def _module(text: str) -> ModuleRef:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def _target_machine(**options: str) -> TargetMachine:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    target = llvm.Target.from_default_triple()
    host = code_cache.host()
    return target.create_target_machine(host.name, host.features, opt=2, **options)


def is_imported() -> bool:
    """Whether the process has imported LLVM, which takes as long as several compilations."""
    return "llvmlite.binding" in sys.modules


@lru_cache
def has_cpu_feature(feature: str) -> bool:
    """Whether this CPU has a feature, by LLVM's name."""
    return f"+{feature}" in code_cache.host().features.split(",")


@lru_cache
def cpu_name() -> str:
    """LLVM's name of this CPU."""
    return code_cache.host().name


def address(array: np.ndarray) -> int:
    """The address of an array, read from its C structure: several times faster than Python's interface."""
    return _pointer(id(array) + _DATA).value


_pointer = ctypes.c_size_t.from_address
_DATA = object.__basicsize__  # after the head of every object (NumPy C API, PyArrayObject: PyObject_HEAD; char *data)


# -- many arrays at once -----------------------------------------------------------------------------
def addresses(arrays: tuple[object, ...], kinds: np.ndarray, shape: tuple[int, int], out: np.ndarray) -> int:
    """Write the addresses of arrays to ``out`` (int64); 0 for arrays that are not contiguous, or not of ``shape`` and dtype.

    ``kinds`` are the ids of the dtypes (int64). Returns the number of zeros. ``out`` may be longer than ``arrays``. The caller
    must keep the arrays alive while the addresses are in use.
    """
    return _compiled_addresses()(id(arrays) + _ITEMS, address(kinds), address(out), _ARRAY, len(arrays), *shape)


def identities(kinds: Iterable[np.dtype | None]) -> np.ndarray:
    """The ids of dtypes for ``addresses``; NumPy has one object per dtype. None matches no array."""
    return np.array(list(map(id, kinds)), np.int64)


_ARRAY = id(np.ndarray)
_ITEMS = tuple.__basicsize__  # offset of the references in a tuple
# The fields of NumPy's C structure (NumPy C API, PyArrayObject): after the object's type come data, nd, dimensions, strides, base,
# descr, flags.
_ADDRESSES = """
define i64 @look(ptr %ids, ptr %kinds, ptr %out, ptr %type, i64 %count, i64 %rows, i64 %columns) {{
entry:
  br label %one
one:
  %n = phi i64 [0, %entry], [%n.next, %next]
  %none = phi i64 [0, %entry], [%none.next, %next]
  %n.next = add i64 %n, 1
  %id.ptr = getelementptr i64, ptr %ids, i64 %n
  %id = load i64, ptr %id.ptr
  %object = inttoptr i64 %id to ptr
  %type.ptr = getelementptr i8, ptr %object, i64 {type}
  %type.its = load ptr, ptr %type.ptr
  %is.array = icmp eq ptr %type.its, %type
  br i1 %is.array, label %array, label %next
array:
  %nd.ptr = getelementptr i8, ptr %object, i64 {nd}
  %nd = load i32, ptr %nd.ptr
  %is.matrix = icmp eq i32 %nd, 2
  br i1 %is.matrix, label %matrix, label %next
matrix:
  %dimensions.ptr = getelementptr i8, ptr %object, i64 {dimensions}
  %dimensions = load ptr, ptr %dimensions.ptr
  %rows.its = load i64, ptr %dimensions
  %columns.ptr = getelementptr i64, ptr %dimensions, i64 1
  %columns.its = load i64, ptr %columns.ptr
  %same.rows = icmp eq i64 %rows.its, %rows
  %same.columns = icmp eq i64 %columns.its, %columns
  %kind.ptr = getelementptr i64, ptr %kinds, i64 %n
  %kind = load i64, ptr %kind.ptr
  %kind.its.ptr = getelementptr i8, ptr %object, i64 {descr}
  %kind.its = load i64, ptr %kind.its.ptr
  %same.kind = icmp eq i64 %kind.its, %kind
  %flags.ptr = getelementptr i8, ptr %object, i64 {flags}
  %flags = load i32, ptr %flags.ptr
  %whole = trunc i32 %flags to i1
  %same.shape = and i1 %same.rows, %same.columns
  %same = and i1 %same.shape, %same.kind
  %good = and i1 %same, %whole
  %data.ptr = getelementptr i8, ptr %object, i64 {data}
  %data = load i64, ptr %data.ptr
  br label %next
next:
  %is.good = phi i1 [false, %one], [false, %array], [%good, %matrix]
  %place = phi i64 [0, %one], [0, %array], [%data, %matrix]
  %found = select i1 %is.good, i64 %place, i64 0
  %out.ptr = getelementptr i64, ptr %out, i64 %n
  store i64 %found, ptr %out.ptr
  %is.none = icmp eq i64 %found, 0
  %more = zext i1 %is.none to i64
  %none.next = add i64 %none, %more
  %is.last = icmp eq i64 %n.next, %count
  br i1 %is.last, label %done, label %one
done:
  ret i64 %none.next
}}
"""


@lru_cache
def _compiled_addresses() -> Callable[..., int]:
    word = ctypes.sizeof(ctypes.c_void_p)
    names = ("data", "nd", "dimensions", "strides", "base", "descr", "flags")
    places = {name: _DATA + word * number for number, name in enumerate(names)}
    return compile_function(_ADDRESSES.format(type=_DATA - word, **places), "look", 4, 3, NUMBER)
