"""The scalars of a debug value, their LLVM types and bits, and the type that a debugger shows.

| value                              | operand of the debug intrinsic                            |
|------------------------------------|-----------------------------------------------------------|
| integer                            | the same width, if the back end supports it               |
| half, bfloat16, tf32, fp8          | the register type in ``llvm_element_types.py``            |
| vector                             | each lane                                                 |
| struct, array, tuple               | each member, recursively                                  |
| anything else                      | none: the type of its ``Leaf`` is None                    |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntegerType, TupleType, VectorType, i64
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute

from ....ir.casting import unwrap
from ....ir.dialects.debuginfo.attrs import DIBasicType, DICompositeType, DIDerivedType, DISubrange, Node
from ...common.llvm_element_types import ELEMENTS

INTEGER_WIDTHS = (1, 8, 16, 32, 64, 128)  # of which the back end has registers or pairs of them
_SHORT_POINTERS = (3, 4, 5)  # address spaces of 32 bits


@dataclass(frozen=True)
class Leaf:
    """One scalar of a debugged value: how to reach it, its LLVM type, and its bits in the variable.

    ``path`` is a sequence of ("member", index) and ("lane", index). ``type`` is None where the member has no debug
    operand form; ``source`` is its type before.
    """

    path: tuple[tuple[str, int], ...]
    source: Attribute
    type: Attribute | None
    offset: int
    size: int


def operand_type(type: Attribute) -> Attribute | None:
    """The LLVM form of a scalar debug operand; None where it has none."""
    if isinstance(type, IntegerType):
        return type if type.width.data in INTEGER_WIDTHS else None
    if isinstance(type, IndexType):
        return i64
    if isinstance(type, LLVMPointerType):
        return type
    row = ELEMENTS.get(str(type))
    return None if row is None else row.type


def aggregate_type(type: TupleType) -> LLVMStructType:
    """The struct of a tuple's members."""
    members = (
        aggregate_type(member) if isinstance(member, TupleType) else operand_type(member) for member in type.types
    )
    return LLVMStructType.from_type_list([unwrap(member) for member in members])


def _scalar_bits(type: Attribute | None) -> int:
    if isinstance(type, LLVMPointerType):
        space = getattr(type.addr_space, "data", 0)
        return 32 if space in _SHORT_POINTERS else 64
    return type.bitwidth if isinstance(type, FixedBitwidthType) else 0


def members_of(type: Attribute) -> tuple[str, tuple[Attribute, ...]] | None:
    """(step, types) of an aggregate; None for a scalar."""
    if isinstance(type, VectorType):
        return "lane", (type.element_type,) * type.element_count()
    if isinstance(type, (LLVMStructType, TupleType)):
        return "member", tuple(type.types.data)
    if isinstance(type, LLVMArrayType):
        return "member", (type.type,) * type.size.data
    return None


def leaves(type: Attribute, path: tuple = (), offset: int = 0) -> Iterator[Leaf]:
    """The scalars of a type, in the order of their bits, with C's alignment."""
    aggregate = members_of(type)
    if aggregate is None:
        converted = operand_type(type)
        yield Leaf(path, type, converted, offset, _scalar_bits(converted))
        return
    step, types = aggregate
    for index, member in enumerate(types):
        offset = _aligned(offset, 1 if step == "lane" else alignment(member))
        yield from leaves(member, (*path, (step, index)), offset)
        offset += size_in_bits(member)


def _aligned(offset: int, unit: int) -> int:
    return -(-offset // unit) * unit


def alignment(type: Attribute) -> int:
    """The alignment of a member, in bits: that of its widest scalar, a power of two of at least a byte."""
    widest = max((leaf.size for leaf in leaves(type)), default=0)
    return max(8, 1 << (widest - 1).bit_length() if widest else 8)


def size_in_bits(type: Attribute) -> int:
    """The extent of a type, without padding behind it for scalars and vectors."""
    last = list(leaves(type))[-1:]
    if not last:
        return 0
    end = last[0].offset + last[0].size
    return end if members_of(type) is None or isinstance(type, VectorType) else _aligned(end, alignment(type))


def source_type(type: Attribute) -> Node | None:
    """How a debugger shows a value of this type; None where it cannot."""
    if isinstance(type, VectorType):
        return _array(type, type.element_type, type.element_count(), "Vector")
    if isinstance(type, LLVMArrayType):
        return _array(type, type.type, type.size.data, None)
    if isinstance(type, (LLVMStructType, TupleType)):
        return _structure(type, type.types.data)
    return _basic(type)


def _array(type: Attribute, element: Attribute, count: int, flags: str | None) -> Node | None:
    base = source_type(element)
    if base is None:
        return None
    extent = (DISubrange((count,)),)
    return DICompositeType.of(
        tag="DW_TAG_array_type", baseType=base, flags=flags, sizeInBits=size_in_bits(type), elements=extent
    )


def _structure(type: Attribute, members: tuple[Attribute, ...]) -> Node | None:
    nodes, offset = [], 0
    for index, member in enumerate(members):
        offset = _aligned(offset, alignment(member))
        if (base := source_type(member)) is None:
            return None
        size = size_in_bits(member)
        nodes.append(
            DIDerivedType.of(
                tag="DW_TAG_member", name=f"field{index}", baseType=base, sizeInBits=size, offsetInBits=offset
            )
        )
        offset += size
    return DICompositeType.of(tag="DW_TAG_structure_type", sizeInBits=size_in_bits(type), elements=tuple(nodes))


def _basic(type: Attribute) -> Node | None:
    converted = operand_type(type)
    if converted is None:
        return None
    size = _scalar_bits(converted)
    if isinstance(converted, LLVMPointerType):
        byte = DIBasicType.of(tag="DW_TAG_base_type", name="byte", sizeInBits=8, encoding="DW_ATE_unsigned_char")
        return DIDerivedType.of(tag="DW_TAG_pointer_type", baseType=byte, sizeInBits=size)
    integer = isinstance(converted, IntegerType)
    encoding = "DW_ATE_float" if not integer else "DW_ATE_boolean" if size == 1 else "DW_ATE_signed"
    return DIBasicType.of(tag="DW_TAG_base_type", name=str(type), sizeInBits=max(size, 8), encoding=encoding)
