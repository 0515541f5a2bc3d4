"""The header and the section table of a bytecode file: the version, and the range of each section."""

from __future__ import annotations

from tileiras_build.ir.bytecode.byte_cursor import Cursor
from tileiras_build.ir.bytecode.opcodes import (
    NEWEST,
    V13_5,
    VERSIONS,
    Version,
    version_text,
)

MAGIC = b"\x7fTileIR\x00"
MLIR_MAGIC = b"ML\xefR"

STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, GLOBALS, PRODUCER = range(1, 8)
SECTION_NAMES = {
    STRINGS: "string",
    FUNCTIONS: "function",
    DEBUG: "debug",
    CONSTANTS: "constant",
    TYPES: "type",
    GLOBALS: "global",
    PRODUCER: "producer",
}
SECTION_ALIGNMENT = {STRINGS: 4, TYPES: 4, CONSTANTS: 8, DEBUG: 8, FUNCTIONS: 8}

MAX_PREVIEW = 1  # version tag in the header of a file with preview features (since 13.5)
_KERNEL_FILES = (".py", ".cu")


def _remedy(name: str | None) -> str:
    """The remedy for a file that is not bytecode, often a kernel source."""
    if name is not None and name.endswith(_KERNEL_FILES):
        import shlex

        return f"export its kernels first: tileiras-build export {shlex.quote(name)}"
    return "give a .tilebc file that a Tile IR front end wrote"


def read_header(cursor: Cursor) -> Version:
    """Check the magic number and return the version, which must be a supported one."""
    if not cursor.data:
        cursor.fail("the file is empty", id="bytecode-empty", remedy="expected CUDA Tile IR bytecode")
    if cursor.data.startswith(MLIR_MAGIC):
        cursor.fail(
            "failed to parse IR bytecode (it looks like MLIR bytecode instead)",
            id="bytecode-mlir",
            offset=0,
            remedy="translate it with cuda-tile-translate first",
        )
    if not cursor.data.startswith(MAGIC):
        if MAGIC.startswith(cursor.data):
            cursor.fail(
                "the file ends in the middle of the magic number", id="bytecode-truncated", offset=len(cursor.data)
            )
        cursor.fail(
            "input does not correspond to Tile IR bytecode",
            id="bytecode-magic",
            offset=0,
            remedy=_remedy(cursor.name),
        )
    cursor.position = len(MAGIC)
    major, minor = cursor.byte("the version"), cursor.byte("the version")
    tag = int.from_bytes(cursor.take_bytes(2, "the version"), "little")
    version = major, minor
    if version in VERSIONS and not tag:
        return version
    if version in VERSIONS and version >= V13_5 and tag == MAX_PREVIEW:
        cursor.fail(
            f"the file is Tile IR bytecode {version_text(version)} with preview content, which this compiler does not "
            "support",
            id="bytecode-version",
            offset=len(MAGIC),
            remedy="have the front end write bytecode without preview features",
        )
    found = f"{version_text(version)}.{tag}" if tag else version_text(version)
    age = "newer than" if (*version, tag) > (*NEWEST, 0) else "not one of"
    cursor.fail(
        f"the file is Tile IR bytecode {found}, {age} the versions that this compiler supports "
        f"({version_text(VERSIONS[0])} to {version_text(NEWEST)})",
        id="bytecode-version",
        offset=len(MAGIC),
        remedy=f"have the front end write bytecode {version_text(NEWEST)} or older",
    )


def read_sections(cursor: Cursor) -> dict[int, tuple[int, int]]:
    """The range of each section: id -> (start, end)."""
    sections: dict[int, tuple[int, int]] = {}
    while True:
        offset = cursor.position
        tag = cursor.byte("a section header")
        number, aligned = tag & 0x7F, tag >= 0x80
        if number == 0:
            if aligned:
                cursor.fail("the end section has an alignment", offset=offset)
            if cursor.remaining:
                cursor.fail(f"{cursor.remaining} bytes follow the end section")
            return sections
        if number not in SECTION_NAMES:
            cursor.fail(f"unknown section {number}", offset=offset)
        if number in sections:
            cursor.fail(f"the {SECTION_NAMES[number]} section occurs twice", offset=offset)
        sections[number] = _section_bounds(cursor, number, aligned, offset)


def _section_bounds(cursor: Cursor, number: int, aligned: bool, offset: int) -> tuple[int, int]:
    name = SECTION_NAMES[number]
    size = cursor.varint(f"the length of the {name} section")
    if size > cursor.remaining:
        cursor.fail(
            f"the {name} section has {size} bytes, but only {cursor.remaining} remain",
            id="bytecode-truncated",
            offset=offset,
        )
    alignment = cursor.varint(f"the alignment of the {name} section") if aligned else 1
    if alignment == 0 or alignment & (alignment - 1):
        cursor.fail(f"the alignment {alignment} of the {name} section is not a power of two", offset=offset)
    if alignment % SECTION_ALIGNMENT.get(number, 1):
        cursor.fail(
            f"the {name} section must be aligned to {SECTION_ALIGNMENT[number]} bytes, not {alignment}", offset=offset
        )
    cursor.align(alignment)
    start = cursor.position
    cursor.take_bytes(size, f"the {name} section")
    return start, start + size
