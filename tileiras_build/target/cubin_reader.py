"""Read the resource usage and the parameters of kernels from a cubin: a small ELF reader.

Layout: ELF64 little-endian, machine 190. ``.text.<kernel>`` holds the code, ``.nv.shared.<kernel>`` the size of static
shared memory, ``.nv.info`` one record per function and attribute (format byte, attribute byte, 16-bit size or value, data),
``.nv.info.<kernel>`` those of one kernel, among them the offset of each parameter.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from ..core.errors import InvalidInput
from .targets import TARGETS

_NO_BITS = 8  # the type of a section without contents
_MACHINE = 190  # EM_CUDA
_ABI_WITH_SHIFTED_SM = 8  # since this ABI version the SM is in bits 8..15 of e_flags, before in 0..7
_RESERVED_SHARED = 1024  # bytes the system adds to every CTA's shared memory
_FUNCTION, _ENTRY = 2, 0x10  # symbol type, and the st_other bit of functions that can be launched
_SIZED = 4  # EIFMT_SVAL: a record with data
# Attribute numbers of .nv.info records, as `cuobjdump -elf` names them.
_FRAME_SIZE, _MIN_STACK_SIZE, _REGCOUNT = 0x11, 0x12, 0x2F
_ATTRIBUTE_CODES = {_REGCOUNT: "registers", _MIN_STACK_SIZE: "stack", _FRAME_SIZE: "frame"}


# Attribute of a parameter -> the position of the size in the last word of its record: KPARAM_INFO, and KPARAM_INFO_V2
# for kernels with more than 4,352 bytes of parameters.
_PARAMETER_SIZES: dict[int, Callable[[int], int]] = {0x17: lambda word: word >> 18, 0x45: lambda word: word & 0xFFFF}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its offset in bytes from the start of the parameters, and its size."""

    offset: int
    size: int


@dataclass(frozen=True)
class KernelResources:
    """Resources of one kernel: registers per thread, bytes of stack per thread, bytes of static shared memory per CTA."""

    registers: int
    stack: int
    shared: int
    code_bytes: int
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Cubin:
    """The SM of a cubin (90, not "sm_90a": the suffix is not recorded), and its kernels by name."""

    number: int
    kernels: dict[str, KernelResources]


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    is_entry: bool


def read_cubin(data: bytes) -> Cubin:
    """Read a cubin. Raises InvalidInput[cubin] for anything that is not a whole cubin."""
    try:
        return _read(data)
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise _damaged("it is truncated or has an offset outside of the file") from error


def read_info(data: bytes, kernel: str) -> tuple[dict[str, bytes], list[tuple[int, bytes]]]:
    """The contents of a cubin's sections by name, and the ``.nv.info`` records of one kernel.

    Raises InvalidInput[cubin] for anything that is not a whole cubin.
    """
    try:
        found = {one.name: data[one.offset : one.offset + one.size] for one in _sections(data) if one.kind != _NO_BITS}
        return found, list(_records(found.get(f".nv.info.{kernel}", b"")))
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise _damaged("it is truncated or has an offset outside of the file") from error


def _damaged(why: str) -> InvalidInput:
    return InvalidInput("cubin", f"this is not a cubin: {why}", remedy="assemble it again with ptxas")


def _read(data: bytes) -> Cubin:
    if data[:6] != b"\x7fELF\x02\x01":
        raise _damaged("no 64-bit ELF header")
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine != _MACHINE:
        raise _damaged(f"ELF machine {machine} instead of {_MACHINE}")
    (flags,) = struct.unpack_from("<I", data, 48)
    number = (flags >> 8 if data[8] >= _ABI_WITH_SHIFTED_SM else flags) & 0xFF
    sections = _sections(data)
    symbols = _symbols(data, sections)
    sizes = {section.name: section.size for section in sections}
    infos = {
        section.name: data[section.offset : section.offset + section.size]
        for section in sections
        if section.name.startswith(".nv.info")
    }
    attributes = _kernel_attributes(infos, symbols)
    kernels = {
        name: _resources(name, sizes, attributes.get(name, {}), number, _parameters(infos.get(f".nv.info.{name}", b"")))
        for name in (symbol.name for symbol in symbols if symbol.is_entry)
    }
    return Cubin(number, kernels)


def _parameters(info: bytes) -> tuple[Parameter, ...]:
    """The parameters in the kernel's order: a record holds an index, ordinal and offset of 16 bits each, and a word with the size."""
    found = []
    for attribute, record in _records(info):
        if (size_of := _PARAMETER_SIZES.get(attribute)) is not None:
            _, ordinal, offset, word = struct.unpack("<IHHI", record)
            found.append((ordinal, Parameter(offset, size_of(word))))
    return tuple(parameter for _, parameter in sorted(found, key=itemgetter(0)))


def _resources(
    name: str, sizes: dict[str, int], known: dict[str, int], number: int, parameters: tuple[Parameter, ...]
) -> KernelResources:
    shared = sizes.get(f".nv.shared.{name}", 0)
    target = TARGETS.get(f"sm_{number}")
    if shared and target is not None and target.has("shared_reserved"):
        shared -= _RESERVED_SHARED
    code = sizes.get(f".text.{name}", 0)
    stack = max(known.get("stack", 0), known.get("frame", 0))
    return KernelResources(known.get("registers", 0), stack, shared, code, parameters)


def _sections(data: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names_index = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQI", data, table + index * size) for index in range(count)]
    names_at = rows[names_index][4]
    return [_Section(_string(data, names_at + row[0]), row[1], row[4], row[5], row[6]) for row in rows]


def _string(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode() if offset < len(data) else _truncated()


def _truncated() -> str:
    raise IndexError("string outside the file")


def _kernel_attributes(infos: dict[str, bytes], symbols: list[_Symbol]) -> dict[str, dict[str, int]]:
    """Per function name the values of _ATTRIBUTES, from .nv.info and the symbol table."""
    if ".nv.info" not in infos:
        raise _damaged("no .nv.info section")
    attributes: dict[str, dict[str, int]] = {}
    for attribute, record in _records(infos[".nv.info"]):
        if attribute in _ATTRIBUTE_CODES and len(record) >= 8:
            symbol, value = struct.unpack_from("<II", record)
            attributes.setdefault(symbols[symbol].name, {})[_ATTRIBUTE_CODES[attribute]] = value
    return attributes


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset < len(info):
        layout, attribute, size = struct.unpack_from("<BBH", info, offset)
        length = size if layout == _SIZED else 0
        yield attribute, info[offset + 4 : offset + 4 + length]
        offset += 4 + length


def _symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    table = next((section for section in sections if section.name == ".symtab"), None)
    if table is None:
        raise _damaged("no symbol table")
    names_at = sections[table.link].offset
    rows = (struct.unpack_from("<IBB", data, offset) for offset in range(table.offset, table.offset + table.size, 24))
    return [
        _Symbol(_string(data, names_at + name), kind & 0xF == _FUNCTION and bool(other & _ENTRY))
        for name, kind, other in rows
    ]
