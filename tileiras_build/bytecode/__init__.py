"""CUDA Tile IR bytecode: reading it into the cuda_tile dialect and printing it in the public text form."""

from tileiras_build.bytecode.reader import read_module

__all__ = ["disassemble", "read_module"]


def disassemble(data: bytes, *, locations: bool = False, name: str | None = None) -> str:
    """The public text of Tile IR bytecode, see ``printer.disassemble``."""
    from tileiras_build.bytecode import printer  # its tables are not needed to compile

    return printer.disassemble(data, locations=locations, name=name)
