"""CUDA Tile IR bytecode: reading it into the cuda_tile dialect and printing it in the public text form."""

from tileiras_build.bytecode.printer import disassemble, print_module
from tileiras_build.bytecode.reader import read_module

__all__ = ["disassemble", "print_module", "read_module"]
