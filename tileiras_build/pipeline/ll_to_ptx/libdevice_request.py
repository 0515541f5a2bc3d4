"""The libdevice request of an ``.ll``, from its text: a build needs it before LLVM parses the module.

A request is text: the module's triple, and the sorted names of the functions that it calls, one per line. Modules with
equal requests link the same subset of the library.
"""

from __future__ import annotations

import mmap
import re

from ...core.symbols.check_symbol_names import LIBDEVICE_PREFIX
from ...target.isa.serializer_options import TRIPLE

# Device runtime functions that the driver defines at load time.
PROVIDED = frozenset(("vprintf", "__assertfail", "malloc", "free"))
SHOWN = 3  # functions in a label
_NOTE = b"!tileiras.libdevice = "
_INLINE = b' = !{!"base64:'
_TRIPLE = re.compile(rb'^target triple = "([^"]*)"', re.MULTILINE)
_DECLARED = re.compile(rb'^[ \t]*declare\b[^@]*@"?([\w.$]+)"?[ \t]*\(', re.MULTILINE)


def needs_libdevice(data: bytes | mmap.mmap) -> bool:
    """Whether LLVM IR text, as bytes or a memory map of its file, needs a libdevice that it does not embed."""
    named = data.find(b"\n" + _NOTE) >= 0 or data[: len(_NOTE)] == _NOTE
    return named and data.find(_INLINE) < 0


def request_of(data: bytes | mmap.mmap) -> bytes:
    """The request of LLVM IR text; empty if it needs no libdevice, or embeds it."""
    if not needs_libdevice(data):
        return b""
    declared = {match[1].decode() for match in _DECLARED.finditer(data)}
    names = sorted(name for name in declared - PROVIDED if not name.startswith("llvm."))
    named = _TRIPLE.search(data)
    return "\n".join((named[1].decode() if named else TRIPLE, *names, "")).encode()


def label_of(request: bytes) -> str:
    """A short description of a request: some functions, and the number of the others."""
    _, *names = request.decode().split()
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name.removeprefix(LIBDEVICE_PREFIX) for name in names[:SHOWN]) + more
