"""Demangle the C++ names of kernels: ``_Z5scaleIfLi256EEvPKT_PS0_i`` is ``scale<float, 256>``.

A kernel of CUDA Tile C++ has a mangled symbol (Itanium C++ ABI, section 5.1), by which the driver finds it. Its display
name is the function with its template arguments, without the parameter types, which are redundant. The demangler is that
of libstdc++, which LLVM and the CUDA bindings load, too. A symbol that it does not know is unchanged.
"""

from __future__ import annotations

import re
import struct
from functools import cache

_FLOAT = re.compile(r"\((?P<type>float|double)\)\[(?P<bits>[0-9a-f]{8}(?:[0-9a-f]{8})?)\]")  # an argument: its bits
_FORMATS = {8: (">f", "f"), 16: (">d", "")}  # digits of the bits -> format of struct, suffix


def symbol_of(entry: str) -> str:
    """The driver's name of a kernel of a library, which may prefix it with a folder."""
    return entry.rpartition("/")[2]


@cache
def demangle(symbol: str) -> str:
    """The display name of the kernel with this symbol; the symbol itself if it is not mangled.

    A folder prefix of a library is preserved.
    """
    folder, slash, own = symbol.rpartition("/")
    if slash:
        return f"{folder}/{demangle(own)}"
    declaration = _declaration(symbol) if symbol.startswith("_Z") else None
    return symbol if declaration is None else _FLOAT.sub(_float, _without_parameters(declaration)).replace("> >", ">>")


@cache
def _library():
    import ctypes

    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    return library


def _declaration(symbol: str) -> str | None:
    """The C++ declaration with this symbol; None if there is none."""
    import ctypes

    try:
        text = _library().__cxa_demangle(symbol.encode(), None, None, None)
    except OSError:  # no libstdc++
        return None
    if not text:
        return None
    try:
        return ctypes.string_at(text).decode()
    finally:
        _library().free(ctypes.c_void_p(text))


def _without_parameters(declaration: str) -> str:
    """``void k<int ()>(float*)`` without the result, which kernels do not have, and the last pair of parentheses."""
    depth, at = 0, len(declaration)
    while declaration.endswith(")"):
        at -= 1
        depth += {")": 1, "(": -1}.get(declaration[at], 0)
        if depth == 0:
            break
    return declaration[:at].removeprefix("void ")


def _float(found: re.Match) -> str:
    form, suffix = _FORMATS[len(found["bits"])]
    (value,) = struct.unpack(form, bytes.fromhex(found["bits"]))
    text = f"{value:.9g}" if suffix else repr(value)
    return f"{text}{'' if set(text) & set('.en') else '.0'}{suffix}"
