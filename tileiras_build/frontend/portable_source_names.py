"""Give the source files named in bytecode the same names on every machine.

A front end writes absolute paths into debug info: of the kernel file, of modules beside it, and of installed packages whose
functions it inlined. All are whole strings of the string section, which other sections refer to by index. So they can be
replaced without reading other sections. Layout of the file and of the section:
the comments "section" and "string-section" in lib/Bytecode/Reader/BytecodeReader.cpp of NVIDIA/cuda-tile.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

HEADER_SIZE = 12  # magic 8, version 2, tag 2
END_SECTION, STRING_SECTION, PRODUCER_SECTION = 0, 1, 7
ALIGNED = 0x80  # the bit of a section's id for an alignment that follows
PADDING = b"\xcb"
INSTALLED = ("site-packages", "dist-packages")


def make_paths_portable(bytecode: bytes, root: str | os.PathLike) -> bytes:
    """The bytecode with paths below ``root`` made relative to it, and those of installed modules to their package.

    ``/home/me/project/kernels/k.py`` becomes ``kernels/k.py``; ``/usr/lib/python3/site-packages/cuda/tile/_stub.py``
    becomes ``cuda/tile/_stub.py``. Other strings stay.
    """
    folders = _name_folders(root)
    real = cache(
        lambda folder: (_real_installed if os.path.basename(folder) in INSTALLED else os.path.realpath)(folder)
    )

    def rename(text: bytes) -> bytes:
        path = os.fsdecode(text)
        if not os.path.isabs(path):
            return text
        spellings = (spelling(folder) for folder in folders for spelling in (os.path.abspath, real))
        return next((_relative(path, folder) for folder in spellings if Path(path).is_relative_to(folder)), text)

    return rewrite_strings(bytecode, rename)


def _name_folders(root: str | os.PathLike) -> list[str]:
    """Prefixes to remove from a path, the first that matches. Installed packages come before the root, because a virtual
    environment may be inside it; the rest of ``sys.path`` comes last, because it may contain the root."""
    searched = sorted(filter(os.path.isabs, sys.path), key=len, reverse=True)
    installed = [folder for folder in searched if os.path.basename(folder) in INSTALLED]
    return [*installed, os.fspath(root), *searched]


@cache
def _real_installed(folder: str) -> str:
    return os.path.realpath(folder)


def _relative(path: str, folder: str) -> bytes:
    return Path(path).relative_to(folder).as_posix().encode()


def rewrite_strings(bytecode: bytes, rename: Callable[[bytes], bytes]) -> bytes:
    """The bytecode with ``rename`` applied to every entry of its string table."""
    out = bytearray(bytecode[:HEADER_SIZE])
    for section, alignment, payload in _split_sections(bytecode):
        if section == STRING_SECTION:
            payload = _encode_strings([rename(text) for text in _decode_strings(payload)])
        _append_section(out, section, alignment, payload)
    out.append(END_SECTION)
    return bytes(out)


def with_producer(bytecode: bytes, producer: str) -> bytes:
    """The bytecode with the producer string ``producer``; unchanged if it has one."""
    sections = list(_split_sections(bytecode))
    if any(section == PRODUCER_SECTION for section, _, _ in sections):
        return bytecode
    out = bytearray(bytecode[:HEADER_SIZE])
    for section, alignment, payload in sections:
        if section == STRING_SECTION:
            strings = _decode_strings(payload)
            _append_section(out, PRODUCER_SECTION, 1, _encode_varint(len(strings)))
            payload = _encode_strings([*strings, producer.encode()])
        _append_section(out, section, alignment, payload)
    out.append(END_SECTION)
    return bytes(out)


def _split_sections(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(id, alignment, payload) of each section but the last, which is empty."""
    position = HEADER_SIZE
    while (section := data[position] & ~ALIGNED) != END_SECTION:
        aligned = data[position] & ALIGNED
        length, position = _read_varint(data, position + 1)
        alignment = 1
        if aligned:
            alignment, position = _read_varint(data, position)
            position += -position % alignment
        yield section, alignment, data[position : position + length]
        position += length


def _append_section(out: bytearray, section: int, alignment: int, payload: bytes) -> None:
    out.append(section | (ALIGNED if alignment > 1 else 0))
    out += _encode_varint(len(payload))
    if alignment > 1:
        out += _encode_varint(alignment)
        out += PADDING * (-len(out) % alignment)
    out += payload


def _decode_strings(payload: bytes) -> list[bytes]:
    count, position = _read_varint(payload, 0)
    position += -position % 4
    starts = struct.unpack_from(f"<{count}I", payload, position)
    text = payload[position + 4 * count :]
    return [text[start:end] for start, end in zip(starts, (*starts[1:], len(text)))]


def _encode_strings(strings: list[bytes]) -> bytes:
    out = bytearray(_encode_varint(len(strings)))
    out += PADDING * (-len(out) % 4)
    start = 0
    for text in strings:
        out += struct.pack("<I", start)
        start += len(text)
    return bytes(out) + b"".join(strings)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned LEB128 number and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])
