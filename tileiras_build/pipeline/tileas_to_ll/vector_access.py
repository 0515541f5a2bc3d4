"""One load or store of consecutive elements, and the types in which they cross the inline assembly's border."""

from __future__ import annotations

from collections.abc import Sequence

from ..shared.element_types import Element
from .access_text import load_text, register_type, store_text
from .builder import Value, boolean
from .kernel_emitter import KernelEmitter


def load_vector(
    e: KernelEmitter,
    element: Element,
    count: int,
    pointer: Value,
    offset: int,
    mask: Value | None,
    fill: int,
    opcode: str,
) -> list[Value]:
    """The elements of one access, each as a register value."""
    template, constraints, type = load_text(element, count, mask is not None, fill, opcode, offset)
    operands = f"ptr addrspace(1) {pointer}" + ("" if mask is None else f", i1 {mask}")
    result = e.b.value(f'call {type} asm sideeffect "{template}", "{constraints}"({operands})')
    values = [result] if count == 1 else e.b.unpack(type, result, count)
    return [from_border(e, element, value) for value in values]


def store_vector(
    e: KernelEmitter,
    element: Element,
    values: Sequence[Value],
    pointer: Value,
    offset: int,
    mask: Value | None,
    opcode: str,
) -> None:
    """Store consecutive elements by one access."""
    template, constraints = store_text(element, len(values), mask is not None, opcode, offset)
    type = register_type(element)
    crossed = [to_border(e, element, value) for value in values]
    operands = [f"ptr addrspace(1) {pointer}", *(f"{type} {value}" for value in crossed)]
    if mask is not None:
        operands.append(f"i1 {mask}")
    e.b.line(f'call void asm sideeffect "{template}", "{constraints}"({", ".join(operands)})')


def from_border(e: KernelEmitter, element: Element, value: Value) -> Value:
    """A loaded value as a register value."""
    if element.register == "i1":
        return e.b.value(f"icmp ne i8 {value}, 0")
    if element.register == "ptr addrspace(1)":
        return e.b.value(f"inttoptr i64 {value} to ptr addrspace(1)")
    return value


def to_border(e: KernelEmitter, element: Element, value: Value) -> Value:
    """A register value as it is stored."""
    if element.register == "i1":
        return e.b.pure(f"zext i1 {boolean(value)} to i8")
    if element.register == "ptr addrspace(1)":
        return e.b.pure(f"ptrtoint ptr addrspace(1) {value} to i64")
    return value
