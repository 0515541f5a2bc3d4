"""Values of other lanes, of any element type."""

from __future__ import annotations

from ....ir.dialects.gpu_ext import ShuffleMode
from ...common.llvm_element_types import Element
from ...common.llvm_type_constructors import FLOAT
from ..data_movement.convert_layout import as_register, from_register, join_registers, split_registers
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder


def shuffle(b: InstructionBuilder, element: Element, value: Value, mode: ShuffleMode, argument: Value) -> Value:
    """``value`` of another lane: XOR with a lane mask, or IDX with a lane index."""
    if element.bits == 64:
        words = split_registers(b, element, value)
        return join_registers(b, element, [b.shuffle(mode, word, argument) for word in words])
    if element.type == FLOAT:
        return b.shuffle(mode, value, argument, FLOAT)
    return from_register(b, element, b.shuffle(mode, as_register(b, element, value), argument))
