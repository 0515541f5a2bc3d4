"""CUDA Tile IR bytecode: read it to the cuda_tile dialect, and print it in the public text form."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileiras_build.ir.bytecode.reader import read_module

__all__ = ["disassemble", "read_module"]


def disassemble(data: bytes, *, locations: bool = False, name: str | None = None) -> str:
    """The public text of Tile IR bytecode, see ``printer.disassemble``."""
    from tileiras_build.ir.bytecode import printer  # not needed to compile

    return printer.disassemble(data, locations=locations, name=name)


def __getattr__(name: str):
    """Import the reader on first use: it imports every operation class, which other modules of this package do not
    need.
    """
    if name != "read_module":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tileiras_build.ir.bytecode import reader

    return reader.read_module
