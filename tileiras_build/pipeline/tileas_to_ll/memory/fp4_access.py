"""Tiles of 4-bit elements in global memory. Two share a byte; the even one is in the lower half.

A thread with both halves of a byte accesses the byte. A thread with one half (the stride may be odd, or the tile has
one element along the packed dimension) loads the byte and extracts its half, and stores by clearing and setting bits of
the aligned word, as another thread or tile program may store the other half.
Source: Tile IR 13.3, ``tensor_view``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....ir.dialects.nvvm.memory_access import ReductionOp
from ...common.llvm_element_types import ELEMENTS
from ...common.llvm_type_constructors import GLOBAL, I8, I32, I64, pointer
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from .vector_access import Modifiers, load_vector, predicate, store_vector

if TYPE_CHECKING:
    from .global_memory import TileAddresses

BYTE = ELEMENTS["i8"]
HALF = 15
# A reduction has no weak form.
RELAXED = {"semantics": "relaxed", "scope": "gpu"}


def load_packed(
    b: InstructionBuilder,
    addresses: TileAddresses,
    first: int,
    count: int,
    mask: Value | None,
    fill: int,
    modifiers: Modifiers,
) -> list[Value]:
    """The ``count`` elements that start with register ``first``, each in the lower half of an i8."""
    (address, half) = addresses.packed_address(first)
    bytes = load_vector(b, BYTE, max(count // 2, 1), address, 0, mask, fill | fill << 4, modifiers)
    if count == 1:
        return [b.binary("and", b.binary("lshr", bytes[0], half, I8), HALF, I8)]
    halves = [(b.binary("and", byte, HALF, I8), b.binary("lshr", byte, 4, I8)) for byte in bytes]
    return [half for pair in halves for half in pair]


def store_packed(
    b: InstructionBuilder,
    addresses: TileAddresses,
    first: int,
    values: Sequence[Value],
    mask: Value | None,
    modifiers: Modifiers,
) -> None:
    """Store the elements that start with register ``first``."""
    (address, half) = addresses.packed_address(first)
    if len(values) == 1:
        return _store_half(b, values[0], address, half, mask, modifiers)
    pairs = zip(values[::2], values[1::2])
    bytes = [b.or_(b.and_(low, HALF, I8), b.binary("shl", high, 4, I8), I8) for low, high in pairs]
    return store_vector(b, BYTE, bytes, address, 0, mask, modifiers)


def _store_half(
    b: InstructionBuilder, value: Value, address: SSAValue, half: Value, mask: Value | None, modifiers: Modifiers
) -> None:
    """Two atomic reductions on the aligned word, whose other bits belong to other threads (PTX ISA 9.0, red)."""
    place = b.cast("ptrtoint", address, I64)
    word = b.cast("inttoptr", b.binary("and", place, -4, I64), pointer(GLOBAL))
    byte = b.binary("and", b.cast("trunc", place, I32), 3, I32)
    shift = b.add(b.mul(byte, 8), b.cast("zext", half, I32, I8))
    bits = b.cast("zext", b.and_(value, HALF, I8), I32, I8)
    kept = b.xor(b.binary("shl", HALF, shift, I32), -1)
    for operation, operand in (("and.b32", kept), ("or.b32", b.binary("shl", bits, shift, I32))):
        b.issue(
            ReductionOp, word, [operand], predicate(b, mask), type=None, operation=operation, **{**RELAXED, **modifiers}
        )
