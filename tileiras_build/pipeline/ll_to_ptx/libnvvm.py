"""libNVVM, NVIDIA's compiler from NVVM IR to PTX, from the nvidia-nvvm wheel (libNVVM API, release 13.5)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache

from ...core.errors import InternalError, InvalidInput

_SUCCESS = 0
_INTRINSIC = re.compile(r"^\s*(llvm\.\w[\w.]*)\s*,?\s*$", re.MULTILINE)  # the name in a call
_REMEDY = "pip install nvidia-nvvm, or use serializer=nvptx"


@cache
def _library() -> ctypes.CDLL:
    from cuda import pathfinder

    try:
        path = pathfinder.load_nvidia_dynamic_lib("nvvm").abs_path
        library = ctypes.CDLL(path)
    except (pathfinder.DynamicLibNotFoundError, OSError) as error:
        raise InvalidInput("libnvvm-missing", "libNVVM is not installed", remedy=_REMEDY) from error
    library.nvvmGetErrorString.restype = ctypes.c_char_p
    return library


def is_installed() -> bool:
    """Whether libNVVM is installed."""
    try:
        return bool(_library())
    except InvalidInput:
        return False


def version() -> str:
    """The API's version, "2.0"; raises InvalidInput[libnvvm-missing]."""
    return ".".join(map(str, _version_parts("nvvmVersion", 2)))


def ir_version() -> tuple[int, int, int, int]:
    """The supported (major, minor, debug major, debug minor) of NVVM IR; raises InvalidInput[libnvvm-missing]."""
    major, minor, debug_major, debug_minor = _version_parts("nvvmIRVersion", 4)
    return major, minor, debug_major, debug_minor


@cache
def llvm_version(arch: str) -> int:
    """The major LLVM version of libNVVM's input for "compute_90": 7 (typed pointers) before Blackwell.

    Raises InvalidInput[libnvvm-missing].
    """
    major = ctypes.c_int()
    status = _library().nvvmLLVMVersion(arch.encode(), ctypes.byref(major))
    return major.value if status == _SUCCESS else 0


def _version_parts(function: str, count: int) -> tuple[int, ...]:
    cells = [ctypes.c_int() for _ in range(count)]
    getattr(_library(), function)(*map(ctypes.byref, cells))
    return tuple(cell.value for cell in cells)


def compile_ir(text: str, options: Sequence[str]) -> str:
    """Compile NVVM IR text to PTX; raises InternalError[libnvvm] with the library's message."""
    library, program = _library(), ctypes.c_void_p()
    _check(library.nvvmCreateProgram(ctypes.byref(program)), None)
    try:
        data, words = text.encode(), [option.encode() for option in options]
        array = (ctypes.c_char_p * len(words))(*words)
        _check(library.nvvmAddModuleToProgram(program, data, ctypes.c_size_t(len(data)), b".ll"), program)
        _check(library.nvvmVerifyProgram(program, len(words), array), program)
        _check(library.nvvmCompileProgram(program, len(words), array), program)
        return _complete(_string("nvvmGetCompiledResult", program))
    finally:
        library.nvvmDestroyProgram(ctypes.byref(program))


def _complete(ptx: str) -> str:
    """Check that PTX defines its callees: libNVVM compiles an unknown intrinsic to a call of a function of that name."""
    if (missing := _INTRINSIC.search(ptx)) is not None:
        raise InternalError("libnvvm", f"libNVVM does not support {missing[1]}", remedy="use serializer=nvptx")
    return ptx


def _check(status: int, program: ctypes.c_void_p | None) -> None:
    if status == _SUCCESS:
        return
    log = _string("nvvmGetProgramLog", program) if program is not None else ""
    reason = " ".join(log.split()) or _library().nvvmGetErrorString(status).decode()
    raise InternalError("libnvvm", f"libNVVM rejects the module: {reason}", remedy="use serializer=nvptx")


def _string(function: str, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    getattr(_library(), f"{function}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    getattr(_library(), function)(program, buffer)
    return buffer.value.decode(errors="replace")
