"""Valid package names: the name is a Python package, a header, a C++ namespace, and the prefix of all C identifiers.

Each row of ``_RESERVED`` is a set of names with another use. C library functions are looked up in the library.
"""

from __future__ import annotations

import ctypes
import keyword
import re
import sys
from collections.abc import Callable
from functools import cache

from ...core.errors import InvalidInput
from ...core.symbols.c_identifiers import KEYWORDS, is_reserved

# Suffixes of the functions and types of every package.
_OWN = ("open", "open_file", "open_embedded", "load_all", "close", "error_string", "library", "grid")
# Modules that a package imports.
_IMPORTED = frozenset(("cuda", "msgspec", "numpy", "tileiras_build", "tileiras_build_runtime"))
# ISO C (C23, section 7.1.2), what their headers and the driver's include, and headers of the CUDA toolkit.
_HEADERS = frozenset(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit stdbool "
    "stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype alloca endian features malloc "
    "memory pthread sched strings unistd crtdbg crtdefs intrin sal vadefs vcruntime windows cuda cudart cuComplex cuda_bf16 cuda_fp16 "
    "cuda_fp4 cuda_fp6 cuda_fp8 cuda_runtime cuda_runtime_api driver_types vector_types".split()
)
_MACROS = frozenset(
    "linux unix i386 mips sparc sun vax hppa PPC PIC NULL EOF FILE BUFSIZ FILENAME_MAX FOPEN_MAX TMP_MAX RAND_MAX EXIT_FAILURE "
    "EXIT_SUCCESS MB_CUR_MAX SEEK_CUR SEEK_END SEEK_SET offsetof va_arg va_copy va_end va_start va_list CMAKE".split()
)
_LIBRARIES = ("libc.so.6", "libm.so.6")


def _pattern(text: str) -> Callable[[str], bool]:
    return lambda name: re.fullmatch(text, name) is not None


# Use of a name -> whether the name has this use.
_RESERVED: dict[str, Callable[[str], bool]] = {
    "a Python keyword": keyword.iskeyword,
    "a keyword of C or C++": KEYWORDS.__contains__,
    "reserved for compilers": lambda name: is_reserved(name) or name == "_",
    "a module of Python's standard library": sys.stdlib_module_names.__contains__,
    "a package that launchers import": _IMPORTED.__contains__,
    "a header of C or CUDA": _HEADERS.__contains__,
    "a macro": _MACROS.__contains__,
    "the entry point of C programs": "main".__eq__,
    "a reserved namespace of C++": _pattern(r"std\d*|posix"),
    "a reserved type name of C": _pattern(r"\w+_t|U?INT\w*_(MIN|MAX|C)"),
    "a name pattern of the CUDA driver and runtime": _pattern(r"cu(da)?[A-Z]\w*|CU[a-z_]\w*|CUDA(_\w*)?"),
    "a Windows device name": _pattern(r"(?i:aux|con|nul|prn|com\d|lpt\d)"),
    "a function of the C library": lambda name: any(map(_is_of_c, (name, *(f"{name}_{own}" for own in _OWN)))),
}


def check_package_name(name: str) -> None:
    """Raise InvalidInput[package-name] unless ``name`` is valid in C, C++ and Python."""
    message = f"invalid package name {name!a}"
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        remedy = "use letters, digits and underscores: it is an identifier of C and Python"
        raise InvalidInput("package-name", message, remedy=remedy)
    owner = next((owner for owner, has in _RESERVED.items() if has(name)), None)
    if owner is not None:
        other = f"{name.strip('_') or 'my'}_kernels"
        raise InvalidInput("package-name", f"{message} ({owner})", remedy=f"use e.g. {other}")


def _is_of_c(name: str) -> bool:
    return any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> list[ctypes.CDLL]:
    """The C library, if it can be loaded."""
    found = []
    for name in _LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return found
