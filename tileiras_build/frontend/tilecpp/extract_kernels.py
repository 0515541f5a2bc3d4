"""The kernels of a compiled file: their symbols, and bytecode that has only some of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...core.errors import InvalidInput, Location, suggest
from ...core.symbols.c_identifiers import c_identifiers
from ...core.symbols.itanium_demangler import demangle
from ...ir.bytecode.reader import Reader, read_module
from ...ir.bytecode.writer import write_module
from ...ir.dialects.cuda_tile import EntryOp

_PLACEHOLDER = "__$dummy_kernel"  # nvcc's entry in a file without kernels


def kernels_of(data: bytes) -> list[str]:
    """The symbols of the kernels in bytecode, in their order."""
    entries = [op.sym_name.data for op in read_module(data, check=False).walk() if isinstance(op, EntryOp)]
    return [symbol for symbol in entries if symbol != _PLACEHOLDER]


def demangled_names(symbol: str) -> tuple[str, ...]:
    """The names of a kernel: its full C++ name, its template's, and its symbol."""
    name = demangle(symbol)
    return tuple(dict.fromkeys((name, name.partition("<")[0], symbol)))


def kernel_file_name(stem: str, entries: Sequence[str], known: Collection[str]) -> str:
    """The file names of the kernels ``entries`` of a source file ``stem``."""
    return f"{stem}-{c_identifiers(known)[entries[0]]}"


def select_named(data: bytes, names: Sequence[str], stem: str, path: str, target: str) -> dict[str, bytes]:
    """Bytecode of the kernels ``names``, by the name of its file. Raises InvalidInput[export-kernel]."""
    known = kernels_of(data)
    for name in names:
        if not any(name in demangled_names(symbol) for symbol in known):
            remedy = suggest(name, map(demangle, known))
            raise InvalidInput("export-kernel", f"no kernel is called {name}", location=Location(path), remedy=remedy)
    entries = [symbol for symbol in known if any(name in demangled_names(symbol) for name in names)]
    return {kernel_file_name(stem, entries, known): select_kernels(data, entries, known, path, target)}


def select_kernels(data: bytes, entries: Collection[str], known: Collection[str], name: str, target: str) -> bytes:
    """Bytecode of the same version with the kernels ``entries`` alone; globals stay.

    ``known`` are the kernels that the file (``name`` in errors) has for the first target. Raises InvalidInput[tilecpp-kernels]
    where it has others for ``target``: their options are unknown.
    """
    module = read_module(data, name)
    found = {op.sym_name.data: op for op in module.walk() if isinstance(op, EntryOp)}
    if other := sorted(set(found) ^ set(known)):
        message = f"the file has other kernels for {target} than for the first target: {', '.join(other)}"
        remedy = "give options to the whole file, by its name, or the same kernels to all targets"
        raise InvalidInput("tilecpp-kernels", message, location=Location(name), remedy=remedy)
    for symbol, op in found.items():
        if symbol not in entries:
            op.detach()
            op.erase()
    return write_module(module, version=Reader(data, name).version)
