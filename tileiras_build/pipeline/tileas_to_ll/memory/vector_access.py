"""One load or store of consecutive elements, and the types of its registers.

``modifiers`` are the attributes of the instruction for ordering and state space (``memory_access``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, SSAValue

from ....ir.casting import typed
from ....ir.dialects.nvvm.memory_access import LoadOp, StoreOp
from ...common.llvm_element_types import Element
from ...common.llvm_type_constructors import I1, I8, I64, struct
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder

Modifiers = Mapping[str, str]


def load_vector(
    b: InstructionBuilder,
    element: Element,
    count: int,
    address: Value,
    offset: int,
    mask: Value | None,
    fill: int,
    modifiers: Modifiers,
) -> list[Value]:
    """The elements of one load as register values; masked off, they have the bits ``fill``."""
    masked = None if mask is None else fill
    type = registers_type(element.crossing_type, count)
    loaded = b.issue(LoadOp, address, predicate(b, mask), type=type, offset=offset or None, fill=masked, **modifiers)
    return [from_memory_type(b, element, value) for value in fields(b, loaded, count)]


def store_vector(
    b: InstructionBuilder,
    element: Element,
    values: Sequence[Value],
    address: Value,
    offset: int,
    mask: Value | None,
    modifiers: Modifiers,
) -> None:
    """Store consecutive elements by one access."""
    type = element.crossing_type
    crossed = [b.of(to_memory_type(b, element, value), type) for value in values]
    b.issue(StoreOp, address, crossed, predicate(b, mask), type=None, offset=offset or None, **modifiers)


def registers_type(type: Attribute, count: int) -> Attribute:
    """The result type of an instruction that writes ``count`` registers."""
    return type if count == 1 else struct(*[type] * count)


def fields(b: InstructionBuilder, result: SSAValue, count: int) -> list[SSAValue]:
    """The registers of an instruction's result."""
    return [result] if count == 1 else b.unpack(typed(result, LLVMStructType))


def predicate(b: InstructionBuilder, mask: Value | None) -> SSAValue | None:
    """A condition as a predicate operand of an instruction."""
    return None if mask is None else b.of(mask, I1)


def from_memory_type(b: InstructionBuilder, element: Element, value: SSAValue) -> SSAValue:
    """A loaded value as a register value."""
    if element.type == I1:
        return b.compare("ne", value, 0, I8)
    if isinstance(element.type, LLVMPointerType):
        return b.cast("inttoptr", value, element.type)
    return value


def to_memory_type(b: InstructionBuilder, element: Element, value: Value) -> Value:
    """A register value in the type of the stored element."""
    if element.type == I1:
        return b.cast("zext", value, I8, I1)
    if isinstance(element.type, LLVMPointerType):
        return b.cast("ptrtoint", value, I64)
    return value
