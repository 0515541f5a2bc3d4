"""Atoms: instructions as types, with their shape and elements between quotes, and descriptors.

!cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">          M x N x K, elements of A, B and the accumulator
!cute_nvgpu.atom.ldsm<"8x8 x4 trans">                matrices of 8 x 8, how many, transposed
!cute_nvgpu.atom.simt_async_copy<"16">               bytes
!cute_nvgpu.smem_desc  !cute_nvgpu.tma_desc          64 bits; a pointer to a tensor map
"""

from __future__ import annotations

from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class AtomType(Data[str], TypeAttribute):
    """An instruction; ``data`` are the words that select its variant."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parser.parse_str_literal()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{self.data}">')

    @property
    def parameters(self) -> list[str]:
        """The words of the variant."""
        return self.data.split()


def _atom(name: str, meaning: str) -> type[AtomType]:
    class_name = "".join(part.title() for part in name.replace(".", "_").split("_")) + "Type"
    body = {"name": f"cute_nvgpu.{name}", "__doc__": meaning, "__module__": __name__}
    return irdl_attr_definition(type(class_name, (AtomType,), body))


ATOMS: dict[str, type[AtomType]] = {
    name: _atom(name, meaning)
    for name, meaning in {
        "atom.universal_copy": "A load and a store of some bits.",
        "atom.universal_fma": "A multiplication and addition of scalars.",
        "atom.ldsm": "Matrices from shared memory to registers.",
        "atom.stsm": "Matrices from registers to shared memory.",
        "atom.simt_async_copy": "Bytes from global to shared memory, asynchronously.",
        "sm80.mma": "An MMA of a warp.",
        "sm89.mma": "An MMA of a warp, floats of 8 bits and less.",
        "sm90.mma": "An MMA of a warpgroup, operands in shared memory.",
        "sm100.mma": "An MMA with accumulators in tensor memory.",
        "sm100.mma_bs": "A block-scaled MMA with accumulators in tensor memory.",
        "SM120.mma_bs": "A block-scaled MMA of a warp.",
        "atom.tma_load": "A box of a tensor to shared memory.",
        "atom.tma_store": "A box of a tensor from shared memory.",
        "atom.tma_reduce": "A box of shared memory combined with a tensor.",
        "atom.s2t_copy": "Shared memory to tensor memory.",
        "atom.tmem_load": "Tensor memory to registers.",
        "atom.tmem_store": "Registers to tensor memory.",
    }.items()
}


@irdl_attr_definition
class SmemDescType(ParametrizedAttribute, TypeAttribute):
    """The 64-bit descriptor of a matrix in shared memory."""

    name = "cute_nvgpu.smem_desc"


@irdl_attr_definition
class TmaDescType(ParametrizedAttribute, TypeAttribute):
    """A pointer to a tensor map."""

    name = "cute_nvgpu.tma_desc"


TYPES: tuple[type[Attribute], ...] = (*ATOMS.values(), SmemDescType, TmaDescType)
