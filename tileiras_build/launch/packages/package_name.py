"""What a package may be called: the name is a Python package, a header, a C++ namespace, and the prefix of all names of C.

Each row of ``_TAKEN`` is somebody who has names already. What the C library has is asked of the one that is there.
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

# Functions and types of every package, behind its name.
_OWN = ("open", "open_file", "open_embedded", "load_all", "close", "error_string", "library", "grid")
# What a package imports.
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


# Who has a name -> whether it is that one's.
_TAKEN: dict[str, Callable[[str], bool]] = {
    "a word of Python": keyword.iskeyword,
    "a word of C or C++": KEYWORDS.__contains__,
    "reserved for compilers": lambda name: is_reserved(name) or name == "_",
    "a module of Python's standard library": sys.stdlib_module_names.__contains__,
    "a package that kernels are launched by": _IMPORTED.__contains__,
    "a header of C or CUDA": _HEADERS.__contains__,
    "a macro": _MACROS.__contains__,
    "where every program begins": "main".__eq__,
    "a namespace of C++ itself": _pattern(r"std\d*|posix"),
    "how C calls types": _pattern(r"\w+_t|U?INT\w*_(MIN|MAX|C)"),
    "how the CUDA driver and runtime name things": _pattern(r"cu(da)?[A-Z]\w*|CU[a-z_]\w*|CUDA(_\w*)?"),
    "a device of Windows": _pattern(r"(?i:aux|con|nul|prn|com\d|lpt\d)"),
    "a function of the C library": lambda name: any(map(_is_of_c, (name, *(f"{name}_{own}" for own in _OWN)))),
}


def check_package_name(name: str) -> None:
    """Raise InvalidInput[package-name] unless C, C++ and Python can all use a package called ``name``."""
    message = f"{name!a} cannot be the name of a package"
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        remedy = "use letters, digits and underscores: C and Python import it"
        raise InvalidInput("package-name", message, remedy=remedy)
    owner = next((owner for owner, has in _TAKEN.items() if has(name)), None)
    if owner is not None:
        other = f"{name.strip('_') or 'my'}_kernels"
        raise InvalidInput("package-name", f"{message}: it is {owner}", remedy=f"choose another, such as {other}")


def _is_of_c(name: str) -> bool:
    return any(hasattr(library, name) for library in _libraries())


@cache
def _libraries() -> list[ctypes.CDLL]:
    """The C library, where it is one that can be asked."""
    found = []
    for name in _LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return found
