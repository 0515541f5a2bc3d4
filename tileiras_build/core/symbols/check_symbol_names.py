"""Names that become symbols of machine code: those that PTX can express and its tools do not reserve.

A kernel's name occurs in LLVM IR, PTX, the cubin's symbol table, the launch manifest, C sources and reports, and must
be the same in all of them. So the first stage, for any kind of input file, accepts only names that all of them support.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ..errors import InvalidInput, Location

# PTX ISA 9.0, section 4.4 "Identifiers", except those that begin with %: they are registers, and ptxas crashes on a
# function that is named like a special register.
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+", re.ASCII)
LIBDEVICE_PREFIX = "__nv_"
LIBDEVICE_NAME = "libdevice.10.bc"
# Attribute of a gpu.module: the bitcode library that it links (libdevice/resolve_linked_library.py).
LINKED_LIBRARY = "blobLinkedLib"
KERNEL, GLOBAL, FUNCTION = "kernel", "global", "function"
_SHOWN = 60  # characters of a name in a diagnostic

# Names that a module may get from elsewhere, so that they would clash: pattern -> their origin.
RESERVED = {
    r"WARP_SZ": "PTX's name for the size of a warp",
    r"vprintf|__assertfail|malloc|free": "a function of the driver",
    rf"{LIBDEVICE_PREFIX}.*|__internal_.*": "reserved by libdevice",
    r"__cuda.*": "reserved by ptxas and libdevice",
    r"\$L__.*|__local_depot.*": "reserved by LLVM for labels and the stack",
    r"(?:param|retval)[0-9]+": "reserved by LLVM for call arguments",  # ptxas crashes
}
_PARAMETER = re.compile(r"(.+)_param_[0-9]+")
_RESERVED = {re.compile(pattern): owner for pattern, owner in RESERVED.items()}


def quoted_name(name: str) -> str:
    """A name as shown in a diagnostic: quoted, printable, on one line and shortened."""
    return ascii(name if len(name) <= _SHOWN else f"{name[: _SHOWN - 3]}...")


def is_identifier(name: str) -> bool:
    """Whether PTX can express a name."""
    return _IDENTIFIER.fullmatch(name) is not None


def name_error(kind: str, name: str, place: Callable[[], Location | None] = lambda: None) -> InvalidInput | None:
    """The fault of a name, [kernel-name, global-name or function-name]; None if every artifact supports it.

    ``kind`` is KERNEL, GLOBAL or FUNCTION; ``place`` returns the location of the name, and is called only if it is
    rejected.
    """
    found = _invalid_name(name)
    if found is None:
        return None
    problem, remedy = found
    return InvalidInput(
        f"{kind}-name", f"{kind} name {quoted_name(name)} is {problem}", location=place(), remedy=remedy
    )


def module_name_errors(rows: Iterable[tuple[str, str, Callable[[], Location | None]]]) -> Iterator[InvalidInput]:
    """``name_error`` of every (kind, name, place) of one module, in which names must also be unique."""
    rows = list(rows)
    kernels = {name for kind, name, _ in rows if kind == KERNEL}
    seen: set[str] = set()
    for kind, name, place in rows:
        parameter = _PARAMETER.fullmatch(name)
        if (fault := name_error(kind, name, place)) is not None:
            yield fault
        elif name in seen:
            yield _duplicate_name(kind, name, "duplicate in this module", place)
        elif parameter is not None and parameter[1] in kernels:
            yield _duplicate_name(kind, name, f"reserved by LLVM for a parameter of {quoted_name(parameter[1])}", place)
        seen.add(name)


def _duplicate_name(kind: str, name: str, problem: str, place: Callable[[], Location | None]) -> InvalidInput:
    message = f"{kind} name {quoted_name(name)} is taken: {problem}"
    return InvalidInput(f"{kind}-name", message, location=place(), remedy="rename one")


def check_names(rows: Iterable[tuple[str, str, Callable[[], Location | None]]]) -> None:
    """Raise the first of ``module_name_errors``."""
    if (fault := next(module_name_errors(rows), None)) is not None:
        raise fault


def check_file_name(stem: str, file: str) -> None:
    """Raise InvalidInput[kernel-name] unless a build can use ``stem`` in the names of files and graph nodes.

    ``file`` is the kernel's file, for the location.
    """
    problem = next((problem for problem, is_bad in _BAD_STEMS.items() if is_bad(stem)), None)
    if problem is not None:
        message = f"kernel file name {quoted_name(stem)} {problem}"
        raise InvalidInput(f"{KERNEL}-name", message, location=Location(file), remedy="rename the file")


# Invalid file names of kernels. (All others that a file system supports work.)
_BAD_STEMS: dict[str, Callable[[str], bool]] = {
    "is empty": lambda stem: not stem,
    "contains unprintable characters": lambda stem: not stem.isprintable(),
    "starts with # (reserved by SCons)": lambda stem: stem.startswith("#"),
}


def _invalid_name(name: str) -> tuple[str, str] | None:
    """The fault of a name, and the remedy."""
    if not is_identifier(name):
        return (
            "not a PTX identifier",
            "use letters, digits, _ and $, not beginning with a digit, and more than a lone _ or $",
        )
    owner = next((owner for pattern, owner in _RESERVED.items() if pattern.fullmatch(name)), None)
    return None if owner is None else (f"taken: {owner}", "choose another")


def llvm_string(text: str) -> str:
    """Text in quotes in LLVM IR: all but printable ASCII is escaped as hexadecimal digits of its bytes."""
    if text.isascii() and text.isprintable():
        return text.replace("\\", "\\5C").replace('"', "\\22")
    return text.encode().decode("latin-1").translate(_ESCAPES)


# Bytes that are not printable, the quote and the backslash, as two digits.
_ESCAPES = {byte: f"\\{byte:02X}" for byte in range(256) if not 32 <= byte < 127 or chr(byte) in '"\\'}


_PLAIN_SYMBOL = re.compile(r"[-A-Za-z$._][-A-Za-z$._0-9]*", re.ASCII)


def llvm_symbol(name: str) -> str:
    """A symbol as LLVM IR writes it after @ or %: quoted unless it is a plain word."""
    return name if _PLAIN_SYMBOL.fullmatch(name) else f'"{llvm_string(name)}"'


_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")


def llvm_name(spelled: str) -> str:
    """The symbol of a name in LLVM IR, quoted or not; invalid UTF-8 is decoded to lone surrogates."""
    if not spelled.startswith('"'):
        return spelled
    raw = _ESCAPE.sub(lambda code: bytes([int(code[1], 16)]), spelled[1:-1].encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")
