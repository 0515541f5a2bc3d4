"""Tiles of 4-bit elements in global memory, where two share a byte, the even one in its lower half.

A thread that has both halves of a byte moves them at once. Where it has one (a stride that may be odd, a tile of one
element along the packed dimension) it reads the byte and takes its half out, and writes by clearing and setting bits
of the word around it: another thread, or another tile program, may be writing the other half.
Source: Tile IR 13.3, ``tensor_view``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shared.element_types import ELEMENTS
from .builder import Value
from .kernel_emitter import KernelEmitter
from .vector_access import load_vector, store_vector

if TYPE_CHECKING:
    from .memory import TileAddresses

BYTE = ELEMENTS["i8"]
HALF = 15


def load_packed(
    e: KernelEmitter, addresses: TileAddresses, first: int, count: int, mask: Value | None, fill: int, opcode: str
) -> list[Value]:
    """The ``count`` elements that start with register ``first``, each in the lower half of an i8."""
    b, (pointer, half) = e.b, addresses.packed_address(first)
    bytes = load_vector(e, BYTE, max(count // 2, 1), pointer, 0, mask, fill | fill << 4, opcode)
    if count == 1:
        return [b.pure(f"and i8 {b.pure(f'lshr i8 {bytes[0]}, {half}')}, {HALF}")]
    halves = [(b.pure(f"and i8 {byte}, {HALF}"), b.pure(f"lshr i8 {byte}, 4")) for byte in bytes]
    return [half for pair in halves for half in pair]


def store_packed(
    e: KernelEmitter, addresses: TileAddresses, first: int, values: Sequence[Value], mask: Value | None, opcode: str
) -> None:
    """Store the elements that start with register ``first``."""
    b, (pointer, half) = e.b, addresses.packed_address(first)
    if len(values) == 1:
        return _store_half(e, values[0], pointer, half, mask, opcode)
    pairs = zip(values[::2], values[1::2])
    bytes = [b.or_(b.and_(low, HALF, "i8"), b.pure(f"shl i8 {high}, 4"), "i8") for low, high in pairs]
    return store_vector(e, BYTE, bytes, pointer, 0, mask, opcode)


def _store_half(e: KernelEmitter, value: Value, pointer: Value, half: Value, mask: Value | None, opcode: str) -> None:
    """Two reductions on the aligned word: atomic ones, since its other bits belong to others (PTX ISA 9.0, red)."""
    b = e.b
    address = b.pure(f"ptrtoint ptr addrspace(1) {pointer} to i64")
    word = b.pure(f"inttoptr i64 {b.pure(f'and i64 {address}, -4')} to ptr addrspace(1)")
    byte = b.pure(f"and i32 {b.pure(f'trunc i64 {address} to i32')}, 3")
    shift = b.add(b.mul(byte, 8), b.pure(f"zext i8 {half} to i32"))
    bits = b.pure(f"zext i8 {b.and_(value, HALF, 'i8')} to i32")
    kept = b.xor(b.pure(f"shl i32 {HALF}, {shift}"), -1)
    for operation, operand in (("and", kept), ("or", b.pure(f"shl i32 {bits}, {shift}"))):
        guard, more, constraint = ("", "", "") if mask is None else ("@$2 ", f", i1 {mask}", ",b")
        text = f"{guard}red.{_semantics(opcode)}.{operation}.b32 [$0], $1;"
        operands = f"ptr addrspace(1) {word}, i32 {operand}{more}"
        b.line(f'call void asm sideeffect "{text}", "l,r{constraint},~{{memory}}"({operands})')


def _semantics(opcode: str) -> str:
    """Of a store's opcode its order, scope and space, for a reduction; what is weak becomes relaxed."""
    _, *words = opcode.split(".")
    return ".".join(words if words[:1] and words[0] in ("relaxed", "release") else ["relaxed", "gpu", *words])
